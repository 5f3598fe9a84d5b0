"""Small benchmarks of every kind, with real pictures, for the export tests."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from veridical.benchmark import BenchmarkWriter
from veridical.formats.card import describe
from veridical.records import TRUTH, Item, Judgement, Panel, Ref, SceneObject, Text, View


def picture(seed: int, size: int = 12) -> bytes:
    rng = np.random.default_rng(seed)
    out = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (size, size + seed % 5, 3), dtype=np.uint8)).save(out, "PNG")
    return out.getvalue()


def statements(out: Path) -> None:
    """As NLVR: three boxes of one drawing, six views; the test split is hidden."""
    orders = list(itertools.permutations(range(3)))
    with BenchmarkWriter(
        out,
        name="NLVR",
        task="statement",
        config={"format": "nlvr"},
        licence="CC-BY-4.0",
        hidden=["test"],
        official=True,
        describe=describe,
    ) as writer:
        for split, first in (("train", 0), ("test", 3)):
            items, panels = [], []
            for n in range(first, first + 3):
                views = tuple(View(order, writer.add_image(picture(10 * n + k))) for k, order in enumerate(orders))
                for box in range(3):
                    thing = SceneObject("0", "square", (("color", "black"), ("size", "small")), (1, 2, 11, 12))
                    region = (150.0 * box, 0.0, 150.0 * box + 100, 100.0)
                    panels.append(Panel(f"{n}-0.{box}", views[0].image, region, 100, 100, (thing,)))
                items.append(
                    Item(
                        f"{n}-0",
                        "statement",
                        tuple(f"{n}-0.{b}" for b in range(3)),
                        Text(f"There are {n} boxes."),
                        TRUTH,
                        n % 2,
                        str(n),
                        (f"p{n}",),
                        views,
                        program=f"count({n})",
                        tags=(("balance", "secret"),),
                    )
                )
            writer.add_items(split, items)
            writer.add_panels(panels)
        writer.add_judgements([Judgement("0-0", "w", 1, "validation"), Judgement("3-0", "w", 1, "validation")])


def addresses(out: Path) -> None:
    """As NLVR2 without its photographs."""
    with BenchmarkWriter(out, name="NLVR2", task="statement", official=True, describe=describe) as writer:
        ids = [f"dev-{n}-img{side}" for n in range(4) for side in range(2)]
        items = [
            Item(f"dev-{n}-0", "statement", (ids[2 * n], ids[2 * n + 1]), Text("A dog."), TRUTH, n % 2)
            for n in range(4)
        ]
        writer.add_items("dev", items)
        writer.add_panels([Panel(id, uri=f"http://photos.invalid/{id}.jpg", phash="0" * 16) for id in ids])


def choices(out: Path) -> None:
    """As visual commonsense reasoning (VCR): tags in the texts, a rationale item."""
    with BenchmarkWriter(out, name="VCR", task="choice", describe=describe) as writer:
        objects = (SceneObject("0", "person", (), (0, 0, 5, 5)), SceneObject("1", "dog"))
        writer.add_panels([Panel("movie/a.jpg", writer.add_image(picture(1)), None, 12, 13, objects)])
        query = Text('["Why", [0, 1], "?"]', ("Why", Ref(("0", "1")), "?"))
        texts = tuple(Text(f'["{word}", [1]]', (word, Ref(("1",)))) for word in "abcd")
        answer = Item("val-0", "choice", ("movie/a.jpg",), query, texts, 2)
        reason = Item("val-0-r0", "choice", ("movie/a.jpg",), query, texts, 1, parent="val-0", given=0)
        writer.add_items("val-1", [answer, reason])


def matrices(out: Path) -> None:
    """As V-PROM: two schemes over one pool of panels, candidates are panels."""
    with BenchmarkWriter(out, name="V-PROM", task="matrix", seed=3, describe=describe) as writer:
        images = [writer.add_image(picture(n)) for n in range(8)]
        writer.add_panels([Panel(f"p{n}", images[n % 8], (0, 0, 6, 6), 6, 6) for n in range(16)])
        context, candidates = tuple(f"p{n}" for n in range(8)), tuple(f"p{n}" for n in range(8, 16))
        for scheme in ("neutral", "counting"):
            for split in ("train", "test"):
                items = [Item(f"{scheme}-{split}-{n}", "matrix", context, None, candidates, n) for n in range(2)]
                writer.add_items(split, items, scheme)


SMALL: dict[str, Callable[[Path], None]] = {
    "statements": statements,
    "addresses": addresses,
    "choices": choices,
    "matrices": matrices,
}
