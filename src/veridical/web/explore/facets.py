"""Facets: what items can be told apart by.

Split, answer, each tag, how each solver did, whether solvers agree, what the audit found. A value is known by its place
among the facet's values, and a facet is a column of such places, of lists where an item may have several. A tag that is
called like one of ours is marked as a tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark
from veridical.common.arrays import Ints
from veridical.records import LETTERS
from veridical.web.explore.findings import ItemFinding
from veridical.web.explore.solvers import GRADES, NONE, NOT_ASKED, RIGHT, WRONG, ExploredSolver

SPLIT, ANSWER, SOLVERS, AUDIT, SOLVER, TAG = "split", "answer", "solvers", "audit", "solver ", "tag "
HIDDEN, NO_ANSWER = "hidden", "no answer"
AGREEMENT = ("all wrong", "differ", "all right")
RATIONALE = ", rationale"


@dataclass(frozen=True)
class Tag:
    """A tag of items, with its values in order."""

    name: str
    values: tuple[str, ...]
    several: bool  # an item may have several of them


@dataclass(frozen=True)
class Facet:
    """One thing that items can be told apart by."""

    name: str
    title: str  # for people
    values: tuple[str, ...]
    column: str
    several: bool = False
    tag: str | None = None  # whose values these are


class FacetTable:
    """All facets of a scheme."""

    def __init__(
        self,
        benchmark: Benchmark,
        scheme: str,
        solvers: Sequence[ExploredSolver],
        tags: Sequence[Tag],
        checks: Sequence[str] = (),
    ) -> None:
        self.scheme, self.task = scheme, benchmark.task
        self.hidden = {split for split in benchmark.splits_of(scheme) if benchmark.is_hidden(split)}
        self.facets: dict[str, Facet] = {}
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
        for tag in tags:
            own = f"{TAG}{tag.name}" if tag.name in self.facets or tag.name == AUDIT else tag.name
            self._add(own, tag.name.replace("_", " ").capitalize(), tag.values, tag.several, tag.name)
        if checks:
            self._add(AUDIT, "Audit finding", checks, several=True)
        self._of_tag = {facet.tag: facet.name for facet in self.facets.values() if facet.tag is not None}
        self._codes = {name: {v: k for k, v in enumerate(facet.values)} for name, facet in self.facets.items()}

    def _add(self, name: str, title: str, values: Sequence[str], several: bool = False, tag: str | None = None) -> None:
        self.facets[name] = Facet(name, title, tuple(values), f"f{len(self.facets)}", several, tag)

    def __iter__(self) -> Iterator[Facet]:
        return iter(self.facets.values())

    def code(self, facet: str, value: str) -> int | None:
        """The place of a facet's value; None where there is none such."""
        return self._codes.get(facet, {}).get(value)

    def tag_facet(self, tag: str) -> str:
        """The facet of a tag."""
        return self._of_tag.get(tag, tag)


def split_facets(
    facets: FacetTable,
    split: str,
    items: pa.Table,
    solvers: Sequence[ExploredSolver],
    findings: Mapping[str, Sequence[ItemFinding]],
) -> pa.Table:
    """The columns of a split's facets that are no tags; where an item is nothing, it has no value."""
    count = len(items)
    answer = np.asarray(items["answer"].fill_null(-1)).astype(np.int64)
    unknown = facets.code(ANSWER, HIDDEN if split in facets.hidden else NO_ANSWER) or 0
    columns: dict[str, Ints] = {
        SPLIT: np.full(count, facets.code(SPLIT, split)),
        ANSWER: np.where(answer >= 0, answer, unknown),
    }
    marks = []
    for solver in solvers:
        file = solver.files.get((facets.scheme, split))
        if file is not None:
            marks.append(file.marks)
            columns[f"{SOLVER}{solver.name}"] = file.marks
            columns[f"{SOLVER}{solver.name}{RATIONALE}"] = file.rationale_marks
    if len(marks) > 1:
        columns[SOLVERS] = agreement(marks)
    nothing = np.full(count, NOT_ASKED)
    made = {"row": pa.array(np.arange(count, dtype=np.int32))}
    for facet in facets:
        if facet.name == AUDIT:
            made[facet.column] = _found(facets, items["id"].to_pylist(), findings)
        elif facet.tag is None:
            own = columns.get(facet.name, nothing).astype(np.int32)
            made[facet.column] = pa.array(own, mask=own < 0)
    return pa.table(made)


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


def _found(facets: FacetTable, ids: Sequence[str], findings: Mapping[str, Sequence[ItemFinding]]) -> pa.Array:
    each = ({facets.code(AUDIT, one.check) for one in findings.get(name, ())} for name in ids)
    return pa.array([sorted(code for code in own if code is not None) for own in each], pa.list_(pa.int32()))
