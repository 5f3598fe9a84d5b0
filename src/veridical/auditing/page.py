"""The audit as one self-contained HTML page: verdicts at a glance, then each check with number, power and examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.auditing.findings import FAIL, ORDER, Finding, Verdict
from veridical.pages.markup import Block, Bullets, Chapter, Paragraph, PlotFigure, page
from veridical.pages.plots import PlotMark, dots

if TYPE_CHECKING:
    from veridical.auditing.run import Audit

COLOURS: dict[Verdict, str] = {  # as the style sheet has them
    "pass": "#2b7a58",
    "warn": "#9a7416",
    "fail": "#b3432b",
    "cannot tell": "#5b5f97",
    "not applicable": "#8a93a0",
}
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
    """One check: its verdict, number, power and examples; briefly where it does not apply."""

    macro = "finding"
    finding: Finding


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
            chapters.append(Chapter(title, (*([Paragraph(said, "lead")] if said else []), *map(FindingCard, found))))
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


def _overview(result: Audit) -> list[PlotFigure]:
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
    return [PlotFigure(plot, caption, title="Guessers and their references")] if plot else []
