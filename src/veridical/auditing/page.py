"""The audit as one self-contained HTML page: verdicts at a glance, then each check with number, power and examples.

No script and no outside file; everything that comes from a benchmark is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from veridical.auditing.findings import FAIL, ORDER, Finding, Verdict

if TYPE_CHECKING:
    from veridical.auditing.run import Audit

COLOURS: dict[Verdict, str] = {
    "pass": "#2f7d5b",
    "warn": "#b7791f",
    "fail": "#b23a34",
    "cannot tell": "#5b5f97",
    "not applicable": "#8a93a0",
}
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Can it be guessed?": (
        "Models that do not see what they would need are trained and tested on groups of items that share nothing. "
        "Each must also find a cue that was planted for it: otherwise it cannot tell.",
        (
            "text-only",
            "image-only",
            "response-only",
            "question-only",
            "swapped-context",
            "text-only-neural",
            "image-only-neural",
            "response-only-neural",
        ),
    ),
    "Biases and cues": (
        "Shortcuts that need no reading or looking, and single words or things that are tied to the answer.",
        ("label", "position", "length", "frequency", "overlap", "n-grams", "elements", "single-label"),
    ),
    "Leaks between splits": (
        "What a model may have met in training. Leaks are counted, not sampled.",
        ("origin-leak", "image-leak", "near-image-leak", "text-leak", "near-text-leak", "item-leak"),
    ),
    "People": (
        "Whether the labels can be trusted, and how well people do.",
        ("ambiguous", "unanswerable", "agreement", "human"),
    ),
    "Contamination": ("Whether models may have been trained on the benchmark itself.", ("canary", "membership")),
}

STYLE = """
:root { --ink: #1d2531; --soft: #5a6472; --line: #e4e7eb; --paper: #fff; --ground: #f5f6f8 }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
main { max-width: 1000px; margin: 0 auto; padding: 32px 24px 64px }
h1 { font-size: 26px; margin: 0 0 4px }
h2 { font-size: 19px; margin: 40px 0 4px }
h3 { font-size: 16px; margin: 0; display: inline }
p { margin: 6px 0 }
.soft { color: var(--soft) }
.tag { display: inline-block; min-width: 92px; text-align: center; border-radius: 4px; padding: 1px 8px; color: #fff;
  font-size: 13px; font-weight: 600; margin-right: 10px }
.top { display: flex; gap: 12px; flex-wrap: wrap; margin: 20px 0 }
.tile { background: var(--paper); border: 1px solid var(--line); border-top: 4px solid; border-radius: 6px;
  padding: 8px 16px; min-width: 120px }
.tile b { display: block; font-size: 26px; line-height: 1.2 }
.card { background: var(--paper); border: 1px solid var(--line); border-left: 4px solid; border-radius: 6px;
  padding: 14px 18px; margin: 12px 0 }
.card.quiet { padding: 8px 18px }
.do { border-left: 3px solid var(--line); padding-left: 10px }
table { border-collapse: collapse; margin: 8px 0; font-size: 14px; width: 100% }
td, th { text-align: left; padding: 3px 10px 3px 0; vertical-align: top; border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 500 }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
td.id { color: var(--soft); font-size: 13px; overflow-wrap: anywhere; min-width: 76px; max-width: 220px }
td.w { overflow-wrap: anywhere }
details summary { cursor: pointer; color: var(--soft); margin-top: 6px }
svg { display: block; margin: 8px 0; max-width: 100% }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft) }
@media print { body { background: #fff } .card { break-inside: avoid } }
"""


def html(result: Audit) -> str:
    """The page."""
    title = f"Audit of {result.benchmark}"
    sizes = ", ".join(f"{name} {number:,}" for name, number in result.splits.items())
    about = (
        f"{result.task} items: {sizes}. Scheme {result.scheme}, seed {result.options.seed}, {result.seconds:.0f} s, "
    )
    about += f"veridical {result.version}, benchmark {result.hash[:16]}."
    body = [f"<h1>{escape(title)}</h1>", f'<p class="soft">{escape(about)}</p>', f"<p>{escape(_summary(result))}</p>"]
    body.append(_tiles(result))
    body.append(_overview(result))
    placed: set[str] = set()
    for heading, (lead, names) in SECTIONS.items():
        found = [f for f in result.findings if f.check in names]
        placed.update(names)
        if found:
            body += [f"<h2>{escape(heading)}</h2>", f'<p class="soft">{escape(lead)}</p>', *map(_card, _ranked(found))]
    rest = [f for f in result.findings if f.check not in placed]
    if rest:
        body += ["<h2>Other checks</h2>", *map(_card, _ranked(rest))]
    body.append(_rules())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def _ranked(found: list[Finding]) -> list[Finding]:
    return sorted(found, key=lambda f: ORDER.index(f.verdict))


def _summary(result: Audit) -> str:
    bad = [f for f in result.findings if f.verdict == "fail"]
    if bad:
        return (
            "Not as it is: " + "; ".join(f.title.lower() for f in bad) + " failed. What to do stands with each check."
        )
    unsure = [f for f in result.findings if f.verdict == "cannot tell"]
    if unsure:
        return "Nothing failed, but some checks cannot tell: they did not find the cue planted for them."
    warned = any(f.verdict == "warn" for f in result.findings)
    return "Nothing failed; look at the warnings." if warned else "No way to pass it without doing the task was found."


def _tiles(result: Audit) -> str:
    tiles = []
    for verdict in ORDER:
        number = sum(f.verdict == verdict for f in result.findings)
        tiles.append(f'<div class="tile" style="border-top-color:{COLOURS[verdict]}"><b>{number}</b>{verdict}</div>')
    return f'<div class="top">{"".join(tiles)}</div>'


def _overview(result: Audit) -> str:
    """Guessers against their references, in one picture."""
    shown = [f for f in result.findings if f.unit == "accuracy" and f.number is not None and f.check != "human"]
    if not shown:
        return ""
    left, wide, row = 220, 540, 30
    low = min(min(f.low or f.number or 0, f.reference or 1) for f in shown) - 0.03
    high = max(max(f.high or f.number or 0, f.reference or 0) for f in shown) + 0.03
    low, high = max(0.0, low), min(1.0, max(high, low + 0.1))

    def x(value: float) -> float:
        return round(left + wide * (value - low) / (high - low), 1)

    parts = ["<title>Accuracy of guessers with 95% intervals; the line is their reference</title>"]
    for place, f in enumerate(shown):
        y = 16 + row * place
        colour = COLOURS[f.verdict]
        number, reference = f.number or 0.0, f.reference or 0.0
        parts.append(f'<text x="{left - 14}" y="{y + 4}" text-anchor="end">{escape(f.title)}</text>')
        parts.append(f'<line x1="{left}" x2="{left + wide}" y1="{y}" y2="{y}" stroke="#eceef1"/>')
        if f.low is not None and f.high is not None:
            parts.append(
                f'<line x1="{x(f.low)}" x2="{x(f.high)}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>'
            )
        line = f'x1="{x(reference)}" x2="{x(reference)}" y1="{y - 9}" y2="{y + 9}"'
        parts.append(f'<line {line} stroke="#1d2531" stroke-width="2"/>')
        tip = f"{f.title}: {100 * number:.1f}%, {f.reference_name} {100 * reference:.1f}%"
        parts.append(f'<circle cx="{x(number)}" cy="{y}" r="5" fill="{colour}"><title>{escape(tip)}</title></circle>')
        parts.append(
            f'<text x="{left + wide + 14}" y="{y + 4}">{100 * number:.1f}% (reference {100 * reference:.1f}%)</text>'
        )
    tall = 16 + row * len(shown)
    parts.append(f'<text x="{left}" y="{tall + 4}">{100 * low:.0f}%</text>')
    parts.append(f'<text x="{left + wide}" y="{tall + 4}" text-anchor="end">{100 * high:.0f}% right</text>')
    drawing = f'<svg role="img" viewBox="0 0 960 {tall + 12}">{"".join(parts)}</svg>'
    return f'<div class="card" style="border-left-color:#e4e7eb"><h3>Guessers and their references</h3>{drawing}</div>'


def _card(f: Finding) -> str:
    colour = COLOURS[f.verdict]
    head = f'<span class="tag" style="background:{colour}">{f.verdict}</span><h3>{escape(f.title)}</h3>'
    if f.verdict == "not applicable":
        why = f'<span class="soft">{escape(f.says)}</span>'
        return f'<div class="card quiet" style="border-left-color:{colour}">{head} {why}</div>'
    parts = [head, f"<p>{escape(f.says)}</p>"]
    if f.do:
        parts.append(f'<p class="do"><b>What to do:</b> {escape(f.do)}</p>')
    parts += [_numbers(f), _examples(f)]
    return f'<div class="card" id="{escape(f.check)}" style="border-left-color:{colour}">{"".join(parts)}</div>'


def _numbers(f: Finding) -> str:
    rows = []
    for name, number, low, high, reference in (
        ("worst stage" if "stages" in f.details else "all", f.number, f.low, f.high, f.reference),
        *(f.parts if len(f.parts) > 1 else ()),
    ):
        if number is not None and not (name in ("all", "worst stage") and f.unit == "count"):
            rows.append(
                (name, _value(f, number), _interval(f, low, high), "" if reference is None else _value(f, reference))
            )
    cells = "".join(
        f"<tr><td>{escape(name)}</td>" + "".join(f'<td class="n">{escape(v)}</td>' for v in values) + "</tr>"
        for name, *values in rows
    )
    names = (_UNITS[f.unit], "95% interval", escape(f.reference_name or "reference"))
    head = f"<tr><th></th>{''.join(f'<th class=n>{n}</th>' for n in names)}</tr>"
    numbers = f"<table>{head}{cells}</table>" if rows else ""
    return numbers + _power(f)


_UNITS = {"accuracy": "right", "share": "share", "count": "number", "alpha": "alpha", "auc": "area"}


def _value(f: Finding, value: float) -> str:
    if f.unit == "count":
        return f"{value:,.0f}"
    return f"{value:.3f}" if f.unit == "alpha" else f"{100 * value:.1f}%"


def _interval(f: Finding, low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{_value(f, low)} to {_value(f, high)}"


def _power(f: Finding) -> str:
    p = f.power
    if p is None:
        return ""
    lines = []
    if p.control is not None and p.seen is not None:
        word = "found" if p.ok else "not found"
        plant = f"{p.plant[:1].lower()}{p.plant[1:]}"
        line = f"Positive control {word}: {plant}, in {100 * p.control:.0f}%. It is seen with {100 * p.seen:.0f}% power"
        lines.append(line + ("." if p.gain is None else f"; the guesser wins {100 * p.gain:.0f}% of what it is worth."))
        if f.verdict in ("warn", "fail") and not p.ok:
            lines = ["The control does not matter here: a real cue was found without it."]
    if p.smallest and f.verdict in ("pass", "cannot tell"):
        line = f"Smallest effect it sees with 80% power: {100 * p.smallest:.1f}% of the items given away"
        lines.append(f"{line} (the number of items alone allows {100 * p.ideal:.1f}%).")
    return "".join(f'<p class="soft">{escape(line)}</p>' for line in lines)


def _examples(f: Finding) -> str:
    if not f.examples:
        return ""
    rows = ""
    for e in f.examples:
        rows += f'<tr><td class="id">{escape(e.id)}</td><td class="w">{escape(e.text)}</td>'
        rows += f'<td class="id">{escape(e.note)}</td></tr>'
    state = " open" if f.verdict == "fail" else ""
    return f"<details{state}><summary>{len(f.examples)} examples</summary><table>{rows}</table></details>"


def _rules() -> str:
    text = (
        "An advantage is the share of the way from the reference to a perfect score: "
        f"{100 * FAIL:.0f}% fails, less warns, and what chance explains (three standard errors, groups resampled) "
        "passes. A pass counts only where the same model found a planted cue of that size. All rules and limits stand "
        "in the module veridical.auditing.findings."
    )
    return f'<h2>How to read it</h2><p class="soft">{escape(text)}</p>'
