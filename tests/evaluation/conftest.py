"""Small benchmarks of every kind to evaluate on, and prediction files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Task, Text, View, pairs

Write = Callable[..., Path]


@pytest.fixture
def write_benchmark(tmp_path: Path) -> Write:
    """Write items as a benchmark: `write_benchmark({"dev": items}, task="choice", hidden=("dev",))`."""

    def write(
        splits: dict[str, Iterable[Item]], task: Task = "statement", name: str = "b", hidden: Sequence[str] = ()
    ) -> Path:
        with BenchmarkWriter(tmp_path / name, name=name, task=task, hidden=hidden) as writer:
            for split, items in splits.items():
                writer.add_items(split, items)
        return tmp_path / name

    return write


@pytest.fixture
def write_lines(tmp_path: Path) -> Write:
    """Write predictions as our JSONL: `write_lines([("a", [0.1, 0.9]), ("b", [])])`."""

    def write(rows: Iterable[tuple[str, Sequence[float]]], name: str = "predictions.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps({"item": item, "scores": list(scores)}) + "\n" for item, scores in rows))
        return path

    return write


@pytest.fixture
def write_text(tmp_path: Path) -> Write:
    def write(text: str | bytes, name: str = "predictions.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.fixture
def statement() -> Callable[..., Item]:
    """Make a true/false item."""
    return _statement


@pytest.fixture
def question() -> Callable[..., list[Item]]:
    """Make the five items of a VCR question."""
    return _question


def _statement(id: str, answer: int | None, group: str | None = None, views: int = 0, **tags: str | list[str]) -> Item:
    orders = list(itertools.permutations(range(3)))[:views]
    return Item(
        id,
        "statement",
        ("p",),
        Text("s"),
        TRUTH,
        answer=answer,
        group=group,
        views=tuple(View(order) for order in orders),
        tags=pairs(**tags),
    )


def _question(id: str, answer: int, rationale: int, **tags: str) -> list[Item]:
    """One answer item and four rationale items, of which only the one given the right answer has an answer."""
    four = tuple(Text(f"choice {k}") for k in range(4))
    items = [Item(id, "choice", ("p",), Text("q"), four, answer=answer, group=id, tags=pairs(**tags))]
    for given in range(4):
        right = rationale if given == answer else None
        items.append(
            Item(f"{id}/r{given}", "choice", ("p",), Text("q"), four, answer=right, group=id, parent=id, given=given)
        )
    return items
