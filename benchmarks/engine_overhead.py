"""What the engines cost: the same batches through a plain loop, the two engines and concurrent.futures, in one run.

Small batches show what an engine adds to each; a long stage (`--seconds 60`) shows what that comes to where batches are
as large as ours. The loop runs in one process of its own with one thread, as a worker does; the others have two
processes, and Ray also four, on as many processors as there are. All keep order. Processor seconds stand beside those
of the clock: on a busy machine they say more (Ray's workers are nobody's children: theirs are not counted).
Run: `python benchmarks/engine_overhead.py [--seconds 60 [--repeats 2]] [--no-ray]`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import importlib.util
import multiprocessing
import os
import statistics
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
    """About as long as a batch of pictures takes to draw. Compiled code: the speed of a loop in Python depends by a
    tenth on where a process happens to have its memory."""
    data = bytes(1 << 16)
    digest = str(batch).encode()
    for _ in range(rounds):
        digest = hashlib.sha256(digest + data).digest()
    return int.from_bytes(digest[:4], "big")


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


def long(seconds: float, repeats: int, with_ray: bool) -> None:
    """A stage that a plain loop needs so many seconds for; of several turns the medians count."""
    work_for(2_000, 1)  # the processor is awake
    start = time.process_time()
    work_for(10_000, 1)
    rounds = int(10_000 * seconds / LONG / (time.process_time() - start))
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
    turns = [{name: measure(name, way, LONG) for name, way in ways.items()} for _ in range(repeats)]
    refuse_other([result for turn in turns for _, result in turn.values()])
    usual = {name: statistics.median(turn[name][0] for turn in turns) for name in ways}
    plain, two = usual["a plain loop, one process"], usual["engine, two processes"]
    print(f"engine, one process, against the loop: {usual['engine, one process'] / plain:.3f}")
    print(f"engine, two processes, against half of the loop: {2 * two / plain:.3f}")
    if with_ray:
        print(f"two workers of Ray against two processes: {usual['Ray, two workers'] / two:.3f}")
        print(f"four workers of Ray against two processes: {usual['Ray, four workers'] / two:.3f}")


def refuse_other(results: list[list[int]]) -> None:
    if any(result != results[0] for result in results):
        raise SystemExit("the results differ")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, help="a long stage instead, of so many seconds in a plain loop")
    parser.add_argument("--repeats", type=int, default=1, help="turns of the long stage")
    parser.add_argument("--ray", action=argparse.BooleanOptionalAction, default=bool(importlib.util.find_spec("ray")))
    options = parser.parse_args()
    os.environ["VERIDICAL_PROGRESS"] = "0"
    if options.seconds:
        long(options.seconds, options.repeats, options.ray)
    else:
        small(options.ray)


if __name__ == "__main__":
    main()
