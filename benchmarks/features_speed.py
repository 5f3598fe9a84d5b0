"""What extraction costs beside a plain loop, and what a probe over its vectors gains, in one run.

The plain loop is what one writes first: for every panel decode its image, cut, resize, run the network alone (with one
thread of torch: on a busy machine two were several times slower). Ours decodes an image once for all its regions,
encodes equal regions once, and runs batches side by side. Both use the same network on the same crops of COCO
photographs. Then: a second run, random reads, sentences, and the probe on "There is a <category>." with the photographs
and without. Run: `python benchmarks/features_speed.py [IMAGES]` (default 24 of the 128; the probe takes all).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from veridical import encoders as features
from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.encoders.extract import cut, decode
from veridical.encoders.texts import TextVectors
from veridical.records import TRUTH, Item, Panel, Text

COCO = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "coco"
CROPS = 3  # regions of each photograph, beside all of it
PROBED = 128


def measure(name: str, work: Callable[[], Any], count: int, unit: str) -> tuple[Any, float]:
    """Run it; wall and processor time, since the machine may be shared."""
    start, own = time.perf_counter(), time.process_time()
    result = work()
    seconds, core = time.perf_counter() - start, time.process_time() - own
    print(f"{name:48} {seconds:7.2f} s  {core:7.2f} core s  {count / seconds:9.1f} {unit}/s")
    return result, core


def write(out: Path, images: int, crops: int = CROPS, seed: int = 0) -> Path:
    """Photographs and crops as panels; statements that name a category, as often false as true."""
    found = json.loads((COCO / "instances_train2017.json").read_text())
    names = {c["id"]: c["name"] for c in found["categories"]}
    things: dict[int, list[dict[str, Any]]] = {}
    for annotation in found["annotations"]:
        things.setdefault(annotation["image_id"], []).append(annotation)
    shown = Counter(name for several in things.values() for name in {names[a["category_id"]] for a in several})
    rng = np.random.default_rng(seed)
    with BenchmarkWriter(out, name="coco", task="statement", seed=seed) as writer:
        for number, image in enumerate(found["images"][:images]):
            address = writer.add_image((COCO / "images" / image["file_name"]).read_bytes())
            own = sorted(things.get(image["id"], []), key=lambda a: -a["area"])
            boxes = [a["bbox"] for a in own[:crops] if min(a["bbox"][2:]) >= 2]
            parts = [Panel(f"{number}-{n}", address, (x, y, x + w, y + h)) for n, (x, y, w, h) in enumerate(boxes)]
            writer.add_panels([Panel(f"{number}-all", address), Panel(f"{number}-again", address), *parts])
            here = sorted({names[a["category_id"]] for a in own})
            away = sorted(set(shown) - set(here))
            often = np.array([shown[name] for name in away], float)  # false ones are said as often as true ones
            false = rng.choice(away, len(here), replace=False, p=often / often.sum())
            said = [(name, 1) for name in here] + [(str(name), 0) for name in false]
            items = [
                Item(f"{number}-{name}", "statement", (f"{number}-all",), Text(f"There is a {name}."), TRUTH, truth,
                     origins=(str(number),))
                for name, truth in said
            ]  # fmt: skip
            writer.add_items("dev" if number % 4 == 0 else "train", items)
    return out


def plain(folder: Path) -> dict[str, np.ndarray]:
    """One panel at a time."""
    import torch

    bench, encoder = Benchmark(folder), features.open_encoder("efficientnet-lite0")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    out = {}
    for panel in bench.panels.values():
        image = decode(bench.image(panel.image or "").to_pybytes(), panel.id)
        out[panel.id] = encoder.images(encoder.prepare(cut(image, [panel.region], panel.id)[0])[None])[0]
    torch.set_num_threads(before)
    return out


def extraction(folder: Path) -> None:
    bench = Benchmark(folder)
    count = len(bench.panels)
    print(f"{count} panels, {len({features.panel_key(p) for p in bench.panels.values()})} of them distinct")
    loop, slow = measure("plain loop", lambda: plain(folder), count, "panels")
    ours, fast = measure("extract", lambda: features.extract(folder, "efficientnet-lite0"), count, "panels")
    worst = max(float(np.abs(ours.panels([bench.panels[p]])[0] - vector).max()) for p, vector in loop.items())
    measure("extract again", lambda: features.extract(folder, "efficientnet-lite0"), count, "panels")
    print(f"processor time, plain loop / extract: {slow / fast:.1f}; largest difference {worst:.1e}\n")


def reading(folder: Path) -> None:
    """Random rows of a large file, memory-mapped."""
    from veridical.encoders.encoder import Identity
    from veridical.encoders.store import About, open_features, write_features

    keys = [f"{n:064x}" for n in range(50_000)]
    matrix = np.random.default_rng(0).random((len(keys), 1280), np.float32)
    path = folder / "features-large.arrow"
    write_features(path, keys, matrix, About(Identity("x", "", "1"), "", False, ""))
    large, _ = measure("open 50,000 x 1,280", lambda: open_features(path), len(keys), "rows")
    wanted = [keys[n] for n in np.random.default_rng(1).integers(0, len(keys), 128 * 16)]
    large.rows(wanted[:1])
    measure("a batch of 128 x 16 random rows", lambda: large.rows(wanted), len(wanted), "rows")
    path.unlink()


def sentences(folder: Path) -> None:
    captions = json.loads((COCO / "captions_train2017.json").read_text())["annotations"]
    texts = sorted({c["caption"] for c in captions})[:256]
    vectors = TextVectors("minilm", cache=folder)
    vectors.encoder.texts(["a"])
    measure("minilm sentences", lambda: vectors.rows(texts), len(texts), "texts")
    measure("minilm sentences again", lambda: vectors.rows(texts), len(texts), "texts")


def probe(folder: Path, base: Path) -> None:
    """What the photographs add: the same probe with and without them."""
    from veridical import train

    print("\nprobe on 'There is a <category>.', photographs of dev never seen in training")
    for name, config in (("with photographs", {}), ("blind", {"images": ""})):
        settings = {"epochs": 40, "dropout": 0.5, "weight_decay": 0.1, **config}
        done = train("probe", folder, base / name, set=settings, validate="dev", trials=3)
        print(f"{name:20} {100 * done.mean:5.1f}% ± {100 * done.std:.1f} (best epoch on dev, 3 trials)")


def main() -> None:
    if not COCO.is_dir():
        raise SystemExit(f"the photographs are not here ({COCO})")
    images = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    os.environ["VERIDICAL_PROGRESS"] = "0"
    with tempfile.TemporaryDirectory() as base:
        os.environ["VERIDICAL_CACHE"] = str(Path(base) / "cache")
        folder = write(Path(base) / "coco", images)
        extraction(folder)
        reading(Path(base))
        sentences(Path(base))
        whole = write(Path(base) / "whole", PROBED, crops=0)
        features.extract(whole, "efficientnet-lite0", reuse=[folder])
        probe(whole, Path(base))


if __name__ == "__main__":
    main()
