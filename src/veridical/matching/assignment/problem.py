"""The assignment problem of Adversarial Matching (VCR, section 4), made ready for search, and its solution.

    W_ij = log P_rel(q_i, r_j) + weight * log(1 - P_sim(r_i, r_j))

N queries, N responses, response i is the right one of query i. Both terms are log-probabilities, so neither is ever
positive, and neither matrix is ever held: a `PairScores` gives blocks of rows and single pairs of it.

For the search, responses that no rule and no score can tell apart (the thousand copies of "yes") form one lot. Counts
of objects become thermometers of bits (three people: bits 1, 2 and 3 of that class), so that "has at least what it
needs" is one AND per 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from veridical.common.arrays import Bools, Doubles, Floats, Ints, Words
from veridical.errors import UserError


class NoMatching(UserError):
    """No choice of places serves all responses; leaving out those that fit few questions may help."""

    def __init__(self, problem: str, fix: str = "", fold: str = "", rows: Ints | None = None) -> None:
        super().__init__(problem, fix)
        self.fold = fold
        self.rows = np.zeros(0, np.int64) if rows is None else rows  # those to leave out, where that is known


class PairScores(Protocol):
    """Log-probabilities (never positive) of all pairs of N rows and N columns, computed when asked for.

    Two attributes are optional. `rounding`: how far `block` and `pairs` may differ for one pair (1e-4 where it is
    missing; it only costs time to be generous). `lots`: an int64 array (N,) where equal numbers promise equal columns,
    so that equal responses are placed together; where it is missing, every column is its own lot.
    """

    @property
    def size(self) -> int: ...

    def block(self, start: int, stop: int) -> Floats:
        """Rows start to stop: (stop - start, N)."""

    def pairs(self, rows: Ints, columns: Ints) -> Floats:
        """Element by element: one number for each (row, column)."""


def log_sigmoid(logits: NDArray[Any]) -> NDArray[Any]:
    """log(1 / (1 + exp(-x))) without overflow.

    >>> [round(float(x), 4) for x in log_sigmoid(np.array([-100.0, 0.0, 100.0]))]
    [-100.0, -0.6931, -0.0]
    """
    tail = np.array(np.abs(logits))
    for step in (np.negative, np.exp, np.log1p):
        step(tail, out=tail)  # in place: a table of scores may be large
    return np.asarray(np.minimum(logits, 0) - tail)


def equal_rows(table: NDArray[Any]) -> Ints:
    """Number the rows of a table (N, D) so that equal rows, and only they, have equal numbers."""
    table = np.ascontiguousarray(table)
    if table.shape[1] == 0:
        return np.zeros(len(table), np.int64)
    rows = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    return np.unique(rows, return_inverse=True)[1].reshape(-1).astype(np.int64)


@dataclass(frozen=True)
class EmbeddingScores:
    """log sigmoid(+-(slope <left_i, right_j> + intercept)): a calibrated inner product of two embeddings."""

    left: Floats  # (N, D)
    right: Floats  # (N, D)
    slope: float
    intercept: float
    positive: bool  # True: the log-probability itself (log P_rel); False: of the opposite (log(1 - P_sim))

    def __post_init__(self) -> None:
        for name, table in (("left", self.left), ("right", self.right)):
            if table.ndim != 2 or table.dtype != np.float32 or not table.flags.c_contiguous:
                raise ValueError(f"{name} must be a contiguous float32 table (N, D)")
            if not np.isfinite(table).all():
                raise UserError(
                    f"{np.count_nonzero(~np.isfinite(table).all(1)):,} embeddings have infinite or missing numbers.",
                    "Look at these texts and at the encoder, and embed them again.",
                )
        if self.left.shape[1] != self.right.shape[1]:
            raise ValueError(f"left has {self.left.shape[1]} dimensions, right {self.right.shape[1]}")

    @property
    def size(self) -> int:
        return len(self.left)

    @property
    def logit(self) -> tuple[float, float]:
        """Slope and intercept of the logit, sign included."""
        sign = 1.0 if self.positive else -1.0
        return sign * self.slope, sign * self.intercept

    @cached_property
    def lots(self) -> Ints:
        return equal_rows(self.right)

    @cached_property
    def rounding(self) -> float:
        """A bound on the difference of two float32 evaluations: n terms err by n * 2^-24 of the norms' product."""
        longest = float(np.linalg.norm(self.left, axis=1).max() * np.linalg.norm(self.right, axis=1).max())
        slope, intercept = self.logit
        terms = self.left.shape[1] + 4
        return float(2.0 * 2.0**-24 * (abs(slope) * longest * terms + 4 * abs(intercept) + 4))

    def block(self, start: int, stop: int) -> Floats:
        slope, intercept = self.logit
        logits: Floats = self.left[start:stop] @ self.right.T
        logits *= np.float32(slope)  # in place: a block may be large
        logits += np.float32(intercept)
        return log_sigmoid(logits)

    def pairs(self, rows: Ints, columns: Ints) -> Floats:
        from veridical.matching.assignment import kernels

        slope, intercept = self.logit
        return kernels.pairs(self.left, self.right, rows, columns, slope, intercept)


@dataclass(frozen=True)
class AssignmentProblem:
    """N queries and their right responses: which responses shall be the wrong choices of which query?"""

    relevance: PairScores  # log P_rel(q_i, r_j)
    dissimilarity: PairScores  # log(1 - P_sim(r_i, r_j))
    texts: Ints  # (N,): equal numbers mean equal response texts, which never meet in one question
    weight: float  # lambda: how much a wrong choice is kept from resembling the other choices
    rounds: int = 3  # wrong choices for each query
    needs: NDArray[Any] | None = None  # (N, K): how many objects of class k response j names
    have: NDArray[Any] | None = None  # (N, K): how many the photograph of query i has; j fits i if have[i] >= needs[j]
    rescored: tuple[Ints, Ints, Floats] | None = None  # rows, columns, log P_rel there instead of relevance's
    name: str = ""  # of the fold, for messages

    @property
    def size(self) -> int:
        return len(self.texts)

    @property
    def fold(self) -> str:
        return f"Fold {self.name!r}" if self.name else "The fold"


@dataclass(frozen=True)
class CertifiedMatching:
    """Which responses each query got, and the proof of how good that is, round by round."""

    wrong: Ints  # (rounds, N): wrong[k, i] is the response that query i got in round k
    weights: Doubles  # (rounds,): the sum of W over the round's pairs
    bounds: Doubles  # (rounds,): no matching of the round, given the rounds before it, weighs more; but see `reserved`
    seconds: float
    peak_bytes: int  # the most memory the process has held so far
    passes: tuple[float, ...]  # of each round: how often all pairs were looked at, after a first time for all rounds
    reserved: bool = False  # frequent texts: places were kept free for later rounds, and bounds are of what was left

    @property
    def gaps(self) -> Doubles:
        """(rounds,): how far each round may be from its optimum at most, relative to its weight.

        With `reserved` it is the optimum of the rounds that leave the planned places free; there may be a heavier one.
        """
        return (self.bounds - self.weights) / np.maximum(np.abs(self.weights), 1e-12)

    @property
    def gap(self) -> float:
        """The largest of the certified relative gaps."""
        return float(self.gaps.max())


def check(problem: AssignmentProblem) -> None:
    """Raise a UserError where no matching can exist, a ValueError where the arrays do not belong together."""
    size, rounds = problem.size, problem.rounds
    for name in ("relevance", "dissimilarity"):
        if getattr(problem, name).size != size:
            raise ValueError(f"{name} is of {getattr(problem, name).size} pairs, texts of {size}")
    if (problem.needs is None) != (problem.have is None):
        raise ValueError("needs and have come together")
    if not (np.isfinite(problem.weight) and problem.weight >= 0):
        raise UserError(f"lambda is {problem.weight}; it weighs similarity.", "Choose a number of 0 or more.")
    if rounds < 1:
        raise UserError(f"{rounds} wrong choices for each question were asked for.", "Choose 1 or more (VCR has 3).")
    if size < rounds + 1:
        raise UserError(
            f"{problem.fold} has {size} question-answer pairs; {rounds + 1} choices each need {rounds + 1} or more.",
            "Use fewer folds or more data.",
        )
    _, first, counts = np.unique(problem.texts, return_index=True, return_counts=True)
    worst = int(counts.argmax())
    if counts[worst] * (rounds + 1) > size:
        raise UserError(
            f"{problem.fold}: one response text (that of pair {first[worst]}) is {counts[worst]:,} of {size:,} "
            f"responses, {counts[worst] / size:.1%}. It must be a choice of {rounds + 1} different questions for each "
            f"copy, so it can be {1 / (rounds + 1):.1%} at most.",
            "Leave out some of the pairs with that response, use larger folds, or ask for fewer wrong choices.",
        )


class Rules(NamedTuple):
    """Which lot may go to which query, for some queries."""

    texts: Ints  # (M,): the text of each lot
    needs: Words  # (M, B): what a lot needs
    taken: Ints  # (queries, k): the texts of the choices each query has, which may not come again
    lacks: Words  # (queries, B): what the photograph of each query does not have


@dataclass(frozen=True)
class PreparedProblem:
    """A problem with its M lots of responses."""

    problem: AssignmentProblem
    lots: Ints  # (N,): the lot of each response
    members: Ints  # (N,): responses sorted by lot
    first: Ints  # (M + 1,): lot t is members[first[t]:first[t + 1]]
    texts: Ints  # (M,): the text of each lot
    needs: Words  # (M, B): what a lot needs
    lacks: Words  # (N, B): what a query does not have
    rescored: tuple[Ints, Floats]  # sorted keys query * M + lot, and log P_rel there

    @property
    def size(self) -> int:
        return len(self.lots)

    @property
    def copies(self) -> Ints:
        return np.diff(self.first)

    @property
    def sample(self) -> Ints:
        """(M,): one response of each lot."""
        return self.members[self.first[:-1]]

    def relevance(self, rows: Ints, lots: Ints) -> Floats:
        """log P_rel of pairs of a query and a lot."""
        values = self.problem.relevance.pairs(rows, self.sample[lots])
        keys, replaced = self.rescored
        if len(keys):
            wanted = rows * len(self.texts) + lots
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            values = np.where(keys[place] == wanted, replaced[place], values)
        return values

    def dissimilarity(self, responses: Ints, lots: Ints) -> Floats:
        """log(1 - P_sim) of pairs of a response and a lot."""
        return self.problem.dissimilarity.pairs(responses, self.sample[lots])

    def total(self, relevance: Floats, dissimilarity: Floats) -> Doubles:
        """W from its two terms, always with the same rounding."""
        return relevance.astype(np.float64) + self.problem.weight * dissimilarity.astype(np.float64)

    def rules(self, taken: Ints, rows: Ints | slice) -> Rules:
        """The rules of some queries."""
        return Rules(self.texts, self.needs, taken[rows], self.lacks[rows])

    def allowed(self, taken: Ints, rows: Ints, lots: Ints) -> Bools:
        """Whether each lot may go to each query, whose choices have the texts `taken` (N, any)."""
        fine: Bools = (taken[rows] != self.texts[lots][:, None]).all(axis=1)
        if self.needs.shape[1]:
            fine &= ((self.needs[lots] & self.lacks[rows]) == 0).all(axis=1)
        return fine

    def no_matching(self, left: Ints, number: int) -> NoMatching:
        """Why a round ends: the lots of which copies are left over, and the number of the round, from 0."""
        problem, count = self.problem, int(self.copies[left].sum())
        return NoMatching(
            f"{problem.fold}: in round {number + 1} of {problem.rounds} no choice of places serves all responses; "
            f"without one are {count:,}, such as that of pair {self.sample[left[0]]}.",
            "These responses name objects that too few other photographs have, or their texts are too frequent: leave "
            f"them out (each needs {problem.rounds} other questions that can take it), or use larger folds.",
            problem.name,
        )


def prepare(problem: AssignmentProblem) -> PreparedProblem:
    """Group a problem's responses into lots and encode its rules."""
    size = problem.size
    parts = [problem.texts.astype(np.int64)]
    parts += [getattr(scores, "lots", np.arange(size)) for scores in (problem.relevance, problem.dissimilarity)]
    needs, lacks = _thermometers(problem)
    parts.append(equal_rows(needs))
    _, begins, lots = np.unique(equal_rows(np.stack(parts, axis=1)), return_index=True, return_inverse=True)
    # Rounds look at lots in this order; by first response instead of by hash, it does not depend on the encoding.
    lots = np.argsort(np.argsort(begins))[lots]
    members = np.argsort(lots, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(lots))]).astype(np.int64)
    sample = members[first[:-1]]
    return PreparedProblem(
        problem, lots, members, first, problem.texts[sample].astype(np.int64), np.ascontiguousarray(needs[sample]),
        lacks, _rescored(problem, lots, len(sample)),
    )  # fmt: skip


def _thermometers(problem: AssignmentProblem) -> tuple[Words, Words]:
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


def _rescored(problem: AssignmentProblem, lots: Ints, number: int) -> tuple[Ints, Floats]:
    if problem.rescored is None:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    rows, columns, values = problem.rescored
    if not len(rows) == len(columns) == len(values):
        raise ValueError("rescored has parts of different lengths")
    if len(values) and not (values <= 0).all():
        raise UserError("A rescored log-probability is above 0 or missing.", "Give log P_rel, which is 0 at most.")
    keys, place = np.unique(rows.astype(np.int64) * number + lots[columns], return_index=True)
    return keys, values[place].astype(np.float32)
