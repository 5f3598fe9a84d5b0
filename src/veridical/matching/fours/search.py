"""The search for blocks: a large fold is cut into cells of like rows, each cell into blocks, then again elsewhere.

Inside a cell all weights are held, a few thousand rows square, so that any swap of two rows is weighed at once: greedy
blocks first, then swaps at a falling temperature, then swaps that win until none does. What is found does not depend on
how many threads look at cells: each cell has its own random numbers and one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

import numpy as np

from veridical.common.arrays import Bools, Floats, Ints
from veridical.matching.fours.shown import block_sizes
from veridical.matching.fours.weights import BlockProblem, weights

CELL = 3400  # rows whose weights are held at once
NEAR = 24  # rows that each row may be moved to
PASSES = 2  # over the cells of a large fold
REPAIRS = 6  # attempts at blocks that hold what may not meet
HOT, WARM, COLD, SMALL_HOT = 1.5, 0.5, 0.05, 12.0  # temperatures, in units of W
STEPS, MORE = 1000, 300  # proposed swaps for each row, at first and in later passes
STARTS, SMALL = 8, 1024  # a small cell is searched several times, as long as that is as quick as one of so many rows
SETTLED = 30  # rounds of swaps that win, at most
POWER_STEPS = 12
CHUNK = 512  # rows that are sorted at once
HEAVY = 1 / 8  # of a cell: a text this common is dealt to both halves of a cut
_MAKING = Lock()


class Fold(Protocol):
    """A fold as the search sees it."""

    @property
    def texts(self) -> Ints: ...

    @property
    def tagged(self) -> bool:
        """Whether anything but texts decides which rows may meet."""

    def vectors(self, rows: Ints) -> Floats:
        """(n, D) what likeness of rows is measured by."""

    def cell(self, rows: Ints) -> BlockProblem:
        """The problem of some of the rows."""


@dataclass(frozen=True)
class Found:
    """The blocks of a fold."""

    block: Ints  # (N,): the block of each row, from 0
    misfits: Ints  # rows that must go for the others' blocks to be allowed; empty where all are


def blocks(fold: Fold, choices: int, rng: np.random.Generator, threads: int = 1) -> Found:
    """Cut a fold into blocks of `choices` rows, a few of more where rows are left over."""
    size = len(fold.texts)
    seeds = iter(rng.integers(1, 2**62, size=1 << 16).tolist())
    everyone = np.arange(size)
    if size <= CELL:
        block = _solve(fold.cell(everyone), choices, next(seeds))
    else:
        block = _in_cells(fold, choices, rng, seeds.__next__, threads)
    bad = _misfits(fold, block)
    for _ in range(REPAIRS):
        if not len(bad):
            break
        block = _repaired(fold, block, bad, choices, rng, next(seeds))
        bad = _misfits(fold, block)
    if len(bad) and not fold.tagged:
        block = _dealt(fold, choices, next(seeds))
        bad = _misfits(fold, block)
    return Found(block, bad)


def _in_cells(fold: Fold, choices: int, rng: np.random.Generator, seed: Callable[[], int], threads: int) -> Ints:
    size = len(fold.texts)
    block = np.full(size, -1, np.int64)
    units = np.arange(size)  # what a cut never divides: first single rows, then blocks
    for number in range(PASSES):
        cells = cut(fold, units, choices, rng, even=number == 0)
        given = [None if number == 0 else block[rows] for rows in cells]
        seeds = [seed() for _ in cells]
        with ThreadPoolExecutor(threads) as pool:
            done = list(
                pool.map(lambda rows, drawn, old: _solve(fold.cell(rows), choices, drawn, old), cells, seeds, given)
            )
        begin = 0
        for rows, found in zip(cells, done, strict=True):
            block[rows] = begin + found
            begin += int(found.max()) + 1
        units = block.copy()
    return block


def _solve(problem: BlockProblem, choices: int, seed: int, block: Ints | None = None) -> Ints:
    """Blocks of one cell, from the start or better than those given: numbers from 0."""
    from veridical.matching.fours import kernels

    with _MAKING:  # a table takes several times its room while it is made
        table = weights(problem)
        near = nearest(table)
    size = len(table)
    state = np.array([seed], np.uint64)

    def searched(first: Ints, steps: int, hot: float) -> tuple[float, Ints]:
        block, members = first.copy(), members_of(first)
        kernels.anneal(table, block, members, near, steps * size, hot, COLD, state)
        kernels.settle(table, block, members, np.empty((len(members), size)), SETTLED)
        return float(kernels.worth(table, members).sum()), block

    if block is not None:
        return searched(np.unique(block, return_inverse=True)[1].reshape(-1).astype(np.int64), MORE, WARM)[1]
    liked = np.take_along_axis(table, near[:, : choices - 1], axis=1).sum(1)
    first = kernels.start(table, block_sizes(size, choices), np.argsort(liked, kind="stable"))
    found = [searched(first, STEPS, HOT)]
    more = range(1, min(STARTS, SMALL // size))  # from anywhere, and hot
    found += [searched(np.random.default_rng([seed, k]).permutation(first), STEPS, SMALL_HOT) for k in more]
    return max(found, key=lambda one: one[0])[1]


def nearest(table: Floats) -> Ints:
    """(n, NEAR) the rows that each row is worth most with, best first."""
    count = min(NEAR, len(table) - 1)
    parts = []
    for begin in range(0, len(table), CHUNK):
        own = np.array(table[begin : begin + CHUNK])
        own[np.arange(len(own)), begin + np.arange(len(own))] = -np.inf
        some = np.argpartition(own, -count, axis=1)[:, -count:]
        order = np.argsort(-np.take_along_axis(own, some, axis=1), axis=1, kind="stable")
        parts.append(np.take_along_axis(some, order, axis=1))
    return np.ascontiguousarray(np.concatenate(parts), np.int64)


def members_of(block: Ints) -> Ints:
    """(blocks, widest) the rows of each block, -1 where it has fewer."""
    counts = np.bincount(block)
    order = np.argsort(block, kind="stable")
    out = np.full((len(counts), int(counts.max())), -1, np.int64)
    starts = np.cumsum(counts) - counts
    out[block[order], np.arange(len(block)) - starts[block[order]]] = order
    return out


def _misfits(fold: Fold, block: Ints) -> Ints:
    """As few rows as will do, without which every block is allowed."""
    members = members_of(block)
    out: list[int] = []
    for begin in range(0, len(members), CELL // members.shape[1]):
        some = members[begin : begin + CELL // members.shape[1]]
        rows = np.sort(some[some >= 0])
        allowed = fold.cell(rows).allowed()
        place = {int(row): k for k, row in enumerate(rows)}
        for one in some:
            here = [place[int(row)] for row in one if row >= 0]
            out += [int(rows[k]) for k in _cover(here, allowed)]
    return np.array(sorted(out), np.int64)


def _cover(rows: list[int], allowed: Bools) -> list[int]:
    """Of a block's rows, those to leave out: the one that most others may not meet, and so on."""
    left, out = list(rows), list[int]()
    while True:
        clashes = [sum(not allowed[a, b] for b in left if b != a) for a in left]
        if not any(clashes):
            return out
        out.append(left.pop(int(np.argmax(clashes))))


def _repaired(fold: Fold, block: Ints, bad: Ints, choices: int, rng: np.random.Generator, seed: int) -> Ints:
    """The blocks with misfits searched again, together with others drawn at random."""
    wanted = np.unique(block[bad])
    others = rng.permutation(np.setdiff1d(np.unique(block), wanted))
    chosen = np.concatenate([wanted, others])[: max(1, CELL // choices)]
    rows = np.flatnonzero(np.isin(block, chosen))
    found = _solve(fold.cell(rows), choices, seed)
    out = block.copy()
    out[rows] = found + int(block.max()) + 1
    return np.unique(out, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _dealt(fold: Fold, choices: int, seed: int) -> Ints:
    """Rows dealt to blocks in the order of their texts, so that no text comes twice; then swaps of neighbours."""
    number = len(fold.texts) // choices
    block = np.empty(len(fold.texts), np.int64)
    block[np.argsort(fold.texts, kind="stable")] = np.arange(len(block)) % number
    out = block.copy()
    for begin in range(0, number, CELL // choices):
        rows = np.flatnonzero((block >= begin) & (block < begin + CELL // choices))
        out[rows] = begin + _solve(fold.cell(rows), choices, seed + begin, block[rows])
    return out


# --- cells -----------------------------------------------------------------------------------------------------------


def cut(fold: Fold, units: Ints, choices: int, rng: np.random.Generator, *, even: bool) -> list[Ints]:
    """Cells of CELL rows at most, whole units, each of a multiple of `choices` rows where that can be.

    A cell is cut in two along its widest direction: in the middle, or, so that another pass has its borders elsewhere,
    at a place that is drawn.
    """
    waiting, out = [np.arange(len(units))], []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= CELL:
            out.append(rows)
            continue
        share = 0.5 if even else float(rng.uniform(0.35, 0.65))
        lower = _lower(fold, rows, units[rows], choices, share, rng)
        waiting += [rows[~lower], rows[lower]]
    return out


def _lower(fold: Fold, rows: Ints, units: Ints, choices: int, share: float, rng: np.random.Generator) -> Bools:
    """Which rows are on the lower side of a cut; common texts are dealt to both sides in the same shares."""
    x = fold.vectors(rows)
    x = x - x.mean(0)
    direction = rng.standard_normal(x.shape[1]).astype(np.float32)
    for _ in range(POWER_STEPS):
        direction = x.T @ (x @ direction)
        direction /= np.linalg.norm(direction) + 1e-12
    _, unit = np.unique(units, return_inverse=True)
    sizes = np.bincount(unit)
    place = np.bincount(unit, weights=x @ direction) / sizes
    texts = fold.texts[rows]
    heavy = np.bincount(texts)[texts] > HEAVY * CELL
    stratum = np.zeros(len(sizes), np.int64)
    stratum[unit[heavy]] = texts[heavy] + 1
    lower = np.zeros(len(sizes), bool)
    for one in np.unique(stratum)[::-1]:  # what is common first: the rest makes the number of rows whole
        here = np.flatnonzero(stratum == one)
        here = here[np.argsort(place[here], kind="stable")]
        total = np.cumsum(sizes[here])
        last = int(np.searchsorted(total, share * total[-1]))
        if one == 0:
            before = int(sizes[lower].sum())
            whole = np.flatnonzero((total + before) % choices == 0)
            last = int(whole[np.abs(whole - last).argmin()]) if len(whole) else last
        lower[here[: last + 1]] = True
    if lower.all() or not lower.any():  # nothing tells the units apart
        lower = np.arange(len(lower)) < len(lower) // 2
    return np.asarray(lower[unit], bool)
