"""Rounds of matching, each an auction: every query gets one more wrong choice, every response one more query.

A round solves the assignment on a sparse graph by auction (Bertsekas): queries bid for responses until every one has
its own. Responses of one lot are interchangeable, so a query bids for a lot, against the best *other* lot: otherwise it
would outbid copies of what it has, a hair at a time. A finished auction at `epsilon` weighs at most N * epsilon less
than the optimum of its graph; a few coarser auctions first find the price level fast.

The round then tries the prices it found on all pairs (`pricing`), adds those that would have been better, and repeats.
Any prices p prove a bound, sum_j p_j + sum_i max_j (W_ij - p_j): a round ends when its matching weighs that much within
the tolerance.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veridical.common.arrays import Doubles, Floats, Ints
from veridical.matching.assignment import pricing
from veridical.matching.assignment.pricing import RelevanceSearch, Shortlists, Weighed, weigh
from veridical.matching.assignment.problem import AssignmentProblem, CertifiedMatching, PreparedProblem, check, prepare

FINEST = 1e-7  # weights that differ by less than this a query are equal
SHARE = 0.3  # of the allowed gap is for the auction's epsilon; the rest for pairs outside the graph
COLUMN_LIST = 8  # queries on each lot's own list: responses that are on no query's list have somewhere to go
LISTED = 4096  # queries whose lists are weighed at once
SCALING = 5.0  # each auction is this much finer than the one before


@dataclass(frozen=True)
class Graph:
    """The pairs a round considers, sorted by query and lot, with both terms of W."""

    indptr: Ints  # (N + 1,): the edges of query i are indptr[i] to indptr[i + 1]
    lots: Ints
    relevance: Floats
    dissimilarity: Floats

    @property
    def pairs(self) -> Weighed:
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return Weighed(rows, self.lots, self.relevance, self.dissimilarity)


@dataclass(frozen=True)
class Round:
    """What one round found."""

    held: Ints  # (N,): the lot each query got
    weight: float
    bound: float
    passes: float
    graph: Graph


def match(
    problem: AssignmentProblem, *, shortlist: int = 64, tolerance: float = 1e-3, threads: int = 2
) -> CertifiedMatching:
    """Solve a problem, round after round, each to a certified relative gap of `tolerance` at most.

    The rounds are the paper's: each is the best given those before it. Where a few texts are so frequent that a round
    could leave no room for the next (three of them above a sixth of all responses, say), a plain complete plan is made
    first and each round replaces its part of the plan, keeping clear of what is planned for the others. The result then
    is `reserved`, and its bounds are of these restricted rounds: a round that need not think of later ones may weigh
    more than they say.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    began = time.perf_counter()
    check(problem)
    prepared = prepare(problem)
    with threadpool_limits(threads, user_api="blas"):
        rounds = _rounds(prepared, shortlist, tolerance, threads, None)
        reserved = rounds is None
        if rounds is None:
            rounds = _rounds(prepared, shortlist, tolerance, threads, _plan(prepared))
    if rounds is None:
        raise ValueError("a plan leaves room for every round")
    return CertifiedMatching(
        np.stack([_responses(prepared, each.held) for each in rounds]),
        np.array([each.weight for each in rounds]),
        np.array([each.bound for each in rounds]),
        time.perf_counter() - began,
        peak_bytes(),
        tuple(each.passes for each in rounds),
        reserved,
    )


def peak_bytes() -> int:
    """The most memory this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _rounds(
    prepared: PreparedProblem, shortlist: int, tolerance: float, threads: int, plan: Ints | None
) -> list[Round] | None:
    """All rounds; None where one found no room and there is no plan."""
    problem, queries = prepared.problem, np.arange(prepared.size)
    search = pricing.search_of(prepared)
    given = queries[None]  # (k, N): the responses each query has
    lists, market = Shortlists.empty(prepared), Market.open(prepared.copies)
    rounds: list[Round] = []
    for number in range(problem.rounds):
        texts = [problem.texts[given].T] + ([] if plan is None else [problem.texts[plan[number + 1 :]].T])
        taken = np.ascontiguousarray(np.concatenate(texts, axis=1), np.int64)  # (N, k): texts that may not come again
        if number == 0:
            graph = _first_graph(search, lists, taken, shortlist, threads)
        else:  # the pairs that are still allowed, with what the last round gave taken into account
            pairs = rounds[-1].graph.pairs
            kept = pairs.only(prepared.allowed(taken, pairs.rows, pairs.lots))
            new = pricing.weigh_again(prepared, given[-1], kept.rows, kept.lots)
            graph = _join(prepared, kept._replace(dissimilarity=np.minimum(kept.dissimilarity, new)))
        if plan is not None and number > 0:
            lists = Shortlists.empty(prepared)  # what was planned for this round is free now: old lists lack it
        start = greedy(prepared, graph, prepared.total(graph.relevance, graph.dissimilarity))
        left = place_all(prepared, taken, start)
        if len(left):
            if plan is None and number > 0 and not prepared.needs.shape[1]:
                return None
            raise prepared.no_matching(left, number)
        graph = _join(prepared, graph.pairs, weigh(prepared, given, queries, start))
        rounds.append(_solve(search, market, lists, taken, given, graph, tolerance, threads))
        given = np.concatenate([given, _responses(prepared, rounds[-1].held)[None]])
    return rounds


def _solve(
    search: RelevanceSearch,
    market: Market,
    lists: Shortlists,
    taken: Ints,
    given: Ints,
    graph: Graph,
    tolerance: float,
    threads: int,
) -> Round:
    """One round, from a graph that has room for all: auctions and looks at other pairs until the bound is met."""
    prepared = search.prepared
    market.held[:] = -1
    bound, weight, passes, start = np.inf, 0.0, 0.0, len(given) == 1
    while True:
        values, starts = prepared.total(graph.relevance, graph.dissimilarity), graph.indptr[:-1]
        level = abs(weight) or abs(float(np.maximum.reduceat(values, starts).sum()))
        room = max(tolerance * level, FINEST * prepared.size)  # how much less than the bound the matching may weigh
        finest = SHARE * room / prepared.size
        coarsest = float(np.ptp(values)) / 8 if start else finest * SCALING**2  # later, prices are nearly right
        steps = max(0, int(np.ceil(np.log(max(coarsest / finest, 1.0)) / np.log(SCALING))))
        auction(market, graph, values, [finest * SCALING**step for step in range(steps, -1, -1)])
        start = False
        profits = np.maximum.reduceat(values - market.prices[graph.lots], starts)
        holds = graph.lots == np.repeat(market.held, np.diff(graph.indptr))  # the edges of what each query holds
        weight = float(values[holds].sum())
        now = pricing.Situation(search, taken, given, market.prices, profits, threads)
        found, slack, part = pricing.violations(now, lists, SHARE * room)
        passes += part
        more = slack.copy()
        np.maximum.at(more, found.rows, now.excess(found))
        bound = min(bound, float((market.prices * prepared.copies).sum() + (profits + more).sum()))
        if bound - weight <= max(tolerance * abs(weight), FINEST * prepared.size):
            return Round(market.held.copy(), weight, max(bound, weight), passes, graph)
        graph = _join(prepared, graph.pairs, found)


def _join(prepared: PreparedProblem, *parts: Weighed) -> Graph:
    """One graph of all these pairs, each once."""
    rows = np.concatenate([part.rows for part in parts])
    lots = np.concatenate([part.lots for part in parts])
    keys = rows * len(prepared.texts) + lots
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    order = order[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else order
    del keys
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[order], minlength=prepared.size))]).astype(np.int64)
    relevance = np.concatenate([part.relevance for part in parts])[order]
    dissimilarity = np.concatenate([part.dissimilarity for part in parts])[order]
    return Graph(indptr, lots[order], relevance, dissimilarity)


def _first_graph(search: RelevanceSearch, lists: Shortlists, taken: Ints, shortlist: int, threads: int) -> Graph:
    """The best `shortlist` of each query's list, the best queries of each lot, and the pairs that were rescored."""
    prepared = search.prepared
    queries, lots = pricing.look_at_all(search, lists, taken, COLUMN_LIST, threads)
    everyone = np.arange(prepared.size)[None]
    chunks = (slice(start, start + LISTED) for start in range(0, prepared.size, LISTED))
    listed = [_best_listed(prepared, lists, rows, shortlist) for rows in chunks]
    asked = np.divmod(prepared.rescored[0], len(prepared.texts))
    rows, lots = np.concatenate([queries, asked[0]]), np.concatenate([lots, asked[1]])
    fine = prepared.allowed(taken, rows, lots)
    return _join(prepared, *listed, weigh(prepared, everyone, rows[fine], lots[fine]))


def _best_listed(prepared: PreparedProblem, lists: Shortlists, some: slice, shortlist: int) -> Weighed:
    """Of the lists of some queries, the best `shortlist` pairs of each query."""
    lots = lists.lots[some]
    rows, place = np.nonzero(lots >= 0)
    listed = weigh(prepared, np.arange(prepared.size)[None], some.start + rows, lots[rows, place].astype(np.int64))
    if shortlist >= lots.shape[1]:
        return listed
    values = np.full(lots.shape, -np.inf)
    values[rows, place] = prepared.total(listed.relevance, listed.dissimilarity)
    least = np.partition(values, -shortlist, axis=1)[:, -shortlist]
    return listed.only(values[rows, place] >= least[rows])


def _responses(prepared: PreparedProblem, held: Ints) -> Ints:
    """(N,): a response for each query, of the lot it holds, each response once."""
    wrong = np.empty(prepared.size, np.int64)
    wrong[np.argsort(held, kind="stable")] = prepared.members
    return wrong


def _plan(prepared: PreparedProblem) -> Ints:
    """(rounds, N): a complete set of rounds with four different texts for every query, whatever they weigh.

    With the queries in the order of their texts, round k takes the response k + 1 times the largest text's count
    further on: two choices are always at least that far apart, in a circle of at least `rounds + 1` times that length.
    """
    texts = prepared.problem.texts
    order = np.argsort(texts, kind="stable")
    step = int(np.unique(texts, return_counts=True)[1].max())
    plan = np.empty((prepared.problem.rounds, prepared.size), np.int64)
    for number in range(prepared.problem.rounds):
        plan[number, order] = np.roll(order, -(number + 1) * step)
    return plan


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
