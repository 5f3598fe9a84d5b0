"""Predictions as official leaderboards take them: `identifier,true` lines, or VCR's 20 probabilities a question.

Nothing needs to be known of the answers, so it works for hidden splits. What `veridical evaluate` reads back is the
same.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark
from veridical.common.files import read_lines, write_whole
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.evaluation.readers import ANSWER_COLUMNS, RATIONALE_COLUMNS, PredictionLine
from veridical.records import Item, split_view

CHOICES = 4


@dataclass(frozen=True)
class Submission(Result):
    """Predictions as an official leaderboard takes them."""

    out: Path
    rows: int

    def parts(self) -> Iterator[Table | str]:
        yield Table("", ("written to", "rows"), [(self.out, f"{self.rows:,}")])


def write_submission(
    benchmark: Path | str, predictions: Path | str, out: Path | str, *, split: str, scheme: str = "main"
) -> Submission:
    """Write a prediction file (JSON lines) as the official CSV of its benchmark."""
    bench = Benchmark(benchmark)
    items = list(bench.items(split, scheme))
    lines = read_lines(Path(predictions), PredictionLine, 'Each line is {"item": "...", "scores": [...]}.')
    scores = {one.item: one.scores or [] for one in lines}
    if bench.task == "statement":
        rows = _statements(items, scores, split)
    elif bench.task == "choice" and all(len(item.candidates) == CHOICES for item in items):
        rows = _questions(items, scores)
    else:
        raise UserError(f"{bench.name} has no official submission file.", "NLVR, NLVR2 and VCR have one.")
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    out = Path(out)
    write_whole(out, text.getvalue())
    return Submission(out, len(rows) - (bench.task == "choice"))


def _statements(items: Sequence[Item], scores: dict[str, list[float]], split: str) -> list[list[str]]:
    known = {item.id for item in items}
    rows, missing = [], set(known)
    for name, found in scores.items():
        item, view = split_view(name)
        if item not in known:
            continue
        missing.discard(item)
        if len(found) != 2:
            raise UserError(f"The prediction of {name} could not be read.", "Official files must say true or false.")
        shown = item if view is None else f"{split}-{item}-{view}.png"
        rows.append([shown, "true" if found[1] > found[0] else "false"])
    _all_there(missing)
    return rows


def _questions(items: Sequence[Item], scores: dict[str, list[float]]) -> list[list[str]]:
    """A header, and a row for each question: its answers, then the rationales given each answer."""
    rows = [["annot_id", *ANSWER_COLUMNS, *RATIONALE_COLUMNS]]
    _all_there({item.id for item in items} - scores.keys())
    reasons = {(item.parent, item.given): item.id for item in items if item.parent is not None}
    for item in items:
        if item.parent is not None:
            continue
        names = [item.id, *(reasons.get((item.id, given), "") for given in range(CHOICES))]
        if "" in names:
            raise UserError(f"Question {item.id} has no rationale items.", "The official file asks for both stages.")
        cells = np.concatenate([_probabilities(scores[name]) for name in names])
        rows.append([item.id, *(f"{cell:.6g}" for cell in cells)])
    return rows


def _probabilities(scores: list[float]) -> np.ndarray:
    """Scores as probabilities; those that could not be read are no numbers."""
    if len(scores) != CHOICES:
        return np.full(CHOICES, np.nan)
    numbers = np.array(scores, np.float64)
    if (numbers >= 0).all() and abs(numbers.sum() - 1) < 1e-6:
        return numbers
    raised = np.exp(numbers - numbers.max())
    return np.asarray(raised / raised.sum())


def _all_there(missing: set[str]) -> None:
    if missing:
        raise UserError(
            f"{len(missing):,} items have no prediction, such as {sorted(missing)[0]}.",
            "Leaderboards take whole splits only: predict every item.",
        )
