"""Small questions about tagged boxes of a photograph, with reasons."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from veridical.benchmark import BenchmarkWriter
from veridical.encoders import extract
from veridical.records import Item, Panel, Ref, SceneObject, Text

COLORS = {"red": (220, 30, 30), "green": (30, 180, 40), "blue": (40, 60, 220), "white": (250, 250, 250)}


def write(folder: Path, count: int = 160, more: bool = False) -> Path:
    """Questions about the colour of the first or the second box, which the text does not tell; with reasons.

    With `more`, photographs have different numbers of objects: up to two between the boxes, that nobody asks about.
    """
    rng = np.random.default_rng(0)
    names = list(COLORS)
    with BenchmarkWriter(folder, name="boxes", task="choice") as writer:
        items, panels = [], []
        for k in range(count):
            shown = [names[int(c)] for c in rng.integers(0, 4, 2)]
            picture = Image.new("RGB", (64, 32), (128, 128, 128))
            for place, name in enumerate(shown):
                picture.paste(COLORS[name], (2 + 32 * place, 2, 30 + 32 * place, 30))
            data = BytesIO()
            picture.save(data, "PNG")
            boxes = [(2.0 + 32 * p, 2.0, 30.0 + 32 * p, 30.0) for p in range(2)]
            objects = tuple(SceneObject(str(p), ("cup", "box")[p], box=boxes[p]) for p in range(2))
            between = [(28.0, 4.0 + 12 * n, 36.0, 12.0 + 12 * n) for n in range(k % 3 if more else 0)]
            objects += tuple(SceneObject(str(n), "gap", box=box) for n, box in enumerate(between, 2))
            panels.append(Panel(f"p{k}", image=writer.add_image(data.getvalue()), width=64, height=32, objects=objects))
            asked = str(int(rng.integers(2)))
            query = Text("", ("What", "is", Ref((asked,)), "?"))
            texts = tuple(Text("", (Ref((asked,)), "is", name, ".")) for name in names)
            answer = names.index(shown[int(asked)])
            items.append(Item(f"q{k}", "choice", (f"p{k}",), query, texts, answer, f"q{k}", (f"p{k}",)))
            reasons = tuple(Text(f"it looks {name}") for name in names)
            items += [
                Item(f"q{k}:r{g}", "choice", (f"p{k}",), query, reasons, answer if g == answer else None, f"q{k}",
                     (f"p{k}",), parent=f"q{k}", given=g)
                for g in range(4)
            ]  # fmt: skip
        cut = int(0.8 * count) * 5
        writer.add_items("train", items[:cut])
        writer.add_items("val", items[cut:])
        writer.add_panels(panels)
    extract(folder, "thumbnail", objects=True)
    return folder
