"""Lists of what each query might want, so that most prices can be tried without looking at all pairs again.

A look at all pairs of a query keeps the best of them at the prices of that time, and a bound on all others. Prices then
mostly rise, by which no pair gets better; so as long as the bound, plus the largest fall of any price, stays below what
the query has, its list is all there is to look at. The few kinds whose prices fell most are looked at for everybody.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import field as default

import numpy as np
from numpy.typing import NDArray

from veridical.matching.assignment.prepared import Field
from veridical.matching.assignment.pricing import Product, Weighed, cuts, kernels, weigh
from veridical.matching.assignment.problem import Doubles, Floats, Integers

LENGTH = 128  # kinds on a query's list
SPECIAL = 50  # one kind in so many is looked at for every query
ADDED = 24  # pairs that one look adds to a query's edges at most
FOUND = 1 << 19  # pairs that one thread lists before it weighs them


@dataclass
class Watch:
    """The lists of all queries."""

    kinds: NDArray[np.int32]  # (N, L): -1 where there are fewer
    scores: Floats  # (N, L): their log P_rel
    bounds: Doubles  # (N,): no other allowed kind has more log P_rel - price, at the prices of the look
    look: Integers  # (N,): which look that was
    prices: list[Doubles] = default(default_factory=list)  # of each look, (M,)

    @staticmethod
    def empty(field: Field) -> Watch:
        size, length = field.size, min(LENGTH, len(field.texts))
        lists = np.full((size, length), -1, np.int32), np.zeros((size, length), np.float32)
        return Watch(*lists, np.full(size, np.inf), np.zeros(size, np.int64), [np.zeros(len(field.texts))])


@dataclass(frozen=True)
class Situation:
    """What is given when prices are tried."""

    search: Product
    taken: Integers  # (N, k): texts that may not come again
    given: Integers  # (k, N): responses each query has
    prices: Doubles  # (M,)
    profits: Doubles  # (N,): what each query has, W - price
    threads: int

    def excess(self, pairs: Weighed) -> Doubles:
        """How much more than its profit each pair would give its query."""
        value = self.search.field.total(pairs.relevance, pairs.dissimilarity)
        return value - self.prices[pairs.kinds] - self.profits[pairs.rows]


def look_at_all(
    search: Product, watch: Watch, taken: Integers, columns: int, threads: int
) -> tuple[Integers, Integers]:
    """Fill all lists at prices of zero. Returns the `columns` best queries of each kind, as pairs (query, kind)."""
    field = search.field
    everyone, order = np.arange(field.size), np.arange(len(field.texts))
    columns = min(columns, field.size)
    queries = np.full((len(order), columns), -1, np.int32)
    scores = np.full((len(order), columns), -np.inf, np.float32)
    watch.prices.append(np.zeros(len(order)))
    with ThreadPoolExecutor(threads) as pool:
        for chosen, block in search.blocks(order, everyone):
            jobs = [
                pool.submit(_fill, search, watch, taken, everyone[chosen][a:b], order, watch.prices[-1], block[a:b])
                for a, b in cuts(len(block), threads)
            ]
            jobs += [
                pool.submit(
                    kernels().top_columns, block, a, b, everyone[chosen], taken[chosen], field.texts, field.needs,
                    field.lacks[chosen], queries, scores,
                )
                for a, b in cuts(len(order), threads)
            ]  # fmt: skip
            for job in jobs:
                job.result()
    kind, rank = np.nonzero(queries >= 0)
    return queries[kind, rank].astype(np.int64), kind


def _fill(
    search: Product, watch: Watch, taken: Integers, rows: Integers, order: Integers, prices: Doubles, block: Floats
) -> None:
    """New lists for some queries, at the latest prices; `prices` are the same ones in the order of the columns."""
    field = search.field
    kinds, scores, bounds = watch.kinds[rows], watch.scores[rows], watch.bounds[rows]
    kernels().top_rows(
        block, search.slope, search.intercept, order, prices, taken[rows], field.texts, field.needs, field.lacks[rows],
        kinds, scores, bounds,
    )  # fmt: skip
    watch.kinds[rows], watch.scores[rows], watch.bounds[rows] = kinds, scores, bounds
    watch.look[rows] = len(watch.prices) - 1


def violations(now: Situation, watch: Watch, room: float) -> tuple[Weighed, Doubles, float]:
    """Allowed pairs with W - price above the profit of their query, weighed exactly: for each query the best of them.

    Also, for each query, how much more than that a pair that was not looked at could offer (`room` in total, at most),
    and which part of all pairs was looked at.
    """
    search, prices, profits = now.search, now.prices, now.profits
    number = len(prices)
    fallen = np.stack(watch.prices) - prices  # (looks, M)
    special = np.zeros(0, np.int64)
    if search.right is not None and number >= SPECIAL:
        special = np.argpartition(fallen[-1], -(number // SPECIAL))[-(number // SPECIAL) :]
        fallen[:, special] = -np.inf
    doubt = np.maximum(watch.bounds + fallen.max(axis=1)[watch.look] + search.rounding - profits, 0.0)
    order = np.argsort(doubt, kind="stable")
    again = np.zeros(len(doubt), np.bool_)
    again[order[np.cumsum(doubt[order]) > room]] = True
    slack = np.where(again, 0.0, doubt)
    listed, fresh = np.flatnonzero(~again), np.flatnonzero(again)
    parts = _on_lists(now, watch, listed)
    parts += _scan(now, special, listed, None)
    if len(fresh):
        watch.prices.append(prices.copy())
        parts += _scan(now, np.arange(number), fresh, watch)
    part = (len(fresh) + len(listed) * len(special) / number) / len(doubt)
    return Weighed(*(np.concatenate(column) for column in zip(*parts, strict=True))), slack, part


def _better(now: Situation, rows: Integers, kinds: Integers) -> Weighed:
    """Those of the pairs that exceed their query's profit, weighed; of each query only the `ADDED` that do so most."""
    floor = now.prices[kinds] + now.profits[rows]
    some = weigh(now.search.field, now.given, rows, kinds, floor - 1e-9)
    excess = now.excess(some)
    some, excess = some.only(excess > 0), excess[excess > 0]
    order = np.lexsort((some.kinds, -excess, some.rows))
    sorted_rows = some.rows[order]
    return some.only(order[np.arange(len(order)) - np.searchsorted(sorted_rows, sorted_rows) < ADDED])


def _on_lists(now: Situation, watch: Watch, rows: Integers) -> list[Weighed]:
    field = now.search.field
    pairs = np.empty((max(FOUND, watch.kinds.shape[1]), 2), np.int64)
    parts = [_better(now, rows[:0], rows[:0])]
    prices, done = now.prices - 2 * now.search.rounding, 0
    while done < len(rows):
        rest = rows[done : done + (1 << 16)]
        count, more = kernels().listed(watch.kinds[rest], watch.scores[rest], prices, now.profits[rest], pairs)
        found, kinds = rest[pairs[:count, 0]], pairs[:count, 1].copy()
        fine = field.allowed(now.taken, found, kinds)
        parts.append(_better(now, found[fine], kinds[fine]))
        done += more
    return parts


def _scan(now: Situation, kinds: Integers, rows: Integers, watch: Watch | None) -> list[Weighed]:
    """Look at all pairs of these queries and kinds; with a watch, also renew the queries' lists."""
    search, field = now.search, now.search.field
    if not len(kinds) or not len(rows):
        return []
    order = kinds[np.argsort(now.prices[kinds], kind="stable")]
    prices = now.prices[order]
    buffers = [np.empty((max(FOUND, len(order)), 2), np.int64) for _ in range(now.threads)]

    def part(thread: int, some: Integers, block: Floats) -> list[Weighed]:
        done, weighed = 0, []
        while done < len(some):  # where the list of finds is full, they are weighed before it goes on
            rest = some[done:]
            count, more = kernels().exceed(
                block[done:], search.slope, search.intercept, order, prices - search.rounding, now.profits[rest],
                now.taken[rest], field.texts, field.needs, field.lacks[rest], buffers[thread],
            )  # fmt: skip
            pairs = buffers[thread][:count]
            weighed.append(_better(now, rest[pairs[:, 0]], pairs[:, 1].copy()))
            done += more
        if watch is not None:
            _fill(search, watch, now.taken, some, order, prices, block)
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
