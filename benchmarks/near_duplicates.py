"""How fast all near pairs of NLVR2's 127,502 pictures are found, beside brute force in NumPy, in one run.

    python benchmarks/near_duplicates.py [--hashes 127502] [--distance 6] [--repeats 5]

The hashes are NLVR2's real ones of dev (where they are here), copies of random ones with some bits changed, and random
ones. Both ways give the same pairs, or this fails. Ratios are of processor time, since other work on the machine
disturbs the wall clock; the best of some repeats for ours, once for brute force.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from veridical.encoders.hashes import Hashes, IndexPairs, near_pairs, published_hash

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr2" / "dev_hashes.json"


def make(count: int, rng: np.random.Generator) -> Hashes:
    hashes = rng.integers(0, 2**64, count, np.uint64)
    real = [published_hash(text) for text in json.loads(REAL.read_text()).values()] if REAL.exists() else []
    print(f"{count:,} hashes: {len(real):,} real ones, {count // 20:,} near copies, the rest random")
    hashes[: len(real)] = real[:count]
    for k in range(count - count // 20, count):
        flips = rng.choice(64, int(rng.integers(0, 10)), replace=False)
        hashes[k] = hashes[rng.integers(0, count - count // 20)] ^ np.uint64(sum(1 << int(f) for f in flips))
    return hashes


def brute(hashes: Hashes, most: int, rows: int = 64) -> IndexPairs:
    """A block of rows against all later hashes at a time, so that it stays in the processor's cache."""
    found = []
    for start in range(0, len(hashes), rows):
        block = hashes[start : start + rows, None]
        near = np.bitwise_count(block ^ hashes[None, start:]) <= most
        a, b = np.nonzero(near)
        keep = b > a
        found.append(np.stack([a[keep], b[keep]], 1) + start)
    return np.concatenate(found)


def timed(function: Callable[[], IndexPairs], repeats: int) -> tuple[IndexPairs, float, float]:
    cpu = wall = float("inf")
    for _ in range(repeats):
        start, begin = time.process_time(), time.perf_counter()
        pairs = function()
        cpu, wall = min(cpu, time.process_time() - start), min(wall, time.perf_counter() - begin)
    return pairs, cpu, wall


def say(way: str, cpu: float, wall: float, pairs: IndexPairs) -> None:
    print(f"{way:20}{cpu:10.3f} s of processor time{wall:10.3f} s by the clock{len(pairs):12,} pairs")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hashes", type=int, default=127_502)
    parser.add_argument("--distance", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    hashes = make(options.hashes, np.random.default_rng(0))
    start = time.perf_counter()
    near_pairs(hashes[:100], options.distance)
    print(f"compiling, or loading what was compiled: {time.perf_counter() - start:.2f} s, not counted below")
    ours, cpu, wall = timed(lambda: near_pairs(hashes, options.distance), options.repeats)
    say("multi-index hashing", cpu, wall, ours)
    theirs, brute_cpu, brute_wall = timed(lambda: brute(hashes, options.distance), 1)
    say("brute force, NumPy", brute_cpu, brute_wall, theirs)
    if not np.array_equal(ours, theirs):
        raise SystemExit("the pairs differ")
    print(f"the same pairs, {brute_cpu / cpu:.0f} x faster (by the clock {brute_wall / wall:.0f} x)")


if __name__ == "__main__":
    main()
