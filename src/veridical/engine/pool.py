"""What every engine shares: results in order, a bounded number of batches under way, tries counted, no lost work.

An engine is a crew: it hires workers and says which of them have something to tell. The pool decides which batch goes
to whom, what is tried again, and what is on disk already. A worker that is gone (kill -9, out of memory, a lost node)
costs one try of the batch it was working on; what else it held goes to others.
"""

from __future__ import annotations

import os
import pickle
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.engine import BatchError, Plan, memory, times
from veridical.engine.progress import Progress
from veridical.errors import UserError, in_the_way

AHEAD = 2  # batches a worker holds: one in work, one waiting
WINDOW = 4  # batches per worker that may be under way or wait for their turn; bounds memory

# Several processes each with several threads are slower, and a sum over threads may round differently.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
INSIDE = "VERIDICAL_WORKER"  # set in the environment of a worker and of what it starts

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Job:
    """What all batches share."""

    function: Function
    pickled: bytes  # the function
    plan: Plan
    common: str  # what the keys of all its results begin with
    decode: memory.Decode  # of results on disk
    total: int | None  # batches, where that is known

    def most(self, count: int) -> int:
        """How many of `count` workers can be of use."""
        return count if self.total is None else max(1, min(count, self.total))

    def task(self, index: int, batch: Any) -> Task:
        """A batch, and where its result is remembered."""
        work = self.plan.work
        path = memory.place(work, self.common, batch) if work is not None else None
        return Task(index, pickle.dumps(batch, protocol=5), path)


@dataclass
class Task:
    """One batch on its way."""

    index: int
    batch: bytes  # pickled
    path: Path | None  # where its result is remembered
    tries: int = 0

    @property
    def kept(self) -> Path:
        """Where its result lies, once it is finished."""
        if self.path is None:
            raise RuntimeError(f"batch {self.index} has no result")
        return self.path


class Gone(Exception):
    """A worker is no more; `how` says in words what became of it, `hint` what that usually means."""

    def __init__(self, how: str, hint: str = "") -> None:
        super().__init__(how, hint)
        self.how, self.hint = how, hint


class Worker(ABC):
    """Works on batches, one after another."""

    ready = True  # it has started: only then is it given batches

    def __init__(self) -> None:
        self.tasks: deque[Task] = deque()  # in the order it works on them

    @abstractmethod
    def give(self, task: Task) -> None:
        """Have it do a batch after those it has; raises `Gone`."""

    @abstractmethod
    def hear(self) -> tuple[str, Any]:
        """What came of its first batch, and with it (see `attempt`), or ("ready", None); raises `Gone`."""

    def says_more(self) -> bool:
        """Whether a worker that takes no more batches has still something to tell."""
        return False


class Crew(ABC):
    """Hires workers: what an engine is."""

    @abstractmethod
    def hire(self) -> Worker:
        """One more worker."""

    @abstractmethod
    def wait(self, workers: Sequence[Worker]) -> list[Worker]:
        """Those of them that have something to tell, or are gone; at least one."""

    @abstractmethod
    def dismiss(self, workers: Sequence[Worker]) -> None:
        """End these workers, whatever they are doing."""


def prepared(function: Function, batches: Iterable[Any], plan: Plan) -> Job:
    """What the batches share; a function that cannot be sent to a worker is refused at once."""
    try:
        pickled = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"{function!r} cannot be sent to another process: use a module-level function") from error
    total = len(batches) if plan.total is None and isinstance(batches, Sized) else plan.total
    common = ""
    decode: memory.Decode = pickle.loads
    if plan.work is not None:
        plan.work.mkdir(parents=True, exist_ok=True)
        memory.clean_up(plan.work)
        common, decode = memory.common_key(function), memory.decoder_of(function)
    return Job(function, pickled, plan, common, decode, total)


def available() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def results(job: Job, batches: Iterable[Any], crew: Callable[[Job], tuple[Crew, int]]) -> Iterator[Any]:
    """The results in order, with progress. `crew` gives who does the work, and how many of them there may be."""
    with Progress(job.plan.label, job.total, "batches") as progress:
        inside = os.environ.get(INSIDE)  # a worker's own runs stay inside it
        found = _here(job, iter(batches)) if inside else _Pool(job, iter(batches), *crew(job)).results()
        try:
            for result, remembered in found:
                progress.advance(skipped=remembered)
                yield result
        finally:
            found.close()


def _here(job: Job, batches: Iterator[Any]) -> Generator[tuple[Any, bool], None, None]:
    """Inside a worker; everything is still written and read, so that results are the same."""
    for index, batch in enumerate(batches):
        task = job.task(index, batch)
        if task.path is not None and task.path.exists():
            try:
                yield memory.load(task.path, job.decode), True
                continue
            except memory.Damaged:
                pass
        while True:
            task.tries += 1
            outcome, value = attempt(lambda: job.function, task.batch, keeper(task.path))
            try:
                if outcome == "done":
                    found = memory.load(task.path, job.decode) if task.path is not None else pickle.loads(value)
                    break
            except memory.Damaged as error:
                outcome, value = "failed", str(error)
            _judge(job, task, outcome, value)
        yield found, False


def _judge(job: Job, task: Task, outcome: str, value: Any) -> None:
    """Raise where a failure is final."""
    if outcome == "refused":
        raise UserError(*value)
    if task.tries > job.plan.retries:
        raise BatchError(job.plan.label, task.index, task.tries, value)


class _Pool:
    """Workers, the batches they hold, and the results that wait for their turn."""

    def __init__(self, job: Job, batches: Iterator[Any], crew: Crew, count: int) -> None:
        self.job, self.crew, self.count = job, crew, count
        self.source = enumerate(batches)
        self.exhausted = False
        self.workers: list[Worker] = []
        self.waiting: deque[Task] = deque()
        self.ready: dict[int, tuple[Task, bytes | None]] = {}  # finished, or remembered: None where it is on disk
        self.taken = self.given = self.stillborn = 0

    def results(self) -> Generator[tuple[Any, bool], None, None]:
        """Each result in order, and whether it was remembered from an earlier run."""
        try:
            while True:
                self._take()
                self._hand_out()
                if self.given in self.ready:
                    task, payload = self.ready.pop(self.given)
                    try:
                        found = (
                            pickle.loads(payload) if payload is not None else memory.load(task.kept, self.job.decode)
                        )
                    except memory.Damaged as error:
                        if task.tries:  # written by this run: one more try of it has failed
                            _judge(self.job, task, "failed", str(error))
                        task.kept.unlink(missing_ok=True)
                        self.waiting.appendleft(task)
                        continue
                    self.given += 1
                    yield found, task.tries == 0
                elif self.given == self.taken and self.exhausted:
                    return
                else:
                    for one in self.crew.wait(self.workers):
                        self._hear(one)
        finally:
            self.crew.dismiss(self.workers)
            self.workers.clear()

    def _take(self) -> None:
        while not self.exhausted and self.taken - self.given < self.count * WINDOW:
            one = next(self.source, None)
            if one is None:
                self.exhausted = True
                return
            task = self.job.task(*one)
            self.taken += 1
            if task.path is not None and task.path.exists():
                self.ready[task.index] = (task, None)
            else:
                self.waiting.append(task)

    def _hand_out(self) -> None:
        while self.waiting:
            free = min((w for w in self.workers if w.ready), key=lambda w: len(w.tasks), default=None)
            starting = sum(not w.ready for w in self.workers)
            busy = free is None or free.tasks
            if busy and len(self.workers) < self.count and starting < len(self.waiting):
                self.workers.append(self.crew.hire())
                continue
            if free is None or len(free.tasks) >= AHEAD:
                return
            task = self.waiting.popleft()
            free.tasks.append(task)
            try:
                free.give(task)
            except Gone as gone:
                while free in self.workers and free.says_more():  # hear what it had sent
                    self._hear(free)
                if free in self.workers:
                    self._bury(free, gone)

    def _hear(self, one: Worker) -> None:
        try:
            outcome, value = one.hear()
        except Gone as gone:
            self._bury(one, gone)
            return
        if outcome == "ready":
            one.ready, self.stillborn = True, 0
            return
        task = one.tasks.popleft()
        task.tries += 1
        if outcome == "done":
            self.ready[task.index] = (task, value)
        else:
            _judge(self.job, task, outcome, value)
            self.waiting.appendleft(task)

    def _bury(self, dead: Worker, gone: Gone) -> None:
        """Take back what a dead worker held; the batch it was working on has used up one try."""
        self.workers.remove(dead)
        tasks = list(dead.tasks)
        self.waiting.extendleft(reversed(tasks))
        label, retries = self.job.plan.label, self.job.plan.retries
        if not dead.ready:
            self.stillborn += 1
            if self.stillborn > retries + self.count:
                raise UserError(f"{label}: no worker starts; the last one {gone.how}.", gone.hint)
        if not tasks:
            return
        tasks[0].tries += 1
        if tasks[0].tries > retries:
            again = "Finished batches are kept: run it again to continue." if self.job.plan.work is not None else ""
            raise UserError(
                f"{label}: the process working on batch {tasks[0].index} {gone.how}, {times(tasks[0].tries)}.",
                f"{gone.hint} {again}".strip() or "Look above for what it printed before it ended.",
            )


# --- in a worker -----------------------------------------------------------------------------------------------------

Keep = Callable[[Any], bytes | None]


def keeper(path: Path | None) -> Keep:
    """What a worker on the same disk does with a result: remembers it there, or sends it."""
    if path is None:
        return lambda result: pickle.dumps(result, protocol=5)
    return lambda result: memory.write(path, memory.encode(result))


def attempt(load: Callable[[], Function], batch: bytes, keep: Keep) -> tuple[str, Any]:
    """What came of a batch, and with it: done (what `keep` gave for the result), failed, refused (why)."""
    try:
        return "done", keep(load()(pickle.loads(batch)))
    except UserError as error:
        return "refused", error.args
    except Exception as error:  # noqa: BLE001 - whatever a batch raises goes to the parent, which tries again or raises it
        known = in_the_way(error)
        return ("refused", known.args) if known else ("failed", traceback.format_exc())
