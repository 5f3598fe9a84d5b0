"""The right answers of a benchmark of choices, ready to be matched anew: its questions, photographs, splits, tags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark
from veridical.benchmark.splits import blocks, vcr_folds
from veridical.errors import UserError
from veridical.matching.data.table import Asked
from veridical.records import Item, Text

LARGEST = 30_000  # questions of one matching: larger splits are matched in folds


@dataclass(frozen=True)
class Rebuilt:
    """What a benchmark holds, as rows to match."""

    benchmark: Benchmark
    rows: list[Asked]
    notes: tuple[str, ...]


def read_benchmark(folder: Path | str) -> Rebuilt:
    """Read the right answer (and rationale) of every question; the fold of a question is its split."""
    opened = Benchmark(folder)
    if opened.task != "choice":
        raise UserError(
            f"{opened.name} is a benchmark of {opened.task}s.", "Only questions with choices can be matched."
        )
    rows: list[Asked] = []
    skipped = 0
    for split in opened.splits():
        reveal = opened.is_hidden(split)
        items = list(opened.items(split, answers=reveal))
        reasons = {item.parent: item for item in items if item.parent is not None and item.answer is not None}
        found = [_row(opened, item, reasons.get(item.id), split) for item in items if item.parent is None]
        kept = [row for row in found if row is not None]
        skipped += len(found) - len(kept)
        rows += _folded(kept, split)
    if not rows:
        raise UserError(f"{opened.name} has no question whose answer is known and written.", "Give another benchmark.")
    with_reasons = sum(row.rationale is not None for row in rows)
    if 0 < with_reasons < len(rows):
        raise UserError(
            f"{with_reasons:,} of {len(rows):,} questions have a rationale.", "Give all of them one, or none."
        )
    notes = (f"Left out: {skipped:,} questions without a known answer.",) if skipped else ()
    return Rebuilt(opened, rows, notes)


def _row(opened: Benchmark, item: Item, reason: Item | None, split: str) -> Asked | None:
    if item.answer is None or item.query is None:
        return None
    answer = item.candidates[item.answer]
    why = reason.candidates[reason.answer] if reason is not None and reason.answer is not None else None
    if not isinstance(answer, Text) or isinstance(why, str):
        return None
    tags = tuple((name, value) for name, value in item.tags if name != "borrowed")
    panel = opened.panels.get(item.panels[0]) if len(item.panels) == 1 else None
    return Asked(item.id, item.query, answer, why, item.origins, split, panel, tags, item.panels, item.writer)


def _folded(rows: list[Asked], split: str) -> list[Asked]:
    """One fold for a split, or several by origin where it is large; `split:0` is a fold of `split`."""
    from dataclasses import replace

    parts = -(-len(rows) // LARGEST)
    if parts <= 1:
        return rows
    block = [str(one) for one in blocks([row.origins or (row.id,) for row in rows])]
    dealt = vcr_folds(block, np.random.default_rng(0), parts)
    return [replace(row, fold=f"{split}:{fold}") for row, fold in zip(rows, dealt, strict=True)]
