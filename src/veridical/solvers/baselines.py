"""Solvers that look at nothing: the most common answer of the training split, and a guess."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.records import Item, Prediction


def majority(benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
    """Always the most common answer of `train` (the lowest of equals); answers and rationales are counted apart."""
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


def guess(benchmark: Benchmark, split: str, scheme: str = "main", seed: int = 0) -> Iterator[Prediction]:
    """A random score for every candidate; the same for an item whatever is solved with it."""
    for item in benchmark.items(split, scheme):
        yield Prediction(item.id, tuple(_rng(item, seed).random(len(item.candidates)).tolist()))


def _rng(item: Item, seed: int) -> np.random.Generator:
    name = hashlib.sha256(f"{seed}\n{item.id}".encode()).digest()[:8]
    return np.random.default_rng(int.from_bytes(name, "little"))
