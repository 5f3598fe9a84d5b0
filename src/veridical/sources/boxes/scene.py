"""The vocabulary of NLVR's drawings (Suhr et al. 2017, section 3) and how a scene is written as records.

A scene is three panels, one for each light grey box of a 400 x 100 drawing; objects stand in raster order, and their
boxes are in pixels of their panel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

from veridical.errors import UserError
from veridical.records import Pairs, Panel, SceneObject

Scene = tuple[Panel, ...]  # three panels

WIDTH, HEIGHT = 400, 100  # of the whole drawing
SIDE = 100  # of one box
LEFTS = (0, 150, 300)  # where the boxes begin
SHAPES = ("square", "triangle", "circle")
COLORS = {"black": (0, 0, 0), "yellow": (255, 255, 0), "blue": (0, 153, 255)}
SIZES = {"small": 10, "medium": 20, "large": 30}
SIZE_NAMES = {pixels: name for name, pixels in SIZES.items()}
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
