"""How fast, and in how much memory, a Visual Genome-sized attributes.json is streamed, beside `json.load`, in one run.

    python benchmarks/vg_streaming.py [--images 108000] [--part 0.1]

The file has the real schema: elements of the real attributes.json (where it is here) with new ids, shuffled objects and
some escaped quotes. Each way runs in a process of its own, so that its peak memory is its own; rates are of processor
time (user and system), so of one core. `json.load` reads only a part of the file, since all of it needs much memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from veridical.sources.json_array import elements
from veridical.sources.visual_genome import VisualGenome, _Element

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "visual_genome" / "attributes.json"


def templates() -> list[list[dict[str, Any]]]:
    """The objects of some images."""
    if REAL.exists():
        return [element["attributes"] for element in json.loads(REAL.read_bytes())]
    print(f"{REAL} is not here: made-up objects instead")
    words = ["clock", "street", "shade", "man", "sneakers", "car", "bike", "sign", "building", "tree trunk"]
    return [
        [
            {
                "synsets": [f"{word.replace(' ', '_')}.n.01"],
                "h": 26 + k,
                "object_id": 0,
                "names": [word],
                "w": 52,
                "attributes": ["grey", "made of bricks"],
                "y": 89,
                "x": 243,
            }
            for k, word in enumerate(words * 3)
        ]
    ]


def write_file(path: Path, images: int, rng: random.Random) -> None:
    kinds = templates()
    number = 0
    with path.open("w", encoding="utf-8") as file:
        for image in range(1, images + 1):
            objects = []
            for thing in rng.sample(kinds[image % len(kinds)], len(kinds[image % len(kinds)])):
                number += 1
                objects.append({**thing, "object_id": number, "x": thing["x"] + image % 7})
            if image % 50 == 0:
                objects[0]["names"] = ['sign that says "stop"']
            element = json.dumps({"image_id": image, "attributes": objects})
            file.write(("[" if image == 1 else ", ") + element)
        file.write("]")


def scan(folder: Path) -> int:
    """Only find the elements."""
    with (folder / "attributes.json").open("rb") as file:
        return sum(1 for _ in elements(file, "attributes.json"))


def decoded(folder: Path) -> int:
    """Typed records of all elements."""
    decoder = msgspec.json.Decoder(_Element)
    with (folder / "attributes.json").open("rb") as file:
        return sum(len(decoder.decode(data).attributes) for _, data in elements(file, "attributes.json"))


def objects(folder: Path) -> int:
    """Photographs with all their objects."""
    return sum(len(photograph.panel.objects) for photograph in VisualGenome(folder).photographs())


def plain(folder: Path) -> int:
    with (folder / "part.json").open("rb") as file:
        return sum(len(element["attributes"]) for element in json.load(file))


def whole(folder: Path) -> int:
    """msgspec without types, all in memory."""
    return sum(len(e["attributes"]) for e in msgspec.json.decode((folder / "part.json").read_bytes()))


WAYS: dict[str, Callable[[Path], int]] = {
    "scan": scan,
    "decoded": decoded,
    "objects": objects,
    "plain": plain,
    "whole": whole,
}


def child(way: str, folder: Path) -> None:
    before, wall = time.process_time(), time.perf_counter()
    count = WAYS[way](folder)
    cpu, wall = time.process_time() - before, time.perf_counter() - wall
    print(json.dumps([count, cpu, wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def measure(way: str, folder: Path, file: str, title: str) -> float:
    size = (folder / file).stat().st_size / 1e6
    command = [sys.executable, __file__, "--way", way, "--folder", str(folder)]
    count, cpu, wall, peak = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(
        f"{title:44}{size:8.0f} MB{cpu:8.2f} s{size / cpu:8.1f} MB/s per core{peak:8.0f} MB peak"
        f"{peak / size:7.2f} x the file   ({count:,}; {wall:.2f} s by the clock)"
    )
    return size / cpu


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=108_000)
    parser.add_argument("--part", type=float, default=0.1, help="of the images, for json.load")
    parser.add_argument("--way", choices=sorted(WAYS))
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.way:
        child(options.way, options.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_file(folder / "attributes.json", options.images, random.Random(0))
        write_file(folder / "part.json", max(1, int(options.images * options.part)), random.Random(0))
        print(f"{options.images:,} images")
        measure("scan", folder, "attributes.json", "veridical: elements of the array")
        measure("decoded", folder, "attributes.json", "veridical: decoded, typed")
        ours = measure("objects", folder, "attributes.json", "veridical: photographs with all objects")
        theirs = measure("plain", folder, "part.json", "json.load of a part, dictionaries")
        measure("whole", folder, "part.json", "msgspec of a part, all in memory, dictionaries")
        print(f"photographs against json.load: {ours / theirs:.2f} x the speed")


if __name__ == "__main__":
    main()
