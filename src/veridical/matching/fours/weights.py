"""What two rows are worth to each other in one block: W of the paper's equation, less what readers would make of them.

    W_ij = log P_rel(q_i, r_j) + lambda log(1 - P_sim(r_i, r_j))
    K_ij = sigmoid((z_ii + z_jj - z_ij - z_ji) / 2)
    weight_ij = W_ij + W_ji - sum of readers' shares of K_ij + a share of how alike the two questions are

z are the log-odds by which a reader says that a response belongs to a question. K is the probability that it would
keep the responses of two questions rather than exchange them: what it knows of responses alone cancels, as it does in
a block, where each response is right once. It is a probability and not its logarithm, since a reader that is sure can
only be right: a yes/no question gives itself away in any company ("yes" comes once in a block), and where its company
need not please it, it is chosen to be hard to tell from each other. Without K, questions to which only their own
response is relevant would find company that is relevant enough, and no more. One reader is P_rel; another goes by words
alone, so that what one does not see, the other does; and no reader at all tells like questions apart. What words say of
two responses corrects P_sim (`alike`). Rows with equal texts may not meet, nor rows whose responses name what the
other's photograph does not have: that is part of the weight, large enough to decide, so that the search need not know
of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Bools, Floats, Ints
from veridical.matching.assignment.problem import PairScores
from veridical.matching.fours.alike import Sayings

FORBIDDEN = -20_000.0  # of a pair that may not be in one block
CHUNK = 512  # rows that are made at once
LEAST = -30.0  # of log P_rel: what is worse is not told apart

Odds = Callable[[], Floats]  # (N, N) the log-odds that response j belongs to question i; a constant may be left out
Likeness = Callable[[], Floats]  # (N, N) cosines of questions


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
    readers: tuple[tuple[Odds, float], ...] = ()  # each with its share of the weight
    alike: tuple[Likeness, float] | None = None  # how alike questions are, with its share

    def allowed(self) -> Bools:
        """(N, N) which two rows may be in one block."""
        fine: Bools = self.texts[:, None] != self.texts[None, :]
        if self.needs is not None and self.have is not None:
            fits = np.ones(fine.shape, bool)  # response j beside photograph i
            for needed, had in zip(self.needs.T, self.have.T, strict=True):
                fits &= needed[None, :] <= had[:, None]
            fine &= fits & fits.T
        return fine


def weights(problem: BlockProblem) -> Floats:
    """(N, N) what each two rows are worth in one block."""
    from veridical.matching.fours import kernels

    size = len(problem.texts)
    out = np.empty((size, size), np.float32)
    for begin in range(0, size, CHUNK):  # a table takes several times its room while it is made
        rows = slice(begin, min(begin + CHUNK, size))
        apart = np.array(problem.dissimilarity.block(rows.start, rows.stop), np.float32)
        if problem.sayings is not None:
            apart = problem.sayings.corrected(apart, rows)
        apart *= np.float32(problem.weight)
        np.maximum(problem.relevance.block(rows.start, rows.stop), np.float32(LEAST), out=out[rows])
        out[rows] += apart
    kernels.fold_over(out)
    for odds, share in problem.readers:
        kernels.exchanged(odds(), np.float32(share), out)
    if problem.alike is not None:
        likeness, share = problem.alike
        near = likeness()
        near *= np.float32(share)
        out += near
        del near
    out[~problem.allowed()] = FORBIDDEN
    np.fill_diagonal(out, 0)
    return out
