// Guidelines checked while somebody types: the same evaluation as veridical/web/collect/rules.py, over the same JSON.
"use strict";

const SPACE = /[ \t\n\r\f\v\u00a0]+/g;
const WORD = /[a-z0-9'\u00c0-\u024f-]+/g;
const compiled = new Map();

export function plain(text) {
  return text.toLowerCase().replace(/[’‘]/g, "'").replace(SPACE, " ").replace(/^ +| +$/g, "");
}

function found(expressions, seen) {
  return (expressions ?? []).some((one) => {
    if (!compiled.has(one)) compiled.set(one, new RegExp(one, "u"));
    return compiled.get(one).test(seen);
  });
}

/** The rules that a text breaks, in the order of the file. */
export function check(rules, text) {
  const seen = plain(text);
  const size = (seen.match(WORD) ?? []).length;
  return rules.filter((rule) =>
    (rule.least != null && size < rule.least) || (rule.most != null && size > rule.most) ||
    (found(rule.any, seen) && !found(rule.unless, seen)));
}
