"""Reading questions together: where responses are shared and each is right once, what fits one is no answer to others.

The shares of right answers are scaled until every question has one and no response more than its part of them
(Sinkhorn), so that nothing is needed but the scores of some reader. Whether a question shows all responses of a block,
or some of a fold, and how often a response is shown, makes no difference.
"""

from __future__ import annotations

import numpy as np

from veridical.common.arrays import Bools, Doubles, Ints

ROUNDS = 60  # of scaling rows and columns
NEAR_ZERO = 1e-12


def balanced(scores: Doubles, response: Ints, shown: Bools | None = None) -> Doubles:
    """(N, C) the logarithm of each choice's share, from the scores of a reader of one question at a time.

    `response` (N, C) numbers the choices: equal numbers are one response. Places that are not `shown` have no share.

    >>> balanced(np.array([[0.0, 1.0], [0.0, 9.0]]), np.array([[0, 1], [0, 1]])).argmax(1).tolist()
    [0, 1]
    """
    real = np.ones(response.shape, bool) if shown is None else shown
    item, place = np.nonzero(real)
    choices = real.sum(1)
    _, code = np.unique(response[item, place], return_inverse=True)
    most = np.maximum(np.bincount(code, weights=1 / choices[item]), 1.0)  # right once, wrong in the other uses
    seen = np.where(real, scores, -np.inf)
    odds = np.exp((seen - seen.max(1, keepdims=True))[item, place])
    row = np.ones(len(real))
    for _ in range(ROUNDS):
        column = np.minimum(1.0, most / np.maximum(np.bincount(code, weights=odds * row[item]), NEAR_ZERO))
        row = 1 / np.maximum(np.bincount(item, weights=odds * column[code], minlength=len(real)), NEAR_ZERO)
    out = np.full(response.shape, -np.inf)
    out[item, place] = np.log(np.maximum(odds * column[code] * row[item], NEAR_ZERO))
    return out
