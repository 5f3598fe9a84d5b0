"""An NLVR-sized benchmark, drawn and stored by `veridical build nlvr`, beside the same scenes drawn with Pillow.

    python benchmarks/nlvr_build.py [--images 92244] [--processes 2] [--seed 0]

Both draw the same scenes. Pillow draws with `ImageDraw` and saves each image with its default PNG settings in a plain
loop, on a sample of the scenes; ours draws, encodes and stores everything, writes items and hashes, through the public
builder. The time to write the statements is reported apart: Pillow's loop writes none. Also reported: how the phenomena
known by construction agree with the tagger, and what an answer by the sentence, the id or the row alone would score.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

from PIL import Image, ImageDraw
from rich.console import Console
from rich.table import Table

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.build.nlvr import build_nlvr
from veridical.language.phenomena import PHENOMENA, tag_many
from veridical.records import Item, Panel

COLORS = {"black": (0, 0, 0), "yellow": (255, 255, 0), "blue": (0, 153, 255)}
GREY, LIGHT = (128, 128, 128), (211, 211, 211)
VIEWS, IMAGES = 6, 4  # drawings of an item, items of a presentation
SAMPLE = 6000  # images that Pillow draws


def pillow(panels: list[Panel], path: Path) -> None:
    """One drawing, as anyone would write it."""
    image = Image.new("RGB", (400, 100), GREY)
    pen = ImageDraw.Draw(image)
    for left, panel in zip((0, 150, 300), panels, strict=True):
        pen.rectangle((left, 0, left + 99, 99), fill=LIGHT)
        for thing in panel.objects:
            x, y, right, bottom = thing.box or (0, 0, 0, 0)
            box = (left + x, y, left + right - 1, bottom - 1)
            color = COLORS[thing.attribute("color") or ""]
            if thing.category == "square":
                pen.rectangle(box, fill=color)
            elif thing.category == "circle":
                pen.ellipse(box, fill=color)
            else:
                pen.polygon([(box[0], box[3]), (box[2], box[3]), ((box[0] + box[2]) / 2, box[1])], fill=color)
    image.save(path)


def pillow_rate(items: list[Item], panels: dict[str, Panel], folder: Path) -> float:
    """Images a second."""
    chosen = items[: SAMPLE // VIEWS]
    start = time.perf_counter()
    for item in chosen:
        boxes = [panels[name] for name in item.panels]
        for number, view in enumerate(item.views):
            pillow([boxes[k] for k in view.order], folder / f"{item.id}-{number}.png")
    return len(chosen) * VIEWS / (time.perf_counter() - start)


def agreement(items: list[Item], console: Console) -> None:
    """The phenomena of each sentence by construction, beside those that the tagger sees."""
    known = {item.query.raw: set(item.tag("phenomenon")) for item in items if item.query}
    tagged = dict(zip(known, map(set, tag_many(known)), strict=True))
    table = Table("phenomenon", "by construction", "by the tagger", "agreement", title=f"{len(known):,} sentences")
    for name in PHENOMENA:
        ours = [name in known[s] for s in known]
        theirs = [name in tagged[s] for s in known]
        same = sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(known)
        table.add_row(name, f"{sum(ours) / len(known):.1%}", f"{sum(theirs) / len(known):.1%}", f"{same:.1%}")
    console.print(table)


def blind(items: list[Item], console: Console) -> None:
    """What can be answered without looking: always the likelier label of the same sentence, or of the same place."""
    keys = {"the sentence": lambda i: i.query.raw, "the id's last digit": lambda i: i.id[-1], "nothing": lambda i: ""}
    for name, key in keys.items():
        votes: dict[str, Counter[int | None]] = {}
        for item in items:
            votes.setdefault(key(item), Counter())[item.answer] += 1
        right = sum(max(found.values()) for found in votes.values())
        console.print(f"knowing {name}, at best: {right / len(items):.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--images", type=int, default=92_244)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    console = Console(width=100)
    count = -(-options.images // (VIEWS * IMAGES))
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        report = build_nlvr(folder / "bench", presentations=count, seed=options.seed, processes=options.processes)
        benchmark = Benchmark(report.out)
        items = [item for split in benchmark.splits() for item in benchmark.items(split, answers=True)]
        (folder / "pillow").mkdir()
        rate = pillow_rate(items, benchmark.panels, folder / "pillow")
        drawn = len(items) * VIEWS
        ours, theirs = report.seconds["drawing and storing"], drawn / rate
        table = Table("", "seconds", "images/s", title=f"{drawn:,} images, {len(items):,} items")
        table.add_row("veridical: drawn, stored, items written", f"{ours:.1f}", f"{drawn / ours:,.0f}")
        table.add_row(f"Pillow, a plain loop (measured on {SAMPLE:,})", f"{theirs:.1f}", f"{rate:,.0f}")
        console.print(table)
        console.print(f"ratio: {theirs / ours:.1f} (at least 8 is wanted)")
        console.print(
            f"writing {count:,} statements: {report.seconds['statements']:.1f} s; whole: {check(report.out).ok}"
        )
        blind(items, console)
        agreement(items, console)


if __name__ == "__main__":
    main()
