"""Drawing and seeing NLVR's images: how fast beside Pillow, and how exact beside the published files.

    python benchmarks/nlvr_drawing.py [--images 92244] [--pillow 9000]

1. A benchmark of NLVR's size (drawn, PNG-encoded, stored, items written) by one process and by two, against a plain
   loop that draws with Pillow and saves with its default PNG settings, one file an image.
2. Encoders on the same drawings: ours, zlib level 1, isal.
3. Every published image here: drawn from its scene, and its scene seen from its pixels.

Rates by core time are of use where other programs share the machine; clock time is what a user waits.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw

from veridical.benchmark.tables import items_table, panels_table
from veridical.benchmark.writer import BenchmarkWriter, content_address
from veridical.records import TRUTH, Item, Panel, Text, View
from veridical.sources.boxes import png as boxes_png
from veridical.sources.boxes.drawings import draw, draw_views, see
from veridical.sources.boxes.scenes import COLORS, ORDERS, Figure, Placed, Scene, panel, presentations

NLVR = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr"
PUBLISHED_COLORS = {"Black": "black", "Yellow": "yellow", "#0099ff": "blue"}
LEFTS = (0, 150, 300)
SEED = 0
BATCH = 50  # presentations handed to a process at a time


class Clock(NamedTuple):
    wall: float
    cpu: float  # of this process


def timed(work: Callable[[], object]) -> Clock:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Clock(time.perf_counter() - wall, time.process_time() - cpu)


def pillow_loop(scenes: Iterable[Scene], mode: str, folder: Path | None) -> None:
    """What a plain script does, into files or only into memory. Its circles are not even the published ones: Pillow
    does not smooth edges."""
    for number, scene in enumerate(scenes):
        for view, order in enumerate(ORDERS):
            image = Image.new(mode, (400, 100), (128, 128, 128))
            pen = ImageDraw.Draw(image)
            for left, index in zip(LEFTS, order, strict=True):
                pen.rectangle((left, 0, left + 99, 99), fill=(211, 211, 211))
                for thing in scene[index].objects:
                    pillow_object(pen, thing.category, COLORS[thing.attribute("color") or ""], left, thing.box)
            image.save(folder / f"{number}-{view}.png" if folder else io.BytesIO(), "PNG")


def pillow_object(
    pen: ImageDraw.ImageDraw, shape: str, color: tuple[int, int, int], left: int, box: tuple[float, ...] | None
) -> None:
    x, y, right, bottom = box or (0, 0, 0, 0)
    x, right, bottom = x + left, right + left - 1, bottom - 1
    if shape == "square":
        pen.rectangle((x, y, right, bottom), fill=color)
    elif shape == "circle":
        pen.ellipse((x, y, right, bottom), fill=color)
    else:
        pen.polygon([(x, bottom), ((x + right) / 2, y), (right, bottom)], fill=color)


def item(scene: Scene, addresses: list[str]) -> Item:
    name = scene[0].id.rpartition("/")[0]
    views = tuple(View(order, address) for order, address in zip(ORDERS, addresses, strict=True))
    panels = tuple(one.id for one in scene)
    return Item(name, "statement", panels, Text("There is a box."), TRUTH, 1, name, (name,), views)


def scenes_of(batch: tuple[int, int]) -> list[Scene]:
    """The scenes of some presentations, given as (first, how many)."""
    return [scene for one in presentations(batch[1], SEED, batch[0]) for scene in one.scenes]


def drawn(scenes: list[Scene]) -> tuple[list[bytes], pa.Table, pa.Table]:
    """Images, items and panels of a batch, ready to be written."""
    views = [draw_views(scene) for scene in scenes]
    items = [item(scene, [content_address(png) for png in pngs]) for scene, pngs in zip(scenes, views, strict=True)]
    images = [png for pngs in views for png in pngs]
    return images, items_table(items), panels_table(one for scene in scenes for one in scene)


def sampled_and_drawn(batch: tuple[int, int]) -> tuple[list[bytes], pa.Table, pa.Table]:
    return drawn(scenes_of(batch))


def build(results: Iterable[tuple[list[bytes], pa.Table, pa.Table]], out: Path) -> None:
    """The whole benchmark: images, items and panels."""
    with BenchmarkWriter(out, name="nlvr", task="statement") as writer:
        for images, items, panels in results:
            for png in images:
                writer.add_image(png)
            writer.add_items("train", items)
            writer.add_panels(panels)


def build_by_two(batches: list[tuple[int, int]], out: Path) -> None:
    with ProcessPoolExecutor(2) as pool:
        build(pool.map(sampled_and_drawn, batches), out)


def compare_builds(images: int, pillow: int, folder: Path) -> None:
    count = -(-images // (4 * len(ORDERS)))  # presentations
    batches = [(start, min(BATCH, count - start)) for start in range(0, count, BATCH)]
    groups: list[list[Scene]] = []
    sampling = timed(lambda: groups.extend(map(scenes_of, batches)))
    images = 4 * count * len(ORDERS)
    draw_views(groups[0][0])  # compile before the clock starts
    print(f"sampling {4 * count:,} scenes: {4 * count / sampling.cpu:,.0f} scenes per second of a core")

    few = [scene for group in groups for scene in group][: -(-pillow // len(ORDERS))]
    (folder / "pillow").mkdir()
    loops = {"RGBA as published, files": ("RGBA", folder / "pillow"), "RGB, not even stored": ("RGB", None)}
    slow: dict[str, Clock] = {}
    for name, (mode, where) in loops.items():
        clock = timed(lambda mode=mode, where=where: pillow_loop(few, mode, where))
        slow[name] = Clock(*(seconds / (len(few) * len(ORDERS)) for seconds in clock))
        print(f"Pillow, {name}: {1 / slow[name].wall:,.0f} images/s, {1 / slow[name].cpu:,.0f} per second of a core")

    one = timed(lambda: build(map(drawn, groups), folder / "one"))
    size = sum(path.stat().st_size for path in (folder / "one").iterdir()) / 1e6
    print(f"ours, one process, {images:,} images and {4 * count:,} items, {size:.0f} MB:", end=" ")
    print(f"{images / one.wall:,.0f} images/s, {images / one.cpu:,.0f} per second of a core")
    for name, clock in slow.items():
        ratio, core = clock.wall * images / one.wall, clock.cpu * images / one.cpu
        print(f"  {ratio:.1f}x Pillow ({name}) by the clock, {core:.1f}x by core time")

    two = timed(lambda: build_by_two(batches, folder / "two"))
    print(f"ours, two processes, the scenes sampled too: {images / two.wall:,.0f} images/s")
    for name, clock in slow.items():
        print(f"  {clock.wall * images / two.wall:.1f}x Pillow ({name}) by the clock")
    same = all((folder / "two" / path.name).read_bytes() == path.read_bytes() for path in (folder / "one").iterdir())
    print(f"one process and two wrote the same bytes: {same}")


def compare_encoders(scenes: list[Scene]) -> None:
    canvases = []
    for scene in scenes:
        canvas = boxes_png.canvas()
        canvas[:, boxes_png.PAD :] = _indices(scene)
        canvases.append(canvas)
    encoders: dict[str, Callable[[np.ndarray], bytes]] = {
        "ours": boxes_png.encode,
        "zlib level 1": lambda canvas: boxes_png.wrap(zlib.compress(_raw(canvas), 1)),
    }
    try:
        from isal import isal_zlib

        encoders["isal level 1"] = lambda canvas: boxes_png.wrap(isal_zlib.compress(_raw(canvas), 1))
    except ImportError:
        print("isal is not installed")
    for name, encoder in encoders.items():
        encoder(canvases[0])
        sizes = [0]
        seconds = timed(
            lambda encoder=encoder, sizes=sizes: sizes.extend(len(encoder(canvas)) for canvas in canvases)
        ).cpu
        rate, size = len(canvases) / seconds, sum(sizes) / len(canvases)
        print(f"{name}: {rate:,.0f} images per second of a core, {size:.0f} bytes an image")


def _raw(canvas: np.ndarray) -> bytes:
    return canvas[:, boxes_png.PAD - 1 :].tobytes()


def _indices(scene: Scene) -> np.ndarray:
    with Image.open(io.BytesIO(draw_views(scene, ORDERS[:1])[0])) as image:
        return np.asarray(image)


def published() -> Iterator[tuple[Path, Scene, tuple[int, ...]]]:
    """Every published image here, its scene and the order of its boxes."""
    scenes: dict[str, Scene] = {}
    for split, path in (("dev", NLVR / "dev" / "dev.json"), ("train", NLVR / "train.json")):
        for line in path.read_text().splitlines():
            example = json.loads(line)
            boxes = (
                [
                    Placed(o["y_loc"], o["x_loc"], Figure(o["type"], PUBLISHED_COLORS[o["color"]], o["size"]))
                    for o in box
                ]
                for box in example["structured_rep"]
            )
            scenes[f"{split}-{example['identifier']}"] = tuple(panel(box, index) for index, box in enumerate(boxes))
    for path in sorted(itertools.chain((NLVR / "dev").rglob("*.png"), (NLVR / "train-images").rglob("*.png"))):
        name, _, view = path.stem.rpartition("-")
        yield path, scenes[name], ORDERS[int(view)]


def check_published() -> None:
    files = list(published())
    data = [path.read_bytes() for path, _, _ in files]
    see(data[0])
    seen: list[Scene] = []
    seconds = timed(lambda: seen.extend(map(see, data))).cpu
    right = sum(
        _objects(scene[index] for index in order) == _objects(found)
        for (_, scene, order), found in zip(files, seen, strict=True)
    )
    print(
        f"seen exactly: {right:,} of {len(files):,} published images, {len(files) / seconds:,.0f} per second of a core"
    )
    same = 0
    for path, scene, order in files:
        with Image.open(path) as image:
            same += np.array_equal(np.asarray(image.convert("RGBA")), draw(scene, order))
    print(f"drawn exactly: {same:,} of {len(files):,} published images")


def _objects(panels: Iterable[Panel]) -> list[object]:
    return [one.objects for one in panels]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=92_244)
    parser.add_argument("--pillow", type=int, default=9_000, help="images that Pillow draws; its rate is what counts")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nlvr-drawing-"))
    try:
        compare_builds(options.images, options.pillow, folder)
    finally:
        shutil.rmtree(folder)
    compare_encoders([scene for one in presentations(200, seed=1) for scene in one.scenes])
    if NLVR.is_dir():
        check_published()
    else:
        print(f"The published images are not here: {NLVR}")


if __name__ == "__main__":
    main()
