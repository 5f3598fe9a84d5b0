"""The pixels of one object, equal to those of the published drawings.

The drawings came from a browser's canvas: a path is cut into 4 x 4 samples a pixel, its edges followed in fixed point
(16.16, from coordinates cut, not rounded, to 1/64 of a sample). A circle is four conics, each halved into two parabolas
in single precision at its absolute position. A control point that should lie exactly on the circle's left or right side
can so come out a hair lower, and the cut then moves it by 1/256 of a pixel: this is why two edge pixels of large
circles depend on where in the drawing they stand. (In y the same error is undone, since curves are kept monotone.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Pixels
from veridical.sources.boxes.scenes import COLORS, HEIGHT, LEFTS, SHAPES, SIDE, SIZES, WIDTH, Figure

Curve = tuple[tuple[int, int, int], tuple[int, int, int]]  # x and y of a parabola's three points, 1/64 sample

SHIFT = 2  # four samples a pixel, in each direction
SAMPLES = 1 << SHIFT
UNITS = 64 * SAMPLES  # coordinates are cut to this part of a pixel
GAP, FIELD = 0, 1  # palette indices of the grey between boxes and of a box
GREYS = ((128, 128, 128), (211, 211, 211))

_WEIGHT = np.float32(np.sqrt(0.5))  # of a quarter circle's conic
_SCALE = np.float32(1) / (np.float32(1) + _WEIGHT)
_CORNERS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0))  # of the unit circle's conics


def coverage(shape: str, size: int, x: int, y: int) -> Pixels:
    """How much of each pixel of its bounding square an object covers (0 to 255), at (x, y) of the whole drawing."""
    if shape == "square":
        return np.full((size, size), 255, np.uint8)
    if shape == "triangle":
        return _triangle(size)
    return _circle(_curves(size, x, y), size)


@cache
def _triangle(size: int) -> Pixels:
    side = size * UNITS
    rows = _rows(size)
    _line(0, side, side // 2, 0, rows)
    _line(side // 2, 0, side, side, rows)
    return _cover(rows, size)


@cache
def _circle(curves: tuple[Curve, ...], size: int) -> Pixels:
    rows = _rows(size)
    for xs, ys in curves:
        _parabola(xs, ys, rows)
    return _cover(rows, size)


def _curves(size: int, x: int, y: int) -> tuple[Curve, ...]:
    """The eight parabolas of a circle, relative to its top left corner."""
    radius = np.float32(size / 2)
    points = [(np.float32(x) + radius + radius * u, np.float32(y) + radius + radius * v) for u, v in _CORNERS]
    out: list[Curve] = []
    for start in range(0, 8, 2):
        (x0, y0), (x1, y1), (x2, y2) = points[start : start + 3]
        for xs, ys in zip(_halves(x0, x1, x2), _halves(y0, y1, y2), strict=True):
            low, high = min(ys[0], ys[2]), max(ys[0], ys[2])
            monotone = (ys[0], min(max(ys[1], low), high), ys[2])
            out.append((_cut(xs, x), _cut(monotone, y)))
    return tuple(out)


def _halves(
    p0: np.float32, p1: np.float32, p2: np.float32
) -> tuple[tuple[np.float32, np.float32, np.float32], tuple[np.float32, np.float32, np.float32]]:
    """One coordinate of a quarter circle's conic, halved; every step rounds to single precision."""
    pull = _WEIGHT * p1
    middle = (p0 + (pull + pull) + p2) * _SCALE * np.float32(0.5)
    return (p0, (p0 + pull) * _SCALE, middle), (middle, (pull + p2) * _SCALE, p2)


def _cut(values: tuple[np.float32, np.float32, np.float32], origin: int) -> tuple[int, int, int]:
    a, b, c = (int(value * np.float32(UNITS)) - origin * UNITS for value in values)
    return a, b, c


def _rows(size: int) -> list[list[int]]:
    return [[] for _ in range(size * SAMPLES)]  # where the outline crosses each row of samples


def _parabola(xs: tuple[int, int, int], ys: tuple[int, int, int], rows: list[list[int]]) -> None:
    """Follow a parabola by forward differences, as 2, 4, ... straight pieces."""
    if ys[0] > ys[2]:
        xs, ys = xs[::-1], ys[::-1]
    bend_x, bend_y = (abs((2 * b - a - c) >> 2) for a, b, c in (xs, ys))
    bend = max(bend_x, bend_y) + (min(bend_x, bend_y) >> 1)
    halvings = max(1, ((bend + 16) >> 5).bit_length() // 2)
    path = list(zip(_steps(*xs, halvings), _steps(*ys, halvings), strict=True))
    for (x0, y0), (x1, y1) in itertools.pairwise(path):
        _line(x0, y0, x1, y1, rows)


def _steps(a: int, b: int, c: int, halvings: int) -> Iterator[int]:
    """One coordinate along a parabola, in 16.16 fixed point; the last point is exact."""
    second = (a - 2 * b + c) << 9
    value, step = a << 10, ((b - a) << 10) + (second >> halvings)
    for _ in range((1 << halvings) - 1):
        yield value >> 10
        value += step >> (halvings - 1)
        step += second >> (halvings - 1)
    yield value >> 10
    yield c


def _line(x0: int, y0: int, x1: int, y1: int, rows: list[list[int]]) -> None:
    """Add the sample at which a line crosses each row of samples whose centre it passes."""
    if y0 > y1:
        x0, y0, x1, y1 = x1, y1, x0, y0
    top, bottom = (y0 + 32) >> 6, (y1 + 32) >> 6
    if top == bottom:
        return
    slope = abs((x1 - x0) << 16) // (y1 - y0) * (1 if x1 > x0 else -1)  # cut towards zero
    x = (x0 + (slope * ((top << 6) + 32 - y0) >> 16)) << 10
    for row in range(top, bottom):
        rows[row].append((x + 0x8000) >> 16)
        x += slope


def _cover(rows: list[list[int]], size: int) -> Pixels:
    """Sum the samples of each pixel. A pixel inside a span gets 64 a row of samples but 63 in the last, so that four
    rows make 255; one at a span's end gets 16 a sample."""
    out = np.zeros((size, size + 1), np.int64)
    for row, crossings in enumerate(rows):
        if not crossings:
            continue
        start, stop = max(min(crossings), 0), max(crossings)
        if start >= stop:
            continue
        line = out[row >> SHIFT]
        first, last = start >> SHIFT, stop >> SHIFT
        if first == last:
            line[first] += 16 * (stop - start)
        else:
            line[first] += 16 * (SAMPLES - start % SAMPLES)
            line[first + 1 : last] += 63 if row % SAMPLES == SAMPLES - 1 else 64
            line[last] += 16 * (stop % SAMPLES)
        np.minimum(line, 255, out=line)
    return out[:, :size].astype(np.uint8)


def blend(cover: Pixels, color: tuple[int, int, int]) -> Pixels:
    """A colour over a box's grey, in the integer arithmetic of the published drawings: (...) -> (..., 3)."""
    part = cover.astype(np.int64)[..., None]
    return ((np.array(color) * (part + 1) >> 8) + (GREYS[FIELD][0] * (256 - part) >> 8)).astype(np.uint8)


@cache
def sprites() -> tuple[dict[tuple[Figure, int], Pixels], Pixels]:
    """Every object at every x of the drawing, as palette indices, and the palette (n, 3).

    Equal sprites are one array, so that there are only 36 of them.
    """
    colors: dict[tuple[int, ...], int] = {grey: index for index, grey in enumerate(GREYS)}
    table: dict[tuple[Figure, int], Pixels] = {}
    for shape, size in itertools.product(SHAPES, SIZES.values()):
        where: dict[bytes, list[int]] = {}  # a coverage, and the positions that have it
        for x in (left + step for left in LEFTS for step in range(SIDE - size + 1)):
            where.setdefault(coverage(shape, size, x, 0).tobytes(), []).append(x)
        for (cover, xs), (color, rgb) in itertools.product(where.items(), COLORS.items()):
            pixels = blend(np.frombuffer(cover, np.uint8), rgb).tolist()
            flat = [colors.setdefault(tuple(pixel), len(colors)) for pixel in pixels]
            sprite = np.array(flat, np.uint8).reshape(size, size)
            sprite.flags.writeable = False
            table.update({(Figure(shape, color, size), x): sprite for x in xs})
    return table, np.array(list(colors), np.uint8)


@cache
def palette_words() -> npt.NDArray[np.uint32]:
    """The palette as opaque RGBA pixels of one word each."""
    palette = sprites()[1]
    rgba = np.column_stack([palette, np.full(len(palette), 255, np.uint8)])
    return np.ascontiguousarray(rgba).view("<u4")[:, 0]


@cache
def background() -> Pixels:
    """A drawing without objects, as palette indices: (100, 400)."""
    out = np.full((HEIGHT, WIDTH), GAP, np.uint8)
    for left in LEFTS:
        out[:, left : left + SIDE] = FIELD
    out.flags.writeable = False
    return out
