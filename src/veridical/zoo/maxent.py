"""MaxEnt (NLVR section 6.2): logistic regression on property and count features crossed with n-grams.

    p(true | F) = sigmoid(b + sum_{f in F} w_f)        minimise  1/2 |w|^2 + C sum_i log(1 + exp(-y_i (b + w F_i)))

Features are named in `veridical.zoo.facts`; the optimiser is scikit-learn's, on a sparse matrix of ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.common.arrays import Array, Doubles, Ints
from veridical.errors import UserError, missing_extra
from veridical.zoo.architecture import Architecture, Encoded
from veridical.zoo.facts import LONGEST
from veridical.zoo.inputs import FIRST, Crossed


@dataclass(frozen=True)
class MaxEntConfig:
    """Features and strength of the classifier."""

    strength: float = 0.03  # C: the smaller, the stronger the pull of weights to zero
    properties: bool = True  # property features
    counts: bool = True  # count features; without them the paper loses 10 points
    longest: int = LONGEST  # words of an n-gram
    least: int = 2  # training items a feature must occur in
    rounds: int = 100  # of the optimiser at most (appendix A.5 of the NLVR2 draft)


class MaxEnt:
    """A MaxEnt classifier of true and false."""

    def __init__(self, config: MaxEntConfig) -> None:
        self.config = config
        self.arrays: dict[str, Array] = {}

    def fit(self, encoded: Sequence[Encoded], answers: Ints, candidates: int) -> None:
        """Learn a weight per feature."""
        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError:
            raise missing_extra("scikit-learn", "models") from None
        if len(np.unique(answers)) < 2:
            raise UserError("All training items have the same answer.", "Train on items with both answers.")
        size = 1 + max((int(row["features"].max(initial=FIRST)) for row in encoded), default=FIRST)
        found = LogisticRegression(C=self.config.strength, solver="liblinear", max_iter=self.config.rounds)
        found.fit(_matrix(encoded, size), answers)
        self.arrays = {"weights": found.coef_[0].astype(np.float32), "bias": found.intercept_.astype(np.float32)}

    def scores(self, encoded: Sequence[Encoded]) -> Doubles:
        """Logarithms of the probabilities of false and true, (N, 2)."""
        weights = self.arrays["weights"]
        logits = _matrix(encoded, len(weights)) @ weights + self.arrays["bias"]  # (N,)
        return np.column_stack([-np.logaddexp(0, logits), -np.logaddexp(0, -logits)])


def _matrix(encoded: Sequence[Encoded], size: int) -> Any:
    """Ones where an example has a feature, (N, size); ids that training did not use are left out."""
    from scipy import sparse

    rows = [ids[ids < size] for ids in (row["features"] for row in encoded)]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(rows), size))


MODEL = Architecture(
    name="maxent",
    summary="logistic regression on sentence-and-scene features",
    paper="NLVR section 6.2",
    tasks=("statement",),
    config=MaxEntConfig,
    inputs=lambda c: {"features": Crossed(properties=c.properties, counts=c.counts, longest=c.longest, least=c.least)},
    estimator=MaxEnt,
    sees=("text", "structure"),
)
