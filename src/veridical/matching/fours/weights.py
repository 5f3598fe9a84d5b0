"""What two rows are worth to each other in one block: W of the paper's equation, and what a reader would make of them.

    W_ij = log P_rel(q_i, r_j) + lambda log(1 - P_sim(r_i, r_j))
    R_ij = 2 log sigmoid(z_ij - z_ii),  z the log-odds of P_rel      weight_ij = W_ij + R_ij + W_ji + R_ji

R has the log-probability that a reader who goes by relevance takes r_j rather than the right response of q_i: without
it, questions to which only their own response is relevant would find company that is relevant enough, and no more. What
words say of two responses corrects P_sim (`alike`). Rows with equal texts may not meet, nor rows whose responses name
what the other's photograph does not have: that is part of the weight, large enough to decide, so that the search need
not know of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Bools, Floats, Ints
from veridical.matching.assignment.problem import PairScores, log_sigmoid
from veridical.matching.fours.alike import Sayings

FORBIDDEN = -4000.0  # of a pair that may not be in one block
READERS = 2.0  # how much R counts
LEAST = -30.0  # of W and R: what is worse is not told apart


@dataclass(frozen=True)
class BlockProblem:
    """The rows of a fold, or of a cell of it, that are to be cut into blocks."""

    relevance: PairScores  # log P_rel(q_i, r_j)
    dissimilarity: PairScores  # log(1 - P_sim(r_i, r_j))
    texts: Ints  # (N,): equal numbers mean equal response texts
    weight: float  # lambda
    needs: npt.NDArray[np.int16] | None = None  # (N, K): how many objects of class k response j names
    have: npt.NDArray[np.int16] | None = None  # (N, K): how many the photograph of query i has
    sayings: Sayings | None = None  # what words say of two responses

    def allowed(self) -> Bools:
        """(N, N) which two rows may be in one block."""
        fine: Bools = self.texts[:, None] != self.texts[None, :]
        if self.needs is not None and self.have is not None:
            fits = np.ones(fine.shape, bool)  # response j beside photograph i
            for needed, had in zip(self.needs.T, self.have.T, strict=True):
                fits &= needed[None, :] <= had[:, None]
            fine &= fits & fits.T
        return fine


def against_readers(log_relevance: Floats) -> Floats:
    """(N, N) the logarithm in R: see above, from log P_rel."""
    odds = log_relevance - np.log(np.maximum(-np.expm1(log_relevance), np.float32(1e-7)))
    odds -= np.diag(odds).copy()[:, None]
    return np.asarray(log_sigmoid(odds), np.float32)


def weights(problem: BlockProblem) -> Floats:
    """(N, N) what each two rows are worth in one block."""
    size = len(problem.texts)
    related = np.array(problem.relevance.block(0, size), np.float32)
    apart = np.array(problem.dissimilarity.block(0, size), np.float32)
    if problem.sayings is not None:
        apart = problem.sayings.corrected(apart)
    out: Floats = related + np.float32(READERS) * against_readers(related) + np.float32(problem.weight) * apart
    np.maximum(out, np.float32(LEAST), out=out)
    out = out + out.T
    out[~problem.allowed()] = FORBIDDEN
    np.fill_diagonal(out, 0)
    return out
