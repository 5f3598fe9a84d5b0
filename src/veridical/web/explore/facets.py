"""Facets: what items can be told apart by, and the numbers of their values.

Split, answer, each tag, how each solver did, whether solvers agree, what the audit found. A tag that is called like one
of ours is marked as a tag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark
from veridical.common.arrays import Ints
from veridical.pages.cards import LETTERS
from veridical.web.explore.findings import ItemFinding
from veridical.web.explore.solvers import GRADES, NONE, NOT_ASKED, RIGHT, WRONG, ExploredSolver

SPLIT, ANSWER, SOLVERS, AUDIT, SOLVER, TAG = "split", "answer", "solvers", "audit", "solver ", "tag "
HIDDEN, NO_ANSWER = "hidden", "no answer"
AGREEMENT = ("all wrong", "differ", "all right")
RATIONALE = ", rationale"


@dataclass(frozen=True)
class Facet:
    """One thing that items can be told apart by."""

    name: str
    title: str  # for people
    values: tuple[str, ...]
    first: int  # the number of its first value; the others follow


class FacetTable:
    """All facets of a scheme; every value has a number of its own."""

    def __init__(
        self,
        benchmark: Benchmark,
        scheme: str,
        solvers: Sequence[ExploredSolver],
        tags: Sequence[tuple[str, str]],
        checks: Sequence[str] = (),
    ) -> None:
        self.scheme, self.task = scheme, benchmark.task
        self.hidden = {split for split in benchmark.splits_of(scheme) if benchmark.is_hidden(split)}
        self.facets: dict[str, Facet] = {}
        self._pairs: dict[tuple[str, str], int] = {}
        self._add(SPLIT, "Split", benchmark.splits_of(scheme))
        known = ("false", "true") if self.task == "statement" else tuple(LETTERS)
        self._add(ANSWER, "Right answer", (*known, HIDDEN, NO_ANSWER))
        asked = [one for one in solvers if any(part[0] == scheme for part in one.files)]
        for solver in asked:
            self._add(f"{SOLVER}{solver.name}", solver.name, GRADES)
            if benchmark.task == "choice":
                self._add(f"{SOLVER}{solver.name}{RATIONALE}", f"{solver.name}: the rationale", GRADES)
        if len(asked) > 1:
            self._add(SOLVERS, "Solvers", AGREEMENT)
        self._tags: dict[str, str] = {}  # tag -> facet
        values: dict[str, list[str]] = {}
        for name, value in tags:
            values.setdefault(name, []).append(value)
        for name, own in values.items():
            self._tags[name] = f"{TAG}{name}" if name in self.facets or name == AUDIT else name
            self._add(self._tags[name], name.replace("_", " ").capitalize(), own)
        if checks:
            self._add(AUDIT, "Audit finding", checks)

    def _add(self, name: str, title: str, values: Sequence[str]) -> None:
        self.facets[name] = Facet(name, title, tuple(values), len(self._pairs))
        for value in values:
            self._pairs[name, value] = len(self._pairs)

    def numbers(self, facet: str) -> range:
        found = self.facets.get(facet)
        return range(0) if found is None else range(found.first, found.first + len(found.values))

    def pair(self, facet: str, value: str) -> int | None:
        """The number of a facet's value; None where there is none such."""
        return self._pairs.get((facet, value))

    def tag_facet(self, tag: str) -> str:
        """The facet of a tag."""
        return self._tags.get(tag, tag)

    def number(self, facet: str, value: str) -> int:
        """The same, of a value that there is."""
        return self._pairs[facet, value]

    def tag_pairs(self) -> pa.Table:
        """The numbers of all tags, for DuckDB."""
        rows = [(tag, value, self.pair(facet, value)) for tag, facet in self._tags.items()
                for value in self.facets[facet].values]  # fmt: skip
        names, values, numbers = zip(*rows, strict=True) if rows else ((), (), ())
        columns = {"name": pa.array(names, pa.string()), "value": pa.array(values, pa.string())}
        return pa.table(columns | {"pair": pa.array(numbers, pa.int32())})


def split_facets(
    facets: FacetTable,
    split: str,
    items: pa.Table,
    solvers: Sequence[ExploredSolver],
    findings: Mapping[str, Sequence[ItemFinding]],
) -> pa.Table:
    """Of each item of a split the numbers of what it is beside its tags: columns m0, m1 ..., -1 where it is nothing."""
    count = len(items)
    first = facets.facets[ANSWER].first
    answer = np.asarray(items["answer"].fill_null(-1)).astype(np.int64)
    unknown = facets.number(ANSWER, HIDDEN if split in facets.hidden else NO_ANSWER)
    columns = [np.full(count, facets.number(SPLIT, split)), np.where(answer >= 0, first + answer, unknown)]
    marks = []
    for solver in solvers:
        file = solver.files.get((facets.scheme, split))
        if file is None:
            continue
        marks.append(file.marks)
        columns.append(_numbered(facets, f"{SOLVER}{solver.name}", file.marks))
        columns.append(_numbered(facets, f"{SOLVER}{solver.name}{RATIONALE}", file.rationale_marks))
    if len(marks) > 1:
        columns.append(_numbered(facets, SOLVERS, agreement(marks)))
    named = {f"m{k}": pa.array(column.astype(np.int32)) for k, column in enumerate(columns)}
    row = pa.array(np.arange(count, dtype=np.int32))
    return pa.table({"row": row, **named, "found": _found(facets, items["id"], findings)})


def _numbered(facets: FacetTable, name: str, marks: Ints) -> Ints:
    first = facets.numbers(name)
    return np.where(marks >= 0, first.start + marks, -1) if first else np.full(len(marks), -1)


def agreement(marks: Sequence[Ints]) -> Ints:
    """Whether the solvers that were asked are all right, all wrong (or silent), or differ; -1 where it is no two.

    >>> agreement([np.array([2, 2, 0, 2]), np.array([2, 0, 3, -1])])
    array([ 2,  1,  0, -1])
    """
    each = np.stack(marks)
    asked = each != NOT_ASKED
    right = ((each == RIGHT) | ~asked).all(0)
    wrong = ((each == WRONG) | (each == NONE) | ~asked).all(0)
    return np.where(asked.sum(0) > 1, np.select([right, wrong], [2, 0], 1), -1)


def _found(facets: FacetTable, ids: pa.ChunkedArray, findings: Mapping[str, Sequence[ItemFinding]]) -> pa.Array:
    if not findings:
        return pa.ListArray.from_arrays(pa.array(np.zeros(len(ids) + 1, np.int32)), pa.array([], pa.int32()))
    each = ({facets.pair(AUDIT, one.check) for one in findings.get(name, ())} for name in ids.to_pylist())
    return pa.array([sorted(p for p in own if p is not None) for own in each], pa.list_(pa.int32()))
