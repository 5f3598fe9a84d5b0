"""What a unit of each kind of work costs: the numbers that `veridical plan` reckons with.

Each kind runs twice in a process of its own, a small and a larger lot; what differs is the larger lot's: processor
seconds of the worker and of the process that leads it, and bytes on disk. (Of a processor, and not of a clock; but on a
busy machine they are more, for caches are shared.) `KIND:memory` is how the leader's memory grows, for which any
machine will do. `batches` is what the engines add to a batch, by the clock. All but memory is for a quiet machine.

`--peak KIND COUNT` runs one lot of any size, and says what it came to: `--peak pictures 920016` is ten times NLVR, and
takes a quarter of an hour of a processor.

Run: `python benchmarks/rates.py [--write] [WHAT...]`; with `--write`, what was measured goes into
src/veridical/engine/rates.json, where what else was measured on the same machine stays.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENGINES = {"processes": "", "ray": "_ray"}  # engine -> how its key ends
RATES = Path(__file__).resolve().parents[1] / "src" / "veridical" / "engine" / "rates.json"


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def pictures(count: int, folder: Path) -> None:
    """24 pictures a presentation: four scenes, six drawings each."""
    from veridical.builders.nlvr import build_nlvr

    build_nlvr(folder / "made", presentations=count // 24, split={"train": 1.0}, hide=[], processes=1)


def matrices(count: int, folder: Path) -> None:
    """Built from icons."""
    from veridical.builders.vprom import build_vprom

    build_vprom(folder / "made", matrices=count, schemes=["neutral"], hide=[], processes=1)


def matrices_of_photographs(count: int, folder: Path) -> None:
    """Over annotations of Visual Genome's size, as benchmarks/vprom_build.py --alone."""
    import numpy as np

    import vprom_build

    pool = vprom_build.visual_genome_like(np.random.default_rng(0))
    vprom_build.ours(vprom_build.Ready.of(pool, 0), count, 0, folder / "made")


def images(count: int, folder: Path) -> None:
    """One picture for each item, of 224 x 224 pixels of noise."""
    import numpy as np

    from veridical.encoders import open_encoder

    encoder = open_encoder("efficientnet-lite0", device="cpu")
    rng = np.random.default_rng(0)
    for _ in range(count // 4):
        encoder.images(rng.standard_normal((4, 3, 224, 224)).astype(np.float32))


def texts(count: int, folder: Path) -> None:
    """Of 12 words."""
    import numpy as np

    from veridical.encoders import open_encoder

    rng = np.random.default_rng(0)
    words = ["dog", "red", "box", "left", "because", "holding", "the", "two", "table", "running", "of", "smaller"]
    encoder = open_encoder("minilm", device="cpu")
    for start in range(0, count, 64):
        encoder.texts([" ".join(rng.choice(words, 12)) for _ in range(min(64, count - start))])


def pairs(count: int, folder: Path) -> None:
    """Of 24 words, by a BERT of the usual size with random weights: 12 layers, 768 wide."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(num_labels=1)).eval()
    with torch.inference_mode():
        for _ in range(count // 32):
            model(input_ids=torch.randint(5, 30000, (32, 32)))


@dataclass(frozen=True)
class Kind:
    """A kind of work, and how it is measured."""

    do: Callable[[int, Path], None]
    sizes: tuple[int, int]  # of the two lots
    grow: Callable[[int, Path], None] | None = None  # where a process leads its workers: what shows its memory
    grown: tuple[int, int] = (0, 0)

    @property
    def how(self) -> str:
        about = f"{self.sizes[1] - self.sizes[0]:,} more than {self.sizes[0]:,}: {said(self.do)}"
        if self.grow is None:
            return about
        other = "" if self.grow is self.do else f" {said(self.grow)}"
        return f"{about} The leader's memory: {self.grown[1]:,} and {self.grown[0]:,}.{other}"


def said(function: Callable[[int, Path], None]) -> str:
    return (function.__doc__ or "").splitlines()[0]


KINDS = {
    "pictures": Kind(pictures, (9_600, 48_000), pictures, (9_600, 96_000)),
    "matrices": Kind(matrices, (3_000, 30_000), matrices_of_photographs, (235_000, 2_300_000)),
    "images": Kind(images, (16, 144)),
    "texts": Kind(texts, (64, 448)),
    "pairs": Kind(pairs, (32, 160)),
}
BATCHES, MEMORY = "batches", ":memory"
EVERYTHING = (*KINDS, *(f"{name}{MEMORY}" for name, kind in KINDS.items() if kind.grow is not None), BATCHES)


def child(function: str, count: int) -> None:
    """In a process of its own: what it cost, as JSON on stdout."""
    os.environ["VERIDICAL_PROGRESS"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        globals()[function](count, Path(folder))
        bytes_ = size(Path(folder))
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "leader": own.ru_utime + own.ru_stime,
        "workers": others.ru_utime + others.ru_stime,
        "peak": own.ru_maxrss * 1024,
        "peak_worker": others.ru_maxrss * 1024,
        "bytes": bytes_,
    }
    print(json.dumps(found))


Found = dict[str, float]


def lot(function: Callable[[int, Path], None], count: int) -> Found:
    """What a lot costs, which is said."""
    words = [sys.executable, __file__, "--child", function.__name__, str(count)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    out = subprocess.run(words, stdout=subprocess.PIPE, env=environment, check=True).stdout
    found: Found = json.loads(out.splitlines()[-1])
    print(
        f"{function.__name__}, {count:,}: {found['leader'] + found['workers']:.1f} s of processors, peak "
        f"{found['peak'] / 1e6:,.0f} MB, of its worker {found['peak_worker'] / 1e6:,.0f} MB",
        flush=True,
    )
    return found


def two_lots(function: Callable[[int, Path], None], sizes: tuple[int, int]) -> tuple[Found, Found]:
    return lot(function, sizes[0]), lot(function, sizes[1])


def cost(name: str) -> dict[str, object]:
    """Seconds and bytes of a unit, and the memory of a worker."""
    kind = KINDS[name]
    small, large = two_lots(kind.do, kind.sizes)
    each = {what: max(0.0, (large[what] - small[what]) / (kind.sizes[1] - kind.sizes[0])) for what in small}
    if kind.grow is None:  # this process stands for a worker; who leads it writes a row
        each |= {"workers": each["leader"], "leader": 0.0}
        large |= {"peak_worker": large["peak"]}
    return {
        "unit": name,
        "how": kind.how,
        "worker_seconds": round(each["workers"], 9),
        "leader_seconds": round(each["leader"], 9),
        "bytes": round(each["bytes"], 1),
        "worker_base": float(large["peak_worker"]),
    }


def memory(name: str) -> dict[str, object]:
    """Of the leading process: what it begins with, and what a unit adds; nothing where it only writes rows."""
    kind = KINDS[name]
    if kind.grow is None:
        return {"leader_bytes": 0.0, "leader_base": 0.0}
    small, large = two_lots(kind.grow, kind.grown)
    each = max(0.0, (large["peak"] - small["peak"]) / (kind.grown[1] - kind.grown[0]))
    base = float(round(small["peak"] - kind.grown[0] * each))
    return {"how": kind.how, "leader_bytes": round(each, 1), "leader_base": base}


def nothing(batch: int) -> int:
    return batch


def batch_seconds(engine: str, batches: int = 1000) -> float:
    """What an engine adds to a batch, workers' start left out, by the clock."""
    from veridical.engine import run
    from veridical.options import Workers

    results = run(nothing, range(batches), workers=Workers(2, engine))
    next(results)
    start = time.perf_counter()
    list(results)
    spent = (time.perf_counter() - start) / batches
    print(f"a batch by {engine}: {1e6 * spent:.0f} us", flush=True)
    return round(spent, 6)


def this_machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{os.cpu_count()} cores of {model or platform.machine()}"


def measured(what: str) -> dict[str, Any]:
    """What one thing comes to, as it stands in the record."""
    if what == BATCHES:
        return {f"batch_seconds{end}": batch_seconds(engine) for engine, end in ENGINES.items()}
    name, _, part = what.partition(":")
    found = memory(name) if part else cost(name)
    if not part and KINDS[name].grow is None:
        found |= memory(name)
    return {"work": {name: found}}


def write(found: dict[str, Any]) -> None:
    """Put what was measured into the record, where others may have written meanwhile."""
    record = json.loads(RATES.read_bytes())
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    for name, rate in found.pop("work", {}).items():
        record["work"][name] = record["work"].get(name, {}) | rate
    record |= found | {"machine": this_machine(), "measured": today}
    RATES.write_text(json.dumps(record, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help=f"any of {', '.join(EVERYTHING)}; else all")
    parser.add_argument("--write", action="store_true", help="keep them, for `veridical plan`")
    parser.add_argument("--peak", nargs=2, metavar=("KIND", "COUNT"), help="one lot alone, of so many")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], int(options.child[1]))
        return
    os.environ["VERIDICAL_PROGRESS"] = "0"
    if options.peak:
        lot(KINDS[options.peak[0]].do, int(options.peak[1]))
        return
    wanted = options.what or EVERYTHING
    if unknown := set(wanted) - set(EVERYTHING):
        parser.error(f"nothing is called {unknown.pop()!r}")
    here, there = this_machine(), json.loads(RATES.read_bytes())["machine"]
    if here != there and set(wanted) != set(EVERYTHING):
        raise SystemExit(f"{RATES.name} is of {there}, and this is {here}: measure everything")
    for what in wanted:
        found = measured(what)
        if options.write:
            write(found)


if __name__ == "__main__":
    main()
