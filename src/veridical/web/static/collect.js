// A worker's task: sent by script so that a lost connection loses nothing, keys, clicks on pictures, tags, live checks.
// Every task can be done without this file: forms are ordinary forms.
"use strict";
import { check } from "./collect-rules.js";

const form = document.querySelector("form.task");
const problems = form.querySelector("[data-problems]");
const connection = document.querySelector("[data-connection]");
const main = form.querySelector("button:not([name], [type=button])"); // the one that Enter presses
const drafts = `draft ${form.dataset.lease}`;
const typing = (element) => element.closest?.("textarea, select, input:not([type=radio], [type=checkbox])");

function say(words) {
  problems.replaceChildren(...words.map((one) => Object.assign(document.createElement("p"), { textContent: one })));
  if (words.length) problems.scrollIntoView({ block: "nearest" });
}

// --- sending: once at a time, again while there is no connection; the lease makes it count once -----------------------

let sending = false;

async function send(target, submitter) {
  const data = new URLSearchParams(new FormData(target, submitter));
  for (let turn = 0; ; turn++) {
    try {
      const answer = await fetch(target.action, { method: "POST", body: data, headers: { accept: "application/json" }, signal: AbortSignal.timeout(20000) });
      if (answer.status < 500) return answer;
      connection.textContent = "The server is busy. Your answer is kept here; trying again.";
    } catch {
      connection.textContent = "There is no connection. Your answer is kept here; trying again.";
    }
    await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** turn, 8000)));
  }
}

async function submit(event) {
  event.preventDefault();
  const target = event.target;
  if (sending || (target === form && !event.submitter?.formNoValidate && !allowed())) return;
  sending = true;
  document.body.classList.add("sending");
  say([]);
  const answer = await send(target, event.submitter);
  connection.textContent = "";
  const said = await answer.json().catch(() => ({}));
  if (said.to) {
    sessionStorage.removeItem(drafts);
    location.replace(said.to); // so that the back button does not lead to what was answered
    return;
  }
  sending = false;
  document.body.classList.remove("sending");
  if (said.gone) main?.remove();
  say(said.problems ?? [said.problem ?? "This page is too old. Load it again: what you wrote is kept."]);
}

for (const one of document.querySelectorAll("form.task, form.back")) one.addEventListener("submit", submit);
window.addEventListener("pageshow", (event) => event.persisted && location.reload());

// --- drafts: what was written is there after a reload -----------------------------------------------------------------

const texts = [...form.querySelectorAll("textarea")];
const before = JSON.parse(sessionStorage.getItem(drafts) ?? "{}");
for (const one of texts) {
  if (!one.value && before[one.name]) one.value = before[one.name];
  if (one.value) one.closest("details")?.setAttribute("open", "");
  one.addEventListener("input", () =>
    sessionStorage.setItem(drafts, JSON.stringify(Object.fromEntries(texts.map((text) => [text.name, text.value])))));
}

// --- guidelines, while one types --------------------------------------------------------------------------------------

let rules = [];
const untagged = (text) => text.replace(/\[[^\]]*\]/g, "[tag]");

function judge(one, whole) {
  const empty = !one.value.trim();
  const broken = empty && !whole ? [] : check(rules, untagged(one.value)).filter((rule) => whole || rule.least == null);
  form.querySelector(`[data-said="${one.name}"]`).replaceChildren(...broken.map((rule) =>
    Object.assign(document.createElement("p"), { textContent: rule.words, className: rule.refuse ? "refused" : "warned" })));
  one.setAttribute("aria-invalid", broken.some((rule) => rule.refuse));
  return !broken.some((rule) => rule.refuse);
}

/** Whether all texts may be sent; what is wrong with them is shown. */
function allowed() {
  const bad = texts.filter((one) => (one.value.trim() || one.name === "sentence") && !judge(one, true));
  bad[0]?.focus();
  return bad.length === 0;
}

if (form.dataset.rules) {
  fetch(form.dataset.rules).then((answer) => answer.json()).then((found) => {
    rules = found.rules;
    for (const one of texts) {
      if (one.value) judge(one, false);
      one.addEventListener("input", () => judge(one, false));
      one.addEventListener("blur", () => one.value.trim() && judge(one, true));
    }
  }).catch(() => {}); // the server checks them, too
}

// --- tags: an object that is clicked is named where one writes --------------------------------------------------------

let pen = form.querySelector("[data-tags]");
for (const one of form.querySelectorAll("[data-tags]")) one.addEventListener("focus", () => { pen = one; });

function tag(name) {
  const [start, end] = [pen.selectionStart, pen.selectionEnd];
  const head = pen.value.slice(0, start), tail = pen.value.slice(end);
  const joined = head.match(/\[([^[\]]*)\] ?$/); // right after another tag: both are meant
  const put = joined ? `${head.slice(0, joined.index)}[${joined[1]}, ${name}]` : `${head}${head && !/\s$/.test(head) ? " " : ""}[${name}]`;
  const room = /^[\s.,?!;:]/.test(tail) ? "" : " ";
  pen.value = put + room + tail;
  pen.focus();
  pen.setSelectionRange(put.length + room.length, put.length + room.length);
  pen.dispatchEvent(new Event("input"));
}

for (const one of form.querySelectorAll("button[data-tag]")) {
  one.addEventListener("mousedown", (event) => event.preventDefault()); // the text keeps its cursor
  one.addEventListener("click", () => tag(one.dataset.tag));
}

// --- pictures that are sorted by clicking them ------------------------------------------------------------------------

const brushes = form.querySelector("[data-brush]");
const selects = [...form.querySelectorAll("[data-sorting] select")];

function marked(select) {
  select.closest("[data-cell]").classList.toggle("marked", Boolean(select.value));
  const count = selects.filter((one) => one.value).length;
  form.querySelector("[data-count]").textContent = count ? `${count} marked` : "";
}

if (brushes) {
  brushes.hidden = false;
  for (const select of selects) {
    const shot = select.closest("[data-cell]").querySelector(".shot");
    shot.addEventListener("click", () => {
      const brush = brushes.querySelector(":checked").value;
      select.value = select.value === brush ? "" : brush;
      marked(select);
    });
    shot.querySelector("img").addEventListener("error", () => shot.classList.add("broken"));
    select.addEventListener("change", () => marked(select));
    select.addEventListener("keydown", (event) => {
      if (!/^[0-9]$/.test(event.key) || Number(event.key) >= select.options.length) return;
      event.preventDefault();
      select.selectedIndex = Number(event.key);
      marked(select);
    });
    if (select.value) marked(select);
  }
}

for (const group of form.querySelectorAll("[data-most]")) {
  group.addEventListener("change", (event) => {
    const most = Number(group.dataset.most);
    if (group.querySelectorAll(":checked").length <= most) return say([]);
    event.target.checked = false;
    say([`Choose ${most}: take one of them away first.`]);
  });
}

// --- keys -------------------------------------------------------------------------------------------------------------

const keys = document.querySelector("[data-keys]");
const used = keys.querySelector("input");
keys.hidden = !form.querySelector("[data-key]");
used.checked = localStorage.getItem("keys") !== "off";
const shown = () => document.body.classList.toggle("no-keys", !used.checked);
used.addEventListener("change", () => { localStorage.setItem("keys", used.checked ? "on" : "off"); shown(); });
shown();

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && main) return main.click();
  if (event.ctrlKey || event.metaKey || event.altKey || !used.checked || typing(event.target)) return;
  if (event.key === "Enter" && main && !event.target.closest("button, a, summary, label, input")) return main.click();
  const wanted = form.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!wanted) return;
  event.preventDefault();
  wanted.click();
  if (wanted.matches("input")) wanted.focus();
});
