"""Prices tried on all pairs of queries and lots of responses, a block of rows at a time, never holding N x N.

The similarity term is never positive, so log P_rel alone bounds W from above: one matrix product finds every pair that
could still matter at the present prices, and only those few are weighed exactly. Columns are visited in the order of
their prices, so that 64 of them share one threshold, turned back into an inner product: the inner loop is a comparison.
`PairScores.rounding` lowers the threshold, which makes the search a proof: a pair it passes over is no better than what
its query has.

A look at all pairs of a query keeps the best of them at the prices of that time, its shortlist, and a bound on all
others. Prices then mostly rise, by which no pair gets better; so as long as the bound, plus the largest fall of any
price, stays below what the query has, its shortlist is all there is to look at. The few lots whose prices fell most are
looked at for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.common.arrays import Doubles, Floats, Ints
from veridical.matching.assignment.problem import EmbeddingScores, PreparedProblem

BLOCK = 40_000_000  # bytes of one block of scores
CHUNK = 1 << 18  # pairs that are weighed exactly at once


@dataclass(frozen=True)
class RelevanceSearch:
    """Blocks of rows of a number x that rises with relevance: log P_rel = log sigmoid(slope x + intercept), or x."""

    prepared: PreparedProblem
    slope: float  # 0 where x is log P_rel itself
    intercept: float
    rounding: float
    right: Floats | None  # (M, D): the embeddings of the lots, if relevance is an inner product

    def blocks(self, order: Ints, rows: Ints) -> Iterator[tuple[slice, Floats]]:
        """(which of the rows, their x (some, columns)), columns being lots in that order.

        An array is only good until the next is asked for.
        """
        scores = self.prepared.problem.relevance
        step = max(1, min(len(rows), BLOCK // (4 * max(1, len(order)))))
        buffer = np.empty((step, len(order)), np.float32)
        whole = np.array_equal(order, np.arange(len(self.prepared.texts)))
        right = self.right if self.right is None or whole else self.right[order]
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
                        out[inside] = block[chosen[inside] - begin][:, self.prepared.sample[order]]
            yield slice(start, start + len(chosen)), out


def search_of(prepared: PreparedProblem) -> RelevanceSearch:
    """How relevance is searched: through the inner product if it is one, through its own blocks otherwise."""
    scores = prepared.problem.relevance
    rounding = float(getattr(scores, "rounding", 1e-4))
    if not isinstance(scores, EmbeddingScores) or scores.slope == 0:
        return RelevanceSearch(prepared, 0.0, 0.0, rounding, None)
    slope, intercept = scores.logit
    right = scores.right if len(prepared.texts) == prepared.size else scores.right[prepared.sample]
    return RelevanceSearch(prepared, abs(slope), intercept, rounding, right if slope > 0 else -right)


class Weighed(NamedTuple):
    """Pairs with their exact terms."""

    rows: Ints
    lots: Ints
    relevance: Floats
    dissimilarity: Floats  # the least log(1 - P_sim) against all that the query has

    def only(self, chosen: NDArray[Any]) -> Weighed:
        return Weighed(*(part[chosen] for part in self))


def weigh(prepared: PreparedProblem, given: Ints, rows: Ints, lots: Ints, floor: Doubles | None = None) -> Weighed:
    """The exact terms of W for pairs; with a floor for each pair, only of those above it.

    `given` (k, N) are the responses each query has: its own and those of earlier rounds.
    """
    parts = []
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        some, those = rows[chunk], lots[chunk]
        low = np.zeros(0) if floor is None else floor[chunk]
        values = prepared.relevance(some, those)
        least: Floats = np.zeros(len(some), np.float32)
        for step in range(len(given) + 1):
            if floor is not None:
                keep = prepared.total(values, least) > low
                some, those, values, least, low = some[keep], those[keep], values[keep], least[keep], low[keep]
            if step < len(given):
                least = np.minimum(least, prepared.dissimilarity(given[step][some], those))
        parts.append((some, those, values, least))
    if not parts:
        return Weighed(rows, lots, np.zeros(0, np.float32), np.zeros(0, np.float32))
    return Weighed(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def weigh_again(prepared: PreparedProblem, latest: Ints, rows: Ints, lots: Ints) -> Floats:
    """log(1 - P_sim) of pairs against the response each query got last."""
    parts = [np.zeros(0, np.float32)]
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        parts.append(prepared.dissimilarity(latest[rows[chunk]], lots[chunk]))
    return np.concatenate(parts)


def cuts(size: int, parts: int) -> list[tuple[int, int]]:
    edges = [size * n // parts for n in range(parts + 1)]
    return [(a, b) for a, b in pairwise(edges) if b > a]


LENGTH = 128  # lots on a query's list
SPECIAL = 50  # one lot in so many is looked at for every query
ADDED = 24  # pairs that one look adds to a query's edges at most
FOUND = 1 << 19  # pairs that one thread lists before it weighs them


@dataclass
class Shortlists:
    """The lists of all queries."""

    lots: NDArray[np.int32]  # (N, L): -1 where there are fewer
    scores: Floats  # (N, L): their log P_rel
    bounds: Doubles  # (N,): no other allowed lot has more log P_rel - price, at the prices of the look
    look: Ints  # (N,): which look that was
    prices: list[Doubles] = field(default_factory=list)  # of each look, (M,)

    @staticmethod
    def empty(prepared: PreparedProblem) -> Shortlists:
        size, length = prepared.size, min(LENGTH, len(prepared.texts))
        lists = np.full((size, length), -1, np.int32), np.zeros((size, length), np.float32)
        return Shortlists(*lists, np.full(size, np.inf), np.zeros(size, np.int64), [np.zeros(len(prepared.texts))])


@dataclass(frozen=True)
class Situation:
    """What is given when prices are tried."""

    search: RelevanceSearch
    taken: Ints  # (N, k): texts that may not come again
    given: Ints  # (k, N): responses each query has
    prices: Doubles  # (M,)
    profits: Doubles  # (N,): what each query has, W - price
    threads: int

    def excess(self, pairs: Weighed) -> Doubles:
        """How much more than its profit each pair would give its query."""
        value = self.search.prepared.total(pairs.relevance, pairs.dissimilarity)
        return value - self.prices[pairs.lots] - self.profits[pairs.rows]


def look_at_all(
    search: RelevanceSearch, lists: Shortlists, taken: Ints, columns: int, threads: int
) -> tuple[Ints, Ints]:
    """Fill all lists at prices of zero. Returns the `columns` best queries of each lot, as pairs (query, lot)."""
    from veridical.matching.assignment.kernels import top_columns

    prepared = search.prepared
    everyone, order = np.arange(prepared.size), np.arange(len(prepared.texts))
    columns = min(columns, prepared.size)
    queries = np.full((len(order), columns), -1, np.int32)
    scores = np.full((len(order), columns), -np.inf, np.float32)
    lists.prices.append(np.zeros(len(order)))
    with ThreadPoolExecutor(threads) as pool:
        for chosen, block in search.blocks(order, everyone):
            jobs = [
                pool.submit(_fill, search, lists, taken, everyone[chosen][a:b], order, lists.prices[-1], block[a:b])
                for a, b in cuts(len(block), threads)
            ]
            jobs += [
                pool.submit(top_columns, block, a, b, everyone[chosen], prepared.rules(taken, chosen), queries, scores)
                for a, b in cuts(len(order), threads)
            ]
            for job in jobs:
                job.result()
    lot, rank = np.nonzero(queries >= 0)
    return queries[lot, rank].astype(np.int64), lot


def _fill(
    search: RelevanceSearch, lists: Shortlists, taken: Ints, rows: Ints, order: Ints, prices: Doubles, block: Floats
) -> None:
    """New lists for some queries, at the latest prices; `prices` are the same ones in the order of the columns."""
    from veridical.matching.assignment.kernels import top_rows

    lots, scores, bounds = lists.lots[rows], lists.scores[rows], lists.bounds[rows]
    rules = search.prepared.rules(taken, rows)
    top_rows(block, search.slope, search.intercept, order, prices, rules, lots, scores, bounds)
    lists.lots[rows], lists.scores[rows], lists.bounds[rows] = lots, scores, bounds
    lists.look[rows] = len(lists.prices) - 1


def violations(now: Situation, lists: Shortlists, room: float) -> tuple[Weighed, Doubles, float]:
    """Allowed pairs with W - price above the profit of their query, weighed exactly: for each query the best of them.

    Also, for each query, how much more than that a pair that was not looked at could offer (`room` in total, at most),
    and which part of all pairs was looked at.
    """
    search, prices, profits = now.search, now.prices, now.profits
    number = len(prices)
    fallen = np.stack(lists.prices) - prices  # (looks, M)
    special = np.zeros(0, np.int64)
    if search.right is not None and number >= SPECIAL:
        special = np.argpartition(fallen[-1], -(number // SPECIAL))[-(number // SPECIAL) :]
        fallen[:, special] = -np.inf
    doubt = np.maximum(lists.bounds + fallen.max(axis=1)[lists.look] + search.rounding - profits, 0.0)
    order = np.argsort(doubt, kind="stable")
    again = np.zeros(len(doubt), np.bool_)
    again[order[np.cumsum(doubt[order]) > room]] = True
    slack = np.where(again, 0.0, doubt)
    listed, fresh = np.flatnonzero(~again), np.flatnonzero(again)
    parts = _on_lists(now, lists, listed)
    parts += _scan(now, special, listed, None)
    if len(fresh):
        lists.prices.append(prices.copy())
        parts += _scan(now, np.arange(number), fresh, lists)
    part = (len(fresh) + len(listed) * len(special) / number) / len(doubt)
    return Weighed(*(np.concatenate(column) for column in zip(*parts, strict=True))), slack, part


def _better(now: Situation, rows: Ints, lots: Ints) -> Weighed:
    """Those of the pairs that exceed their query's profit, weighed; of each query only the `ADDED` that do so most."""
    floor = now.prices[lots] + now.profits[rows]
    some = weigh(now.search.prepared, now.given, rows, lots, floor - 1e-9)
    excess = now.excess(some)
    some, excess = some.only(excess > 0), excess[excess > 0]
    order = np.lexsort((some.lots, -excess, some.rows))
    sorted_rows = some.rows[order]
    return some.only(order[np.arange(len(order)) - np.searchsorted(sorted_rows, sorted_rows) < ADDED])


def _on_lists(now: Situation, lists: Shortlists, rows: Ints) -> list[Weighed]:
    from veridical.matching.assignment.kernels import listed

    prepared = now.search.prepared
    pairs = np.empty((max(FOUND, lists.lots.shape[1]), 2), np.int64)
    parts = [_better(now, rows[:0], rows[:0])]
    prices, done = now.prices - 2 * now.search.rounding, 0
    while done < len(rows):
        rest = rows[done : done + (1 << 16)]
        count, more = listed(lists.lots[rest], lists.scores[rest], prices, now.profits[rest], pairs)
        found, lots = rest[pairs[:count, 0]], pairs[:count, 1].copy()
        fine = prepared.allowed(now.taken, found, lots)
        parts.append(_better(now, found[fine], lots[fine]))
        done += more
    return parts


def _scan(now: Situation, lots: Ints, rows: Ints, lists: Shortlists | None) -> list[Weighed]:
    """Look at all pairs of these queries and lots; with `lists`, also renew the queries' lists."""
    from veridical.matching.assignment.kernels import exceed

    search = now.search
    if not len(lots) or not len(rows):
        return []
    order = lots[np.argsort(now.prices[lots], kind="stable")]
    prices = now.prices[order]
    buffers = [np.empty((max(FOUND, len(order)), 2), np.int64) for _ in range(now.threads)]

    def part(thread: int, some: Ints, block: Floats) -> list[Weighed]:
        done, weighed = 0, []
        while done < len(some):  # where the list of finds is full, they are weighed before it goes on
            rest = some[done:]
            count, more = exceed(
                block[done:], search.slope, search.intercept, order, prices - search.rounding, now.profits[rest],
                search.prepared.rules(now.taken, rest), buffers[thread],
            )  # fmt: skip
            pairs = buffers[thread][:count]
            weighed.append(_better(now, rest[pairs[:, 0]], pairs[:, 1].copy()))
            done += more
        if lists is not None:
            _fill(search, lists, now.taken, some, order, prices, block)
        return weighed

    parts: list[Weighed] = []
    with ThreadPoolExecutor(now.threads) as pool:
        for chosen, block in search.blocks(order, rows):
            jobs: list[Future[list[Weighed]]] = [
                pool.submit(part, thread, rows[chosen][a:b], block[a:b])
                for thread, (a, b) in enumerate(cuts(len(block), now.threads))
            ]
            for job in jobs:
                parts += job.result()
    return parts
