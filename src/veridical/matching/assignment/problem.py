"""The assignment problem of Adversarial Matching (VCR, section 4), and its solution.

    W_ij = log P_rel(q_i, r_j) + weight * log(1 - P_sim(r_i, r_j))

N queries, N responses, response i is the right one of query i. Both terms are log-probabilities, so neither is ever
positive, and neither matrix is ever held: a `Scores` gives blocks of rows and single pairs of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from veridical.errors import UserError

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]


class NoRoom(UserError):
    """No choice of places serves all responses of a round; leaving out those that fit few questions may help."""

    def __init__(self, problem: str, fix: str = "", fold: str = "") -> None:
        super().__init__(problem, fix)
        self.fold = fold


class Scores(Protocol):
    """Log-probabilities (never positive) of all pairs of N rows and N columns, computed when asked for.

    Two attributes are optional. `rounding`: how far `block` and `pairs` may differ for one pair (1e-4 where it is
    missing; it only costs time to be generous). `kinds`: an int64 array (N,) where equal numbers promise equal columns,
    so that equal responses are placed together; where it is missing, every column is its own kind.
    """

    @property
    def size(self) -> int: ...

    def block(self, start: int, stop: int) -> Floats:
        """Rows start to stop: (stop - start, N)."""

    def pairs(self, rows: Integers, columns: Integers) -> Floats:
        """Element by element: one number for each (row, column)."""


def log_sigmoid(logits: NDArray[Any]) -> NDArray[Any]:
    """log(1 / (1 + exp(-x))) without overflow.

    >>> [round(float(x), 4) for x in log_sigmoid(np.array([-100.0, 0.0, 100.0]))]
    [-100.0, -0.6931, -0.0]
    """
    return np.minimum(logits, 0) - np.log1p(np.exp(-np.abs(logits)))


def equal_rows(table: NDArray[Any]) -> Integers:
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
    def kinds(self) -> Integers:
        return equal_rows(self.right)

    @cached_property
    def rounding(self) -> float:
        """A bound on the difference of two float32 evaluations: n terms err by n * 2^-24 of the norms' product."""
        longest = float(np.linalg.norm(self.left, axis=1).max() * np.linalg.norm(self.right, axis=1).max())
        slope, intercept = self.logit
        terms = self.left.shape[1] + 4
        return 2.0 * 2.0**-24 * (abs(slope) * longest * terms + 4 * abs(intercept) + 4)

    def block(self, start: int, stop: int) -> Floats:
        slope, intercept = self.logit
        return log_sigmoid(np.float32(slope) * (self.left[start:stop] @ self.right.T) + np.float32(intercept))

    def pairs(self, rows: Integers, columns: Integers) -> Floats:
        from veridical.matching.assignment.pricing import kernels

        slope, intercept = self.logit
        return kernels().pairs(self.left, self.right, rows, columns, slope, intercept)


@dataclass(frozen=True)
class Problem:
    """N queries and their right responses: which responses shall be the wrong choices of which query?"""

    relevance: Scores  # log P_rel(q_i, r_j)
    dissimilarity: Scores  # log(1 - P_sim(r_i, r_j))
    texts: Integers  # (N,): equal numbers mean equal response texts, which never meet in one question
    weight: float  # lambda: how much a wrong choice is kept from resembling the other choices
    rounds: int = 3  # wrong choices for each query
    needs: NDArray[Any] | None = None  # (N, K): how many objects of class k response j names
    have: NDArray[Any] | None = None  # (N, K): how many the photograph of query i has; j fits i if have[i] >= needs[j]
    rescored: tuple[Integers, Integers, Floats] | None = None  # rows, columns, log P_rel there instead of relevance's
    name: str = ""  # of the fold, for messages

    @property
    def size(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Matching:
    """Which responses each query got, and the proof of how good that is, round by round."""

    wrong: Integers  # (rounds, N): wrong[k, i] is the response that query i got in round k
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


def check(problem: Problem) -> None:
    """Raise a UserError where no matching can exist, a ValueError where the arrays do not belong together."""
    size, rounds = problem.size, problem.rounds
    fold = f"Fold {problem.name!r}" if problem.name else "The fold"
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
            f"{fold} has {size} question-answer pairs; {rounds + 1} choices each need {rounds + 1} or more.",
            "Use fewer folds or more data.",
        )
    _, first, counts = np.unique(problem.texts, return_index=True, return_counts=True)
    worst = int(counts.argmax())
    if counts[worst] * (rounds + 1) > size:
        raise UserError(
            f"{fold}: one response text (that of pair {first[worst]}) is {counts[worst]:,} of {size:,} responses, "
            f"{counts[worst] / size:.1%}. It must be a choice of {rounds + 1} different questions for each copy, so it "
            f"can be {1 / (rounds + 1):.1%} at most.",
            "Leave out some of the pairs with that response, use larger folds, or ask for fewer wrong choices.",
        )
