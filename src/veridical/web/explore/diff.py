"""Two solvers beside each other: what one gets right and the other wrong, and what `veridical compare` says of it.

The four counts are filters, so that each leads to its items.
"""

from __future__ import annotations

from dataclasses import dataclass

from veridical.evaluation import Compared
from veridical.evaluation.shown import verdict
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.facets import SOLVER, SPLIT
from veridical.web.explore.filters import ItemFilter
from veridical.web.explore.solvers import GRADES, RIGHT, ExploredSolver, Part

MOST_TAGS = 20  # values of tags that are listed
FEWEST = 5  # items that a value must have to be listed
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


@dataclass(frozen=True)
class Difference:
    """Two solvers on one part of a benchmark."""

    one: ExploredSolver
    other: ExploredSolver
    part: Part
    parts: tuple[Part, ...]  # that both were run on
    outcomes: tuple[Outcome, ...]
    verdict: str  # what `veridical compare` says
    tags: tuple[TagDifference, ...]  # the largest differences first


def shared_parts(one: ExploredSolver, other: ExploredSolver) -> tuple[Part, ...]:
    """The parts that both solvers were run on."""
    return tuple(part for part in one.files if part in other.files)


def difference(explorer: Explorer, one: ExploredSolver, other: ExploredSolver, part: Part) -> Difference:
    """Count and compare two solvers on a part that both were run on."""
    catalogue = explorer.catalogue(part[0])
    here = ItemFilter(part[0]).only(SPLIT, part[1])
    each = {
        "both right": (("right",), ("right",)),
        f"only {one.name} right": (("right",), _REST),
        f"only {other.name} right": (_REST, ("right",)),
        "neither right": (_REST, _REST),
    }
    outcomes = []
    for title, (mine, theirs) in each.items():
        wanted = here.only(f"{SOLVER}{one.name}", *mine).only(f"{SOLVER}{other.name}", *theirs)
        outcomes.append(Outcome(title, wanted, catalogue.count(wanted).items))
    compared = explorer.compare(one, other, part)
    said = verdict(compared, (one.name, other.name))
    return Difference(one, other, part, shared_parts(one, other), tuple(outcomes), said, _by_tag(compared))


def _by_tag(compared: Compared) -> tuple[TagDifference, ...]:
    found = [
        TagDifference(tag, value, row.items, row.accuracy.value, compared.other.by[tag][value].accuracy.value)
        for tag, rows in compared.one.by.items()
        for value, row in rows.items()
        if row.items >= FEWEST and value in compared.other.by.get(tag, {})
    ]
    return tuple(sorted(found, key=lambda row: (-abs(row.one - row.other), row.tag, row.value))[:MOST_TAGS])
