"""What a unit of each kind of work costs: the numbers that `veridical plan` reckons with.

Each kind runs twice in a process of its own, a small and a larger lot; what differs is the larger lot's. Measured are
processor seconds (of workers and of the process that leads them), bytes on disk and peak memory: on a busy machine they
are what they are on an idle one. Run: `python benchmarks/rates.py [--write] [KIND...]`.
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
from pathlib import Path

RATES = Path(__file__).resolve().parents[1] / "src" / "veridical" / "engine" / "rates.json"


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def pictures(count: int, folder: Path) -> int:
    """24 pictures a presentation: four scenes, six drawings each."""
    from veridical.builders.nlvr import build_nlvr

    build_nlvr(folder / "made", presentations=count // 24, split={"train": 1.0}, hide=[], processes=2)
    return count


def matrices(count: int, folder: Path) -> int:
    from veridical.builders.vprom import build_vprom

    build_vprom(folder / "made", matrices=count, schemes=["neutral"], hide=[], processes=2)
    return count


def images(count: int, folder: Path) -> int:
    """One picture for each item, of 224 x 224 pixels of noise."""
    import numpy as np

    from veridical.encoders import open_encoder

    encoder = open_encoder("efficientnet-lite0", device="cpu")
    rng = np.random.default_rng(0)
    for _ in range(count // 4):
        encoder.images(rng.standard_normal((4, 3, 224, 224)).astype(np.float32))
    return count


def texts(count: int, folder: Path) -> int:
    """Of 12 words."""
    import numpy as np

    from veridical.encoders import open_encoder

    rng = np.random.default_rng(0)
    words = ["dog", "red", "box", "left", "because", "holding", "the", "two", "table", "running", "of", "smaller"]
    encoder = open_encoder("minilm", device="cpu")
    for start in range(0, count, 64):
        encoder.texts([" ".join(rng.choice(words, 12)) for _ in range(min(64, count - start))])
    return count


def pairs(count: int, folder: Path) -> int:
    """Of 24 words, by a BERT of the usual size with random weights: 12 layers, 768 wide."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(num_labels=1)).eval()
    with torch.inference_mode():
        for _ in range(count // 32):
            model(input_ids=torch.randint(5, 30000, (32, 32)))
    return count


# kind -> what is done, the unit, two sizes, whether workers do it (else all that it costs is a worker's)
KINDS: dict[str, tuple[Callable[[int, Path], int], str, tuple[int, int], bool]] = {
    "pictures": (pictures, "pictures", (9_600, 48_000), True),
    "matrices": (matrices, "matrices", (3_000, 60_000), True),
    "images": (images, "images", (16, 144), False),
    "texts": (texts, "texts", (64, 448), False),
    "pairs": (pairs, "pairs", (32, 160), False),
}


def child(kind: str, count: int) -> None:
    """In a process of its own: what it cost, as JSON on stdout."""
    os.environ["VERIDICAL_PROGRESS"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        KINDS[kind][0](count, Path(folder))
        bytes_ = size(Path(folder))
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                "leader": own.ru_utime + own.ru_stime,
                "workers": others.ru_utime + others.ru_stime,
                "peak": own.ru_maxrss * 1024,
                "peak_worker": others.ru_maxrss * 1024,
                "bytes": bytes_,
            }
        )
    )


def measure(kind: str) -> dict[str, object]:
    _, unit, (small, large), led = KINDS[kind]
    found = []
    for count in (small, large):
        words = [sys.executable, __file__, "--child", kind, str(count)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        out = subprocess.run(words, stdout=subprocess.PIPE, env=environment, check=True).stdout
        found.append(json.loads(out.splitlines()[-1]))
    more = large - small
    each = {name: max(0.0, (found[1][name] - found[0][name]) / more) for name in found[0]}
    if not led:  # this process stands for a worker; who leads it writes a row
        each |= {"workers": each["leader"], "leader": 0.0}
        found[0] |= {"peak_worker": found[0]["peak"], "peak": 0.0}
        each["peak"] = 0.0
    print(
        f"{kind:10} {1 / each['workers']:10.1f} a core and second, {1e6 * each['leader']:8.1f} us each to lead, "
        f"{each['bytes']:8.0f} bytes on disk, {each['peak']:6.0f} of memory, from {found[0]['peak'] / 1e6:.0f} MB",
        flush=True,
    )
    return {
        "unit": unit,
        "how": f"{more:,} {unit} more: {(KINDS[kind][0].__doc__ or 'built from icons.').splitlines()[0]}",
        "worker_seconds": round(each["workers"], 9),
        "leader_seconds": round(each["leader"], 9),
        "bytes": round(each["bytes"], 1),
        "leader_bytes": round(each["peak"], 1),
        "leader_base": float(found[0]["peak"]),
        "worker_base": float(found[0]["peak_worker"]),
    }


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
    return round((time.perf_counter() - start) / batches, 6)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*", default=[])
    parser.add_argument("--write", action="store_true", help="keep them, for `veridical plan`")
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], int(options.child[1]))
        return
    os.environ["VERIDICAL_PROGRESS"] = "0"
    old = json.loads(RATES.read_bytes()) if RATES.exists() else {"work": {}}
    work = old["work"] | {kind: measure(kind) for kind in options.kinds or KINDS}
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())  # fmt: skip
    record = {
        "machine": f"{os.cpu_count()} cores of {model}",
        "measured": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "batch_seconds": batch_seconds("processes"),
        "batch_seconds_ray": batch_seconds("ray"),
        "work": {kind: work[kind] for kind in KINDS if kind in work},
    }
    spent = {name: 1e6 * float(str(record[name])) for name in ("batch_seconds", "batch_seconds_ray")}
    print("a batch: {batch_seconds:.0f} us by processes, {batch_seconds_ray:.0f} us by Ray".format(**spent))
    if options.write:
        RATES.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
