// The explorer's keys, and filters that are folded on a narrow screen. Every page works without this.
"use strict";

const help = document.getElementById("help");
const cards = () => [...document.querySelectorAll(".cards .card a.open")].filter((one) => one.offsetParent);

function step(by) {
  const links = cards();
  if (!links.length) return follow(by > 0 ? "next" : "prev");
  const at = links.indexOf(document.activeElement);
  const next = links[Math.min(Math.max(at + by, 0), links.length - 1)];
  next.focus();
  next.closest(".card").scrollIntoView({ block: "nearest" });
}

function follow(rel) {
  document.querySelector(`a[rel=${rel}]`)?.click();
}

const keys = {
  j: () => step(1), ArrowRight: () => step(1), k: () => step(-1), ArrowLeft: () => step(-1),
  "]": () => follow("next"), "[": () => follow("prev"), u: () => follow("up"),
  "/": () => document.getElementById("q")?.focus(), "?": () => help?.showModal(),
};

document.addEventListener("keydown", (event) => {
  // A dialog that was just closed keeps the focus until the next frame.
  const typing = event.target.closest("input, select, textarea, dialog[open]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});

document.querySelector("[data-help]")?.addEventListener("click", () => help.showModal());

if (matchMedia("(max-width: 860px)").matches) document.querySelector("details.filters")?.removeAttribute("open");
