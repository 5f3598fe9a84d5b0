"""What is not certain of annotated things, and every way to see the images that it leaves open.

An annotated thing may be too small to count, one annotation may stand for several things, a thing may be of another
category than the one it is annotated with. Whoever reads a source marks that with attributes; a sentence is written
only where its labels are the same in every one of these worlds, so that nobody has to know which one is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from veridical.language.programs.terms import Term
from veridical.records import Panel, SceneObject

DOUBTFUL = "doubtful"  # the attribute that says why a thing may count or not: small, cut off ...
PERHAPS = "perhaps"  # another category that it may be of
SEVERAL = "several"  # why it may be more than one thing
CROWD = ("crowd", "true")  # COCO's mark of things too many to count: nothing is said of their category
FEW, MANY = 2, 5  # things that one annotation may stand for
MOST_OF_A_KIND = 16  # worlds of things of one kind, past which only their number is varied
MOST_WORLDS = 512  # of a pair; a sentence with more is not written

World = tuple[Panel, ...]
_Ways = tuple[tuple[SceneObject, ...], ...]  # what may stand in the place of one annotated thing


def ways(thing: SceneObject) -> _Ways:
    """What may be there where a thing is annotated, first what is written from.

    >>> [len(way) for way in ways(SceneObject("0", "dog", ((DOUBTFUL, "small"),)))]
    [0, 1]
    """
    kinds = [thing, *(replace(thing, category=c) for name, c in thing.attributes if name == PERHAPS)]
    out: list[tuple[SceneObject, ...]] = [(kind,) for kind in kinds]
    if thing.attribute(SEVERAL) is not None:
        out += [(kind,) * many for kind in kinds for many in (FEW, MANY)]
    return ((), *out) if thing.attribute(DOUBTFUL) is not None else tuple(out)


def sure(panel: Panel) -> Panel:
    """A panel without what may not count."""
    kept = tuple(thing for one in panel.objects for thing in ways(one)[0])
    return panel if len(kept) == len(panel.objects) else replace(panel, objects=kept)


def uncountable(panels: Sequence[Panel]) -> set[str]:
    """Categories of which nothing can be said: a crowd stands for many of them, or they are somewhere without a box."""
    things = [thing for panel in panels for thing in panel.objects]
    hidden = {one.category for one in things if one.box is None and one.attribute(DOUBTFUL) is not None}
    return hidden | {one.category for one in things if CROWD in one.attributes}


def words_of(program: Term) -> frozenset[str]:
    """The values that a program asks things for."""
    own = frozenset(map(str, program.args[1:])) if program.op == "is" else frozenset[str]()
    return own.union(*(words_of(arg) for arg in program.args if isinstance(arg, Term)))


def worlds(panels: Sequence[Panel], words: frozenset[str]) -> list[World] | None:
    """Every way to see some panels, as far as things of these words go; None where there are too many."""
    kinds: dict[tuple[int, _Kind], list[int]] = {}
    for at, panel in enumerate(panels):
        for place, thing in enumerate(panel.objects):
            if len(ways(thing)) > 1 and not words.isdisjoint(_names(thing)):
                kinds.setdefault((at, _kind(thing)), []).append(place)
    states = [list(_states(len(places), len(ways(panels[at].objects[places[0]])))) for (at, _), places in kinds.items()]
    if prod(map(len, states)) > MOST_WORLDS:
        return None
    out = []
    for choice in product(*states):
        chosen = {
            (at, place): way
            for ((at, _), places), state in zip(kinds.items(), choice, strict=True)
            for place, way in zip(places, state, strict=True)
        }
        out.append(tuple(_world(panel, at, chosen) for at, panel in enumerate(panels)))
    return out


_Kind = tuple[str, tuple[str, ...], bool, bool]


def _kind(thing: SceneObject) -> _Kind:
    """What of a thing decides its ways."""
    perhaps = tuple(value for name, value in thing.attributes if name == PERHAPS)
    return thing.category, perhaps, thing.attribute(SEVERAL) is None, thing.attribute(DOUBTFUL) is None


def _names(thing: SceneObject) -> set[str]:
    return {thing.category, *(value for _, value in thing.attributes)}


def _states(count: int, number: int) -> Iterator[tuple[int, ...]]:
    """Which of so many ways each thing of a kind takes: all choices, or where they are many, any number of them one."""
    if number**count <= MOST_OF_A_KIND:
        yield from product(range(number), repeat=count)
        return
    yield (0,) * count
    for way in range(1, number):
        for taken in range(1, count + 1):
            yield (way,) * taken + (0,) * (count - taken)


def _world(panel: Panel, at: int, chosen: dict[tuple[int, int], int]) -> Panel:
    things = [thing for place, one in enumerate(panel.objects) for thing in ways(one)[chosen.get((at, place), 0)]]
    return replace(panel, objects=tuple(things))
