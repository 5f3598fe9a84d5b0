"""Drawings of scenes, pixel for pixel as NLVR published them: sprites stamped into a picture of palette indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.errors import UserError
from veridical.records import Panel
from veridical.sources.boxes import png as boxes_png
from veridical.sources.boxes.scene import HEIGHT, LEFTS, ORDERS, WIDTH, Placed, placed
from veridical.sources.boxes.sprites import Pixels, palette_words, sprites


def draw(panels: Sequence[Panel], order: Sequence[int] = (0, 1, 2)) -> Pixels:
    """The drawing of three panels as RGBA pixels, (100, 400, 4); the box at place k is `panels[order[k]]`."""
    indices = _stamp(_checked(panels), order)[:, boxes_png.PAD :]
    return palette_words()[indices].view(np.uint8).reshape(HEIGHT, WIDTH, 4)


def draw_png(panels: Sequence[Panel], order: Sequence[int] = (0, 1, 2)) -> bytes:
    """The drawing as a PNG file; the same panels and order always give the same bytes."""
    return boxes_png.encode(_stamp(_checked(panels), order))


def draw_views(panels: Sequence[Panel], orders: Sequence[Sequence[int]] = ORDERS) -> list[bytes]:
    """One PNG file for each order of the boxes: NLVR's six views of an item."""
    return draw_boxes(_checked(panels), orders)


def draw_boxes(boxes: Sequence[Sequence[Placed]], orders: Sequence[Sequence[int]] = ORDERS) -> list[bytes]:
    """The same of three boxes that were checked before, as `placed` gives them."""
    canvas = boxes_png.canvas()
    return [boxes_png.encode(_stamp(boxes, order, canvas)) for order in orders]


def _checked(panels: Sequence[Panel]) -> list[list[Placed]]:
    if len(panels) != len(LEFTS):
        raise UserError(f"A drawing has three boxes, but {len(panels)} panels were given.", "Give three panels.")
    return [placed(panel) for panel in panels]


def _stamp(boxes: Sequence[Sequence[Placed]], order: Sequence[int], canvas: Pixels | None = None) -> Pixels:
    """The boxes in an order, as palette indices, on a canvas that may be used again."""
    if sorted(order) != list(range(len(LEFTS))):
        raise UserError(f"{tuple(order)} is not an order of three boxes.", "Give a permutation of (0, 1, 2).")
    table, _ = sprites()
    out = boxes_png.canvas(canvas)
    for left, index in zip(LEFTS, order, strict=True):
        for y, x, thing in boxes[index]:
            column = boxes_png.PAD + left + x
            out[y : y + thing.size, column : column + thing.size] = table[thing, left + x]
    return out
