"""The page itself: one HTML file with its style inside, no script, nothing to fetch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from veridical import __version__
from veridical.pages.blocks import Section
from veridical.pages.markup import Markup, element
from veridical.reporting.studies import Study
from veridical.reporting.tables import plain_table

TASKS = {
    "nlvr": "a drawing of three boxes and a sentence: true or false?",
    "nlvr2": "two photographs and a sentence: true or false?",
    "vprom": "a matrix of images, the last one missing: which of the candidates fits?",
    "vcr": "visual commonsense reasoning (VCR): which answer to a question about a photograph, and for which reason?",
    "statement": "a sentence about a scene: true or false?",
    "matrix": "a matrix of images, the last one missing: which of the candidates fits?",
    "choice": "a question about an image: which answer?",
}
# Nothing is loaded from anywhere, whatever text a benchmark holds.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Chapter:
    """All sections about one benchmark, or about none."""

    title: str
    lead: tuple[Markup, ...]
    sections: tuple[Section, ...]


def page(title: str, lead: str, chapters: Sequence[Chapter], foot: Sequence[Markup]) -> str:
    """The whole page."""
    style = files("veridical.pages").joinpath("style.css").read_text(encoding="utf-8")
    anchors = _anchors(chapters)
    body = [
        element("header", element("p", "Veridical report", class_="brand"), element("h1", title), element("p", lead)),
        _contents(chapters, anchors),
        element("main", *(_chapter(c, anchors[n]) for n, c in enumerate(chapters))),
        element("footer", *foot, class_="page"),
    ]
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="generator", content=f"veridical {__version__}"),
        element("title", title),
        element("style", Markup(style)),
    ]
    html = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!doctype html>\n{html}\n"


def _anchors(chapters: Sequence[Chapter]) -> list[tuple[str, list[str]]]:
    """Names to link to, each once on the page."""
    out, taken = [], set()
    for chapter in chapters:
        names = []
        for text in (chapter.title, *(f"{chapter.title} {s.title}" for s in chapter.sections)):
            name = base = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"
            number = 2
            while name in taken:
                name, number = f"{base}-{number}", number + 1
            taken.add(name)
            names.append(name)
        out.append((names[0], names[1:]))
    return out


def _contents(chapters: Sequence[Chapter], anchors: list[tuple[str, list[str]]]) -> Markup:
    entries = []
    for chapter, (own, inner) in zip(chapters, anchors, strict=True):
        links = [element("a", s.title, href=f"#{a}") for s, a in zip(chapter.sections, inner, strict=True)]
        entries.append(element("li", element("a", chapter.title, href=f"#{own}"), *links))
    return element("nav", element("ul", *entries), aria_label="Contents")


def _chapter(chapter: Chapter, anchors: tuple[str, list[str]]) -> Markup:
    own, inner = anchors
    sections = [
        element("section", element("h3", s.title), *s.parts, id=a) for s, a in zip(chapter.sections, inner, strict=True)
    ]
    return element("section", element("h2", chapter.title), *chapter.lead, *sections, id=own, class_="chapter")


def study_lead(study: Study, said: Sequence[str]) -> tuple[Markup, ...]:
    """What a benchmark is, what was found, and what a reader should know."""
    counts = study.benchmark.manifest["counts"]["items"]
    sizes = [
        f"{_place(scheme, split)} {number:,}" + (" (hidden)" if study.benchmark.is_hidden(split) else "")
        for scheme in sorted(counts)
        for split, number in sorted(counts[scheme].items())
        if scheme in {s for s, _ in study.parts} or len(counts) == 1
    ]
    asked = TASKS.get(study.kind or "", TASKS.get(study.benchmark.task, study.benchmark.task))
    what = f"Task: {asked} Items: {', '.join(sizes)}."
    parts = [element("p", what, class_="lead")]
    if said:
        parts.append(element("ul", *(element("li", line) for line in said), class_="findings"))
    parts += [element("p", note, class_="warning") for note in dict.fromkeys(study.notes)]
    return tuple(parts)


def _place(scheme: str, split: str) -> str:
    return split if scheme == "main" else f"{scheme} {split}"


def provenance(studies: Sequence[Study]) -> list[Markup]:
    """Where every number comes from: files, hashes, seed and version."""
    rows = []
    for study in studies:
        for system in study.systems:
            for part, result in system.results.items():
                for run, scores in zip(result.runs, result.scores, strict=True):
                    where = _place(*part)
                    hashes = [element("code", h[:16]) for h in (scores.predictions_hash, scores.benchmark_hash)]
                    rows.append([system.name, run.path.name, scores.benchmark, where, *hashes])
    parts = [element("h2", "Where the numbers come from")]
    if rows:
        parts.append(plain_table(["file", "benchmark", "split", "sha256 of file", "benchmark hash"], rows, "system"))
    some = next((r.first for s in studies for system in s.systems for r in system.results.values()), None)
    seed = f" Bootstrap seed {some.seed}, {some.resamples:,} resamples." if some else ""
    parts.append(element("p", f"Made by veridical {__version__}.{seed}", class_="note"))
    return parts
