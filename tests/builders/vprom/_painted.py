"""A source whose photographs are one colour and whose annotations are rich: quick to build from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image

from veridical.records import Pairs, Panel, SceneObject
from veridical.sources import Photograph, Source

COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown")
PATTERNS = ("solid", "striped", "dotted", "checked", "outlined")
GROUNDS = (
    "on grass",
    "on sand",
    "on tiles",
    "on wood",
    "on water",
    "in the sky",
    "on rugs",
    "on maps",
)  # two that no list has
ACTIONS = ("standing", "walking", "running", "swimming", "skiing", "kneeling", "hiking", "digging")
PEOPLE = {("child", "male"): "boy", ("child", "female"): "girl", ("adult", "male"): "man", ("adult", "female"): "woman"}


@dataclass(frozen=True)
class Painted(Source):
    size: int = 1200
    seed: int = 0
    dressed: bool = True  # whether people are labelled with colours

    name = "painted"
    exact = True

    def photographs(self) -> Iterator[Photograph]:
        rng = np.random.default_rng(self.seed)
        for number in range(self.size):
            attributes: Pairs = (
                ("color", str(rng.choice(COLORS))),
                ("pattern", str(rng.choice(PATTERNS))),
                ("scene", str(rng.choice(GROUNDS))),
            )
            category = f"thing {int(rng.integers(24)):02}"
            if rng.random() < 0.45:
                age, gender = list(PEOPLE)[int(rng.integers(len(PEOPLE)))]
                category = PEOPLE[age, gender]
                attributes = attributes if self.dressed else attributes[1:]
                attributes += (("age", age), ("gender", gender), ("action", str(rng.choice(ACTIONS))))
            objects = tuple(
                SceneObject(str(k), category, attributes, (10.0 * k, 0.0, 10.0 * k + 9, 20.0))
                for k in range(int(rng.integers(1, 11)))
            )
            yield Photograph(Panel(f"painted-{number}", width=100, height=100, objects=objects))

    def picture(self, photograph: Photograph) -> bytes:
        number = int(photograph.panel.id.rpartition("-")[2])
        out = BytesIO()
        Image.new("RGB", (100, 100), (number % 256, number // 256, 90)).save(out, "PNG")
        return out.getvalue()

    def config(self) -> dict[str, Any]:
        return {"source": self.name, "count": self.size, "seed": self.seed, "licence": "CC0-1.0"}
