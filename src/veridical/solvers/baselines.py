"""Solvers that look at nothing: the most common answer of the training split, and a guess."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from veridical.benchmark import Benchmark
from veridical.common.files import Json
from veridical.errors import UserError
from veridical.records import Item, Prediction
from veridical.solvers.solver import Solver


class MajorityAnswer(Solver):
    """Always the most common answer of `train` (the lowest of equals); answers and rationales are counted apart."""

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        if "train" not in benchmark.splits(scheme):
            raise UserError(
                f"{benchmark.name} has no split 'train' to take the most common answer from.",
                f"It has: {', '.join(benchmark.splits(scheme))}. `evaluate` shows the majority of the split itself.",
            )
        counts: defaultdict[bool, Counter[int]] = defaultdict(Counter)
        for item in benchmark.items("train", scheme):
            if item.answer is not None:
                counts[item.given is not None][item.answer] += 1
        if not counts:
            raise UserError("No item of split 'train' has an answer.", "Solve with another solver.")
        for item in benchmark.items(split, scheme):
            seen = counts[item.given is not None]
            total = max(seen.total(), 1)
            yield Prediction(item.id, tuple(seen[k] / total for k in range(len(item.candidates))))

    def about(self) -> Json:
        return {}


class Guess(Solver):
    """A random score for every candidate; the same for an item whatever is solved with it."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        for item in benchmark.items(split, scheme):
            yield Prediction(item.id, tuple(self._rng(item).random(len(item.candidates)).tolist()))

    def _rng(self, item: Item) -> np.random.Generator:
        name = hashlib.sha256(f"{self.seed}\n{item.id}".encode()).digest()[:8]
        return np.random.default_rng(int.from_bytes(name, "little"))

    def about(self) -> Json:
        return {"seed": self.seed}
