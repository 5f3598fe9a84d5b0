"""COCO's run-length masks as outlines.

A mask is the lengths of its runs of zeros and ones by turns, down the columns; a "compressed" one writes them as text,
five bits a character, each but the first three as the difference to the one two before it. An outline runs along the
edges of the mask's pixels. Holes are filled: outlines, as COCO has them, cannot say otherwise.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

Point = tuple[float, float]
Corner = tuple[int, int]
Mask = npt.NDArray[np.bool_]
_FIRST = 48  # the character for zero
_MOST_CHARACTERS = 13  # of one number: as many as 64 bits take


def decode_mask(counts: list[int] | str, height: int, width: int) -> Mask:
    """The mask of some runs; ValueError says what is wrong with them."""
    runs = np.array(_numbers(counts) if isinstance(counts, str) else counts, dtype=object)
    if any(run < 0 for run in runs) or sum(runs) != height * width:
        raise ValueError(f"its runs cover {sum(runs):,} pixels, and {height} x {width} are {height * width:,}")
    ones = np.arange(len(runs)) % 2 == 1
    return np.repeat(ones, runs.astype(np.int64)).reshape(width, height).T


def _numbers(text: str) -> list[int]:
    """The lengths of the runs that a text stands for."""
    found: list[int] = []
    number = shift = 0
    for character in text:
        code = ord(character) - _FIRST
        if not 0 <= code < 64 or shift >= 5 * _MOST_CHARACTERS:
            raise ValueError(f"its text has {character!r}, which is in no mask")
        number |= (code & 31) << shift
        shift += 5
        if code & 32:  # the number goes on
            continue
        if code & 16:  # it is negative
            number -= 1 << shift
        found.append(number + found[-2] if len(found) > 2 else number)
        number = shift = 0
    if shift:
        raise ValueError("its text ends within a number")
    return found


def outlines(mask: Mask) -> tuple[tuple[Point, ...], ...]:
    """The outer edges of a mask's parts, clockwise from the first corner of each, top to bottom.

    >>> outlines(np.array([[0, 0, 0], [0, 1, 1]], bool))
    (((1.0, 1.0), (3.0, 1.0), (3.0, 2.0), (1.0, 2.0)),)
    """
    ahead = _edges(mask)
    found = []
    for start in sorted(ahead, key=lambda corner: (corner[1], corner[0])):
        while ahead[start]:
            corners = _walk(ahead, start)
            if _area(corners) > 0:  # a hole's edge runs the other way
                found.append(tuple((float(x), float(y)) for x, y in corners))
    return tuple(found)


def _edges(mask: Mask) -> dict[Corner, list[Corner]]:
    """Where one can go from each corner along a pixel's edge, with the mask on the right hand."""
    padded = np.pad(mask, 1)
    inside = padded[1:-1, 1:-1]
    sides = (  # the neighbour, and the edge's two ends from the pixel's top left corner
        (padded[:-2, 1:-1], (0, 0), (1, 0)),
        (padded[1:-1, 2:], (1, 0), (1, 1)),
        (padded[2:, 1:-1], (1, 1), (0, 1)),
        (padded[1:-1, :-2], (0, 1), (0, 0)),
    )
    ahead: dict[Corner, list[Corner]] = defaultdict(list)
    for neighbour, (x0, y0), (x1, y1) in sides:
        rows, columns = np.nonzero(inside & ~neighbour)
        for x, y in zip(columns.tolist(), rows.tolist(), strict=True):
            ahead[x + x0, y + y0].append((x + x1, y + y1))
    return dict(ahead)


def _walk(ahead: dict[Corner, list[Corner]], start: Corner) -> list[Corner]:
    """The corners of the edge through a point, which is used up; only those where it turns."""
    path = [start]
    here, step = start, (0, 0)
    while True:
        ways = ahead[here]
        right = here[0] - step[1], here[1] + step[0]
        there = right if right in ways else ways[0]  # parts that only touch at a corner are apart
        ways.remove(there)
        step = there[0] - here[0], there[1] - here[1]
        here = there
        if here == start:
            break
        path.append(here)
    return [b for a, b, c in zip((path[-1], *path), path, (*path[1:], path[0]), strict=False) if _turns(a, b, c)]


def _turns(a: Corner, b: Corner, c: Corner) -> bool:
    return (b[0] - a[0]) * (c[1] - b[1]) != (b[1] - a[1]) * (c[0] - b[0])


def _area(corners: list[Corner]) -> int:
    """Twice the area; negative where the corners run anticlockwise."""
    after = (*corners[1:], corners[0])
    return sum(x * v - u * y for (x, y), (u, v) in zip(corners, after, strict=True))
