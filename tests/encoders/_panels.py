"""A small benchmark of drawn panels."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, SceneObject, Text, View


def picture(seed: int, width: int = 60, height: int = 40) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8)
    out = BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def write_panels(out: Path, images: int = 6, first: int = 0) -> Path:
    """Each image is shown whole, twice under two names, and as two crops; items of dev and test."""
    with BenchmarkWriter(out, name="panels", task="statement") as writer:
        for split, numbers in (("dev", range(images - 2)), ("test", range(images - 2, images))):
            items = []
            for n in numbers:
                address = writer.add_image(picture(first + n))
                view = writer.add_image(picture(1000 + first + n))
                thing = SceneObject("0", "dog", box=(2, 3, 12, 20))
                regions = {"whole": None, "again": None, "left": (0, 0, 30, 40), "right": (30.5, 0, 60, 40)}
                writer.add_panels(
                    Panel(f"{n}-{name}", address, region, objects=(thing,) if name == "right" else ())
                    for name, region in regions.items()
                )
                panels = tuple(f"{n}-{name}" for name in regions)
                items.append(
                    Item(
                        str(n),
                        "statement",
                        panels,
                        Text("a dog"),
                        TRUTH,
                        0,
                        views=(View(tuple(range(len(panels))), view),),
                    )
                )
            writer.add_items(split, items)
    return out
