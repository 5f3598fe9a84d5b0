// Filters of an exported site: facets and items lie in the page as JSON, what is chosen stands in the address.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const search = document.getElementById("q");
const found = document.getElementById("found");
const all = found.innerHTML;
const boxes = new Map(); // number of a value -> its checkbox

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

// A page's cards are a script beside it, loaded when one of them is shown.
const pages = new Map(); // page -> the promise of its cards, as markup
const arrived = new Map();
globalThis.takeCards = (page, cards) => arrived.set(page, cards);

function load(page) {
  if (!pages.has(page)) {
    pages.set(page, new Promise((done) => {
      const script = make("script", [], { src: data.cards[page] });
      script.addEventListener("load", () => done(arrived.get(page)));
      document.head.append(script);
    }));
  }
  return pages.get(page);
}

async function show(places) {
  const matches = document.getElementById("matches");
  const wanted = String(places);
  matches.dataset.wanted = wanted;
  const page = (at) => Math.floor(at / data.per_page);
  await Promise.all([...new Set(places.map(page))].map(load));
  if (matches.dataset.wanted !== wanted) return; // something else is wanted by now
  const markup = places.map((at) => arrived.get(page(at))[at % data.per_page]);
  matches.innerHTML = markup.join(""); // as the pages have it
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
  const kept = [...data.items.keys()].filter((at) =>
    groups.every((numbers) => numbers.some((number) => data.items[at].values.includes(number))) &&
    wanted.every((word) => data.items[at].words.includes(word)));
  document.getElementById("cards").hidden = active;
  document.getElementById("matches").hidden = !active;
  show(active ? kept : []);
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
