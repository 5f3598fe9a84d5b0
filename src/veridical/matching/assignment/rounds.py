"""Rounds of matching: each gives every query one more wrong choice and every response one more query.

A round solves the assignment on a sparse graph, tries the prices it found on all pairs, adds the pairs that would have
been better, and repeats. Any prices p prove a bound, sum_j p_j + sum_i max_j (W_ij - p_j): a round ends when its
matching weighs that much within the tolerance.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass

import numpy as np

from veridical.matching.assignment.auction import Market, auction
from veridical.matching.assignment.prepared import Field, greedy, place_all, prepare
from veridical.matching.assignment.pricing import Product, Weighed, product, weigh, weigh_again
from veridical.matching.assignment.problem import Floats, Integers, Matching, NoRoom, Problem, check
from veridical.matching.assignment.shortlists import Situation, Watch, look_at_all, violations

FINEST = 1e-7  # weights that differ by less than this a query are equal
SHARE = 0.3  # of the allowed gap is for the auction's epsilon; the rest for pairs outside the graph
COLUMN_LIST = 8  # queries on each kind's own list: responses that are on no query's list have somewhere to go
SCALING = 5.0  # each auction is this much finer than the one before


@dataclass(frozen=True)
class Graph:
    """The pairs a round considers, sorted by query and kind, with both terms of W."""

    indptr: Integers  # (N + 1,): the edges of query i are indptr[i] to indptr[i + 1]
    kinds: Integers
    relevance: Floats
    dissimilarity: Floats

    @property
    def pairs(self) -> Weighed:
        rows = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return Weighed(rows, self.kinds, self.relevance, self.dissimilarity)


@dataclass(frozen=True)
class Round:
    """What one round found."""

    held: Integers  # (N,): the kind each query got
    weight: float
    bound: float
    passes: float
    graph: Graph


def match(problem: Problem, *, shortlist: int = 64, tolerance: float = 1e-3, threads: int = 2) -> Matching:
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
    field = prepare(problem)
    with threadpool_limits(threads, user_api="blas"):
        rounds = _rounds(field, shortlist, tolerance, threads, None)
        reserved = rounds is None
        if rounds is None:
            rounds = _rounds(field, shortlist, tolerance, threads, _plan(field))
    if rounds is None:
        raise ValueError("a plan leaves room for every round")
    return Matching(
        np.stack([_responses(field, each.held) for each in rounds]),
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


def _rounds(field: Field, shortlist: int, tolerance: float, threads: int, plan: Integers | None) -> list[Round] | None:
    """All rounds; None where one found no room and there is no plan."""
    problem, queries = field.problem, np.arange(field.size)
    search = product(field)
    given = queries[None]  # (k, N): the responses each query has
    watch, market = Watch.empty(field), Market.open(field.copies)
    rounds: list[Round] = []
    for number in range(problem.rounds):
        texts = [problem.texts[given].T] + ([] if plan is None else [problem.texts[plan[number + 1 :]].T])
        taken = np.ascontiguousarray(np.concatenate(texts, axis=1), np.int64)  # (N, k): texts that may not come again
        if number == 0:
            graph = _first_graph(search, watch, taken, shortlist, threads)
        else:
            graph = _next_graph(field, rounds[-1].graph, taken, given[-1])
        if plan is not None and number > 0:
            watch = Watch.empty(field)  # what was planned for this round is free now: old lists lack it
        start = greedy(field, graph, field.total(graph.relevance, graph.dissimilarity))
        left = place_all(field, taken, start)
        if len(left):
            if plan is None and number > 0 and not field.needs.shape[1]:
                return None
            raise _no_room(field, left, number)
        graph = _join(field, graph.pairs, weigh(field, given, queries, start))
        rounds.append(_solve(search, market, watch, taken, given, graph, tolerance, threads))
        given = np.concatenate([given, _responses(field, rounds[-1].held)[None]])
    return rounds


def _solve(
    search: Product, market: Market, watch: Watch, taken: Integers, given: Integers, graph: Graph, tolerance: float,
    threads: int,
) -> Round:  # fmt: skip
    """One round, from a graph that has room for all: auctions and looks at other pairs until the bound is met."""
    field = search.field
    market.held[:] = -1
    bound, weight, passes, start = np.inf, 0.0, 0.0, len(given) == 1
    while True:
        values, starts = field.total(graph.relevance, graph.dissimilarity), graph.indptr[:-1]
        level = abs(weight) or abs(float(np.maximum.reduceat(values, starts).sum()))
        room = max(tolerance * level, FINEST * field.size)  # how much less than the bound the matching may weigh
        finest = SHARE * room / field.size
        coarsest = float(np.ptp(values)) / 8 if start else finest * SCALING**2  # later, prices are nearly right
        steps = max(0, int(np.ceil(np.log(max(coarsest / finest, 1.0)) / np.log(SCALING))))
        auction(market, graph, values, [finest * SCALING**step for step in range(steps, -1, -1)])
        start = False
        profits = np.maximum.reduceat(values - market.prices[graph.kinds], starts)
        weight = float(values[_edges_of(graph, market.held)].sum())
        now = Situation(search, taken, given, market.prices, profits, threads)
        found, slack, part = violations(now, watch, SHARE * room)
        passes += part
        more = slack.copy()
        np.maximum.at(more, found.rows, now.excess(found))
        bound = min(bound, float((market.prices * field.copies).sum() + (profits + more).sum()))
        if bound - weight <= max(tolerance * abs(weight), FINEST * field.size):
            return Round(market.held.copy(), weight, max(bound, weight), passes, graph)
        graph = _join(field, graph.pairs, found)


def _join(field: Field, *parts: Weighed) -> Graph:
    """One graph of all these pairs, each once."""
    rows = np.concatenate([part.rows for part in parts])
    kinds = np.concatenate([part.kinds for part in parts])
    _, order = np.unique(rows * len(field.texts) + kinds, return_index=True)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[order], minlength=field.size))]).astype(np.int64)
    relevance = np.concatenate([part.relevance for part in parts])[order]
    dissimilarity = np.concatenate([part.dissimilarity for part in parts])[order]
    return Graph(indptr, kinds[order], relevance, dissimilarity)


def _first_graph(search: Product, watch: Watch, taken: Integers, shortlist: int, threads: int) -> Graph:
    """The best `shortlist` of each query's list, the best queries of each kind, and the pairs that were rescored."""
    field = search.field
    queries, kinds = look_at_all(search, watch, taken, COLUMN_LIST, threads)
    rows, place = np.nonzero(watch.kinds >= 0)
    everyone = np.arange(field.size)[None]
    listed = weigh(field, everyone, rows, watch.kinds[rows, place].astype(np.int64))
    if shortlist < watch.kinds.shape[1]:
        values = np.full(watch.kinds.shape, -np.inf)
        values[rows, place] = field.total(listed.relevance, listed.dissimilarity)
        least = np.partition(values, -shortlist, axis=1)[:, -shortlist]
        listed = listed.only(values[rows, place] >= least[rows])
    asked = np.divmod(field.rescored[0], len(field.texts))
    rows, kinds = np.concatenate([queries, asked[0]]), np.concatenate([kinds, asked[1]])
    fine = field.allowed(taken, rows, kinds)
    return _join(field, listed, weigh(field, everyone, rows[fine], kinds[fine]))


def _next_graph(field: Field, graph: Graph, taken: Integers, latest: Integers) -> Graph:
    """The pairs that are still allowed, with the responses that the last round gave taken into account."""
    pairs = graph.pairs
    kept = pairs.only(field.allowed(taken, pairs.rows, pairs.kinds))
    new = weigh_again(field, latest, kept.rows, kept.kinds)
    return _join(field, kept._replace(dissimilarity=np.minimum(kept.dissimilarity, new)))


def _edges_of(graph: Graph, held: Integers) -> Integers:
    """The edge of each query and the kind it holds: kinds are sorted within a query."""
    mine = graph.kinds == np.repeat(held, np.diff(graph.indptr))
    return np.flatnonzero(mine)


def _responses(field: Field, held: Integers) -> Integers:
    """(N,): a response for each query, of the kind it holds, each response once."""
    wrong = np.empty(field.size, np.int64)
    wrong[np.argsort(held, kind="stable")] = field.members
    return wrong


def _plan(field: Field) -> Integers:
    """(rounds, N): a complete set of rounds with four different texts for every query, whatever they weigh.

    With the queries in the order of their texts, round k takes the response k + 1 times the largest text's count
    further on: two choices are always at least that far apart, in a circle of at least `rounds + 1` times that length.
    """
    texts = field.problem.texts
    order = np.argsort(texts, kind="stable")
    step = int(np.unique(texts, return_counts=True)[1].max())
    plan = np.empty((field.problem.rounds, field.size), np.int64)
    for number in range(field.problem.rounds):
        plan[number, order] = np.roll(order, -(number + 1) * step)
    return plan


def _no_room(field: Field, left: Integers, number: int) -> NoRoom:
    problem = field.problem
    fold = f"Fold {problem.name!r}" if problem.name else "The fold"
    count = int(field.copies[left].sum())
    return NoRoom(
        f"{fold}: in round {number + 1} of {problem.rounds} no choice of places serves all responses; without one are "
        f"{count:,}, such as that of pair {field.sample[left[0]]}.",
        "These responses name objects that too few other photographs have, or their texts are too frequent: leave "
        f"them out (each needs {problem.rounds} other questions that can take it), or use larger folds.",
        problem.name,
    )
