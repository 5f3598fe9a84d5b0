"""What the engines cost: the same batches through a plain loop, the two engines and concurrent.futures, in one run.

Small batches show what an engine adds to each; a long stage (`--seconds 60`) shows what that comes to where batches are
as large as ours. The loop runs in one process of its own with one thread, as a worker does; the others have two
processes, and Ray also four, on as many processors as there are. All keep order. Processor seconds stand beside those
of the clock: on a busy machine they say more (Ray's workers are nobody's children: theirs are not counted).
Run: `python benchmarks/engine_overhead.py [--seconds 60] [--no-ray]`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from veridical.engine import run
from veridical.options import Workers

BATCHES, SIZE = 2000, 1000
LONG = 60  # batches of the long stage


def work(batch: list[int]) -> int:
    return sum(number * number for number in batch)


def work_for(rounds: int, batch: int) -> int:
    """About as long as a batch of pictures takes to draw."""
    total = batch
    for number in range(rounds):
        total = (total * 31 + number) % 1_000_003
    return total


def loop(batches: list[list[int]]) -> list[int]:
    return [work(batch) for batch in batches]


def long_loop(rounds: int, batches: list[int]) -> list[int]:
    return [work_for(rounds, batch) for batch in batches]


def alone(function: Callable[[list[int]], list[int]], batches: list[int]) -> list[int]:
    """A plain loop, in one process of its own."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, batches).result()


def futures(batches: list[list[int]]) -> list[int]:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        return list(pool.map(work, batches))


def measure(name: str, function: Callable[[], list[int]], count: int) -> tuple[float, list[int]]:
    start, before = time.perf_counter(), os.times()
    result = function()
    seconds, after = time.perf_counter() - start, os.times()
    spent = sum(after[:4]) - sum(before[:4])
    each = 1e6 * seconds / count
    print(f"{name:38} {seconds:7.2f} s  {each:9.0f} us a batch, {spent:7.2f} s of processors", flush=True)
    return seconds, result


def engine(workers: Workers, batches: list[list[int]], work_folder: Path | None = None) -> list[int]:
    return list(run(work, batches, workers=workers, work=work_folder))


def small(with_ray: bool) -> None:
    batches = [list(range(n, n + SIZE)) for n in range(BATCHES)]
    with tempfile.TemporaryDirectory() as name:
        folder, two = Path(name), Workers(2)
        ways: dict[str, Callable[[], list[int]]] = {
            "a plain loop, one process": partial(alone, loop, batches),  # type: ignore[arg-type]
            "concurrent.futures, two": partial(futures, batches),
            "engine, two processes": partial(engine, two, batches),
            "engine, remembering": partial(engine, two, batches, folder / "a"),
            "engine, all remembered": partial(engine, two, batches, folder / "a"),
        }
        if with_ray:
            ways |= {
                "Ray, two workers, with its start": partial(engine, Workers(2, "ray"), batches),
                "Ray, two workers": partial(engine, Workers(2, "ray"), batches),
                "Ray, remembering": partial(engine, Workers(2, "ray"), batches, folder / "b"),
            }
        found = {name: measure(name, way, BATCHES) for name, way in ways.items()}
    refuse_other([result for _, result in found.values()])
    theirs = found["concurrent.futures, two"][0]
    print("against concurrent.futures:", ", ".join(f"{name} {s / theirs:.2f}" for name, (s, _) in found.items()))


def long(seconds: float, with_ray: bool) -> None:
    """A stage that a plain loop needs so many seconds for."""
    start = time.process_time()
    work_for(1_000_000, 1)
    rounds = int(1_000_000 * seconds / LONG / (time.process_time() - start))
    batches, function = list(range(LONG)), partial(work_for, rounds)
    ways: dict[str, Callable[[], list[int]]] = {
        "a plain loop, one process": partial(alone, partial(long_loop, rounds), batches),
        "engine, one process": lambda: list(run(function, batches, workers=Workers(1))),
        "engine, two processes": lambda: list(run(function, batches, workers=Workers(2))),
    }
    if with_ray:
        list(run(function, [], workers=Workers(4, "ray")))
        list(run(work, [[1]], workers=Workers(1, "ray")))  # it is started
        ways["Ray, two workers"] = lambda: list(run(function, batches, workers=Workers(2, "ray")))
        ways["Ray, four workers"] = lambda: list(run(function, batches, workers=Workers(4, "ray")))
    found = {name: measure(name, way, LONG) for name, way in ways.items()}
    refuse_other([result for _, result in found.values()])
    plain, two = found["a plain loop, one process"][0], found["engine, two processes"][0]
    print(f"engine, one process, against the loop: {found['engine, one process'][0] / plain:.3f}")
    if with_ray:
        print(f"four workers of Ray against two processes: {found['Ray, four workers'][0] / two:.3f}")


def refuse_other(results: list[list[int]]) -> None:
    if any(result != results[0] for result in results):
        raise SystemExit("the results differ")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, help="a long stage instead, of so many seconds in a plain loop")
    parser.add_argument("--ray", action=argparse.BooleanOptionalAction, default=bool(importlib.util.find_spec("ray")))
    options = parser.parse_args()
    os.environ["VERIDICAL_PROGRESS"] = "0"
    if options.seconds:
        long(options.seconds, options.ray)
    else:
        small(options.ray)


if __name__ == "__main__":
    main()
