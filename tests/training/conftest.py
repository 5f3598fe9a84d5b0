"""The small benchmarks of the zoo's tests, once per session; and one thread, for speed and sameness."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ..zoo import _small as small


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def statements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write_statements(tmp_path_factory.mktemp("statements") / "b", 40)


@pytest.fixture(scope="session")
def choices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write_choices(tmp_path_factory.mktemp("choices") / "b", 150, candidates=(4, 3))
