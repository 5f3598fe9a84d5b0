"""Small benchmarks of all four kinds, whose pictures can be told apart by their pixels."""

from __future__ import annotations

import itertools
from io import BytesIO
from pathlib import Path

from PIL import Image

from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, Ref, SceneObject, Text, View


def png(shade: int, size: tuple[int, int] = (16, 12), kind: str = "PNG") -> bytes:
    out = BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(out, kind)
    return out.getvalue()


def write_pairs(out: Path, count: int = 12) -> Path:
    """NLVR2: "the left picture is bright", true of the odd items; in dev and a small train."""
    with BenchmarkWriter(out, name="NLVR2", task="statement", seed=1) as writer:
        for split, number in (("dev", count), ("train", 6)):
            items, panels = [], []
            for n in range(number):
                for k in range(2):
                    bright = (n + k) % 2
                    address = writer.add_image(png(bright * 128 + n % 100, (16, 12 + 8 * k)))
                    panels.append(Panel(f"{split}-{n}-{k}", address))
                text = Text(f"The left picture number {n} is bright.")
                names = (f"{split}-{n}-0", f"{split}-{n}-1")
                items.append(
                    Item(f"{split}-{n}", "statement", names, text, TRUTH, answer=n % 2, group=f"{split}{n // 2}")
                )
            writer.add_items(split, items)
            writer.add_panels(panels)
    return out


def write_drawings(out: Path) -> Path:
    """NLVR: three boxes of one drawing, and two views of it; the first box is the item number's shade."""
    orders = list(itertools.permutations(range(3)))
    with BenchmarkWriter(out, name="NLVR", task="statement", seed=1) as writer:
        items, panels = [], []
        for n in range(2):
            shades = [100 * n + 20, 100 * n + 40, 100 * n + 60]
            addresses = []
            for order in orders[:2]:
                picture = Image.new("RGB", (400, 100), (211, 211, 211))
                for place, box in enumerate(order):
                    picture.paste((shades[box],) * 3, (place * 150, 0, place * 150 + 100, 100))
                buffer = BytesIO()
                picture.save(buffer, "PNG")
                addresses.append(writer.add_image(buffer.getvalue()))
            for k in range(3):
                region = (k * 150.0, 0.0, k * 150.0 + 100, 100.0)
                panels.append(Panel(f"{n}-{k}", addresses[0], region, 100, 100))
            views = tuple(View(order, address) for order, address in zip(orders[:2], addresses, strict=True))
            names = tuple(f"{n}-{k}" for k in range(3))
            items.append(Item(f"{n}-0", "statement", names, Text(f"Box {n} is dark."), TRUTH, answer=n, views=views))
        writer.add_items("dev", items)
        writer.add_panels(panels)
    return out


def write_matrices(out: Path, count: int = 2) -> Path:
    """V-PROM: sixteen panels of different shades; item n's answer is candidate n."""
    with BenchmarkWriter(out, name="V-PROM", task="matrix", seed=1) as writer:
        items, panels = [], []
        for n in range(count):
            panels += [Panel(f"m{n}-{k}", writer.add_image(png(10 * k + n))) for k in range(16)]
            names = tuple(f"m{n}-{k}" for k in range(16))
            items.append(Item(f"m{n}", "matrix", names[:8], None, names[8:], answer=n % 8))
        writer.add_items("test", items)
        writer.add_panels(panels)
    return out


def write_vcr(out: Path, count: int = 2) -> Path:
    """VCR: an answer item and four rationale items each; people 0 and 1 are tagged, the bottle 2 is not mentioned."""
    with BenchmarkWriter(out, name="VCR", task="choice", seed=1) as writer:
        items, panels = [], []
        for n in range(count):
            objects = (
                SceneObject("0", "person", (), (10, 10, 60, 90)),
                SceneObject("1", "person", (), (80, 10, 140, 90)),
                SceneObject("2", "bottle", (), (150, 50, 160, 90)),
            )
            panels.append(Panel(f"i{n}", writer.add_image(png(200 + n, (200, 100), "JPEG")), None, 200, 100, objects))
            why = Text("x", ("Why", "is", Ref(("0",)), "sad", "?"))
            answers = tuple(Text("x", (Ref(("0",)), f"answer{k}", ".")) for k in range(4))
            reasons = tuple(Text("x", (Ref(("0", "1")), f"reason{k}", ".")) for k in range(4))
            right = n % 4
            items.append(Item(f"val-{n}", "choice", (f"i{n}",), why, answers, answer=right))
            for k in range(4):
                reason = (right + 1) % 4 if k == right else None
                one = Item(f"val-{n}:r{k}", "choice", (f"i{n}",), why, reasons, reason, parent=f"val-{n}", given=k)
                items.append(one)
        writer.add_items("val", items)
        writer.add_panels(panels)
    return out
