"""A small NLVR2 benchmark of icons that several tests look at."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.builders import BuildReport
from veridical.builders.nlvr2 import build_nlvr2
from veridical.engine.processes import INSIDE
from veridical.sources.icons.draw import encode
from veridical.sources.icons.scene import Group, compose, panel
from veridical.sources.icons.worlds import IconSeries

SPLITS = {"train": 3, "dev": 1, "test-u": 1}

Build = Callable[..., BuildReport]


@pytest.fixture(scope="session")
def build_small() -> Build:
    """Build a benchmark of six small sets; options on top of that."""
    pytest.importorskip("fontawesomefree", reason="icons come with the build extra")
    categories = ("dog", "car", "apple", "chair", "guitar", "hammer", "rocket")
    source = IconSeries(7, seed=3, width=240, height=180, categories=categories)

    def build(out: Path, **options: Any) -> BuildReport:
        given = {
            "source": source,
            "sets": 6,
            "vectors": "none",
            "split": SPLITS,
            "processes": 1,
            **options,
        }
        with inside(given["processes"]):
            return build_nlvr2(out, replace=True, **given)

    return build


@contextmanager
def inside(processes: int | None) -> Iterator[None]:
    """With one process, builds run in this one, as they would in a worker: starting others costs most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        if processes == 1:
            patch.setenv(INSIDE, "1")
        yield


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, build_small: Build) -> Path:
    out = tmp_path_factory.mktemp("nlvr2") / "icons"
    build_small(out, sheets=True, licence="CC-BY-4.0")
    return out


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of drawn photographs with labels, enough for three sets; copy it before changing it."""
    pytest.importorskip("fontawesomefree", reason="icons come with the build extra")
    folder = tmp_path_factory.mktemp("drawn")
    rng = np.random.default_rng(0)
    with (folder / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "category", "licence", "address"])
        for kind in ("dog", "car", "cup"):
            for number in range(10):
                name = f"{kind}-{number}.png"
                scene = compose(rng, [Group(kind, number % 5 + 1)], width=160, height=120, distractors=1)
                (folder / name).write_bytes(encode(scene))
                rows.writerows([name, kind, "CC-BY-4.0", name] for _ in range(number % 5 + 1))
                others = [o.category for o in panel(scene, "").objects if o.category != kind]
                rows.writerows([name, other, "CC-BY-4.0", name] for other in others)
    return folder


@pytest.fixture(scope="session")
def build_folder() -> Build:
    """Build from a folder of photographs; options on top of that."""

    def build(folder: Path, out: Path, **options: Any) -> BuildReport:
        given: dict[str, Any] = {"split": {"train": 2, "dev": 1}, "vectors": "none", "distance": 0, "processes": 1}
        given |= {"encoder": "thumbnail", "least_similarity": -1.0, "exhaustive": ["all"]}
        given |= {"source": f"folder:{folder}", **options}
        with inside(given["processes"]):
            return build_nlvr2(out, replace=True, **given)

    return build
