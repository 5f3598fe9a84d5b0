"""A small NLVR2 benchmark of icons that several tests look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veridical.build import BuildReport
from veridical.build.nlvr2 import build_nlvr2
from veridical.build.nlvr2.icon_world import IconSeries

SPLITS = {"train": 3, "dev": 1, "test-u": 1}

Build = Callable[..., BuildReport]


@pytest.fixture(scope="session")
def build_small() -> Build:
    """Build a benchmark of six small sets; options on top of that."""
    pytest.importorskip("fontawesomefree", reason="icons come with the build extra")
    categories = ("dog", "car", "apple", "chair", "guitar", "hammer", "rocket")
    source = IconSeries(7, seed=3, width=240, height=180, categories=categories)

    def build(out: Path, **options: Any) -> BuildReport:
        given = {"source": source, "sets": 6, "vectors": "none", "splits": SPLITS, "processes": 1, **options}
        return build_nlvr2(out, **given)

    return build


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, build_small: Build) -> Path:
    out = tmp_path_factory.mktemp("nlvr2") / "icons"
    build_small(out, sheets=True, licence="CC-BY-4.0")
    return out
