"""What solvers said, item by item: prediction files, marked by `veridical.evaluation` and by nothing else.

A solver is one name with a file for each part (scheme and split) that it was run on. How it did on an item is right,
right in some views, wrong, or no answer; right on the rationale is counted where the right answer is assumed.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from veridical.benchmark import Benchmark
from veridical.common.arrays import Ints
from veridical.common.files import DECODING_ERRORS
from veridical.common.result import Caution, remark
from veridical.evaluation.grade import AnswerKey, Grades, read_key
from veridical.evaluation.metrics import per_item
from veridical.evaluation.opened import open_predictions
from veridical.pages.plots import colour
from veridical.reporting.examples import WrittenAnswer
from veridical.reporting.inputs import RunFile

Part = tuple[str, str]  # scheme and split
GRADES = ("wrong", "right in some views", "right", "no answer")
WRONG, SOME, RIGHT, NONE = range(4)
NOT_ASKED = -1


@dataclass(frozen=True)
class MarkedFile:
    """One file of predictions, marked."""

    path: Path
    grades: Grades

    def chosen(self, row: int) -> list[int]:
        """What was chosen for an item: one candidate, or one for each view; -1 unreadable, -2 missing."""
        return [int(one) for one in self.grades.chosen[self._examples(row)]]

    def scores(self, row: int) -> list[list[float]]:
        """The scores that were given for an item, or for each of its views."""
        examples = self._examples(row)
        return [self.grades.scores(one) for one in range(examples.start, examples.stop)]

    def written(self, row: int) -> str:
        """What the solver wrote about an item (a model's words, a program), where its file keeps it."""
        examples = self._examples(row)
        rows = self.grades.row[examples]
        known = rows[rows >= 0]
        line = int(self.grades.read.line[known[0]]) if len(known) else 0
        return self._raw(line) if line and self.path.suffix == ".jsonl" and self.path.is_file() else ""

    @cached_property
    def marks(self) -> Ints:
        """Per item: how it did, as a place in `GRADES`; -1 where it was not asked."""
        grades, count = self.grades, len(self.grades.key.ids)
        right = per_item(grades.item, grades.right, count)
        answered = per_item(grades.item, grades.chosen >= 0, count)
        marks = np.select([right == grades.examples, right > 0, answered > 0], [RIGHT, SOME, WRONG], NONE)
        return np.where(grades.examples > 0, marks, NOT_ASKED)

    @cached_property
    def rationale_marks(self) -> Ints:
        """Per item: how it did on the rationale given the right answer; -1 where there is none."""
        key = self.grades.key
        out = np.full(len(key.ids), NOT_ASKED, np.int64)
        children = np.flatnonzero((key.parent >= 0) & (key.given >= 0))
        apt = children[key.given[children] == key.answer[key.parent[children]]]
        out[key.parent[apt]] = self.marks[apt]
        return out

    @cached_property
    def _starts(self) -> Ints:
        return np.asarray(np.cumsum(self.grades.examples) - self.grades.examples)

    def _examples(self, row: int) -> slice:
        start = int(self._starts[row])
        return slice(start, start + int(self.grades.examples[row]))

    @cached_property
    def _lines(self) -> Ints:
        """Where the lines of the file start."""
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            letters = np.frombuffer(whole, np.uint8)
            starts = np.concatenate([[0], np.flatnonzero(letters == ord("\n")) + 1])
            del letters  # the map cannot be closed before
        return starts

    def _raw(self, line: int) -> str:
        with self.path.open("rb") as file:
            file.seek(int(self._lines[line - 1]))
            try:
                return msgspec.json.decode(file.readline(), type=WrittenAnswer).raw or ""
            except DECODING_ERRORS:  # a file of another shape, or one that changed since
                return ""


@dataclass
class ExploredSolver:
    """A solver with its files."""

    name: str
    place: int
    files: dict[Part, MarkedFile] = field(default_factory=dict)

    @property
    def colour(self) -> str:
        return colour(self.place)


def open_solvers(benchmark: Benchmark, runs: Sequence[RunFile], hidden: bool) -> list[ExploredSolver]:
    """Mark every file. Files about hidden splits are left out, unless hidden answers may be shown."""
    found: dict[str, ExploredSolver] = {}
    keys: dict[Part, AnswerKey] = {}
    for run in runs:
        opened = open_predictions(run.path)
        scheme, split = opened.part(benchmark, run.split, run.scheme)
        if benchmark.is_hidden(split) and not hidden:
            remark(Caution(f"{run.path} is about {split}, whose answers are hidden: left out. --hidden shows it."))
            continue
        if (scheme, split) not in keys:
            keys[scheme, split] = read_key(benchmark, split, scheme, tags=False)
        grades = opened.grade(keys[scheme, split])
        limit = opened.limit(grades)
        if limit is not None:
            grades = opened.grade(grades.key.first(limit))
        name = _free(run, (scheme, split), found)
        solver = found.setdefault(name, ExploredSolver(name, len(found)))
        solver.files[scheme, split] = MarkedFile(run.path, grades)
    return list(found.values())


def _free(run: RunFile, part: Part, taken: dict[str, ExploredSolver]) -> str:
    """The solver's name; another file about the same part is a solver of its own, called after the file, too."""
    out, number = run.name, 1
    while out in taken and part in taken[out].files:
        out = f"{run.name} ({run.path.stem})" if number == 1 else f"{run.name} ({number})"
        number += 1
    return out
