"""Functions that the engine's tests run in other processes; each leaves a mark in a folder when it starts a batch."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veridical.engine import batch_rng, run
from veridical.errors import UserError
from veridical.options import Workers


def square(number: int) -> int:
    return number * number


def says_a_number(number: int) -> int:
    return "a word"  # type: ignore[return-value]


@dataclass(frozen=True)
class Config:
    steps: tuple[Callable[[int], int], ...]

    def __call__(self, number: int) -> int:
        return self.steps[0](number)


def apply(function: Callable[[int], int], number: int) -> int:
    return function(number)


def apply_last(number: int, function: Callable[[int], int]) -> int:
    return function(number)


def draw(batch: tuple[int, int]) -> bytes:
    """Random bytes of one batch: (seed, index)."""
    return batch_rng(*batch).bytes(50)


def multiply(seed: int) -> bytes:
    """A product and eigenvectors, whose last bits depend on how many threads compute them."""
    import numpy as np

    rng = batch_rng(seed, 0)
    left, right = (rng.standard_normal(shape).astype(np.float32) for shape in ((400, 3000), (3000, 400)))
    square = rng.standard_normal((300, 300))
    return (left @ right).tobytes() + np.linalg.eigh(square + square.T)[1].tobytes()


def slowest_first(number: int) -> int:
    time.sleep(0.2 if number == 0 else 0.0)
    return number


def mark(folder: str, number: int) -> int:
    """How often this batch has been started, counting this time."""
    (Path(folder) / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return len(list(Path(folder).glob(f"{number}-*")))


def marked(batch: tuple[str, int]) -> int:
    mark(*batch)
    return batch[1] * 10


def marked_slowly(batch: tuple[str, int]) -> int:
    mark(*batch)
    time.sleep(0.05)
    return batch[1] * 10


def fails_twice(batch: tuple[str, int]) -> int:
    if batch[1] == 3 and mark(*batch) <= 2:
        raise ValueError("not yet")
    return batch[1]


def fails_always(number: int) -> int:
    if number == 5:
        raise ValueError(f"cannot do {number}")
    return number


def dies_once(batch: tuple[str, int]) -> int:
    if mark(*batch) == 1 and batch[1] in (1, 4):
        os.kill(os.getpid(), signal.SIGKILL)
    return batch[1]


def dies_always(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def exits(number: int) -> int:
    os._exit(7)


def exits_politely(number: int) -> int:
    sys.exit(f"no {number}")


def refuses(number: int) -> int:
    raise UserError(f"line {number} is wrong.", "Mend it.")


def nested(number: int) -> int:
    return sum(run(square, range(number), workers=Workers(2)))


def sleeps(number: int) -> int:
    time.sleep(60)
    return number


def deaf(number: int) -> int:
    """Compiled code that lets no other thread run, for minutes."""
    return sum(range(10**10 + number))


def card(number: int) -> tuple[int, str]:
    """Who works, and on which graphics card."""
    time.sleep(0.1)
    return os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES", "")


def talks(number: int) -> int:
    print("hello from", number, flush=True)
    return number


def unpicklable(number: int) -> object:
    return lambda: number


def main() -> None:
    """A run in a process of its own: `_jobs.py MARKS WORK COUNT PROCESSES [ENGINE [ADDRESS]]`, killed from outside."""
    marks, work, count, processes = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    workers = Workers(processes, *sys.argv[5:])
    batches = [(marks, number) for number in range(count)]
    if count == 0:  # nothing to wait for
        list(run(deaf, [1, 2], workers=workers))
    for result in run(marked_slowly, batches, work=work, workers=workers, label="marking"):
        print(result, flush=True)


if __name__ == "__main__":
    main()


@dataclass(frozen=True)
class Measured:
    name: str
    sizes: tuple[float, ...]
    parts: dict[str, list[bytes]]


def measured(number: int) -> tuple[Measured, np.ndarray]:
    return Measured(str(number), (1.5, 2), {"a": [b"x"]}), np.arange(number, dtype=np.int16).reshape(2, -1)
