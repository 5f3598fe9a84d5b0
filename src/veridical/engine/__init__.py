"""Running a function over batches of work, and showing how far it is.

    pool        what all engines share: order, tries, what is on disk already
    processes   the engine of this machine's processes, and what each of them does
    cluster     the engine of Ray's actors, on one machine or many
    memory      finished batches on disk
    planning    machines, hours and cost of work that outgrows one machine
    progress    how far a run is, on the terminal; how long its steps took

`run` is the one door: every heavy stage maps a module-level function over batches with it. Results come in order and
depend on nothing but the batches, so the same config gives the same bytes on any number of processes or machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from veridical.common import registry
from veridical.errors import UserError
from veridical.options.running import Workers

if TYPE_CHECKING:
    import numpy as np

Batch = TypeVar("Batch")
Result = TypeVar("Result")

# engine -> its `run`; tests/engine/test_engine.py runs the contract over every entry
ENGINES: dict[str, str] = {"processes": "veridical.engine.processes:run", "ray": "veridical.engine.cluster:run"}


@dataclass(frozen=True)
class Plan:
    """How batches are run; an engine is a function of a function, batches and this."""

    workers: Workers  # who does the work
    work: Path | None  # a folder that remembers finished batches
    retries: int  # how often a batch that fails is tried again
    label: str  # what the progress says
    total: int | None  # batches, where that is known


class BatchError(RuntimeError):
    """A batch whose function raised every time it was tried; the message ends with the worker's traceback."""

    def __init__(self, label: str, batch: int, tries: int, traceback: str) -> None:
        super().__init__(label, batch, tries, traceback)
        self.label, self.batch, self.tries, self.traceback = label, batch, tries, traceback

    def __str__(self) -> str:
        return f"{self.label}: batch {self.batch} failed {times(self.tries)}. The last time:\n{self.traceback}"


def times(number: int) -> str:
    """How often, in words."""
    return "once" if number == 1 else f"{number} times"


def run(
    function: Callable[[Batch], Result],
    batches: Iterable[Batch],
    *,
    workers: Workers = Workers(),
    work: Path | None = None,
    retries: int = 2,
    label: str = "working",
    total: int | None = None,
) -> Iterator[Result]:
    """Yield `function(batch)` for every batch, in order.

    `function` is a module-level function, or a `functools.partial` of one that carries its config; randomness it makes
    with `batch_rng`. `workers` says who does the work, and changes nothing of what comes out: even a single process is
    one of its own, with one thread as all have. `work` is a folder that remembers finished batches, so that a run that
    was killed continues; the caller deletes it when its output is complete. A batch that raises or loses its process is
    tried again `retries` times. A `UserError` is about the input, and ends the run at once.
    """
    start: Callable[..., Iterator[Result]] = registry.resolve(ENGINES, workers.engine, "engine", "engine")
    if workers.processes is not None and workers.processes < 1:
        raise UserError(f"{workers.processes} processes cannot do any work.", "Use 1 or more.")
    if retries < 0:
        raise ValueError(f"retries is {retries}; it counts from 0")
    return start(function, batches, Plan(workers, work, retries, label, total))


def batch_rng(seed: int, index: int) -> np.random.Generator:
    """The random generator of batch `index`: independent of the others, and of how many processes there are.

    >>> batch_rng(0, 3).integers(100) == batch_rng(0, 3).integers(100)
    np.True_
    """
    import numpy as np

    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
