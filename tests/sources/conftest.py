"""The published NLVR scenes as records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veridical.sources.boxes.scenes import Figure, Placed, Scene, panel

COLORS = {"Black": "black", "Yellow": "yellow", "#0099ff": "blue"}


def read_scenes(path: Path) -> dict[str, Scene]:
    """Scenes by identifier."""
    scenes: dict[str, Scene] = {}
    for line in path.read_text().splitlines():
        example = json.loads(line)
        boxes = [
            [Placed(o["y_loc"], o["x_loc"], Figure(o["type"], COLORS[o["color"]], o["size"])) for o in box]
            for box in example["structured_rep"]
        ]
        scenes[example["identifier"]] = tuple(panel(box, index) for index, box in enumerate(boxes))
    return scenes


@pytest.fixture(scope="session")
def published(shared: Path) -> dict[str, dict[str, Scene]]:
    """The scenes of train and dev."""
    nlvr = shared / "nlvr"
    return {"train": read_scenes(nlvr / "train.json"), "dev": read_scenes(nlvr / "dev" / "dev.json")}
