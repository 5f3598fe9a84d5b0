"""A small benchmark of painted photographs, and one of icon panels, each built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.mining import Mining
from veridical.sources.icons.worlds import IconPanels

from ._painted import Painted

SMALL = {"source": Painted(), "matrices": 90, "schemes": ("neutral", "interpolation"), "seed": 3}
ICONS = {
    "source": IconPanels(count=240, seed=3, side=100),
    "matrices": 24,
    "schemes": ("neutral",),
    "mining": Mining(least_images=3),
}


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_vprom(tmp_path_factory.mktemp("vprom") / "made", **SMALL).out


@pytest.fixture(scope="session")
def icons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_vprom(tmp_path_factory.mktemp("vprom-icons") / "made", processes=1, **ICONS).out
