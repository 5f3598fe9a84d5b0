"""Majority (NLVR section 6.1): the most common answer of training for every item, whatever it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veridical.common.arrays import Array, Doubles, Ints
from veridical.records import TASKS
from veridical.zoo.architecture import Architecture, Encoded


@dataclass(frozen=True)
class MajorityConfig:
    """Nothing to choose."""


class Majority:
    """Scores are the logarithms of the answers' shares in training."""

    def __init__(self, config: MajorityConfig) -> None:
        self.arrays: dict[str, Array] = {}

    def fit(self, encoded: Sequence[Encoded], answers: Ints, candidates: int) -> None:
        """Count the answers."""
        self.arrays = {"answers": np.bincount(answers, minlength=candidates)}

    def scores(self, encoded: Sequence[Encoded]) -> Doubles:
        """The same scores for each, (N, C)."""
        seen = self.arrays["answers"].astype(np.float64)  # (C,)
        return np.tile(np.log((seen + 1) / (seen + 1).sum()), (len(encoded), 1))


MODEL = Architecture(
    name="majority",
    summary="the most common answer of training",
    paper="NLVR section 6.1",
    tasks=TASKS,
    config=MajorityConfig,
    inputs=lambda config: {},
    estimator=Majority,
)
