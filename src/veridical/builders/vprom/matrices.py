"""Matrices of one side of a scheme: planned so that they balance, drawn until none is ambiguous, as plain arrays.

A `Deck` is what they are drawn from: for every cell, its elements; for every element, its crops. A cell is a relation
over an element type. Its groups are the super-attributes (or the one group of categories, of counts) with enough
elements for the relation; the elements of its type that may not be answers fill up the candidates where eight distinct
ones are not to be had otherwise. Where all crops show some element of a super-attribute of fewer than eight, one of
them is kept for the other candidates to show, so that each that may be the answer is seen once.

No matrix is ambiguous: explanations are ordered And < Progression < Union < Or, each over a super-attribute, the
categories or the counts that the panels are labelled with, not only those the matrix was made from. A matrix is kept
where the simplest relation that any candidate completes is its own, and its answer alone completes it. A progression
has one step other than zero, shared by all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from veridical.builders.vprom.elements import CELLS, COUNT, OR, PROGRESSION, RELATIONS, SUBJECT_OF, UNION
from veridical.builders.vprom.pool import Lists2D, Pool
from veridical.common.arrays import Array, Bools, Ints, Words

PANELS = CANDIDATES = 8
LEAST = 3  # photographs of an element on one side: a row of And shows it three times
BATCH = 8192  # matrices drawn with one seed
TRIES = 2000  # draws of one matrix, at most
AGAIN = 200  # draws of the context of one candidate set, at most
KEPT = -1
REASONS = ("ambiguous", "another relation explains it", "no eight elements or sixteen photographs")


@dataclass(frozen=True)
class Deck:
    """Arrays for the drawing kernel; cells are numbered as in CELLS."""

    crops: Lists2D  # element -> crops of this side
    groups: Lists2D  # group -> elements that may be answers
    spare: Ints  # (groups,) how many of them are no candidates, where others are candidates too
    cell_groups: Ints  # (cells + 1,) the groups of each cell
    fill: Lists2D  # cell -> elements of its type that may only be distractors
    relation: Ints  # (cells,) place in RELATIONS
    possible: Bools  # (cells,) whether the cell has what a matrix needs


def make_deck(pool: Pool, photographs: Bools, allowed: Bools) -> Deck:
    """The deck of one side: `photographs` (photographs,) may be used, `allowed` (relations, elements) may be shown."""
    here = photographs[pool.photograph[pool.by_element.values]]
    owners = pool.by_element.owners[here]
    starts = np.searchsorted(owners, np.arange(len(pool.elements) + 1)).astype(np.int64)
    crops = Lists2D(starts, pool.by_element.values[here])
    pairs = np.unique(np.stack([owners, pool.photograph[crops.values]]), axis=1)
    rich = np.bincount(pairs[0], minlength=len(pool.elements))
    groups: list[tuple[int, ...]] = []
    spare: list[int] = []
    fills: list[tuple[int, ...]] = []
    cells, possible = [0], []
    for relation, type_ in CELLS:
        own = [k for k, e in enumerate(pool.elements) if e.type == type_]
        usable = allowed[RELATIONS.index(relation)] & (rich >= LEAST)
        by_group: dict[str, list[int]] = {}
        for k in own:
            if usable[k]:
                by_group.setdefault(pool.elements[k].group, []).append(k)
        least = 3 if relation in (UNION, PROGRESSION) else 2
        last = 1 if relation == OR else 0  # one of each group is the other element of the last row
        kept = {name: last + (1 if (type_, name) in pool.dense else 0) for name in by_group}
        made = {
            name: tuple(members)
            for name, members in by_group.items()
            # one candidate among seven that show the same is the odd one out
            if len(members) >= (least if kept[name] == last else max(least, kept[name] + 2))
        }
        answers = {k for members in made.values() for k in members}
        fill = tuple(k for k in own if k not in answers and rich[k])
        groups += made.values()
        spare += [kept[name] for name in made]
        fills.append(fill)
        cells.append(len(groups))
        mixed = sum(len(members) - kept[name] for name, members in made.items()) + len(fill)
        alone = max((len(members) - last for members in made.values()), default=0)
        possible.append(bool(made) and max(mixed, alone) >= CANDIDATES)
    relations = np.array([RELATIONS.index(relation) for relation, _ in CELLS], np.int64)
    return Deck(
        crops,
        Lists2D.of(groups),
        np.array(spare, np.int64),
        np.array(cells, np.int64),
        Lists2D.of(fills),
        relations,
        np.array(possible),
    )


def shares(possible: Bools) -> np.ndarray:
    """(cells,) How many matrices each cell gets: relations alike, and attributes, objects and counts alike.

    Progressions are about counts only, so the other relations show counts less often. The two types of attributes share
    their part.
    """
    subjects = [SUBJECT_OF[type_] for _, type_ in CELLS]
    here = {t for t, ok in zip(subjects, possible, strict=True) if ok}
    steps = possible[CELLS.index((PROGRESSION, COUNT))]
    each = 1 / max(len(here), 1)
    out = np.zeros(len(CELLS))
    for k, (relation, type_) in enumerate(CELLS):
        if not possible[k]:
            continue
        same = [r == relation and subject == subjects[k] for (r, _), subject in zip(CELLS, subjects, strict=True)]
        alike = int((possible & same).sum())
        if relation == PROGRESSION:
            out[k] = 1 / 4
        elif type_ == COUNT and steps:
            out[k] = max(each - 1 / 4, 0) / 3 if len(here) > 1 else 1 / 4
        else:
            out[k] = each / 3 / alike
    return out / out.sum() if out.any() else out


def plan(deck: Deck, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """(count,) The cell and the answer's place of each matrix, in random order, both in equal numbers."""
    exact = shares(deck.possible) * count
    sizes = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - sizes), kind="stable")
    sizes[order[: count - sizes.sum()]] += 1
    cells = np.repeat(np.arange(len(CELLS)), sizes)
    places = (np.arange(count) + int(rng.integers(CANDIDATES))) % CANDIDATES
    shuffled = rng.permutation(count)
    return cells[shuffled], places[shuffled]


def judge(pool: Pool, panels: Array, candidates: Array) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """For each matrix, the simplest relation that a candidate completes (its place in RELATIONS, or -1) and which
    candidates do (bit k: candidate k).

    `panels` and `candidates` are (N, 8) crop numbers; the context is in reading order.
    """
    from veridical.builders.vprom import explain as _explain

    relation, completes = np.empty(len(panels), np.int8), np.empty(len(panels), np.uint8)
    context, choices = np.ascontiguousarray(panels, np.int32), np.ascontiguousarray(candidates, np.int32)
    _explain.judge(pool.bits, pool.spans, context, choices, relation, completes)
    return relation, completes


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

    def some(self, start: int, stop: int) -> Matrices:
        """Those from one place to another."""
        here = slice(start, stop)
        cell, answer, crops = self.cell[here], self.answer[here], self.crops[here]
        return replace(self, cell=cell, answer=answer, crops=crops, elements=self.elements[here])

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
    """Element type -> super-attribute (or the type again) -> matrices about it, 0 where a pool could make some."""
    number = np.zeros(len(pool.elements), np.int64)
    for part in parts:
        number += np.bincount(part.label, minlength=len(pool.elements))
    out: dict[str, dict[str, int]] = {}
    for element, many, ok in zip(pool.elements, number, pool.usable, strict=True):
        if ok:
            own = out.setdefault(element.type, {})
            own[element.group] = own.get(element.group, 0) + int(many)
    return out


class _Draws:
    """Draws the matrices of a plan and judges them. Candidates stay until they are to be fresh."""

    def __init__(self, pool: Pool, deck: Deck, cells: Ints, places: Ints) -> None:
        self.pool, self.cells, self.places = pool, cells, places
        self.relation = deck.relation
        self.count_of = np.array([int(e.name) if e.type == COUNT else 0 for e in pool.elements], np.int64)
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
