"""Drawings of scenes, pixel for pixel as NLVR published them, and the way back: the scene of a drawing.

Drawing stamps sprites into a picture of palette indices. Seeing reads each box in raster order: the first pixel that is
not background belongs to an object whose sprite must match exactly there; it is taken away, and so on until only
background is left. So an answer is proof: drawing it again gives the same pixels.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from veridical.common.arrays import Pixels
from veridical.errors import UserError
from veridical.records import Panel
from veridical.sources.boxes import png
from veridical.sources.boxes.scenes import HEIGHT, LEFTS, ORDERS, SIDE, WIDTH, Figure, Placed, Scene, panel, placed
from veridical.sources.boxes.sprites import FIELD, background, palette_words, sprites

_FIX = "Give an NLVR drawing: 400 x 100 pixels, three light grey boxes with squares, triangles and circles."
_SLOTS = 12  # bits of the table that finds a colour's palette index


Buffer = bytes | memoryview  # or anything else that gives its bytes, such as an Arrow buffer


class Beginning(NamedTuple):
    """What may begin at a pixel of a certain colour: an object, by its sprites."""

    figure: Figure
    ahead: int  # columns from its bounding square's left side to its first pixel
    sprites: dict[int, bytes]  # its pixels, by x in the whole drawing


def draw(panels: Sequence[Panel], order: Sequence[int] = (0, 1, 2)) -> Pixels:
    """The drawing of three panels as RGBA pixels, (100, 400, 4); the box at place k is `panels[order[k]]`."""
    indices = _stamp(_checked(panels), order)[:, png.PAD :]
    return palette_words()[indices].view(np.uint8).reshape(HEIGHT, WIDTH, 4)


def draw_png(panels: Sequence[Panel], order: Sequence[int] = (0, 1, 2)) -> bytes:
    """The drawing as a PNG file; the same panels and order always give the same bytes."""
    return png.encode(_stamp(_checked(panels), order))


def draw_views(panels: Sequence[Panel], orders: Sequence[Sequence[int]] = ORDERS) -> list[bytes]:
    """One PNG file for each order of the boxes: NLVR's six views of an item."""
    return draw_boxes(_checked(panels), orders)


def draw_boxes(boxes: Sequence[Sequence[Placed]], orders: Sequence[Sequence[int]] = ORDERS) -> list[bytes]:
    """The same of three boxes that were checked before, as `placed` gives them."""
    canvas = png.canvas()
    return [png.encode(_stamp(boxes, order, canvas)) for order in orders]


def _checked(panels: Sequence[Panel]) -> list[list[Placed]]:
    if len(panels) != len(LEFTS):
        raise UserError(f"A drawing has three boxes, but {len(panels)} panels were given.", "Give three panels.")
    return [placed(panel) for panel in panels]


def _stamp(boxes: Sequence[Sequence[Placed]], order: Sequence[int], canvas: Pixels | None = None) -> Pixels:
    """The boxes in an order, as palette indices, on a canvas that may be used again."""
    if sorted(order) != list(range(len(LEFTS))):
        raise UserError(f"{tuple(order)} is not an order of three boxes.", "Give a permutation of (0, 1, 2).")
    table, _ = sprites()
    out = png.canvas(canvas)
    for left, index in zip(LEFTS, order, strict=True):
        for y, x, figure in boxes[index]:
            column = png.PAD + left + x
            out[y : y + figure.size, column : column + figure.size] = table[figure, left + x]
    return out


# --- seeing -----------------------------------------------------------------------------------------------------------


def see(image: Path | Buffer | Pixels) -> Scene:
    """The three panels of a drawing: an image file, its bytes, or RGB(A) pixels of shape (100, 400, 3 or 4).

    Objects come in raster order. Squares of one colour that touch without a gap may be read as a larger square; NLVR's
    objects always have a gap.
    """
    rest = _indices(_pixels(image))
    scene = tuple(panel(_objects(rest, index), index) for index in range(len(LEFTS)))
    wrong = rest != background()
    if wrong.any():
        y, x = np.argwhere(wrong)[0]
        raise UserError(f"The pixel at ({x}, {y}) is no part of an NLVR drawing: it should be background.", _FIX)
    return scene


def _pixels(image: Path | Buffer | Pixels) -> Pixels:
    """RGBA pixels, (100, 400, 4), contiguous."""
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.shape not in ((HEIGHT, WIDTH, 3), (HEIGHT, WIDTH, 4)):
            raise UserError(f"Pixels of shape {image.shape} and type {image.dtype} are not an NLVR drawing.", _FIX)
        if image.shape[2] == 3:
            image = np.concatenate([image, np.full((HEIGHT, WIDTH, 1), 255, np.uint8)], axis=2)
        return np.ascontiguousarray(image)
    if isinstance(image, Path):
        path = image
        try:
            image = path.read_bytes()
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}.", _FIX) from None
    try:
        source = io.BytesIO(memoryview(image))
    except TypeError:
        raise UserError(f"{image!r} is no drawing: a file's Path, its bytes or its pixels are seen.", _FIX) from None
    try:
        with Image.open(source) as file:
            if file.size != (WIDTH, HEIGHT):
                raise UserError(f"An image of {file.width} x {file.height} pixels is not an NLVR drawing.", _FIX)
            return np.array(file.convert("RGBA"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"These {len(image)} bytes cannot be read as an image.", _FIX) from error


def _indices(rgba: Pixels) -> Pixels:
    """Palette indices of RGBA pixels, (100, 400)."""
    factor, table, colors = _index_table()
    words = rgba.view("<u4")[..., 0]
    out: Pixels = table[(words * factor) >> np.uint32(32 - _SLOTS)]
    wrong = colors[out] != words
    if wrong.any():
        y, x = np.argwhere(wrong)[0]
        color = tuple(int(value) for value in rgba[y, x])
        raise UserError(f"The pixel at ({x}, {y}) has the colour {color}, which no NLVR drawing has.", _FIX)
    return out


@cache
def _index_table() -> tuple[np.uint32, Pixels, npt.NDArray[np.uint32]]:
    """A perfect hash of the palette: a factor whose products with the colours differ in their highest bits, where to
    find which index, and the colours as words."""
    colors = palette_words()
    factors = np.random.default_rng(0).integers(1, 2**32, 1000, dtype=np.uint32)
    slots = (colors[None] * factors[:, None]) >> np.uint32(32 - _SLOTS)
    best = next(row for row in range(len(factors)) if len(set(slots[row].tolist())) == len(colors))
    table = np.zeros(1 << _SLOTS, np.uint8)
    table[slots[best]] = np.arange(len(colors), dtype=np.uint8)
    return factors[best], table, colors


@cache
def _candidates() -> dict[int, list[Beginning]]:
    """The objects that may begin at a pixel, by its palette index; the largest first, since a large square's or
    triangle's first rows are those of a small one."""
    known: dict[Figure, dict[int, bytes]] = {}
    first: dict[Figure, tuple[int, int]] = {}
    for (figure, x), sprite in sprites()[0].items():
        known.setdefault(figure, {})[x] = sprite.tobytes()
        ahead = int((sprite[0] != FIELD).argmax())
        first[figure] = (int(sprite[0, ahead]), ahead)
    out: dict[int, list[Beginning]] = {}
    for figure in sorted(known, key=lambda figure: -figure.size):
        color, ahead = first[figure]
        out.setdefault(color, []).append(Beginning(figure, ahead, known[figure]))
    return out


def _objects(rest: Pixels, index: int) -> list[Placed]:
    """The objects of one box, each taken away from the picture."""
    left = LEFTS[index]
    box = np.ascontiguousarray(rest[:, left : left + SIDE])
    flat = box.ravel()
    found: list[Placed] = []
    start = 0
    while True:
        start += int((flat[start:] != FIELD).argmax())
        if flat[start] == FIELD:
            break
        y, x = divmod(start, SIDE)
        figure = _match(box, y, x, int(flat[start]), left)
        if figure is None:
            raise UserError(f"The pixel at ({left + x}, {y}) is no part of any object that NLVR draws.", _FIX)
        found.append(figure)
        size = figure.figure.size
        box[figure.y : figure.y + size, figure.x : figure.x + size] = FIELD
    rest[:, left : left + SIDE] = box
    return found


def _match(box: Pixels, y: int, first: int, color: int, left: int) -> Placed | None:
    for figure, ahead, pixels in _candidates().get(color, ()):
        x = first - ahead
        if x < 0 or x + figure.size > SIDE or y + figure.size > SIDE:
            continue
        if box[y : y + figure.size, x : x + figure.size].tobytes() == pixels[left + x]:
            return Placed(y, x, figure)
    return None
