"""An NLVR-sized benchmark, drawn and stored by `veridical build nlvr`, beside the same scenes drawn with Pillow.

    python benchmarks/nlvr_build.py [--images 92244] [--rounds 3] [--processes 2] [--statements 400] [--seed 0]

Both draw the same scenes, in turn, and the best of the rounds counts (others may use the machine). Pillow draws with
`ImageDraw` and saves each image with its default PNG settings in a plain loop, on a sample of the scenes; ours draws,
encodes and stores every image, writes items and hashes, through the public builder. Writing statements is measured
apart, since Pillow's loop writes none, with two more questions about them: how the phenomena known by construction
agree with the tagger, and what an answer by the sentence, the id or nothing at all would score. On a busy machine the
clock says little: the processor seconds beside it (of all our processes, reading included) are steadier.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from PIL import Image, ImageDraw
from rich.console import Console
from rich.table import Table

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders.nlvr import build_nlvr
from veridical.builders.nlvr.build import PRESENTATIONS
from veridical.language.phenomena.tagger import PHENOMENA, tag_many
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


def collection(folder: Path, count: int, options: argparse.Namespace) -> dict[str, Path]:
    """Presentations with a sentence and one judgement an image, as people's files: building from them only draws."""
    shown = build_nlvr(
        folder, presentations=count, seed=options.seed, until="presentations", processes=options.processes
    )
    lines = [json.loads(line) for line in (shown.out / PRESENTATIONS).read_text().splitlines()]
    said = [{"presentation": one["presentation"], "sentence": "There is a box.", "writer": "w"} for one in lines]
    judged = [{"item": i["id"], "worker": "v", "verdict": True} for one in lines for i in one["images"]]
    files = {"statements": folder / "statements.jsonl", "judgements": folder / "judgements.jsonl"}
    for path, rows in zip(files.values(), (said, judged), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"scenes": folder, **files}


def pillow_seconds(items: list[Item], panels: dict[str, Panel], folder: Path) -> tuple[float, float]:
    """Seconds an image, by the clock and of the processor."""
    start, cpu = time.perf_counter(), processor()
    for item in items:
        boxes = [panels[name] for name in item.panels]
        for number, view in enumerate(item.views):
            pillow([boxes[k] for k in view.order], folder / f"{item.id}-{number}.png")
    drawn = len(items) * VIEWS
    return (time.perf_counter() - start) / drawn, (processor() - cpu) / drawn


def processor() -> float:
    """Processor seconds of this process and its ended children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def drawing(folder: Path, options: argparse.Namespace, console: Console) -> None:
    """The race."""
    count = -(-options.images // (VIEWS * IMAGES))
    files = collection(folder / "shown", count, options)
    drawn = count * VIEWS * IMAGES
    ours, theirs = [], []
    for number in range(options.rounds):
        cpu = processor()
        report = build_nlvr(folder / "bench", processes=options.processes, **files)  # type: ignore[arg-type]
        ours.append((report.seconds["drawing and storing"], processor() - cpu))
        benchmark = Benchmark(report.out)
        items = list(benchmark.items("train"))[: SAMPLE // VIEWS]
        (folder / f"pillow-{number}").mkdir()
        theirs.append(tuple(s * drawn for s in pillow_seconds(items, benchmark.panels, folder / f"pillow-{number}")))
    table = Table("round", "veridical, s", "Pillow, s", "ratio", "processor, s", "Pillow's", title=f"{drawn:,} images")
    best = tuple(min(pair) for pair in zip(*ours, strict=True)), tuple(min(pair) for pair in zip(*theirs, strict=True))
    rows = [(str(n), *pair) for n, pair in enumerate(zip(ours, theirs, strict=True), start=1)]
    for name, mine, pil in (*rows, ("best", *best)):
        table.add_row(
            name, f"{mine[0]:.1f}", f"{pil[0]:.1f}", f"{pil[0] / mine[0]:.1f}", f"{mine[1]:.1f}", f"{pil[1]:.1f}"
        )
    console.print(table)
    console.print(f"ratio of the best rounds: {best[1][0] / best[0][0]:.1f} (at least 8 is wanted)")
    console.print(f"whole: {check(folder / 'bench').ok}; Pillow was measured on {SAMPLE:,} images a round")


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
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--statements", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    console = Console(width=100)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        drawing(folder, options, console)
        cpu = processor()
        report = build_nlvr(
            folder / "written", presentations=options.statements, seed=options.seed, processes=options.processes
        )
        seconds = report.seconds["statements"]
        console.print(
            f"writing {options.statements:,} statements: {seconds:.1f} s by the clock "
            f"({1000 * (processor() - cpu) / options.statements:.0f} ms of a processor each, drawing included)"
        )
        benchmark = Benchmark(report.out)
        items = [item for split in benchmark.splits for item in benchmark.items(split, answers=True)]
        blind(items, console)
        agreement(items, console)


if __name__ == "__main__":
    main()
