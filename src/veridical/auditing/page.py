"""The audit as one self-contained HTML page: verdicts at a glance, then each check with number, power and examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.auditing.findings import FAIL, ORDER, Example, Finding, Verdict
from veridical.pages.markup import Block, Bullets, Chapter, Figure, Paragraph, page
from veridical.pages.plots import PlotMark, dots
from veridical.pages.tables import PageTable, facts

if TYPE_CHECKING:
    from veridical.auditing.run import Audit

COLOURS: dict[Verdict, str] = {  # as the style sheet has them
    "pass": "#2b7a58",
    "warn": "#9a7416",
    "fail": "#b3432b",
    "cannot tell": "#5b5f97",
    "not applicable": "#8a93a0",
}
UNITS = {"accuracy": "right", "share": "share", "count": "number", "alpha": "alpha", "auc": "area"}
CHAPTERS: dict[str, tuple[str, tuple[str, ...]]] = {
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
RULES = (
    "An advantage is the share of the way from the reference to a perfect score: "
    f"{100 * FAIL:.0f}% fails, less warns, and what chance explains (three standard errors, groups resampled) "
    "passes. A pass counts only where the same model found a planted cue of that size. All rules and limits stand "
    "in the module veridical.auditing.findings."
)


@dataclass(frozen=True)
class VerdictTiles(Block):
    """How many checks came out how."""

    macro = "tiles"
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class FindingCard(Block):
    """One check; briefly where it does not apply."""

    macro = "finding"
    check: str
    title: str
    verdict: str
    says: str
    do: str = ""
    numbers: PageTable | None = None
    power: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def brief(self) -> bool:
        return self.verdict == "not applicable"


def html(result: Audit) -> str:
    """The page."""
    sizes = ", ".join(f"{name} {number:,}" for name, number in result.splits.items())
    about = (
        f"{result.task} items: {sizes}. Scheme {result.scheme}, seed {result.options.seed}, {result.seconds:.0f} s, "
        f"veridical {result.version}, benchmark {result.hash[:16]}."
    )
    counts = tuple((verdict, sum(f.verdict == verdict for f in result.findings)) for verdict in ORDER)
    lead = [Paragraph(about, "lead"), Bullets((_summary(result),)), VerdictTiles(counts), *_overview(result)]
    placed = {name for _, names in CHAPTERS.values() for name in names}
    rest = tuple(f.check for f in result.findings if f.check not in placed)
    chapters = []
    for title, (said, names) in (CHAPTERS | {"Other checks": ("", rest)}).items():
        found = sorted((f for f in result.findings if f.check in names), key=lambda f: ORDER.index(f.verdict))
        if found:
            chapters.append(Chapter(title, (*([Paragraph(said, "lead")] if said else []), *map(_card, found))))
    chapters.append(Chapter("How to read it", (Paragraph(RULES, "lead"),)))
    return page("Veridical audit", f"Audit of {result.benchmark}", lead, chapters)


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


def _overview(result: Audit) -> list[Figure]:
    """Guessers against their references, in one picture."""
    marks = [
        PlotMark(
            f.title, f.number, f.low, f.high, COLOURS[f.verdict], (f.reference_name or "reference", f.reference or 0.0)
        )
        for f in result.findings
        if f.unit == "accuracy" and f.number is not None and f.check != "human"
    ]
    caption = "Accuracy, percent, with 95% intervals; the upright line is what each guesser is held against."
    plot = dots("Accuracy of guessers with 95% intervals; the line is their reference", marks) if marks else None
    return [Figure(plot, caption, title="Guessers and their references")] if plot else []


def _card(f: Finding) -> FindingCard:
    if f.verdict == "not applicable":
        return FindingCard(f.check, f.title, f.verdict, f.says)
    return FindingCard(f.check, f.title, f.verdict, f.says, f.do, _numbers(f), tuple(_power(f)), f.examples)


def _numbers(f: Finding) -> PageTable | None:
    """The number with its interval and reference, then those of its parts."""
    whole = ("worst stage" if "stages" in f.details else "all", f.number, f.low, f.high, f.reference)
    found: Sequence[tuple[str, float | None, float | None, float | None, float | None]] = [
        *([] if f.unit == "count" else [whole]),
        *(f.parts if len(f.parts) > 1 else ()),
    ]
    rows = [
        [name, _value(f, number), _interval(f, low, high), "" if reference is None else _value(f, reference)]
        for name, number, low, high, reference in found
        if number is not None
    ]
    return facts((UNITS[f.unit], "95% interval", f.reference_name or "reference"), rows) if rows else None


def _value(f: Finding, value: float) -> str:
    if f.unit == "count":
        return f"{value:,.0f}"
    return f"{value:.3f}" if f.unit == "alpha" else f"{100 * value:.1f}%"


def _interval(f: Finding, low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{_value(f, low)} to {_value(f, high)}"


def _power(f: Finding) -> list[str]:
    """What the check could have seen, in words."""
    p = f.power
    if p is None:
        return []
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
    return lines
