"""Drawing and seeing NLVR's images: how fast beside Pillow, and how exact beside the published files.

    python benchmarks/nlvr_drawing.py [--images 92244] [--pillow 9000]

1. A benchmark of NLVR's size (drawn, PNG-encoded, stored, items written) by one process and by two, against a plain
   loop that draws with Pillow and saves with its default PNG settings, one file an image.
2. Encoders on the same drawings: ours, zlib level 1, isal.
3. Every published image here: drawn from its scene, and its scene seen from its pixels.
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

import numpy as np
from PIL import Image, ImageDraw

from veridical.benchmark.writer import BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, Text, View
from veridical.sources import boxes_png
from veridical.sources.boxes import COLORS, ORDERS, Placed, Scene, Thing, draw, draw_views, panel, presentations, see

NLVR = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr"
PUBLISHED_COLORS = {"Black": "black", "Yellow": "yellow", "#0099ff": "blue"}
LEFTS = (0, 150, 300)
BATCH = 250  # scenes handed to a process at a time


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def pillow_loop(scenes: Iterable[Scene], folder: Path) -> None:
    """What a plain script does. Its circles are not even the published ones: Pillow does not smooth edges."""
    for number, scene in enumerate(scenes):
        for view, order in enumerate(ORDERS):
            image = Image.new("RGBA", (400, 100), (128, 128, 128, 255))
            pen = ImageDraw.Draw(image)
            for left, index in zip(LEFTS, order, strict=True):
                pen.rectangle((left, 0, left + 99, 99), fill=(211, 211, 211, 255))
                for thing in scene[index].objects:
                    pillow_object(pen, thing.category, COLORS[thing.attribute("color") or ""], left, thing.box)
            image.save(folder / f"{number}-{view}.png")


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


def drawn(scenes: list[Scene]) -> list[list[bytes]]:
    return [draw_views(scene) for scene in scenes]


def build(scenes: list[Scene], out: Path, processes: int) -> None:
    """The whole benchmark: images, items and panels."""
    batches = [list(scenes[start : start + BATCH]) for start in range(0, len(scenes), BATCH)]
    with BenchmarkWriter(out, name="nlvr", task="statement") as writer:
        if processes == 1:
            write(writer, zip(batches, map(drawn, batches), strict=True))
        else:
            with ProcessPoolExecutor(processes) as pool:
                write(writer, zip(batches, pool.map(drawn, batches), strict=True))


def write(writer: BenchmarkWriter, batches: Iterable[tuple[list[Scene], list[list[bytes]]]]) -> None:
    for scenes, views in batches:
        addresses = [[writer.add_image(png) for png in pngs] for pngs in views]
        writer.add_items("train", [item(*pair) for pair in zip(scenes, addresses, strict=True)])
        writer.add_panels(one for scene in scenes for one in scene)


def compare_builds(images: int, pillow: int, folder: Path) -> None:
    count = -(-images // len(ORDERS))
    start = time.perf_counter()
    scenes = [scene for one in presentations(-(-count // 4), seed=0) for scene in one.scenes][:count]
    sampling = time.perf_counter() - start
    draw_views(scenes[0])  # compile before the clock starts
    print(f"sampling {count:,} scenes: {sampling:.2f} s ({count / sampling:,.0f} scenes/s)")
    few = scenes[: -(-pillow // len(ORDERS))]
    (folder / "pillow").mkdir()
    slow = timed(lambda: pillow_loop(few, folder / "pillow")) / (len(few) * len(ORDERS))
    print(f"Pillow, a plain loop: {1 / slow:,.0f} images/s (measured on {len(few) * len(ORDERS):,} images)")
    for processes in (1, 2):
        seconds = timed(lambda processes=processes: build(scenes, folder / f"b{processes}", processes))
        rate = count * len(ORDERS) / seconds
        size = sum(path.stat().st_size for path in (folder / f"b{processes}").iterdir()) / 1e6
        whole = count * len(ORDERS) / (seconds + sampling)
        print(
            f"ours, {processes} process{'es' * (processes > 1)}: {count * len(ORDERS):,} images and {count:,} items in "
            f"{seconds:.2f} s, {rate:,.0f} images/s, {size:.0f} MB: {rate * slow:.1f}x Pillow "
            f"({whole * slow:.1f}x with sampling the scenes)"
        )


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
        seconds = timed(lambda encoder=encoder, sizes=sizes: sizes.extend(len(encoder(canvas)) for canvas in canvases))
        print(f"{name}: {len(canvases) / seconds:,.0f} images/s, {sum(sizes) / len(canvases):.0f} bytes an image")


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
                [Placed(o["y_loc"], o["x_loc"], Thing(o["type"], PUBLISHED_COLORS[o["color"]], o["size"])) for o in box]
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
    seconds = timed(lambda: seen.extend(map(see, data)))
    right = sum(
        _objects(scene[index] for index in order) == _objects(found)
        for (_, scene, order), found in zip(files, seen, strict=True)
    )
    print(
        f"seen exactly: {right:,} of {len(files):,} published images, {len(files) / seconds:,.0f} images/s on one core"
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
