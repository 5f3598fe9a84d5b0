"""Boards to try, on databases of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.web.board.town import OPTIONS, Town, opened, write_benchmark


@pytest.fixture(scope="session")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two benchmarks with hidden test splits: they become the boards boxes-test and other-test."""
    folder = tmp_path_factory.mktemp("hosted")
    return {name: write_benchmark(folder, name, seed) for name, seed in (("boxes", 7), ("other", 8))}


@pytest.fixture(scope="module")
def town(benchmarks: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A site with both boards on SQLite, for all tests of a file: each brings people of its own."""
    with opened(list(benchmarks.values()), tmp_path_factory.mktemp("town")) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest, benchmarks: dict[str, Path], tmp_path: Path) -> Iterator[Town]:
    """The same on SQLite, and on PostgreSQL."""
    address = request.getfixturevalue("postgres")() if request.param == "postgres" else None
    with opened(list(benchmarks.values()), tmp_path / "data", replace(OPTIONS, per_day=20), address) as made:
        yield made
