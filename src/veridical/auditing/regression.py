"""The logistic regression of every blind model: one solver for dense and sparse features, warm from penalty to penalty.

An audit fits thousands of small regressions, so what counts is the time of one: L-BFGS needs two products with the
features a step, starts from the weights of the stronger penalty, and stops trying penalties when held-out groups do
no better. The penalty is chosen in every fit, so it is part of every control's budget too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.common.arrays import Doubles, Ints
from veridical.errors import missing_extra

PENALTIES = (0.02, 0.2, 2.0)  # C of the logistic regression, the strongest pull to zero first
LEAST_SEEN = 2  # training rows that must show a feature
HELD_OUT = 0.25  # of the training groups, to choose the penalty
STEPS = 60  # of the solver, at most
TOLERANCE = 1e-3  # of the gradient of the mean loss


class Line:
    """A fitted logistic regression over all columns: those that training hardly showed have weight 0."""

    def __init__(
        self, x: Any, y: Ints, penalty: float, weight: Doubles | None = None, start: Line | None = None
    ) -> None:
        self.weights: Doubles = np.zeros(x.shape[1])
        self.intercept = 0.0
        shown: Ints | None = None
        if not isinstance(x, np.ndarray):  # leaving rare columns out makes this many times faster
            shown = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]) >= LEAST_SEEN)
        first = np.zeros(x.shape[1] + 1) if start is None else np.append(start.weights, start.intercept)
        kept = slice(None) if shown is None else shown
        begin = np.append(first[:-1][kept], first[-1])
        own = x if shown is None else x[:, shown]
        found = _minimise(own, y, penalty, np.ones(len(y)) if weight is None else weight, begin)
        self.weights[kept] = found[:-1]
        self.intercept = float(found[-1])

    def decision_function(self, x: Any) -> Doubles:
        """The log-odds of the second class."""
        return np.asarray(x @ self.weights + self.intercept, np.float64)


def _minimise(x: Any, y: Ints, penalty: float, weight: Doubles, begin: Doubles) -> Doubles:
    """Weights and intercept of the least loss: sum(weight * log(1 + exp(-y z))) + |w|^2 / (2 C)."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise missing_extra("scipy", "build") from None
    sign = np.where(y == 1, 1.0, -1.0)
    total = float(weight.sum())
    pull = 1.0 / (penalty * total)
    across = x.T if isinstance(x, np.ndarray) else x.T.tocsr()

    def loss(w: Doubles) -> tuple[float, Doubles]:
        margin = sign * (x @ w[:-1] + w[-1])
        small = np.exp(-np.abs(margin))
        value = float(weight @ (np.log1p(small) + np.maximum(-margin, 0))) / total
        wrong = np.where(margin > 0, small, 1.0) / (1 + small)  # sigmoid(-margin)
        slope = -sign * weight * wrong / total
        gradient = np.append(across @ slope + pull * w[:-1], slope.sum())
        return value + 0.5 * pull * float(w[:-1] @ w[:-1]), gradient

    done = minimize(
        loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "gtol": TOLERANCE, "ftol": 1e-7}
    )
    return np.asarray(done.x, np.float64)


def fit_binary(
    x: Any,
    y: Ints,
    group: Ints,
    rng: np.random.Generator,
    penalties: Sequence[float] = PENALTIES,
    same: Ints | None = None,
) -> Line | None:
    """A logistic regression whose penalty is chosen on held-out groups; None where there is only one class.

    `same` numbers rows whose features are equal: they are joined into two weighted rows, one for each class.
    """
    if len(np.unique(y)) < 2:
        return None
    names = np.unique(group)
    held = np.isin(group, rng.permutation(names)[: max(1, int(HELD_OUT * len(names)))])
    best, start = penalties[0], None
    if len(penalties) > 1 and len(np.unique(y[~held])) == 2 and held.any():
        inner = _joined(x[~held], y[~held], None if same is None else same[~held])
        shown, label = x[held], y[held]
        least = np.inf
        warm: Line | None = None
        for penalty in penalties:
            warm = Line(*inner[:2], penalty, inner[2], warm)
            found = _loss(warm, shown, label)
            if found >= least:
                break
            least, best, start = found, penalty, warm
    rows, labels, weight = _joined(x, y, same)
    return Line(rows, labels, best, weight, start)


def _joined(x: Any, y: Ints, same: Ints | None) -> tuple[Any, Ints, Doubles | None]:
    if same is None:
        return x, y, None
    _, first, counts = np.unique(same * 2 + y, return_index=True, return_counts=True)
    return x[first], y[first], counts.astype(np.float64)


def _loss(model: Line, x: Any, y: Ints) -> float:
    z = model.decision_function(x)
    return float(np.logaddexp(0, np.where(y == 1, -z, z)).mean())
