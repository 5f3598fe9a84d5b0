"""Two solvers beside each other: what one gets right and the other wrong, and what `veridical compare` says of it.

The four counts are filters, so that each leads to its items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from veridical.evaluation import Compared
from veridical.evaluation.shown import verdict
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.facets import SOLVER, SPLIT
from veridical.web.explore.filters import ItemFilter
from veridical.web.explore.solvers import GRADES, RIGHT, ExploredSolver, Part

MOST_TAGS = 20  # values of tags that are listed
FEWEST = 5  # items that a value must have to be listed
_RIGHT = (GRADES[RIGHT],)
_REST = tuple(grade for place, grade in enumerate(GRADES) if place != RIGHT)


@dataclass(frozen=True)
class Outcome:
    """Items on which two solvers came out in one way."""

    title: str
    wanted: ItemFilter
    items: int


@dataclass(frozen=True)
class TagDifference:
    """Two solvers on the items of one tag."""

    tag: str
    value: str
    items: int
    one: float
    other: float
    wanted: ItemFilter  # its items
    won: ItemFilter  # those of them that only the better of the two gets right


@dataclass(frozen=True)
class Difference:
    """Two solvers on one part of a benchmark."""

    one: ExploredSolver
    other: ExploredSolver
    part: Part
    parts: tuple[Part, ...]  # that both were run on
    outcomes: tuple[Outcome, ...]
    verdict: str  # what `veridical compare` says
    tags: tuple[TagDifference, ...]  # the clearest differences first


def shared_parts(one: ExploredSolver, other: ExploredSolver) -> tuple[Part, ...]:
    """The parts that both solvers were run on."""
    return tuple(part for part in one.files if part in other.files)


def difference(explorer: Explorer, one: ExploredSolver, other: ExploredSolver, part: Part) -> Difference:
    """Count and compare two solvers on a part that both were run on."""
    catalogue = explorer.catalogue(part[0])
    here = ItemFilter(part[0]).only(SPLIT, part[1])
    only_one, only_other = _only(here, one, other), _only(here, other, one)
    each = {
        "both right": _marked(here, (one, _RIGHT), (other, _RIGHT)),
        f"only {one.name} right": only_one,
        f"only {other.name} right": only_other,
        "neither right": _marked(here, (one, _REST), (other, _REST)),
    }
    outcomes = [Outcome(title, wanted, catalogue.count(wanted).items) for title, wanted in each.items()]
    compared = explorer.compare(one, other, part)
    tags = [
        TagDifference(tag, value, items, mine, theirs, here.only(facet, value), won.only(facet, value))
        for tag, value, items, mine, theirs in _by_tag(compared)
        for facet in [catalogue.facets.tag_facet(tag)]
        for won in [only_one if mine > theirs else only_other]
    ]
    said = verdict(compared, (one.name, other.name))
    return Difference(one, other, part, shared_parts(one, other), tuple(outcomes), said, tuple(tags))


def _only(here: ItemFilter, one: ExploredSolver, other: ExploredSolver) -> ItemFilter:
    """What one solver gets right and the other does not."""
    return _marked(here, (one, _RIGHT), (other, _REST))


def _marked(here: ItemFilter, *marks: tuple[ExploredSolver, tuple[str, ...]]) -> ItemFilter:
    for solver, grades in marks:
        here = here.only(f"{SOLVER}{solver.name}", *grades)
    return here


def _by_tag(compared: Compared) -> list[tuple[str, str, int, float, float]]:
    """Tag, value, items, and the accuracy of either, where they differ most for so many items: of five, a point is
    worth less than of five hundred."""
    found = [
        (tag, value, row.items, row.accuracy.value, compared.other.by[tag][value].accuracy.value)
        for tag, rows in compared.one.by.items()
        for value, row in rows.items()
        if row.items >= FEWEST and value in compared.other.by.get(tag, {})
    ]
    differing = [row for row in found if row[3] != row[4]]
    return sorted(differing, key=lambda row: (-abs(row[3] - row[4]) * math.sqrt(row[2]), *row[:2]))[:MOST_TAGS]
