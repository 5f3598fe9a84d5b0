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


def _said(verb: str, question: int, choice: int, more: bool) -> tuple[str, ...]:
    """A verb; or none to three words, so that choices differ in length, and all of some are shorter than of others."""
    return (verb, "looks", "is")[: question % 3 + (question // 3 + choice) % 2] if more else (verb,)


def write(folder: Path, count: int = 160, more: bool = False) -> Path:
    """Questions about the colour of the first or the second box, which the text does not tell; with reasons.

    With `more`, photographs have different numbers of objects (up to two between the boxes, that nobody asks about),
    responses two to five words, and every third question three choices: whatever is padded, is padded somewhere.
    """
    rng = np.random.default_rng(0)
    names = list(COLORS)
    with BenchmarkWriter(folder, name="boxes", task="choice") as writer:
        items, panels = [], []  # the items of each question
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
            answer = names.index(shown[int(asked)])
            offered = [name for n, name in enumerate(names) if not more or k % 3 or n != (answer + 1) % 4]
            answer = offered.index(shown[int(asked)])
            says, because = ([_said(verb, k, n, more) for n in range(len(offered))] for verb in ("is", "looks"))
            texts = tuple(Text("", (Ref((asked,)), *some, name, ".")) for some, name in zip(says, offered, strict=True))
            reasons = tuple(Text(" ".join(("it", *some, name))) for some, name in zip(because, offered, strict=True))
            own = [Item(f"q{k}", "choice", (f"p{k}",), query, texts, answer, f"q{k}", (f"p{k}",))]
            own += [
                Item(f"q{k}:r{g}", "choice", (f"p{k}",), query, reasons, answer if g == answer else None, f"q{k}",
                     (f"p{k}",), parent=f"q{k}", given=g)
                for g in range(len(offered))
            ]  # fmt: skip
            items.append(own)
        cut = int(0.8 * count)
        writer.add_items("train", [item for own in items[:cut] for item in own])
        writer.add_items("val", [item for own in items[cut:] for item in own])
        writer.add_panels(panels)
    extract(folder, "thumbnail", objects=True)
    return folder
