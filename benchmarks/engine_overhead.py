"""What the engine costs: many small batches through it and through concurrent.futures, in one run.

Both keep order and use the same number of processes; the engine also bounds what is under way, notices dead workers and
(with a work folder) remembers every batch. Run: `python benchmarks/engine_overhead.py`.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from veridical.engine import run

BATCHES, SIZE, PROCESSES = 2000, 1000, 2


def work(batch: list[int]) -> int:
    return sum(number * number for number in batch)


def futures(batches: list[list[int]]) -> list[int]:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        return list(pool.map(work, batches))


def measure(name: str, function: Callable[[], list[int]]) -> tuple[float, list[int]]:
    start = time.perf_counter()
    result = function()
    seconds = time.perf_counter() - start
    print(f"{name:45} {seconds:6.2f} s  {1e6 * seconds / BATCHES:7.0f} us a batch")
    return seconds, result


def main() -> None:
    os.environ["VERIDICAL_PROGRESS"] = "0"
    batches = [list(range(n, n + SIZE)) for n in range(BATCHES)]
    with tempfile.TemporaryDirectory() as folder:
        theirs, expected = measure("concurrent.futures", lambda: futures(batches))
        ours, found = measure("engine", lambda: list(run(work, batches, processes=PROCESSES)))
        kept, again = measure(
            "engine, remembering", lambda: list(run(work, batches, processes=PROCESSES, work=Path(folder)))
        )
        back, last = measure(
            "engine, all remembered", lambda: list(run(work, batches, processes=PROCESSES, work=Path(folder)))
        )
    if not expected == found == again == last:
        raise SystemExit("the results differ")
    ratios = [f"{seconds / theirs:.2f}" for seconds in (ours, kept, back)]
    print("against concurrent.futures: engine {}, remembering {}, all remembered {}".format(*ratios))


if __name__ == "__main__":
    main()
