"""What the matrices of one side of a scheme are drawn from: for every cell, its elements; for every element, its crops.

A cell is a relation over a kind of element. Its groups are the super-attributes (or the one group of categories, of
counts) with enough elements for the relation; the elements of its kind that may not be answers fill up the candidates
where eight distinct ones are not to be had otherwise. Where all crops show some element of a super-attribute of fewer
than eight, one of them is kept for the other candidates to show, so that each that may be the answer is seen once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veridical.builders.vprom.elements import CELLS, COUNT, OR, PROGRESSION, RELATIONS, TYPE_OF, UNION
from veridical.builders.vprom.pool import Lists2D, Pool
from veridical.common.arrays import Bools, Ints

CANDIDATES = 8
LEAST = 3  # photographs of an element on one side: a row of And shows it three times


@dataclass(frozen=True)
class Deck:
    """Arrays for the drawing kernel; cells are numbered as in CELLS."""

    crops: Lists2D  # element -> crops of this side
    groups: Lists2D  # group -> elements that may be answers
    spare: Ints  # (groups,) how many of them are no candidates, where others are candidates too
    cell_groups: Ints  # (cells + 1,) the groups of each cell
    fill: Lists2D  # cell -> elements of its kind that may only be distractors
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
    for relation, kind in CELLS:
        own = [k for k, e in enumerate(pool.elements) if e.kind == kind]
        usable = allowed[RELATIONS.index(relation)] & (rich >= LEAST)
        by_group: dict[str, list[int]] = {}
        for k in own:
            if usable[k]:
                by_group.setdefault(pool.elements[k].group, []).append(k)
        least = 3 if relation in (UNION, PROGRESSION) else 2
        last = 1 if relation == OR else 0  # one of each group is the other element of the last row
        kept = {name: last + (1 if (kind, name) in pool.dense else 0) for name in by_group}
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

    Progressions are about counts only, so the other relations show counts less often. The two kinds of attributes share
    their part.
    """
    types = [TYPE_OF[kind] for _, kind in CELLS]
    here = {t for t, ok in zip(types, possible, strict=True) if ok}
    steps = possible[CELLS.index((PROGRESSION, COUNT))]
    each = 1 / max(len(here), 1)
    out = np.zeros(len(CELLS))
    for k, (relation, kind) in enumerate(CELLS):
        if not possible[k]:
            continue
        alike = sum(bool(possible[j]) and r == relation and types[j] == types[k] for j, (r, _) in enumerate(CELLS))
        if relation == PROGRESSION:
            out[k] = 1 / 4
        elif kind == COUNT and steps:
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
