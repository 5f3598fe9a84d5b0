"""How fast an NLVR2-sized file is imported, against `json.loads` line by line, in one run.

    python benchmarks/import_speed.py [--lines 107292] [--repeats 5]

The file has as many lines as all of NLVR2, made from the real development file where it is here. The plain scripts do
nothing but decode (one keeps the records, as any import must; one throws them away). Ratios are of the best times;
processor time is printed too, since other work on the machine disturbs the wall clock.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from veridical.formats.lines import Problems
from veridical.formats.releases import Request, import_release, load_format

DEV = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr2" / "dev.json"


def lines() -> list[dict[str, object]]:
    """The development file's records, or some of the same shape."""
    if DEV.exists():
        return [json.loads(line) for line in DEV.open(encoding="utf-8")]
    print(f"{DEV} is not here: made-up records instead")
    words = "there are exactly two bottles standing on the left side of a wooden table in front of it"
    return [
        {
            "validation": {str(n % 160): "True"},
            "sentence": words[n % 20 :],
            "left_url": f"https://example.org/{'left' * 12}{n // 2}.jpg",
            "writer": str(n % 100),
            "label": "True",
            "right_url": f"https://example.org/{'right' * 10}{n // 2}.jpg",
            "synset": "beer bottle",
            "query": f"some beer bottles{n % 90}",
            "identifier": f"dev-{n // 4}-{n // 2 % 4}-{n % 2}",
            "extra_validations": {str((n + k) % 160): "True" for k in range(1, 5)},
        }
        for n in range(7000)
    ]


def write_file(path: Path, count: int) -> None:
    """A file of `count` lines: the records again and again, with new image sets."""
    records = lines()
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            record = dict(records[n % len(records)])
            _, image_set, pair, sentence = str(record["identifier"]).split("-")
            record["identifier"] = f"train-{int(image_set) + 10_000 * (n // len(records))}-{pair}-{sentence}"
            file.write(json.dumps(record) + "\n")


def best(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The best wall-clock and processor seconds."""
    walls, processors = [], []
    for _ in range(repeats):
        wall, processor = time.perf_counter(), time.process_time()
        kept = work()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
        del kept
    return min(walls), min(processors)


def throw_away(path: Path) -> None:
    with path.open(encoding="utf-8") as file:
        for line in file:
            json.loads(line)


def keep(path: Path) -> list[object]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def peak(path: Path, out: Path) -> int:
    """Peak bytes of a process that does nothing but import the file."""
    program = (
        "import sys; from veridical.formats.releases import import_release; import_release('nlvr2', *sys.argv[1:])"
    )
    subprocess.run([sys.executable, "-c", program, str(path), str(out)], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=107_292)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.environ["VERIDICAL_PROGRESS"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "train.json", Path(folder) / "benchmark"
        write_file(path, options.lines)
        print(f"{options.lines:,} lines, {path.stat().st_size / 1e6:.1f} MB; best of {options.repeats}")
        memory = peak(path, out)
        nlvr2 = load_format("nlvr2")
        work: dict[str, Callable[[], object]] = {
            "json.loads, thrown away": lambda: throw_away(path),
            "json.loads, kept": lambda: keep(path),
            "veridical: read and check": lambda: nlvr2.read(Request(path), Problems()),
            "veridical: whole import": lambda: import_release("nlvr2", path, out),
        }
        times = {name: best(one, options.repeats) for name, one in work.items()}
    thrown, kept = times["json.loads, thrown away"], times["json.loads, kept"]
    print(f"{'':28}{'wall s':>8}{'cpu s':>8}   speed against json.loads kept / thrown away (wall)")
    for name, (wall, processor) in times.items():
        print(f"{name:28}{wall:8.3f}{processor:8.3f}   {kept[0] / wall:5.2f}x / {thrown[0] / wall:5.2f}x")
    print(f"peak memory of an import: {memory / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
