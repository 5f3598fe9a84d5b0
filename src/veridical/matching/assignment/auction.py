"""An auction for a sparse assignment problem: queries bid for responses until every one has its own (Bertsekas).

Responses of one kind are interchangeable (the thousand copies of "yes"), so a query bids for a kind, against the best
*other* kind: otherwise it would outbid copies of what it has, a hair at a time. A finished auction at `epsilon` weighs
at most N * epsilon less than the optimum of its graph; a few coarser auctions first find the price level fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from veridical.errors import missing_extra
from veridical.matching.assignment.problem import Doubles, Integers


@dataclass
class Market:
    """The state of an auction: what each kind costs, and who holds it."""

    first: Integers  # (M + 1,): the copies of kind t are the slots first[t] to first[t + 1], a heap by (price, held)
    prices: Doubles  # (M,): of the cheapest copy
    held: Integers  # (N,): the kind each query holds, -1 for none

    @staticmethod
    def open(copies: Integers) -> Market:
        first = np.concatenate([[0], np.cumsum(copies)]).astype(np.int64)
        return Market(first, np.zeros(len(copies)), np.full(first[-1], -1, np.int64))


def auction(market: Market, graph: Any, values: Doubles, epsilons: list[float]) -> int:
    """Assign every query a kind along the graph's edges; the graph must allow it. Returns the number of bids."""
    settle, bid = _kernels()
    slots = int(market.first[-1])
    costs, holders = np.empty(slots), np.empty(slots, np.int64)
    queue = np.empty(len(market.held) + 1, np.int64)
    bids = 0
    for epsilon in epsilons:
        waiting = settle(
            graph.indptr, graph.kinds, values, market.first, market.prices, market.held, costs, holders, queue, epsilon
        )
        bids += bid(
            graph.indptr, graph.kinds, values, market.first, market.prices, market.held, costs, holders, queue, waiting,
            epsilon,
        )  # fmt: skip
    return bids


def jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a kernel; keep the result on disk where there is a place for it."""
    try:
        from numba import njit
    except ImportError as error:
        raise missing_extra("numba", "build") from error
    try:
        compiled: Callable[..., Any] = njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # nowhere to keep compiled code: compile anew in every process
        compiled = njit(cache=False, nogil=True, **options)(function)
    return compiled


@cache
def _kernels() -> tuple[Callable[..., int], Callable[..., int]]:
    return jit(_settle), jit(_bid)


def _settle(indptr, kinds, values, first, prices, held, costs, holders, queue, epsilon):
    """Every copy now costs what the cheapest does; who is no longer content within epsilon waits. Returns how many."""
    rows, waiting = len(held), 0
    for row in range(rows):
        best, mine = -np.inf, -np.inf
        for edge in range(indptr[row], indptr[row + 1]):
            profit = values[edge] - prices[kinds[edge]]
            best = max(best, profit)
            if kinds[edge] == held[row]:
                mine = profit
        if mine < best - epsilon:
            held[row] = -1
            queue[waiting] = row
            waiting += 1
    ends = first[1:].copy()  # holders fill a kind's slots from the end, so that free copies are the first to go
    for slot in range(len(holders)):
        holders[slot] = -1
    for row in range(rows):
        if held[row] >= 0:
            ends[held[row]] -= 1
            holders[ends[held[row]]] = row
    for kind in range(len(prices)):
        for slot in range(first[kind], first[kind + 1]):
            costs[slot] = prices[kind]
    return waiting


def _bid(indptr, kinds, values, first, prices, held, costs, holders, queue, waiting, epsilon):
    """Let those who wait bid, and those they displace, until nobody waits. Returns the number of bids."""
    size, head, bids = len(queue), 0, 0
    tail = waiting % size
    while head != tail:
        row = queue[head]
        head = (head + 1) % size
        bids += 1
        best, second, wanted = -np.inf, -np.inf, -1
        for edge in range(indptr[row], indptr[row + 1]):
            profit = values[edge] - prices[kinds[edge]]
            if profit > best:
                second = best
                best = profit
                wanted = kinds[edge]
            elif profit > second:
                second = profit
        start, stop = first[wanted], first[wanted + 1]
        loser = holders[start]
        raised = epsilon
        if second > -np.inf:
            raised += best - second
        price = costs[start] + raised
        slot = start  # the cheapest copy gets its new price and sinks to its place in the heap
        while True:
            child = start + 2 * (slot - start) + 1
            if child >= stop:
                break
            if child + 1 < stop and (
                costs[child + 1] < costs[child]
                or (costs[child + 1] == costs[child] and holders[child + 1] < 0 and holders[child] >= 0)
            ):
                child += 1
            if costs[child] > price or (costs[child] == price and holders[child] >= 0):
                break
            costs[slot] = costs[child]
            holders[slot] = holders[child]
            slot = child
        costs[slot] = price
        holders[slot] = row
        prices[wanted] = costs[start]
        held[row] = wanted
        if loser >= 0:
            held[loser] = -1
            queue[tail] = loser
            tail = (tail + 1) % size
    return bids
