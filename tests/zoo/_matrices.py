"""A small benchmark of matrices in several schemes: each row has one colour, and the right candidate ends the third."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from veridical import encoders as features
from veridical.benchmark import BenchmarkWriter
from veridical.records import Panel, SceneObject, pairs
from veridical.zoo.matrices import ELEMENTS, RELATIONS

from . import _pictures as pictures

SIZES = {"train": 300, "test": 120}


def write(
    out: Path,
    sizes: dict[str, int] | None = None,
    schemes: tuple[str, ...] = ("neutral",),
    seed: int = 0,
    objects: bool = False,
    hidden: tuple[str, ...] = (),
) -> Path:
    """Matrices with tags and thumbnails; the schemes share panels. With `objects`, panels have up to three boxes."""
    rng = np.random.default_rng(seed)
    with BenchmarkWriter(out, name="vprom", task="matrix", seed=seed, hidden=hidden) as writer:
        for split, count in (sizes or SIZES).items():
            pool = {c: [f"{split}-{c}-{n}" for n in range(pictures.POOL)] for c in pictures.COLORS}
            for color, names in pool.items():
                for place, name in enumerate(names):
                    boxes = [(2.0 * k, 0.0, 2.0 * k + 12, 20.0) for k in range(place % 4 if objects else 0)]
                    found = tuple(SceneObject(str(k), "patch", (), box) for k, box in enumerate(boxes))
                    address = writer.add_image(pictures.picture(color, rng))
                    writer.add_panels([Panel(name, address, None, 24, 24, found)])
            for scheme in schemes:
                items = []
                for n in range(count):
                    one = pictures._matrix(f"{scheme}-{split}-{n}", pool, rng)
                    tags = pairs(relation=RELATIONS[n % 4], element=ELEMENTS[n % 3])
                    items.append(replace(one, tags=tags, origins=(split,)))
                writer.add_items(split, items, scheme=scheme)
    features.extract(out, "thumbnail", batch_size=256, objects=objects)
    return out
