"""Outlines of icons as polygons: the border between covered and free cells of a glyph's mask, straightened.

Traced once for each glyph and kind of person at a quarter of the large mask's size, then moved with the icon.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from veridical.sources.icons.glyphs import Glyph
from veridical.sources.icons.sprites import Look, Mask, affine, masks, scale_of

LEVEL = 2  # the mask is halved this often
TOLERANCE = 0.8  # of the straightening, in cells
SMALLEST = 6  # outlines with fewer edges are specks

Points = NDArray[np.float64]  # (n, 2): x, y
Polygon = tuple[tuple[float, float], ...]


def outline(look: Look, x: int, y: int) -> tuple[Polygon, ...]:
    """The outlines of an icon whose ink's left top is at (x, y), in pixels of the picture; holes are not cut out."""
    traced = _traced(look.glyph, look.age, look.gender)
    turned = [_moved(points, look) for points in traced]
    corner = np.min([points.min(axis=0) for points in turned], axis=0)
    at = np.array([x, y]) - corner
    return tuple(tuple((px, py) for px, py in np.round(points + at, 1).tolist()) for points in turned)


def _moved(points: Points, look: Look) -> Points:
    """Scaled, mirrored and turned as the sprite is."""
    scale = scale_of(look) * 2**LEVEL
    a, b, d, e = affine(look, scale)
    return np.asarray(points @ np.linalg.inv(np.array([[a, b], [d, e]])).T)


@lru_cache(maxsize=512)
def _traced(glyph: Glyph, age: str | None, gender: str | None) -> tuple[Points, ...]:
    fill = np.asarray(masks(glyph, age, gender, LEVEL)[0]) >= 128
    return tuple(straightened(loop, TOLERANCE) for loop in loops(fill) if len(loop) >= SMALLEST)


def loops(mask: Mask) -> list[Points]:
    """The closed outlines of a mask along the edges of its cells, the mask always to the right of the way.

    >>> [len(loop) for loop in loops(np.array([[True, True], [True, False]]))]
    [8]
    """
    full = np.pad(mask, 1)
    after: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for dy, dx, start, end in (
        (-1, 0, (0, 0), (1, 0)),
        (0, 1, (1, 0), (1, 1)),
        (1, 0, (1, 1), (0, 1)),
        (0, -1, (0, 1), (0, 0)),
    ):
        edge = full & ~np.roll(full, (-dy, -dx), (0, 1))
        for row, column in np.argwhere(edge) - 1:
            here = (int(column) + start[0], int(row) + start[1])
            after.setdefault(here, []).append((int(column) + end[0], int(row) + end[1]))
    found = []
    while after:
        first = here = next(iter(after))
        loop = []
        while True:
            loop.append(here)
            following = after[here].pop()
            if not after[here]:
                del after[here]
            here = following
            if here == first:
                break
        found.append(np.array(loop, float))
    return found


def straightened(loop: Points, tolerance: float) -> Points:
    """A loop with fewer corners, none of the old ones further from it than the tolerance (Douglas and Peucker)."""
    far = int(np.argmax(((loop - loop[0]) ** 2).sum(axis=1)))
    closed = np.vstack([loop, loop[:1]])
    keep = np.zeros(len(closed), bool)
    keep[[0, far, len(loop)]] = True
    spans = [(0, far), (far, len(loop))]
    while spans:
        low, high = spans.pop()
        if high - low < 2:
            continue
        start, way = closed[low], closed[high] - closed[low]
        offsets = closed[low + 1 : high] - start
        length = float(np.hypot(*way))
        distance = np.abs(offsets[:, 0] * way[1] - offsets[:, 1] * way[0]) / length if length else np.hypot(*offsets.T)
        worst = int(np.argmax(distance))
        if distance[worst] > tolerance:
            middle = low + 1 + worst
            keep[middle] = True
            spans += [(low, middle), (middle, high)]
    return closed[:-1][keep[:-1]]
