"""A small benchmark with everything in it: images, views, texts with references, a hidden split."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Judgement, Panel, Pruned, Ref, SceneObject, Text, View, pairs


def png(shade: int) -> bytes:
    out = BytesIO()
    Image.new("L", (8, 8), shade).save(out, "PNG")
    return out.getvalue()


def write_small(out: Path, shade: int = 0, hidden: tuple[str, ...] = ("test",)) -> Path:
    """Four dev items and two hidden ones, about two images each."""
    with BenchmarkWriter(out, name="small", task="statement", seed=7, licence="CC0-1.0", hidden=hidden) as writer:
        for split in ("dev", "test"):
            items, panels = [], []
            for n in range(4 if split == "dev" else 2):
                address = writer.add_image(png(shade + n + (100 if split == "test" else 0)))
                thing = SceneObject("0", "dog", pairs(color="red"), (1, 2, 3, 4), 0.5, (((1.0, 2.0), (3.0, 4.5)),))
                panels.append(Panel(f"{split}-p{n}", address, (0, 0, 8, 8), 8, 8, (thing,), "file:x", "00ff"))
                items.append(
                    Item(
                        id=f"{split}-{n}",
                        task="statement",
                        panels=(f"{split}-p{n}",),
                        query=Text('["A", [0]]', ("A", Ref(("0",)))),
                        candidates=TRUTH,
                        answer=n % 2,
                        group=f"{split}-{n // 2}",
                        origins=(f"{split}-set-{n // 2}",),
                        views=(View((0,), address),),
                        program="(exists dog)",
                        writer="w1",
                        tags=pairs(synset="dog", balance="balanced"),
                    )
                )
            writer.add_items(split, items)
            writer.add_panels(panels)
            writer.add_judgements(Judgement(i.id, "w2", n % 2, "extra", 1.5) for n, i in enumerate(items))
        writer.add_judgements([Judgement("dev-0", "w3", "nonsense", "validation")])
        writer.add_pruned([Pruned("dev-9", "nonsense", "validation")])
    return out


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_small(tmp_path / "small")
