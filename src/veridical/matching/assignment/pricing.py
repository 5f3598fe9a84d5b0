"""Search over all pairs of queries and kinds of responses, a block of rows at a time, never holding N x N.

The similarity term is never positive, so log P_rel alone bounds W from above: one matrix product finds every pair that
could still matter at the present prices, and only those few are weighed exactly. Columns are visited in the order of
their prices, so that 64 of them share one threshold, turned back into an inner product: the inner loop is a comparison.
`Scores.rounding` lowers the threshold, which makes the search a proof: a pair it passes over is no better than what its
query has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.matching.assignment.auction import jit
from veridical.matching.assignment.prepared import Field
from veridical.matching.assignment.problem import Doubles, EmbeddingScores, Floats, Integers

BLOCK = 40_000_000  # bytes of one block of scores
CHUNK = 1 << 18  # pairs that are weighed exactly at once


@dataclass(frozen=True)
class Product:
    """Blocks of rows of a number x that rises with relevance: log P_rel = log sigmoid(slope x + intercept), or x."""

    field: Field
    slope: float  # 0 where x is log P_rel itself
    intercept: float
    rounding: float
    right: Floats | None  # (M, D): the embeddings of the kinds, if relevance is an inner product

    def blocks(self, order: Integers, rows: Integers) -> Iterator[tuple[slice, Floats]]:
        """(which of the rows, their x (some, columns)), columns being kinds in that order.

        An array is only good until the next is asked for.
        """
        scores = self.field.problem.relevance
        step = max(1, min(len(rows), BLOCK // (4 * max(1, len(order)))))
        buffer = np.empty((step, len(order)), np.float32)
        right = None if self.right is None else self.right[order]
        for start in range(0, len(rows), step):
            chosen = rows[start : start + step]
            out = buffer[: len(chosen)]
            if right is not None and isinstance(scores, EmbeddingScores):
                np.matmul(scores.left[chosen], right.T, out=out)
            else:
                low, high = int(chosen.min()), int(chosen.max()) + 1
                for begin in range(low, high, step):
                    inside = np.flatnonzero((chosen >= begin) & (chosen < begin + step))
                    if len(inside):
                        block = scores.block(begin, min(begin + step, high))
                        out[inside] = block[chosen[inside] - begin][:, self.field.sample[order]]
            yield slice(start, start + len(chosen)), out


def product(field: Field) -> Product:
    """How relevance is searched: through the inner product if it is one, through its own blocks otherwise."""
    scores = field.problem.relevance
    rounding = float(getattr(scores, "rounding", 1e-4))
    if not isinstance(scores, EmbeddingScores) or scores.slope == 0:
        return Product(field, 0.0, 0.0, rounding, None)
    slope, intercept = scores.logit
    right = scores.right if len(field.texts) == field.size else scores.right[field.sample]
    return Product(field, abs(slope), intercept, rounding, right if slope > 0 else -right)


class Weighed(NamedTuple):
    """Pairs with their exact terms."""

    rows: Integers
    kinds: Integers
    relevance: Floats
    dissimilarity: Floats  # the least log(1 - P_sim) against all that the query has

    def only(self, chosen: NDArray[Any]) -> Weighed:
        return Weighed(*(part[chosen] for part in self))


def weigh(field: Field, given: Integers, rows: Integers, kinds: Integers, floor: Doubles | None = None) -> Weighed:
    """The exact terms of W for pairs; with a floor for each pair, only of those above it.

    `given` (k, N) are the responses each query has: its own and those of earlier rounds.
    """
    parts = []
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        some, those = rows[chunk], kinds[chunk]
        low = np.zeros(0) if floor is None else floor[chunk]
        values = field.relevance(some, those)
        least: Floats = np.zeros(len(some), np.float32)
        for step in range(len(given) + 1):
            if floor is not None:
                keep = field.total(values, least) > low
                some, those, values, least, low = some[keep], those[keep], values[keep], least[keep], low[keep]
            if step < len(given):
                least = np.minimum(least, field.dissimilarity(given[step][some], those))
        parts.append((some, those, values, least))
    if not parts:
        return Weighed(rows, kinds, np.zeros(0, np.float32), np.zeros(0, np.float32))
    return Weighed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def weigh_again(field: Field, latest: Integers, rows: Integers, kinds: Integers) -> Floats:
    """log(1 - P_sim) of pairs against the response each query got last."""
    parts = [np.zeros(0, np.float32)]
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        parts.append(field.dissimilarity(latest[rows[chunk]], kinds[chunk]))
    return np.concatenate(parts)


def cuts(size: int, parts: int) -> list[tuple[int, int]]:
    edges = [size * n // parts for n in range(parts + 1)]
    return [(a, b) for a, b in pairwise(edges) if b > a]


class Kernels(NamedTuple):
    pairs: Callable[..., Any]
    top_rows: Callable[..., Any]
    top_columns: Callable[..., Any]
    exceed: Callable[..., Any]
    listed: Callable[..., Any]


@cache
def kernels() -> Kernels:
    return Kernels(
        jit(_pairs, fastmath={"reassoc", "contract"}), jit(_top_rows), jit(_top_columns), jit(_exceed), jit(_listed)
    )


def _pairs(left, right, rows, columns, slope, intercept):
    """log sigmoid of the logit of each pair."""
    out = np.empty(len(rows), np.float32)
    for n in range(len(rows)):
        a, b = left[rows[n]], right[columns[n]]
        total = np.float32(0.0)
        for d in range(len(a)):
            total += a[d] * b[d]
        logit = slope * np.float64(total) + intercept
        out[n] = min(logit, 0.0) - np.log1p(np.exp(-abs(logit)))
    return out


def _top_rows(block, slope, intercept, order, prices, taken, texts, needs, lacks, best, scores, bounds):
    """For each row the allowed kinds with the highest log P_rel - price, in a heap whose root is the lowest of them.

    `bounds` becomes what no other allowed kind exceeds. Columns are kinds in `order` of rising prices.
    """
    size, step = best.shape[1], 64
    heap = np.empty(size, np.float64)
    for row in range(len(block)):
        count = 0
        for start in range(0, block.shape[1], step):
            low = np.float32(-np.inf)
            if count == size:
                level = heap[0] + prices[start]
                if slope > 0:
                    if level >= 0:
                        break
                    level = (-np.log(np.expm1(-level)) - intercept) / slope
                low = np.float32(level)
            for column in range(start, min(start + step, block.shape[1])):
                x = block[row, column]
                if not x > low:
                    continue
                relevance = np.float64(x)
                if slope > 0:
                    logit = slope * relevance + intercept
                    relevance = min(logit, 0.0) - np.log1p(np.exp(-abs(logit)))
                value = relevance - prices[column]
                if count == size and value <= heap[0]:
                    continue
                kind = order[column]
                fine = True
                for k in range(taken.shape[1]):
                    fine = fine and taken[row, k] != texts[kind]
                for k in range(needs.shape[1]):
                    fine = fine and (needs[kind, k] & lacks[row, k]) == 0
                if not fine:
                    continue
                if count < size:  # rise from the end
                    slot = count
                    count += 1
                    while slot > 0 and heap[(slot - 1) // 2] > value:
                        above = (slot - 1) // 2
                        heap[slot], best[row, slot], scores[row, slot] = (
                            heap[above],
                            best[row, above],
                            scores[row, above],
                        )
                        slot = above
                else:  # sink from the root
                    slot = 0
                    while 2 * slot + 1 < size:
                        child = 2 * slot + 1
                        if child + 1 < size and heap[child + 1] < heap[child]:
                            child += 1
                        if heap[child] >= value:
                            break
                        heap[slot], best[row, slot], scores[row, slot] = (
                            heap[child],
                            best[row, child],
                            scores[row, child],
                        )
                        slot = child
                heap[slot], best[row, slot], scores[row, slot] = value, kind, relevance
        bounds[row] = heap[0] + 1e-6 * (1.0 + abs(heap[0])) if count == size else -np.inf
        for slot in range(count, size):
            best[row, slot] = -1


def _top_columns(block, low, high, rows, taken, texts, needs, lacks, best, scores):
    """For each column from low to high the allowed rows with the highest numbers, in order, over all blocks so far."""
    last = best.shape[1] - 1
    for row in range(len(block)):
        for column in range(low, high):
            value = block[row, column]
            if not value > scores[column, last]:
                continue
            fine = True
            for k in range(taken.shape[1]):
                fine = fine and taken[row, k] != texts[column]
            for k in range(needs.shape[1]):
                fine = fine and (needs[column, k] & lacks[row, k]) == 0
            if not fine:
                continue
            slot = last
            while slot > 0 and scores[column, slot - 1] < value:
                scores[column, slot] = scores[column, slot - 1]
                best[column, slot] = best[column, slot - 1]
                slot -= 1
            scores[column, slot] = value
            best[column, slot] = rows[row]


def _exceed(block, slope, intercept, order, prices, profits, taken, texts, needs, lacks, found):
    """List the allowed (row, kind) whose bound exceeds price + profit. Returns their number and the rows done.

    Columns are kinds in `order` of rising prices, so the first price of 64 gives a threshold low enough for all.
    """
    step, count = 64, 0
    for row in range(len(block)):
        if count + block.shape[1] > len(found) and row > 0:
            return count, row
        for start in range(0, block.shape[1], step):
            stop = min(start + step, block.shape[1])
            level = profits[row] + prices[start]
            if slope > 0:
                if level >= 0:
                    break  # no logarithm of a probability is that high, here or further on
                level = (-np.log(np.expm1(-level)) - intercept) / slope  # the x where log sigmoid is that high
            low = np.float32(level) - np.float32(1e-6) * abs(np.float32(level))
            hits = 0
            for column in range(start, stop):
                hits += block[row, column] > low
            if hits == 0:
                continue
            for column in range(start, stop):
                if not block[row, column] > low:
                    continue
                kind = order[column]
                fine = True
                for k in range(taken.shape[1]):
                    fine = fine and taken[row, k] != texts[kind]
                for k in range(needs.shape[1]):
                    fine = fine and (needs[kind, k] & lacks[row, k]) == 0
                if fine:
                    found[count, 0] = row
                    found[count, 1] = kind
                    count += 1
    return count, len(block)


def _listed(best, scores, prices, profits, found):
    """Pairs on the rows' lists whose log P_rel exceeds price + profit: their number, and the rows done."""
    count = 0
    for row in range(len(best)):
        if count + best.shape[1] > len(found):
            return count, row
        for slot in range(best.shape[1]):
            kind = best[row, slot]
            if kind >= 0 and scores[row, slot] - prices[kind] > profits[row]:
                found[count, 0] = row
                found[count, 1] = kind
                count += 1
    return count, len(best)
