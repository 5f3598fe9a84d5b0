"""No ambiguous matrix: every relation over every labelled property that explains the first two rows, simplest first.

Explanations are ordered And < Progression < Union < Or, each over a super-attribute, the categories or the counts that
the panels are labelled with, not only those the matrix was made from. A matrix is kept where the simplest relation that
any candidate completes is its own, and its answer alone completes it. A progression has one step other than zero,
shared by all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.builders.vprom.pool import Pool
from veridical.common.arrays import Pixels

NONE = -1  # no relation


def judge(pool: Pool, panels: NDArray[Any], candidates: NDArray[Any]) -> tuple[NDArray[np.int8], Pixels]:
    """For each matrix, the simplest relation that a candidate completes (its place in RELATIONS, or NONE) and which
    candidates do (bit k: candidate k).

    `panels` and `candidates` are (N, 8) crop numbers; the context is in reading order.
    """
    from veridical.builders.vprom import explain as _explain

    relation, completes = np.empty(len(panels), np.int8), np.empty(len(panels), np.uint8)
    context, choices = np.ascontiguousarray(panels, np.int32), np.ascontiguousarray(candidates, np.int32)
    _explain.judge(pool.bits, pool.spans, context, choices, relation, completes)
    return relation, completes
