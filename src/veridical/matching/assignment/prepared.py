"""A matching problem made ready for search: responses grouped into kinds, rules as integers that kernels can test.

Responses that no rule and no score can tell apart form one kind. Counts of objects become thermometers of bits (three
people: bits 1, 2 and 3 of that class), so that "has at least what it needs" is one AND per 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.errors import UserError
from veridical.matching.assignment.auction import jit
from veridical.matching.assignment.problem import Doubles, Floats, Integers, Problem, equal_rows

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Field:
    """A problem with its M kinds of responses."""

    problem: Problem
    kinds: Integers  # (N,): the kind of each response
    members: Integers  # (N,): responses sorted by kind
    first: Integers  # (M + 1,): kind t is members[first[t]:first[t + 1]]
    texts: Integers  # (M,): the text of each kind
    needs: Words  # (M, B): what a kind needs
    lacks: Words  # (N, B): what a query does not have
    rescored: tuple[Integers, Floats]  # sorted keys query * M + kind, and log P_rel there

    @property
    def size(self) -> int:
        return len(self.kinds)

    @property
    def copies(self) -> Integers:
        return np.diff(self.first)

    @property
    def sample(self) -> Integers:
        """(M,): one response of each kind."""
        return self.members[self.first[:-1]]

    def relevance(self, rows: Integers, kinds: Integers) -> Floats:
        """log P_rel of pairs of a query and a kind."""
        values = self.problem.relevance.pairs(rows, self.sample[kinds])
        keys, replaced = self.rescored
        if len(keys):
            wanted = rows * len(self.texts) + kinds
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            values = np.where(keys[place] == wanted, replaced[place], values)
        return values

    def dissimilarity(self, responses: Integers, kinds: Integers) -> Floats:
        """log(1 - P_sim) of pairs of a response and a kind."""
        return self.problem.dissimilarity.pairs(responses, self.sample[kinds])

    def total(self, relevance: Floats, dissimilarity: Floats) -> Doubles:
        """W from its two terms, always with the same rounding."""
        return relevance.astype(np.float64) + self.problem.weight * dissimilarity.astype(np.float64)

    def allowed(self, taken: Integers, rows: Integers, kinds: Integers) -> NDArray[np.bool_]:
        """Whether each kind may go to each query, whose choices have the texts `taken` (N, any)."""
        fine = (taken[rows] != self.texts[kinds][:, None]).all(axis=1)
        if self.needs.shape[1]:
            fine &= ((self.needs[kinds] & self.lacks[rows]) == 0).all(axis=1)
        return fine


def prepare(problem: Problem) -> Field:
    """Group a problem's responses into kinds and encode its rules."""
    size = problem.size
    parts = [problem.texts.astype(np.int64)]
    parts += [getattr(scores, "kinds", np.arange(size)) for scores in (problem.relevance, problem.dissimilarity)]
    needs, lacks = _thermometers(problem)
    parts.append(equal_rows(needs))
    kinds = equal_rows(np.stack(parts, axis=1))
    members = np.argsort(kinds, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(kinds))]).astype(np.int64)
    sample = members[first[:-1]]
    # Rounds look at kinds in this order; by first response instead of by hash, it does not depend on the encoding.
    order = np.argsort(sample, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    kinds = rank[kinds]
    members = np.argsort(kinds, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(kinds))]).astype(np.int64)
    sample = members[first[:-1]]
    return Field(
        problem, kinds, members, first, problem.texts[sample].astype(np.int64), np.ascontiguousarray(needs[sample]),
        lacks, _rescored(problem, kinds, len(sample)),
    )  # fmt: skip


def _thermometers(problem: Problem) -> tuple[Words, Words]:
    size = problem.size
    if problem.needs is None or problem.have is None:
        return np.zeros((size, 0), np.uint64), np.zeros((size, 0), np.uint64)
    needs, have = np.asarray(problem.needs).astype(np.int64), np.asarray(problem.have).astype(np.int64)
    if needs.shape != have.shape or len(needs) != size:
        raise ValueError(f"needs is {needs.shape}, have {have.shape}; both must be ({size}, classes)")
    levels = [(k, level) for k in range(needs.shape[1]) for level in range(1, int(needs[:, k].max(initial=0)) + 1)]
    shape = (size, -(-len(levels) // 64))
    wanted, missing = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    for bit, (k, level) in enumerate(levels):
        word, value = bit // 64, np.uint64(1 << (bit % 64))
        wanted[needs[:, k] >= level, word] |= value
        missing[have[:, k] < level, word] |= value
    return wanted, missing


def _rescored(problem: Problem, kinds: Integers, number: int) -> tuple[Integers, Floats]:
    if problem.rescored is None:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    rows, columns, values = problem.rescored
    if not len(rows) == len(columns) == len(values):
        raise ValueError("rescored has parts of different lengths")
    if len(values) and not (values <= 0).all():
        raise UserError("A rescored log-probability is above 0 or missing.", "Give log P_rel, which is 0 at most.")
    keys, place = np.unique(rows.astype(np.int64) * number + kinds[columns], return_index=True)
    return keys, values[place].astype(np.float32)


def place_all(field: Field, taken: Integers, held: Integers) -> Integers:
    """Give every query a kind that is allowed, starting from `held` (-1 for none); weights play no role.

    Augmenting paths over all pairs, not over a shortlist: what this cannot place, nothing can. Returns the kinds of
    which copies are left over, empty where every query was served.
    """
    left: Integers = _kernels()(
        held, field.first, field.texts, taken, field.needs, field.lacks, np.full(field.size, -1, np.int64)
    )
    return left


def greedy(field: Field, graph: Any, values: Doubles) -> Integers:
    """Queries in order take the best kind of their edges that is left: a start for `place_all`."""
    left = field.copies.copy()
    held = np.full(field.size, -1, np.int64)
    for row in range(field.size):
        edges = slice(graph.indptr[row], graph.indptr[row + 1])
        free = np.where(left[graph.kinds[edges]] > 0, values[edges], -np.inf)
        if len(free) and free[best := int(free.argmax())] > -np.inf:
            held[row] = graph.kinds[edges][best]
            left[held[row]] -= 1
    return held


@cache
def _kernels() -> Callable[..., Any]:
    return jit(_augment)


def _augment(held, first, texts, taken, needs, lacks, holders):
    """Breadth-first augmenting paths; the pairs that are allowed are tested, never listed."""
    number, size = len(texts), len(held)
    used = np.zeros(number, np.int64)  # copies of each kind that are held; its holders are in its first slots
    for row in range(size):
        if held[row] >= 0:
            holders[first[held[row]] + used[held[row]]] = row
            used[held[row]] += 1
    origin = np.empty(number, np.int64)  # the query from which a kind was reached
    queue, unseen = np.empty(size, np.int64), np.empty(number, np.int64)
    dead = np.zeros(number, np.bool_)  # reached from a query that nothing can serve: no way leads on from there
    for start in range(size):
        if held[start] >= 0:
            continue
        count = 0
        for kind in range(number):  # kinds with a free copy first: most paths are one step long
            if used[kind] < first[kind + 1] - first[kind]:
                unseen[count] = kind
                count += 1
        for kind in range(number):
            if used[kind] == first[kind + 1] - first[kind] and not dead[kind]:
                unseen[count] = kind
                count += 1
        for kind in range(number):
            origin[kind] = -1
        head, tail, goal = 0, 1, -1
        queue[0] = start
        while head < tail and goal < 0:
            row = queue[head]
            head += 1
            kept = 0
            for index in range(count):
                kind = unseen[index]
                fine = True
                for k in range(taken.shape[1]):
                    fine = fine and taken[row, k] != texts[kind]
                for k in range(needs.shape[1]):
                    fine = fine and (needs[kind, k] & lacks[row, k]) == 0
                if not fine:
                    unseen[kept] = kind
                    kept += 1
                    continue
                origin[kind] = row
                if used[kind] < first[kind + 1] - first[kind]:
                    goal = kind
                    break
                for slot in range(first[kind], first[kind] + used[kind]):
                    queue[tail] = holders[slot]
                    tail += 1
            count = kept
        if goal < 0:
            for kind in range(number):
                dead[kind] = dead[kind] or origin[kind] >= 0
            continue
        holders[first[goal] + used[goal]] = -1
        used[goal] += 1
        while True:  # along the path, each query leaves its kind for the next one
            row, before = origin[goal], held[origin[goal]]
            for slot in range(first[goal], first[goal] + used[goal]):
                if holders[slot] == -1:
                    holders[slot] = row
                    break
            held[row] = goal
            if before < 0:
                break
            for slot in range(first[before], first[before] + used[before]):
                if holders[slot] == row:
                    holders[slot] = -1
                    break
            goal = before
    return np.flatnonzero(used < first[1:] - first[:-1])
