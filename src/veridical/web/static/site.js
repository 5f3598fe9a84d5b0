// Filters of an exported site: facets and items lie in the page as JSON, what is chosen stands in the address.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const search = document.getElementById("q");
const found = document.getElementById("found");
const all = found.innerHTML;
const boxes = new Map(); // number of a value -> its checkbox
const words = data.items.map((item) => `${item.id} ${item.text} ${item.more}`.toLowerCase());

function make(name, text, attributes = {}) {
  const out = Object.assign(document.createElement(name), attributes);
  out.append(...[text].flat());
  return out;
}

function draw(facet) {
  const list = make("ul", facet.values.map(([number, value]) => {
    const box = make("input", [], { type: "checkbox", value: number });
    boxes.set(number, box);
    box.addEventListener("change", filter);
    const count = data.items.filter((item) => item.values.includes(number)).length;
    const label = make("label", [box, make("span", value || "(empty)"), make("span", String(count), { className: "number" })]);
    return make("li", label);
  }));
  return make("details", [make("summary", facet.title), list], { className: "facet", open: facet.values.length <= 10 });
}

function card(item) {
  const link = make("a", make("code", item.id), { className: "open", href: item.href });
  const image = item.image ? [make("img", [], { src: item.image, alt: "", loading: "lazy" })] : [];
  const text = item.text ? [make("p", item.text, { className: "query" })] : [];
  const label = make("div", make("div", [make("span", "label"), make("b", item.label)]), { className: "verdicts" });
  return make("article", [...image, ...text, ...(item.label ? [label] : []), make("footer", link)], { className: "card" });
}

function chosen() {
  return data.facets
    .map((facet) => facet.values.map(([number]) => number).filter((number) => boxes.get(number).checked))
    .filter((numbers) => numbers.length);
}

function filter() {
  const groups = chosen();
  const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const active = groups.length > 0 || wanted.length > 0;
  const kept = data.items.filter((item, at) =>
    groups.every((numbers) => numbers.some((number) => item.values.includes(number))) &&
    wanted.every((word) => words[at].includes(word)));
  document.getElementById("cards").hidden = active;
  document.getElementById("matches").hidden = !active;
  document.getElementById("matches").replaceChildren(...(active ? kept.map(card) : []));
  if (active) found.replaceChildren(make("b", String(kept.length)), ` of ${data.items.length} items of this sample`);
  else found.innerHTML = all; // our own words, as the page had them
  const query = new URLSearchParams([["q", search.value], ["v", groups.flat().join(" ")]].filter((pair) => pair[1]));
  history.replaceState(null, "", query.size ? `#${query}` : location.pathname);
}

document.getElementById("facets").replaceChildren(...data.facets.map(draw));
document.getElementById("search").hidden = false;
document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("input", filter);

const before = new URLSearchParams(location.hash.slice(1));
search.value = before.get("q") ?? "";
for (const number of (before.get("v") ?? "").split(" ").filter(Boolean).map(Number)) {
  if (boxes.has(number)) boxes.get(number).checked = true;
}
if (location.hash) filter();
