"""Matrices of one side of a scheme: planned so that they balance, drawn until none is ambiguous, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.builders.vprom.ambiguity import judge
from veridical.builders.vprom.deck import CANDIDATES, Deck, plan
from veridical.builders.vprom.elements import CELLS, COUNT
from veridical.builders.vprom.pool import Pool
from veridical.common.arrays import Ints, Words

PANELS = 8
BATCH = 8192  # matrices drawn with one seed
TRIES = 2000  # draws of one matrix, at most
AGAIN = 200  # draws of the context of one candidate set, at most
KEPT = -1
REASONS = ("ambiguous", "another relation explains it", "no eight elements or sixteen photographs")


@dataclass(frozen=True)
class Matrices:
    """N matrices; crops and elements are numbers of the pool."""

    cell: Ints  # (N,) place in CELLS
    answer: Ints  # (N,) place of the right candidate
    crops: NDArray[np.int32]  # (N, 16) the context in reading order, then the candidates
    elements: Ints  # (N, 16) what each was drawn to show
    rejected: dict[str, int]  # reason -> draws
    missing: dict[tuple[str, str], int]  # cell -> matrices that could not be made

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def label(self) -> Ints:
        """(N,) The element of the answer."""
        return self.elements[np.arange(len(self)), PANELS + self.answer]


def make_matrices(
    pool: Pool, deck: Deck, count: int, rng: np.random.Generator, advance: Callable[[int], object] | None = None
) -> Matrices:
    """`count` matrices from a deck, in random order; fewer where an element has too few photographs."""
    cells, places = plan(deck, count, rng) if deck.possible.any() else (np.empty(0, np.int64),) * 2
    draw = _Draws(pool, deck, cells, places)
    made = np.zeros(len(cells), bool)
    rejected = np.zeros(len(REASONS), np.int64)
    for start in range(0, len(cells), BATCH):
        state = rng.integers(2**63, size=1, dtype=np.uint64)
        waiting = np.arange(start, min(start + BATCH, len(cells)))
        for turn in range(TRIES):
            if turn % AGAIN == 0:
                draw.fresh[waiting] = True
            why = draw(state, waiting)
            made[waiting[why == KEPT]] = True
            waiting, why = waiting[why != KEPT], why[why != KEPT]
            rejected += np.bincount(why, minlength=len(REASONS))
            if not len(waiting):
                break
        if advance is not None:
            advance(min(BATCH, len(cells) - start))
    lost = np.bincount(cells[~made], minlength=len(CELLS))
    return Matrices(
        cells[made],
        places[made],
        draw.crops[made],
        draw.elements[made],
        {reason: int(n) for reason, n in zip(REASONS, rejected, strict=True)},
        {CELLS[k]: int(lost[k]) for k in np.flatnonzero(lost)},
    )


def answers(pool: Pool, parts: Iterable[Matrices]) -> dict[str, dict[str, int]]:
    """Kind -> super-attribute (or the kind again) -> matrices about it, 0 where a pool has some and no matrix is."""
    number = np.sum([np.bincount(part.label, minlength=len(pool.elements)) for part in parts], axis=0)
    out: dict[str, dict[str, int]] = {}
    for element, many, ok in zip(pool.elements, number, pool.usable, strict=True):
        if ok:
            own = out.setdefault(element.kind, {})
            own[element.group] = own.get(element.group, 0) + int(many)
    return out


class _Draws:
    """Draws the matrices of a plan and judges them. Candidates stay until they are to be fresh."""

    def __init__(self, pool: Pool, deck: Deck, cells: Ints, places: Ints) -> None:
        self.pool, self.cells, self.places = pool, cells, places
        self.relation = deck.relation
        self.count_of = np.array([int(e.name) if e.kind == COUNT else 0 for e in pool.elements], np.int64)
        self.cards = (
            *(deck.crops.starts, deck.crops.values, deck.groups.starts, deck.groups.values.astype(np.int64)),
            *(deck.spare, deck.cell_groups, deck.fill.starts, deck.fill.values.astype(np.int64), deck.relation),
        )
        self.elements = np.zeros((len(cells), PANELS + CANDIDATES), np.int64)
        self.crops = np.zeros((len(cells), PANELS + CANDIDATES), np.int32)
        self.about = np.zeros((len(cells), 2), np.int64)
        self.failed = np.zeros(len(cells), np.int64)
        self.whole, self.fresh = np.zeros(len(cells), bool), np.ones(len(cells), bool)

    def __call__(self, state: Words, rows: Ints) -> Ints:
        """(rows,) Why one draw of each cannot be kept, or KEPT."""
        from veridical.builders.vprom import draw as _draw

        pool = self.pool
        arrays = self.elements, self.crops, self.about, self.failed, self.whole
        seen = pool.bits, pool.places, pool.photograph
        _draw.draw(state, self.cards, seen, self.count_of, self.cells, self.places, rows, self.fresh, arrays)
        relation, completes = judge(pool, self.crops[rows, :PANELS], self.crops[rows, PANELS:])
        own = relation == self.relation[self.cells[rows]]
        alone = completes == 1 << self.places[rows]
        return np.select([~self.whole[rows], ~own, ~alone], [2, 1, 0], KEPT)
