"""Matrices of one side of a scheme: planned so that they balance, drawn until none is ambiguous, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.build.vprom.ambiguity import judge
from veridical.build.vprom.deck import CANDIDATES, Deck, plan
from veridical.build.vprom.elements import CELLS, COUNT
from veridical.build.vprom.pool import Ints, Pool

PANELS = 8
BATCH = 8192  # matrices drawn with one seed
TRIES = 2000  # draws of one matrix, at most
KEPT = -1
REASONS = ("ambiguous", "another relation explains it", "no eight elements or sixteen photographs")


@dataclass(frozen=True)
class Matrices:
    """N matrices; crops and elements are numbers of the pool."""

    cell: Ints  # (N,) place in CELLS
    answer: Ints  # (N,) place of the right candidate
    crops: NDArray[np.int32]  # (N, 16) the context in reading order, then the candidates
    elements: NDArray[np.int64]  # (N, 16) what each was drawn to show
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
    shown = np.zeros((len(cells), PANELS + CANDIDATES), np.int64)
    drawn = np.zeros((len(cells), PANELS + CANDIDATES), np.int32)
    made = np.zeros(len(cells), bool)
    rejected = np.zeros(len(REASONS), np.int64)
    draw = _Draws(pool, deck)
    for start in range(0, len(cells), BATCH):
        state = rng.integers(2**63, size=1, dtype=np.uint64)
        waiting = np.arange(start, min(start + BATCH, len(cells)))
        for _ in range(TRIES):
            elements, crops, why = draw(state, cells[waiting], places[waiting])
            good = why == KEPT
            shown[waiting[good]], drawn[waiting[good]] = elements[good], crops[good]
            made[waiting[good]] = True
            rejected += np.bincount(why[~good], minlength=len(REASONS))
            waiting = waiting[~good]
            if not len(waiting):
                break
        if advance is not None:
            advance(min(BATCH, len(cells) - start))
    lost = np.bincount(cells[~made], minlength=len(CELLS))
    return Matrices(
        cells[made],
        places[made],
        drawn[made],
        shown[made],
        {reason: int(n) for reason, n in zip(REASONS, rejected, strict=True)},
        {CELLS[k]: int(lost[k]) for k in np.flatnonzero(lost)},
    )


class _Draws:
    """Draws matrices of a deck and judges them."""

    def __init__(self, pool: Pool, deck: Deck) -> None:
        self.pool = pool
        self.relation = deck.relation
        self.count_of = np.array([int(e.name) if e.kind == COUNT else 0 for e in pool.elements], np.int64)
        self.cards = (
            *(deck.crops.starts, deck.crops.values, deck.groups.starts, deck.groups.values.astype(np.int64)),
            *(deck.cell_groups, deck.fill.starts, deck.fill.values.astype(np.int64), deck.relation),
        )

    def __call__(
        self, state: NDArray[np.uint64], cells: Ints, places: Ints
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], Ints]:
        """(N, 16) elements and crops of one draw of each matrix, and (N,) why it cannot be kept, or KEPT."""
        from veridical.build.vprom import _draw

        elements = np.zeros((len(cells), PANELS + CANDIDATES), np.int64)
        crops = np.zeros((len(cells), PANELS + CANDIDATES), np.int32)
        whole = np.zeros(len(cells), bool)
        _draw.draw(state, self.cards, self.pool.photograph, self.count_of, cells, places, elements, crops, whole)
        relation, completes = judge(self.pool, crops[:, :PANELS], crops[:, PANELS:])
        own = relation == self.relation[cells]
        alone = completes == 1 << places
        return elements, crops, np.select([~whole, ~own, ~alone], [2, 1, 0], KEPT)
