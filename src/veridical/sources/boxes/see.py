"""Seeing: the scene of a drawing, recovered exactly from its pixels, or a clear error.

Each box is read in raster order: the first pixel that is not background belongs to an object whose sprite must match
exactly there; it is taken away, and so on until only background is left. So an answer is proof: drawing it again gives
the same pixels.
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from veridical.errors import UserError
from veridical.sources.boxes.scene import HEIGHT, LEFTS, SIDE, WIDTH, Placed, Scene, Thing, panel
from veridical.sources.boxes.sprites import FIELD, Pixels, background, palette_words, sprites

_FIX = "Give an NLVR drawing: 400 x 100 pixels, three light grey boxes with squares, triangles and circles."
_SLOTS = 12  # bits of the table that finds a colour's palette index


Buffer = bytes | memoryview  # or anything else that gives its bytes, such as an Arrow buffer


class Candidate(NamedTuple):
    """An object that may begin at a pixel of a certain colour."""

    thing: Thing
    ahead: int  # columns from its bounding square's left side to its first pixel
    sprites: dict[int, bytes]  # its pixels, by x in the whole drawing


def see(image: Path | Buffer | npt.NDArray[np.uint8]) -> Scene:
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


def _pixels(image: Path | Buffer | npt.NDArray[np.uint8]) -> Pixels:
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
def _candidates() -> dict[int, list[Candidate]]:
    """The objects that may begin at a pixel, by its palette index; the largest first, since a large square's or
    triangle's first rows are those of a small one."""
    known: dict[Thing, dict[int, bytes]] = {}
    first: dict[Thing, tuple[int, int]] = {}
    for (thing, x), sprite in sprites()[0].items():
        known.setdefault(thing, {})[x] = sprite.tobytes()
        ahead = int((sprite[0] != FIELD).argmax())
        first[thing] = (int(sprite[0, ahead]), ahead)
    out: dict[int, list[Candidate]] = {}
    for thing in sorted(known, key=lambda thing: -thing.size):
        color, ahead = first[thing]
        out.setdefault(color, []).append(Candidate(thing, ahead, known[thing]))
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
        thing = _match(box, y, x, int(flat[start]), left)
        if thing is None:
            raise UserError(f"The pixel at ({left + x}, {y}) is no part of any object that NLVR draws.", _FIX)
        found.append(thing)
        size = thing.thing.size
        box[thing.y : thing.y + size, thing.x : thing.x + size] = FIELD
    rest[:, left : left + SIDE] = box
    return found


def _match(box: Pixels, y: int, first: int, color: int, left: int) -> Placed | None:
    for thing, ahead, pixels in _candidates().get(color, ()):
        x = first - ahead
        if x < 0 or x + thing.size > SIDE or y + thing.size > SIDE:
            continue
        if box[y : y + thing.size, x : x + thing.size].tobytes() == pixels[left + x]:
            return Placed(y, x, thing)
    return None
