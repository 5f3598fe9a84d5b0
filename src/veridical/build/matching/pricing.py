"""Search over all pairs of queries and kinds of responses, a block of rows at a time, never holding N x N.

The similarity term is never positive, so log P_rel alone bounds W from above: one matrix product finds every pair that
could still matter at the present prices, and only those few are weighed exactly. log sigmoid is concave, so the lowest
of a few of its tangents bounds it too: no exponentials in the inner loop. `Scores.rounding` widens the bound, which
makes the search a proof: a pair it passes over is no better than what its query has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.build.matching.auction import jit
from veridical.build.matching.field import Field
from veridical.build.matching.problem import Doubles, EmbeddingScores, Floats, Integers, log_sigmoid

BLOCK = 40_000_000  # bytes of one block of scores
CHUNK = 1 << 18  # pairs that are weighed exactly at once
TANGENTS = np.array([-4.5, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.5])


@dataclass(frozen=True)
class Product:
    """Blocks of rows of a number that rises or falls with relevance, and lines of it of which the lowest bounds it."""

    field: Field
    rising: bool
    slopes: Floats  # of the lines
    intercepts: Floats  # of the lines, widened by the rounding
    right: Floats | None  # (M, D): the embeddings of the kinds, if relevance is an inner product

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """(first row, scores (rows, M)); the array is only good until the next is asked for."""
        scores, size, number = self.field.problem.relevance, self.field.size, len(self.field.texts)
        step = max(1, min(size, BLOCK // (4 * number)))
        buffer = np.empty((step, number), np.float32)
        for start in range(0, size, step):
            stop = min(start + step, size)
            out = buffer[: stop - start]
            if self.right is not None and isinstance(scores, EmbeddingScores):
                np.matmul(scores.left[start:stop], self.right.T, out=out)
            else:
                np.take(scores.block(start, stop), self.field.sample, axis=1, out=out)
            yield start, out


def product(field: Field) -> Product:
    """How relevance is searched: through the inner product if it is one, through its own blocks otherwise."""
    scores = field.problem.relevance
    rounding = float(getattr(scores, "rounding", 1e-4))
    if not isinstance(scores, EmbeddingScores):
        return Product(field, True, np.ones(1, np.float32), np.full(1, rounding, np.float32), None)
    slope, intercept = scores.logit
    steep = 1.0 / (1.0 + np.exp(TANGENTS))  # the derivative of log sigmoid
    flat = log_sigmoid(TANGENTS) - steep * TANGENTS + steep * intercept
    slopes = np.concatenate([steep * slope, [slope, 0.0]])  # and the asymptotes: the logit itself, zero
    intercepts = np.concatenate([flat, [intercept, 0.0]]) + rounding
    right = scores.right if len(field.texts) == field.size else scores.right[field.sample]
    return Product(field, slope >= 0, slopes.astype(np.float32), intercepts.astype(np.float32), right)


def shortlists(search: Product, taken: Integers, best: int, columns: int, threads: int) -> tuple[Integers, Integers]:
    """The `best` most relevant kinds that each query may get, and the `columns` best queries of each kind, as pairs."""
    field = search.field
    best, number = min(best, len(field.texts)), len(field.texts)
    columns = min(columns, field.size)
    rows_best = np.full((field.size, best), -1, np.int32)
    kinds_best = np.full((number, columns), -1, np.int32)
    kinds_score = np.full((number, columns), -np.inf, np.float32)
    with ThreadPoolExecutor(threads) as pool:
        for start, block in search.blocks():
            if not search.rising:
                np.negative(block, out=block)
            cuts = _cuts(len(block), threads)
            jobs = [
                pool.submit(
                    kernels().top_rows, block[a:b], taken[start + a : start + b], field.texts, field.needs,
                    field.lacks[start + a : start + b], rows_best[start + a : start + b],
                )
                for a, b in cuts
            ]  # fmt: skip
            rows = slice(start, start + len(block))
            jobs += [
                pool.submit(
                    kernels().top_columns, block, a, b, start, taken[rows], field.texts, field.needs,
                    field.lacks[rows], kinds_best, kinds_score,
                )
                for a, b in _cuts(number, threads)
            ]  # fmt: skip
            for job in jobs:
                job.result()
    row, place = np.nonzero(rows_best >= 0)
    kind, rank = np.nonzero(kinds_best >= 0)
    return (
        np.concatenate([row, kinds_best[kind, rank].astype(np.int64)]),
        np.concatenate([rows_best[row, place].astype(np.int64), kind]),
    )


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


def violations(
    search: Product, taken: Integers, given: Integers, prices: Doubles, profits: Doubles, threads: int
) -> Weighed:
    """All allowed pairs with W - price above the profit of their query, weighed exactly."""
    field = search.field
    capacity = max(1 << 20, len(field.texts))
    found = [np.empty((capacity, 2), np.int64) for _ in range(threads)]
    scale = sum(float(np.abs(part).max()) for part in (prices, profits, search.slopes, search.intercepts))
    low = (prices - 2.0**-20 * scale).astype(np.float32)  # lower than all rounding of the comparison: it stays a bound
    parts = []

    def scan(thread: int, start: int, block: Floats) -> list[Weighed]:
        """One thread's rows; where its list of finds is full, it weighs them and goes on."""
        done, weighed = 0, []
        while done < len(block):
            rows = slice(start + done, start + len(block))
            count, more = kernels().exceed(
                block[done:], search.slopes, search.intercepts, low, profits[rows], taken[rows], field.texts,
                field.needs, field.lacks[rows], found[thread],
            )  # fmt: skip
            pairs = found[thread][:count]
            rows_found, kinds_found = pairs[:, 0] + start + done, pairs[:, 1].copy()
            floor = prices[kinds_found] + profits[rows_found]
            some = weigh(field, given, rows_found, kinds_found, floor - 1e-9)
            better = field.total(some.relevance, some.dissimilarity) - prices[some.kinds] > profits[some.rows]
            weighed.append(some.only(better))
            done += more
        return weighed

    with ThreadPoolExecutor(threads) as pool:
        for start, block in search.blocks():
            cuts = _cuts(len(block), threads)
            jobs = [pool.submit(scan, n, start + a, block[a:b]) for n, (a, b) in enumerate(cuts)]
            for job in jobs:
                parts.extend(job.result())
    return Weighed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _cuts(size: int, parts: int) -> list[tuple[int, int]]:
    edges = [size * n // parts for n in range(parts + 1)]
    return [(a, b) for a, b in pairwise(edges) if b > a]


class Kernels(NamedTuple):
    pairs: Callable[..., Any]
    top_rows: Callable[..., Any]
    top_columns: Callable[..., Any]
    exceed: Callable[..., Any]


@cache
def kernels() -> Kernels:
    return Kernels(jit(_pairs), jit(_top_rows), jit(_top_columns), jit(_exceed))


def _pairs(left, right, rows, columns, slope, intercept):
    """log sigmoid of the logit of each pair; eight sums side by side, so that the order of adding is fixed."""
    out = np.empty(len(rows), np.float32)
    wide = left.shape[1] - left.shape[1] % 8
    for n in range(len(rows)):
        a, b = left[rows[n]], right[columns[n]]
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0.0)
        for d in range(0, wide, 8):
            s0 += a[d] * b[d]
            s1 += a[d + 1] * b[d + 1]
            s2 += a[d + 2] * b[d + 2]
            s3 += a[d + 3] * b[d + 3]
            s4 += a[d + 4] * b[d + 4]
            s5 += a[d + 5] * b[d + 5]
            s6 += a[d + 6] * b[d + 6]
            s7 += a[d + 7] * b[d + 7]
        total = ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
        for d in range(wide, left.shape[1]):
            total += a[d] * b[d]
        logit = slope * np.float64(total) + intercept
        out[n] = min(logit, 0.0) - np.log1p(np.exp(-abs(logit)))
    return out


def _top_rows(block, taken, texts, needs, lacks, best):
    """For each row the allowed columns with the highest numbers, in a heap whose root is the lowest of them."""
    size = best.shape[1]
    heap = np.empty(size, np.float32)
    for row in range(len(block)):
        count = 0
        lowest = np.float32(-np.inf)
        for column in range(block.shape[1]):
            value = block[row, column]
            if count == size and not value > lowest:
                continue
            fine = True
            for k in range(taken.shape[1]):
                fine = fine and taken[row, k] != texts[column]
            for k in range(needs.shape[1]):
                fine = fine and (needs[column, k] & lacks[row, k]) == 0
            if not fine:
                continue
            if count < size:  # rise from the end
                slot = count
                count += 1
                while slot > 0 and heap[(slot - 1) // 2] > value:
                    heap[slot] = heap[(slot - 1) // 2]
                    best[row, slot] = best[row, (slot - 1) // 2]
                    slot = (slot - 1) // 2
            else:  # sink from the root
                slot = 0
                while 2 * slot + 1 < size:
                    child = 2 * slot + 1
                    if child + 1 < size and heap[child + 1] < heap[child]:
                        child += 1
                    if heap[child] >= value:
                        break
                    heap[slot] = heap[child]
                    best[row, slot] = best[row, child]
                    slot = child
            heap[slot] = value
            best[row, slot] = column
            if count == size:
                lowest = heap[0]


def _top_columns(block, low, high, offset, taken, texts, needs, lacks, best, scores):
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
            best[column, slot] = offset + row


def _exceed(block, slopes, intercepts, prices, profits, taken, texts, needs, lacks, found):
    """List the allowed (row, column) whose bound exceeds price + profit. Returns their number and the rows done."""
    step = 64
    bound = np.empty(step, np.float32)
    count = 0
    for row in range(len(block)):
        if count + block.shape[1] > len(found) and row > 0:
            return count, row
        profit = np.float32(profits[row])
        for start in range(0, block.shape[1], step):
            stop = min(step, block.shape[1] - start)
            for c in range(stop):
                bound[c] = slopes[0] * block[row, start + c] + intercepts[0]
            for line in range(1, len(slopes)):
                slope, intercept = slopes[line], intercepts[line]
                for c in range(stop):
                    bound[c] = min(bound[c], slope * block[row, start + c] + intercept)
            some = False
            for c in range(stop):
                some |= bound[c] - prices[start + c] > profit
            if not some:
                continue
            for c in range(stop):
                column = start + c
                if not bound[c] - prices[column] > profit:
                    continue
                fine = True
                for k in range(taken.shape[1]):
                    fine = fine and taken[row, k] != texts[column]
                for k in range(needs.shape[1]):
                    fine = fine and (needs[column, k] & lacks[row, k]) == 0
                if fine:
                    found[count, 0] = row
                    found[count, 1] = column
                    count += 1
    return count, len(block)
