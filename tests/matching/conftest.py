"""A small world of questions whose answers follow from their kind, and files made of it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

KINDS = {
    "what colour is the {} on the {}": ("red", "dark blue", "light green", "yellow and white", "grey"),
    "where is the {} near the {}": ("in the kitchen", "at the beach", "on the street", "in a park", "at home"),
    "why did the {} leave the {}": ("it was late", "because of rain", "to find food", "it got scared", "to rest"),
    "who holds the {} beside the {}": ("the man", "a small girl", "two boys", "an old woman", "nobody"),
}
THINGS = ("dog", "cup", "boat", "child", "lamp", "horse", "table", "guitar")


def question_rows(number: int, seed: int = 0) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    names = list(KINDS)
    rows = []
    for k in range(number):
        kind = names[int(rng.integers(len(names)))]
        one, other = rng.permutation(THINGS)[:2]
        answer = KINDS[kind][int(rng.integers(5))]
        if rng.random() < 0.5:
            answer += f" {THINGS[int(rng.integers(8))]}"
        rows.append({"question": kind.format(one, other), "answer": answer, "video": f"v{k // 3}"})
    return rows


@pytest.fixture
def qa_file(tmp_path: Path) -> Path:
    """120 questions in groups of three."""
    rows = question_rows(120)
    path = tmp_path / "qa.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
