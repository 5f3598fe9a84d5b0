"""A model that goes over batches: here, where it is loaded once and uses all threads, or one copy for each worker.

Which of the two changes no vector and no score. A function that is given away carries its model unloaded: a worker
loads it with its first batch, and keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from typing import TypeVar

from veridical.engine import run
from veridical.engine.progress import Progress
from veridical.options.running import Workers

Some = TypeVar("Some", bound=Sized)
Result = TypeVar("Result")


def stays_here(workers: Workers) -> bool:
    """Whether a model is run in this process: unless several, or others, were asked for."""
    return workers.engine == "processes" and workers.processes in (None, 1)


def spread(
    function: Callable[[Some], Result], batches: Sequence[Some], workers: Workers, label: str, unit: str
) -> Iterator[Result]:
    """`function(batch)` for every batch, in order, with progress; `unit` is what a batch is a list of."""
    if not stays_here(workers):
        yield from run(function, batches, workers=workers, label=label)
        return
    with Progress(label, sum(map(len, batches)), unit) as progress:
        for batch in batches:
            yield function(batch)
            progress.advance(len(batch))
