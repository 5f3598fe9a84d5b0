"""Items as other evaluators ask them: a question, texts to choose from, and pictures that need nothing else.

What our own solvers draw is drawn here too: boxes around the objects that texts name, a matrix and its candidates as
one lettered picture, the three boxes of a drawing as the drawing. Pictures that are shown whole keep their bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from veridical.benchmark import Benchmark
from veridical.benchmark.pictures import MissingPicture
from veridical.benchmark.place import outside, staging
from veridical.benchmark.shown import Picture, Pictures, mentioned_in, object_names
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.formats.card import canary, summary, title
from veridical.records import LETTERS, Item, Text

MATRIX = "Which of the lettered pictures belongs in the place of the question mark?"


@dataclass(frozen=True)
class AskedItem:
    """An item, and what somebody who answers it is shown."""

    item: Item
    question: str
    choices: tuple[str, ...]
    pictures: tuple[Picture, ...]


def asked(benchmark: Benchmark, scheme: str, split: str) -> Iterator[AskedItem]:
    """The items of a split. Of rationale items those that assume the right answer; of a hidden split, all."""
    items = {item.id: item for item in benchmark.items(split, scheme)}
    pictures = Pictures(benchmark)
    for item in items.values():
        if item.answer is None and not benchmark.is_hidden(split):
            continue
        if len(item.candidates) > len(LETTERS):
            raise UserError(f"Item {item.id} has {len(item.candidates)} candidates; letters name {len(LETTERS)}.")
        try:
            yield _asked(benchmark, pictures, item, items.get(item.parent or ""))
        except MissingPicture as error:
            fix = "Import it again with --images or --fetch, so that the pictures are in it."
            raise UserError(error.problem, fix) from None


def _asked(benchmark: Benchmark, pictures: Pictures, item: Item, parent: Item | None) -> AskedItem:
    query = item.query.words() if item.query else ""
    if item.task == "matrix":
        letters = tuple(LETTERS[: len(item.candidates)])
        drawn = pictures.matrix(item, letters, range(len(letters)))
        return AskedItem(item, query or MATRIX, tuple(f"picture {one}" for one in letters), (drawn,))
    if item.task == "statement":
        return AskedItem(item, query, ("false", "true"), _of_statement(benchmark, pictures, item))
    names = object_names(item, benchmark.panels)
    mentioned = mentioned_in(item, parent, names)
    draw = partial(pictures.boxed, names=mentioned) if mentioned else pictures.panel
    question = _words(item.query, names) if item.query else ""
    if parent is not None and item.given is not None:
        question += f"\nAnswer: {_words(parent.candidates[item.given], names)}\nWhy is this the answer?"
    choices = tuple(_words(one, names) for one in item.candidates)
    return AskedItem(item, question, choices, tuple(draw(panel) for panel in item.panels))


def _of_statement(benchmark: Benchmark, pictures: Pictures, item: Item) -> tuple[Picture, ...]:
    """The whole drawing where the panels are its parts; otherwise each panel."""
    images = {benchmark.panels[name].image for name in item.panels if name in benchmark.panels}
    if item.views or (len(item.panels) > 1 and len(images) == 1):
        return (pictures.whole(item, None),)
    return tuple(pictures.panel(name) for name in item.panels)


def _words(text: Text | str, names: dict[str, str]) -> str:
    if isinstance(text, str):
        return text
    return text.readable(names) if text.tokens else text.raw


@dataclass(frozen=True)
class ExportFrame:
    """An export under way: a folder that becomes the target when all is written."""

    source: Benchmark
    target: Path
    folder: Path
    parts: dict[str, tuple[str, str]]  # name -> scheme and split
    progress: Progress

    def readme(self, text: str) -> None:
        """Write the README: its words with names put in."""
        manifest = self.source.manifest
        about = {"title": title(manifest), "summary": summary(manifest), "canary": canary(manifest)}
        names = ", ".join(f"`{name}`" for name in self.parts)
        filled = text.format(**about, folder=self.target, first=next(iter(self.parts)), names=names)
        (self.folder / "README.md").write_text(filled)


@contextmanager
def exporting(benchmark: Path | str, out: Path | str) -> Iterator[ExportFrame]:
    """Write what is asked into a folder, which appears whole or not at all."""
    source = Benchmark(benchmark)
    target = outside(out, source.directory)
    parts = named_parts(source)
    if not parts:
        raise UserError(f"{source.directory} has no items.", "Export a benchmark that has some.")
    counts = source.manifest["counts"]["items"]
    total = sum(counts[scheme][split] for scheme, split in parts.values())
    with staging(target) as work:
        folder = work / "export"
        folder.mkdir()
        with Progress("exporting", total, "items") as progress:
            yield ExportFrame(source, target, folder, parts, progress)
        if target.exists():
            target.rmdir()
        folder.rename(target)


def slug(name: str) -> str:
    """A name for files and tasks.

    >>> slug("visual commonsense reasoning (VCR)"), slug("问题")
    ('visual_commonsense_reasoning_vcr', 'benchmark')
    """
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "benchmark"


def named_parts(benchmark: Benchmark) -> dict[str, tuple[str, str]]:
    """A name for each scheme and split: NAME_SPLIT, with the scheme where there are several."""
    out: dict[str, tuple[str, str]] = {}
    several = len(benchmark.schemes) > 1
    for scheme, split in benchmark.parts:
        name = "_".join([slug(benchmark.name), *([slug(scheme)] if several else []), slug(split)])
        if name in out:
            fix = "Build the benchmark with other names of splits."
            raise UserError(f"Splits {out[name][1]!r} and {split!r} would both be {name!r}.", fix)
        out[name] = (scheme, split)
    return out
