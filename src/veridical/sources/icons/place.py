"""Places for the icons of a scene: pieces are put where a coarse grid of the picture is still free.

A piece is one icon, or two that interact and keep their places to each other. Every layout proposes places; the grid
decides. The tries are bounded, and `place` returns None when they run out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from veridical.common.arrays import Mask
from veridical.sources.icons.sprites import CELL, Sprite, cells_of

LAYOUTS = ("scattered", "row", "grid", "cluster", "facing", "corners")
QUARTERS = 4  # pieces that the layout `corners` puts into the quarters of the picture, from upper left to lower right
APART = 12  # pixels that nothing else comes near to those
TRIES = 60  # places per piece

Spot = tuple[int, int]  # left and top, in pixels


@dataclass(frozen=True, slots=True)
class Piece:
    """Icons that are placed as one."""

    members: tuple[tuple[int, Spot], ...]  # index of the object, and its ink's left top within the piece
    width: int  # with a cell's room on every side
    height: int
    cells: Mask  # what it covers, (height / CELL, width / CELL), rounded up

    @staticmethod
    def single(index: int, sprite: Sprite) -> Piece:
        """A piece of one icon."""
        return Piece(((index, (CELL, CELL)),), sprite.width + 2 * CELL, sprite.height + 2 * CELL, sprite.cells)


def _piece(members: tuple[tuple[int, Sprite, Spot], ...]) -> Piece:
    """Icons at their places to each other."""
    left = min(x for _, _, (x, _) in members)
    top = min(y for _, _, (_, y) in members)
    width = max(x + one.width for _, one, (x, _) in members) - left + 2 * CELL
    height = max(y + one.height for _, one, (_, y) in members) - top + 2 * CELL
    covered = np.zeros((height, width), bool)
    for _, one, (x, y) in members:
        mask = one.covered()
        covered[y - top : y - top + mask.shape[0], x - left : x - left + mask.shape[1]] |= mask
    spots = tuple((index, (x - left + CELL, y - top + CELL)) for index, _, (x, y) in members)
    return Piece(spots, width, height, cells_of(covered))


def together(
    rng: np.random.Generator, predicate: str, facing: str, subject: tuple[int, Sprite], target: tuple[int, Sprite]
) -> Piece:
    """Two icons that interact; `facing` is the side of the subject where the other stands."""
    (one, a), (other, b) = subject, target
    if predicate == "on":
        return _piece(((one, a, (0, 0)), (other, b, _below(a, b))))
    gap = {"next to": int(rng.integers(5, 10)), "holding": -1}.get(predicate, int(rng.integers(10, 26)))
    x = a.width + gap if facing == "right" else -b.width - gap
    y = a.height - b.height if predicate != "holding" else int(0.5 * a.height - 0.5 * b.height)
    if predicate == "holding":
        x += _slack(a, b, y, facing)
    return _piece(((one, a, (0, 0)), (other, b, (x, y))))


def _below(a: Sprite, b: Sprite) -> Spot:
    """Where b is when a rests on it: as high as it goes before their inks touch."""
    x = (a.width - b.width) // 2
    upper, lower = a.solid(), b.solid()
    low = max(x, 0)
    high = min(x + b.width, a.width)
    upper, lower = upper[:, low:high], lower[:, low - x : high - x]
    both = upper.any(axis=0) & lower.any(axis=0)
    if not both.any():
        return (x, a.height)
    bottoms = a.height - np.argmax(upper[::-1], axis=0)  # one below the lowest ink of each column
    tops = np.argmax(lower, axis=0)
    return (x, int((bottoms - tops)[both].max()))


def _slack(a: Sprite, b: Sprite, y: int, facing: str) -> int:
    """How far b may move towards a, from box to box, until their inks touch; sideways, in pixels."""
    first, second = a.solid(), b.solid()
    low, high = max(y, 0), min(y + b.height, a.height)
    first, second = first[low:high], second[low - y : high - y]
    if facing == "left":
        first, second = first[:, ::-1], second[:, ::-1]
    both = first.any(axis=1) & second.any(axis=1)
    if not both.any():
        return 0
    room = np.argmax(first[:, ::-1], axis=1) + np.argmax(second, axis=1)
    move = int(room[both].min())
    return -move if facing == "right" else move


def place(rng: np.random.Generator, pieces: list[Piece], width: int, height: int, layout: str) -> list[Spot] | None:
    """The left top of every object, by index, or None where no places were found."""
    rows, columns = height // CELL, width // CELL
    order = list(range(len(pieces)))  # of a facing pair, the first one stands left
    if layout in ("row", "grid"):
        order = [int(k) for k in rng.permutation(len(pieces))]
    elif layout == "corners":
        order[QUARTERS:] = sorted(order[QUARTERS:], key=lambda k: -pieces[k].cells.size)
    elif layout != "facing":
        order.sort(key=lambda k: -pieces[k].cells.size)  # the largest first, while there is room
    proposals = _proposals(rng, [pieces[k] for k in order], width, height, layout)
    taken = np.zeros((rows, columns), bool)
    spots: dict[int, Spot] = {}
    for k in order:
        piece = pieces[k]
        for left, top in next(proposals):
            column, row = left // CELL, top // CELL
            if column < 0 or row < 0 or row + piece.cells.shape[0] > rows or column + piece.cells.shape[1] > columns:
                continue
            window = taken[row : row + piece.cells.shape[0], column : column + piece.cells.shape[1]]
            if not (window & piece.cells).any():
                window |= piece.cells
                if layout == "corners" and k < QUARTERS:
                    away = -(-APART // CELL)
                    end = (row + piece.cells.shape[0] + away, column + piece.cells.shape[1] + away)
                    taken[max(row - away, 0) : end[0], max(column - away, 0) : end[1]] = True
                spots.update({index: (column * CELL + x, row * CELL + y) for index, (x, y) in piece.members})
                break
        else:
            return None
    return [spots[index] for index in range(len(spots))]


def _proposals(
    rng: np.random.Generator, pieces: list[Piece], width: int, height: int, layout: str
) -> Iterator[list[Spot]]:
    """For each piece in turn, the places to try."""
    if layout in ("row", "facing"):
        yield from _row(rng, pieces, width, height)
        return
    columns = max(1, round((len(pieces) * width / height) ** 0.5))
    lines = -(-len(pieces) // columns) if pieces else 1
    middle = np.array([width, height]) * rng.uniform(0.4, 0.6, 2)
    for k, piece in enumerate(pieces):
        room = np.array([width - piece.width, height - piece.height])
        if (room < 0).any():
            yield []
        elif layout == "corners" and k < QUARTERS:
            half = np.array([width / 2, height / 2])
            free = half - (piece.width, piece.height)  # below 0: it reaches over the middle
            yield ((k % 2, k // 2) * half + np.clip(rng.random((TRIES, 2)) * free, 0, None)).astype(int).tolist()
        elif layout == "grid":
            cell = np.array([width / columns, height / lines])
            centre = (np.array([k % columns, k // columns]) + 0.5) * cell
            jitter = rng.uniform(-0.12, 0.12, (TRIES // 4, 2)) * cell
            jitter[-1] = 0  # the last resort of a full picture
            spots = np.clip(centre + jitter - (piece.width / 2, piece.height / 2), 0, room)
            yield spots.astype(int).tolist()
        elif layout == "cluster":
            # wider and wider around one point
            spread = np.linspace(0.05, 0.6, TRIES)[:, None] * rng.standard_normal((TRIES, 2)) * (width, height)
            spots = np.clip(middle + spread - (piece.width / 2, piece.height / 2), 0, room)
            yield spots.astype(int).tolist()
        else:
            yield (rng.random((TRIES, 2)) * room).astype(int).tolist()


def _row(rng: np.random.Generator, pieces: list[Piece], width: int, height: int) -> Iterator[list[Spot]]:
    """Side by side on one line, evenly spaced."""
    free = width - sum(piece.width for piece in pieces)
    tallest = max((piece.height for piece in pieces), default=0)
    if free < 0 or tallest > height:
        yield from ([] for _ in pieces)
        return
    gap = free / (len(pieces) + 1)
    foot = tallest + rng.random() * (height - tallest)
    left = gap
    for piece in pieces:
        yield [(int(left), int(foot - piece.height))]
        left += piece.width + gap
