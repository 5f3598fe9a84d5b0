"""The vocabulary of NLVR's drawings, scenes as records, and random scenes and presentations (Suhr et al. 2017).

A scene is three panels, one for each light grey box of a 400 x 100 drawing; objects stand in raster order, and their
boxes are in pixels of their panel (section 3).

Scenes are drawn as NLVR's authors did (section 4). Where the paper is silent the published training scenes speak: a
corner is drawn uniformly over the box and then pushed inside, so that walls to the right and below are touched often;
objects keep a gap of a pixel; a box of a scatter scene gets up to seven objects; towers stand at x = 40 and are of
medium squares; a reshuffle takes any split of the objects into three boxes with equal chance, except that one in ten is
the even split.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from veridical.errors import UserError
from veridical.records import Pairs, Panel, SceneObject

Scene = tuple[Panel, ...]  # three panels

WIDTH, HEIGHT = 400, 100  # of the whole drawing
SIDE = 100  # of one box
LEFTS = (0, 150, 300)  # where the boxes begin
SHAPES = ("square", "triangle", "circle")
COLORS = {"black": (0, 0, 0), "yellow": (255, 255, 0), "blue": (0, 153, 255)}
SIZES = {"small": 10, "medium": 20, "large": 30}
ORDERS: tuple[tuple[int, ...], ...] = tuple(itertools.permutations(range(3)))  # view k of an item shows ORDERS[k]

_ATTRIBUTES: dict[tuple[str, int], Pairs] = {
    (color, pixels): (("color", color), ("size", name)) for color in COLORS for name, pixels in SIZES.items()
}


class Figure(NamedTuple):
    """What an object is, wherever it stands."""

    shape: str
    color: str
    size: int  # side of its bounding square, in pixels


class Placed(NamedTuple):
    """An object and where its bounding square's top left corner stands in its box."""

    y: int
    x: int
    figure: Figure


def panel(placed: Iterable[Placed], index: int, name: str = "", image: str | None = None) -> Panel:
    """Box `index` of a scene (and of its drawing) as a record; objects are put in raster order."""
    objects = tuple(
        SceneObject(
            id=str(number),
            category=figure.shape,
            attributes=_ATTRIBUTES[figure.color, figure.size],
            box=(x, y, x + figure.size, y + figure.size),
        )
        for number, (y, x, figure) in enumerate(sorted(placed))
    )
    left = LEFTS[index]
    return Panel(
        id=f"{name}/{index}" if name else str(index),
        image=image,
        region=(left, 0, left + SIDE, SIDE),
        width=SIDE,
        height=SIDE,
        objects=objects,
    )


def placed(panel: Panel) -> list[Placed]:
    """The objects of a box, checked: known properties, whole pixels, inside the box, no two overlapping."""
    out = [_placed(thing, panel.id) for thing in panel.objects]
    for one, other in itertools.combinations(out, 2):
        if overlap(one, other):
            raise UserError(
                f"Panel {panel.id}: the objects at ({one.x}, {one.y}) and ({other.x}, {other.y}) overlap.",
                "Objects of a box stand apart: move one of them.",
            )
    return out


def overlap(one: Placed, other: Placed, gap: int = 0) -> bool:
    """Whether two bounding squares share a pixel, or stand less than `gap` pixels apart."""
    return (
        one.x < other.x + other.figure.size + gap
        and other.x < one.x + one.figure.size + gap
        and one.y < other.y + other.figure.size + gap
        and other.y < one.y + one.figure.size + gap
    )


def _placed(thing: SceneObject, where: str) -> Placed:
    color, size = thing.attribute("color"), thing.attribute("size")
    if thing.category not in SHAPES or color not in COLORS or size not in SIZES:
        raise UserError(
            f"Panel {where}, object {thing.id}: a {size} {color} {thing.category} cannot be drawn.",
            f"Shapes are {', '.join(SHAPES)}; colors {', '.join(COLORS)}; sizes {', '.join(SIZES)}.",
        )
    side = SIZES[size]
    if thing.box is None:
        raise UserError(f"Panel {where}, object {thing.id} has no position.", "Give its box: (x, y, x + s, y + s).")
    x, y, right, bottom = thing.box
    if not (right - x == bottom - y == side and 0 <= x <= SIDE - side and 0 <= y <= SIDE - side):
        raise UserError(
            f"Panel {where}, object {thing.id}: the box {thing.box} is not that of a {size} object inside its panel.",
            f"A {size} object is {side} x {side} pixels, and a panel {SIDE} x {SIDE}.",
        )
    if x != int(x) or y != int(y):
        raise UserError(f"Panel {where}, object {thing.id}: the box {thing.box} is between pixels.", "Round it.")
    return Placed(int(y), int(x), Figure(thing.category, color, side))


# --- random scenes ----------------------------------------------------------------------------------------------------

Arrangement = Literal["scatter", "tower"]
Boxes = list[list[Placed]]
ARRANGEMENTS: tuple[Arrangement, ...] = ("scatter", "tower")

SCATTER_MOST = 7  # objects that a box of a new scatter scene may get
BOX_MOST = 8  # objects that a box may ever have; an even split reaches it
TOWER_MOST = 4  # blocks of a tower
TOWER_X = 40
TOWER_BLOCK = SIZES["medium"]
TOWER_STEP = TOWER_BLOCK + 1  # blocks, too, keep a gap of a pixel
EVEN = 0.1  # share of reshuffles that split evenly
GAP = 1

ATTEMPTS = 100  # before a scene, a reshuffle or a presentation is given up
_THROWS = 12  # random positions tried for an object before the free ones are listed


class NoScene(UserError):
    """No scene could be made within the bounded number of attempts."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """Four scenes for a writer, who says what is true of A and B and false of C and D."""

    arrangement: Arrangement
    scenes: tuple[Scene, Scene, Scene, Scene]  # A, B, then the objects of A reshuffled, and those of B


def sample_scene(rng: np.random.Generator, arrangement: Arrangement, name: str = "") -> Scene:
    """Three boxes; the number of objects of each, and each object's properties, uniform."""
    return _scene(_sample_boxes(rng, arrangement), name)


def reshuffle(rng: np.random.Generator, scene: Sequence[Panel], name: str = "") -> Scene:
    """The same objects, otherwise divided between the boxes and placed anew; towers stay towers.

    The result differs from the scene by more than the order of its boxes: otherwise no sentence could tell them apart.
    """
    return _scene(_reshuffle_boxes(rng, [placed(one) for one in scene]), name)


def sample_presentation(rng: np.random.Generator, arrangement: Arrangement, name: str = "") -> Presentation:
    """A and B independent; C and D the same objects reshuffled. Scenes are named `name-0` to `name-3`."""
    names = [f"{name}-{index}" if name else "" for index in range(4)]
    (a, c), (b, d) = (_contrast(rng, arrangement, names[first], names[first + 2]) for first in range(2))
    return Presentation(arrangement, (a, b, c, d))


def presentations(count: int, seed: int, start: int = 0) -> Iterator[Presentation]:
    """Presentations `start` to `start + count - 1`, scatter and tower in turn, named by their number.

    Each has its own generator, so that it is the same whichever process makes it.
    """
    for number in range(start, start + count):
        rng = np.random.default_rng([seed, number])
        yield sample_presentation(rng, ARRANGEMENTS[number % 2], str(number))


def panels(count: int, seed: int) -> Iterator[Panel]:
    """The panels of `count` presentations."""
    for presentation in presentations(count, seed):
        for scene in presentation.scenes:
            yield from scene


def stack(figures: Sequence[Figure]) -> list[Placed]:
    """A tower of squares, the first at its base."""
    ground = SIDE - TOWER_BLOCK
    return [Placed(ground - TOWER_STEP * level, TOWER_X, figure) for level, figure in enumerate(figures)]


def scatter(rng: np.random.Generator, figures: Sequence[Figure]) -> list[Placed] | None:
    """Things placed one after another at random in a box, with a gap between any two, or None once one has no room."""
    out: list[Placed] = []
    throws = rng.integers(0, SIDE, (len(figures), _THROWS, 2)).tolist()
    for figure, corners in zip(figures, throws, strict=True):
        spot = _throw(corners, figure, out) or _listed(rng, figure, out)
        if spot is None:
            return None
        out.append(spot)
    return out


def _contrast(rng: np.random.Generator, arrangement: Arrangement, name: str, other: str) -> tuple[Scene, Scene]:
    """A scene and its reshuffle; a scene that allows none (three single blocks) is drawn anew."""
    for _ in range(ATTEMPTS):
        boxes = _sample_boxes(rng, arrangement)
        try:
            return _scene(boxes, name), _scene(_reshuffle_boxes(rng, boxes), other)
        except NoScene:
            continue
    raise NoScene(f"{ATTEMPTS} {arrangement} scenes could not be reshuffled.", "Try another seed.")


def _sample_boxes(rng: np.random.Generator, arrangement: Arrangement) -> Boxes:
    most = SCATTER_MOST if arrangement == "scatter" else TOWER_MOST
    counts = rng.integers(1, most + 1, len(LEFTS)).tolist()
    if arrangement == "tower":
        return [stack(_figures(rng, count, tower=True)) for count in counts]
    return [_scatter_box(rng, count) for count in counts]


def _reshuffle_boxes(rng: np.random.Generator, boxes: Boxes) -> Boxes:
    block = ("square", TOWER_BLOCK)
    tower = all(
        1 <= len(box) <= TOWER_MOST
        and sorted(box, reverse=True) == stack([one.figure for one in sorted(box, reverse=True)])
        and all((one.figure.shape, one.figure.size) == block for one in box)
        for box in boxes
    )
    known = sorted(map(sorted, boxes))  # boxes whose order does not count
    figures = [one.figure for box in boxes for one in box]
    for _ in range(ATTEMPTS):
        counts = _split(rng, len(figures), tower)
        mixed = [figures[index] for index in rng.permutation(len(figures)).tolist()]
        ends = itertools.accumulate(counts)
        parts = [mixed[end - count : end] for count, end in zip(counts, ends, strict=True)]
        new = [stack(part) if tower else scatter(rng, part) for part in parts]
        filled = [box for box in new if box is not None]
        if len(filled) == len(boxes) and sorted(map(sorted, filled)) != known:
            return filled
    raise NoScene(
        f"{ATTEMPTS} reshuffles of {len(figures)} objects gave no other scene.",
        "Give a scene of three boxes with more, different or smaller objects.",
    )


def _scene(boxes: Boxes, name: str) -> Scene:
    return tuple(panel(box, index, name) for index, box in enumerate(boxes))


def _scatter_box(rng: np.random.Generator, count: int) -> list[Placed]:
    for _ in range(ATTEMPTS):
        box = scatter(rng, _figures(rng, count, tower=False))
        if box is not None:
            return box
    raise NoScene(f"{ATTEMPTS} random sets of {count} objects found no room in a box.", "Ask for fewer objects.")


def _figures(rng: np.random.Generator, count: int, tower: bool) -> list[Figure]:
    colors, sizes = tuple(COLORS), tuple(SIZES.values())
    if tower:
        return [Figure("square", colors[color], TOWER_BLOCK) for color in rng.integers(0, 3, count).tolist()]
    drawn = rng.integers(0, 3, (count, 3)).tolist()
    return [Figure(SHAPES[shape], colors[color], sizes[size]) for shape, color, size in drawn]


def _throw(corners: list[list[int]], figure: Figure, taken: list[Placed]) -> Placed | None:
    """The first of some corners, uniform over the box and then pushed inside, that is free."""
    size, far = figure.size, SIDE - figure.size
    for corner_x, corner_y in corners:
        x, y = min(corner_x, far), min(corner_y, far)
        for other_y, other_x, other in taken:
            reach = other.size + GAP
            if other_x - size - GAP < x < other_x + reach and other_y - size - GAP < y < other_y + reach:
                break
        else:
            return Placed(y, x, figure)
    return None


def _listed(rng: np.random.Generator, figure: Figure, taken: list[Placed]) -> Placed | None:
    """The same law as `_throw` without a bound on throws: one of the free corners, or None where there is none."""
    far = SIDE - figure.size
    corner = np.minimum(np.arange(SIDE), far)
    free = np.ones((SIDE, SIDE), bool)  # (y, x) before the push
    for y, x, other in taken:
        near = (x - figure.size - GAP < corner) & (corner < x + other.size + GAP)
        level = (y - figure.size - GAP < corner) & (corner < y + other.size + GAP)
        free[np.ix_(level, near)] = False
    spots = np.flatnonzero(free)
    if not len(spots):
        return None
    y, x = divmod(int(rng.choice(spots)), SIDE)
    return Placed(min(y, far), min(x, far), figure)


def _split(rng: np.random.Generator, total: int, tower: bool) -> tuple[int, ...]:
    """How many of `total` objects go into each box."""
    third = total // 3
    even = (third, third, total - 2 * third)
    choices = _splits(total, TOWER_MOST if tower else SCATTER_MOST)
    possible = third >= 1 and even[2] <= (TOWER_MOST if tower else BOX_MOST)
    if possible and (not choices or rng.random() < EVEN):
        return even
    if not choices:
        raise NoScene(
            f"{total} {'blocks' if tower else 'objects'} cannot be divided between three boxes.",
            f"A scene has 3 to {3 * (TOWER_MOST if tower else BOX_MOST)} of them.",
        )
    return choices[int(rng.integers(len(choices)))]


@cache
def _splits(total: int, most: int) -> tuple[tuple[int, ...], ...]:
    counts = itertools.product(range(1, most + 1), repeat=len(LEFTS))
    return tuple(split for split in counts if sum(split) == total)
