"""An auction for a sparse assignment problem: queries bid for responses until every one has its own (Bertsekas).

Responses of one lot are interchangeable (the thousand copies of "yes"), so a query bids for a lot, against the best
*other* lot: otherwise it would outbid copies of what it has, a hair at a time. A finished auction at `epsilon` weighs
at most N * epsilon less than the optimum of its graph; a few coarser auctions first find the price level fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from veridical.common.arrays import Doubles, Ints
from veridical.matching.assignment.problem import PreparedProblem

if TYPE_CHECKING:
    from veridical.matching.assignment.rounds import Graph


class Market(NamedTuple):
    """The state of an auction: what each lot costs, and who holds it."""

    first: Ints  # (M + 1,): the copies of lot t are the slots first[t] to first[t + 1], a heap by (price, held)
    prices: Doubles  # (M,): of the cheapest copy
    held: Ints  # (N,): the lot each query holds, -1 for none
    costs: Doubles  # (N,): of each slot
    holders: Ints  # (N,): the query that holds each slot, -1 for none
    queue: Ints  # (N + 1,): queries that wait, in a circle

    @staticmethod
    def open(copies: Ints) -> Market:
        first = np.concatenate([[0], np.cumsum(copies)]).astype(np.int64)
        slots = int(first[-1])
        held, holders = np.full(slots, -1, np.int64), np.full(slots, -1, np.int64)
        return Market(first, np.zeros(len(copies)), held, np.zeros(slots), holders, np.zeros(slots + 1, np.int64))


def auction(market: Market, graph: Graph, values: Doubles, epsilons: list[float]) -> int:
    """Assign every query a lot along the graph's edges; the graph must allow it. Returns the number of bids."""
    from veridical.matching.assignment import kernels

    bids = 0
    for epsilon in epsilons:
        waiting = kernels.settle(graph.indptr, graph.lots, values, market, epsilon)
        bids += kernels.bid(graph.indptr, graph.lots, values, market, waiting, epsilon)
    return bids


def place_all(prepared: PreparedProblem, taken: Ints, held: Ints) -> Ints:
    """Give every query a lot that is allowed, starting from `held` (-1 for none); weights play no role.

    Augmenting paths over all pairs, not over a shortlist: what this cannot place, nothing can. Returns the lots of
    which copies are left over, empty where every query was served.
    """
    from veridical.matching.assignment import kernels

    nobody = np.full(prepared.size, -1, np.int64)
    return kernels.augment(held, prepared.first, prepared.rules(taken, slice(None)), nobody)


def greedy(prepared: PreparedProblem, graph: Graph, values: Doubles) -> Ints:
    """Queries in order take the best lot of their edges that is left: a start for `place_all`."""
    left = prepared.copies.copy()
    held = np.full(prepared.size, -1, np.int64)
    for row in range(prepared.size):
        edges = slice(graph.indptr[row], graph.indptr[row + 1])
        free = np.where(left[graph.lots[edges]] > 0, values[edges], -np.inf)
        if len(free) and free[best := int(free.argmax())] > -np.inf:
            held[row] = graph.lots[edges][best]
            left[held[row]] -= 1
    return held
