"""Collections to try."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.collect.town import Camp, camp, write_every, write_judging


@pytest.fixture(scope="session")
def every_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_every(tmp_path_factory.mktemp("projects") / "every")


@pytest.fixture(scope="session")
def judging_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_judging(tmp_path_factory.mktemp("projects") / "judging", 40)


@pytest.fixture(scope="module")
def study(every_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Camp]:
    """A collection with a task of every kind, for all tests of a file: each brings people of its own."""
    with camp(every_folder, tmp_path_factory.mktemp("study")) as made:
        yield made


@pytest.fixture(scope="module")
def judging(judging_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Camp]:
    with camp(judging_folder, tmp_path_factory.mktemp("judging")) as made:
        yield made
