"""What a blind model may see of some items, and nothing else.

A `Sample` is built with only the views a check names; what must not be seen is None, so that a model cannot look by
mistake. Test samples carry no answers. Plants (`plants`) change samples, never the benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from veridical.auditing.data import Row, answers, codes, normal
from veridical.common.arrays import Bools, Doubles, Ints

View = Literal["query", "candidates", "context", "responses"]


@dataclass(frozen=True)
class Sample:
    """Items as a model sees them."""

    ids: tuple[str, ...]
    answer: Ints  # (N,) -1 where it must be predicted
    choices: Ints  # (N,) how many candidates
    group: Ints  # (N,)
    query_key: Ints  # (N,) items with one sentence have one key
    candidate_key: Ints  # (N, C) candidates with one text have one key; -1 for none
    usable: Bools  # (N, C) candidates that may be trained on: the test does not use their text
    query: tuple[str, ...] | None = None
    candidates: tuple[tuple[str, ...], ...] | None = None
    context: Doubles | None = None  # (N, D) features of the panels
    responses: Doubles | None = None  # (N, C, D) features of the candidates that are panels

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def width(self) -> int:
        """The largest number of candidates."""
        return self.candidate_key.shape[1]

    def take(self, rows: Ints) -> Self:
        """Some of the items."""
        return replace(
            self,
            ids=tuple(self.ids[i] for i in rows),
            answer=self.answer[rows],
            choices=self.choices[rows],
            group=self.group[rows],
            query_key=self.query_key[rows],
            candidate_key=self.candidate_key[rows],
            usable=self.usable[rows],
            query=None if self.query is None else tuple(self.query[i] for i in rows),
            candidates=None if self.candidates is None else tuple(self.candidates[i] for i in rows),
            context=None if self.context is None else self.context[rows],
            responses=None if self.responses is None else self.responses[rows],
        )

    def without_answers(self) -> Self:
        return replace(self, answer=np.full(len(self), -1, np.int64))

    def real(self) -> Bools:
        """(N, C) Which candidates there are."""
        return np.arange(self.width) < self.choices[:, None]


# A model is a function: training sample and randomness in, a function from samples to scores (N, C) out.
Predict = Callable[[Sample], Doubles]
Fit = Callable[[Sample, np.random.Generator], Predict]
Plant = Callable[[Sample, Bools, np.random.Generator], Sample]  # gives away the items that are marked


def sample(
    rows: Sequence[Row], sees: Sequence[View], context: Doubles | None = None, responses: Doubles | None = None
) -> Sample:
    """The views that a check sees; features come from `pictures`."""
    choices = np.array([len(r.candidates) for r in rows], np.int64)
    width = int(choices.max(initial=1))
    same = all(r.item.task == "statement" for r in rows)  # true and false are candidates of every item
    seen: dict[str, int] = {}
    keys = np.full((len(rows), width), -1, np.int64)
    if not same:
        for i, row in enumerate(rows):
            keys[i, : len(row.candidates)] = [seen.setdefault(normal(c), len(seen)) for c in row.candidates]
    blank = [normal(r.query) or f"\0{i}" for i, r in enumerate(rows)]  # items without a query share none
    return Sample(
        ids=tuple(r.item.id for r in rows),
        answer=answers(rows),
        choices=choices,
        group=codes(r.group for r in rows),
        query_key=codes(blank),
        candidate_key=keys,
        usable=np.ones((len(rows), width), np.bool_),
        query=tuple(r.query for r in rows) if "query" in sees else None,
        candidates=tuple(r.candidates for r in rows) if "candidates" in sees else None,
        context=context if "context" in sees else None,
        responses=responses if "responses" in sees else None,
    )


def swapped(s: Sample, block: Ints, rng: np.random.Generator) -> Sample:
    """The same items with the context (pictures; for choices also the question) of an item of another block."""
    order = rng.permutation(len(s))
    other = np.empty(len(s), np.int64)
    other[order] = np.roll(order, 1)
    for _ in range(20):  # one more step along the circle for those that met their own block
        clash = block[other] == block
        if not clash.any():
            break
        other[clash] = rng.permutation(len(s))[: int(clash.sum())]
    changes: dict[str, object] = {}
    if s.context is not None:
        changes["context"] = s.context[other]
    if s.candidates is not None and s.query is not None:
        changes["query"] = tuple(s.query[i] for i in other)
    return replace(s, **changes)  # type: ignore[arg-type]
