"""Benchmarks to count: the real NLVR and NLVR2 files where they are here, and small ones with known numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.formats.releases import import_release
from veridical.records import TRUTH, Item, Text


@pytest.fixture(scope="session")
def nlvr(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The official NLVR training and development splits."""
    return import_release("nlvr", shared / "nlvr", tmp_path_factory.mktemp("stats") / "nlvr").benchmark


@pytest.fixture(scope="session")
def nlvr2(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The official NLVR2 development split."""
    return import_release("nlvr2", shared / "nlvr2", tmp_path_factory.mktemp("stats") / "nlvr2").benchmark


Make = Callable[..., Benchmark]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A small benchmark of the given items (one split, or {split: items}) and judgements."""

    def build(items, judgements=(), *, task="statement", pruned=(), hidden=(), **options) -> Benchmark:
        with BenchmarkWriter(tmp_path / "small", name="small", task=task, hidden=hidden, **options) as writer:
            for split, some in (items if isinstance(items, dict) else {"dev": items}).items():
                writer.add_items(split, some)
            writer.add_judgements(judgements)
            if pruned:
                writer.add_pruned(pruned)
        return Benchmark(tmp_path / "small")

    return build


@pytest.fixture
def statement() -> Callable[..., Item]:
    """A true/false item."""

    def build(name: str, answer: int | None = 1, sentence: str = "A dog.", **fields) -> Item:
        return Item(name, "statement", (), Text(sentence), TRUTH, answer, **fields)

    return build
