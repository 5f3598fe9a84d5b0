"""The engine of this machine's processes: results in order, a bounded number of batches under way, no lost work.

Each worker has its own pipe, so a process that dies (kill -9, out of memory) is noticed at once and costs one batch,
which is tried again. Workers are fresh interpreters, not forks: a fork of a process with threads (Arrow, torch) can
hang. Even a single process is a worker: sums over this process's threads would round differently, what a function
prints would mix with results on stdout, and an `exit()` in it would end the caller.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from dataclasses import dataclass, field
from multiprocessing import connection as pipes
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from veridical.engine import Batch, BatchError, Plan, Result, memory, times
from veridical.engine.progress import Progress
from veridical.errors import UserError, in_the_way

AHEAD = 2  # batches a worker holds: one in work, one waiting
WINDOW = 4  # batches per process that may be under way or wait for their turn; bounds memory
STOP_SECONDS = 2.0  # for a worker to end by itself before it is killed

Function = Callable[[Any], Any]

# Several processes each with several threads are slower, and a sum over threads may round differently.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h
INSIDE = "VERIDICAL_WORKER"  # set in the environment of a worker and of what it starts


def run(function: Callable[[Batch], Result], batches: Iterable[Batch], plan: Plan) -> Iterator[Result]:
    """See `veridical.engine.run`."""
    try:
        pickled = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"{function!r} cannot be sent to another process: use a module-level function") from error
    total = len(batches) if plan.total is None and isinstance(batches, Sized) else plan.total
    count = plan.processes or available()
    if total is not None:
        count = max(1, min(count, total))
    common = ""
    decode: memory.Decode = pickle.loads
    if plan.work is not None:
        plan.work.mkdir(parents=True, exist_ok=True)
        memory.clean_up(plan.work)
        common, decode = memory.common_key(function), memory.decoder_of(function)
    job = _Job(function, pickled, plan.work, common, decode, plan.retries, plan.label)
    return _show(job, iter(batches), count, total)


def available() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class _Job:
    """What all batches share."""

    function: Function
    pickled: bytes  # the function
    work: Path | None
    common: str  # what the keys of all its results begin with
    decode: memory.Decode  # of results on disk
    retries: int
    label: str


@dataclass
class _Task:
    """One batch on its way."""

    index: int
    batch: bytes  # pickled
    path: Path | None  # where its result is remembered
    tries: int = 0


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: pipes.Connection
    tasks: deque[_Task] = field(default_factory=deque)  # in the order it works on them


def _show(job: _Job, batches: Iterator[Any], count: int, total: int | None) -> Iterator[Any]:
    with Progress(job.label, total, "batches") as progress:
        inside = os.environ.get(INSIDE)  # a worker's own runs stay inside it
        results = _here(job, batches) if inside else _Pool(job, batches, count).results()
        try:
            for result, remembered in results:
                progress.advance(skipped=remembered)
                yield result
        finally:
            results.close()


def _task(job: _Job, index: int, batch: Any) -> _Task:
    path = memory.place(job.work, job.common, batch) if job.work is not None else None
    return _Task(index, pickle.dumps(batch, protocol=5), path)


def _here(job: _Job, batches: Iterator[Any]) -> Generator[tuple[Any, bool], None, None]:
    """Inside a worker; everything is still written and read, so that results are the same."""
    for index, batch in enumerate(batches):
        task = _task(job, index, batch)
        if task.path is not None and task.path.exists():
            try:
                yield memory.load(task.path, job.decode), True
                continue
            except memory.Damaged:
                pass
        while True:
            task.tries += 1
            outcome, value = work(lambda: job.function, task.batch, task.path)
            if outcome == "done":
                break
            _judge(job, task, outcome, value)
        yield (memory.load(task.path, job.decode) if task.path is not None else pickle.loads(value)), False


def _judge(job: _Job, task: _Task, outcome: str, value: Any) -> None:
    """Raise where a failure is final."""
    if outcome == "refused":
        raise UserError(*value)
    if task.tries > job.retries:
        raise BatchError(job.label, task.index, task.tries, value)


class _Pool:
    """Workers, the batches they hold, and the results that wait for their turn."""

    def __init__(self, job: _Job, batches: Iterator[Any], count: int) -> None:
        self.job, self.count = job, count
        self.source = enumerate(batches)
        self.exhausted = False
        self.workers: list[_Worker] = []
        self.waiting: deque[_Task] = deque()
        self.ready: dict[int, tuple[_Task, bytes | None]] = {}  # finished, or remembered: None where it is on disk
        self.taken = self.given = 0

    def results(self) -> Generator[tuple[Any, bool], None, None]:
        """Each result in order, and whether it was remembered from an earlier run."""
        try:
            while True:
                self._take()
                self._hand_out()
                if self.given in self.ready:
                    task, payload = self.ready.pop(self.given)
                    try:
                        result = (
                            pickle.loads(payload) if payload is not None else memory.load(_there(task), self.job.decode)
                        )
                    except memory.Damaged:
                        _there(task).unlink(missing_ok=True)
                        self.waiting.appendleft(task)
                        continue
                    self.given += 1
                    yield result, task.tries == 0
                elif self.given == self.taken and self.exhausted:
                    return
                else:
                    by_pipe = {one.pipe: one for one in self.workers}
                    for ready in pipes.wait(list(by_pipe)):  # of one that said something or died, which closes its pipe
                        self._hear(by_pipe[ready])  # type: ignore[index]
        finally:
            for one in self.workers:
                one.process.terminate()
            for one in self.workers:
                _end(one)
            self.workers.clear()

    def _take(self) -> None:
        while not self.exhausted and self.taken - self.given < self.count * WINDOW:
            one = next(self.source, None)
            if one is None:
                self.exhausted = True
                return
            task = _task(self.job, *one)
            self.taken += 1
            if task.path is not None and task.path.exists():
                self.ready[task.index] = (task, None)
            else:
                self.waiting.append(task)

    def _hand_out(self) -> None:
        while self.waiting:
            free = min(self.workers, key=lambda w: len(w.tasks), default=None)
            if (free is None or free.tasks) and len(self.workers) < self.count:
                free = self._hire()
            if free is None or len(free.tasks) >= AHEAD:
                return
            task = self.waiting.popleft()
            free.tasks.append(task)
            try:
                free.pipe.send((task.index, task.batch, task.path))
            except (BrokenPipeError, ConnectionResetError):
                while free in self.workers and free.pipe.poll():  # it is gone: hear what it had sent
                    self._hear(free)
                if free in self.workers:
                    self._bury(free)

    def _hire(self) -> _Worker:
        ours, theirs = pipes.Pipe()
        # A process group of its own: Ctrl-C in the terminal reaches this process alone, which then stops its workers.
        process = subprocess.Popen(
            command(theirs.fileno()), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, process_group=0
        )
        theirs.close()
        self.workers.append(_Worker(process, ours))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it died at once: its first batch will tell
            script = spawn.get_preparation_data("worker")  # where it finds the user's script, if it needs it
            ours.send(({k: v for k, v in script.items() if k.startswith("init_main")}, self.job.pickled))
        return self.workers[-1]

    def _hear(self, one: _Worker) -> None:
        try:
            index, outcome, value = one.pipe.recv()
        except (EOFError, OSError):
            self._bury(one)
            return
        task = one.tasks.popleft()
        if task.index != index:
            raise RuntimeError(f"worker answered batch {index} where {task.index} was asked")
        task.tries += 1
        if outcome == "done":
            self.ready[index] = (task, value)
        else:
            _judge(self.job, task, outcome, value)
            self.waiting.appendleft(task)

    def _bury(self, dead: _Worker) -> None:
        """Take back what a dead worker held; the batch it was working on has used up one try."""
        self.workers.remove(dead)
        code = _end(dead)
        tasks = list(dead.tasks)
        self.waiting.extendleft(reversed(tasks))
        if not tasks:
            return
        tasks[0].tries += 1
        if tasks[0].tries > self.job.retries:
            raise _death(self.job, tasks[0], code)


def _end(one: _Worker) -> int:
    """Wait for a worker that should be ending; its exit code."""
    one.pipe.close()
    try:
        return one.process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        one.process.kill()
        return one.process.wait()


def _there(task: _Task) -> Path:
    if task.path is None:
        raise RuntimeError(f"batch {task.index} has no result")
    return task.path


def _death(job: _Job, task: _Task, code: int) -> UserError:
    if code < 0:
        how = f"was killed by signal {-code} ({signal.Signals(-code).name})"
    else:
        how = f"ended with exit code {code}"
    again = "Finished batches are kept: run it again to continue. " if job.work is not None else ""
    memory_hint = "Signal 9 usually means that memory ran out: use fewer processes. " if code == -signal.SIGKILL else ""
    return UserError(
        f"{job.label}: the process working on batch {task.index} {how}, {times(task.tries)}.",
        f"{memory_hint}{again}".strip() or "Look above for what it printed before it ended.",
    )


# --- in a worker -----------------------------------------------------------------------------------------------------


def command(descriptor: int) -> list[str]:
    """The command line of a worker that talks over a descriptor it inherits."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from veridical.engine.processes import main; main({descriptor})"
    return [sys.executable, "-c", code]


def main(descriptor: int) -> None:
    """One worker process: it reads batches from its parent, and sends back results or what went wrong, until that ends.

    The user's script is run again (as `multiprocessing` does) only where something in it is asked for, so that scripts
    need no `__main__` guard. A thread reads ahead, so that the parent never waits on a busy worker; the same thread
    notices when the parent is gone, even by kill -9, and ends the process. Ctrl-C is the parent's business.
    """
    _end_with_parent()
    os.dup2(2, 1)  # what a function prints must not mix with the results on the parent's stdout
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ[INSIDE] = "1"
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    connection = pipes.Connection(descriptor)
    script, function = connection.recv()
    load: Callable[[], Function] = functools.cache(functools.partial(pickle.loads, function))
    tasks: queue.SimpleQueue[tuple[int, bytes, Path | None]] = queue.SimpleQueue()
    threading.Thread(target=_read_ahead, args=(connection, tasks), daemon=True).start()
    while True:
        index, batch, path = tasks.get()
        if script is not None and (b"__main__" in function or b"__main__" in batch):
            spawn.prepare(script)
            script = None
        try:
            connection.send((index, *work(load, batch, path)))
        except (BrokenPipeError, ConnectionResetError):
            os._exit(1)


def _end_with_parent() -> None:
    """Have Linux end this process with its parent: a thread that waits to hear of it does not run inside of long calls
    into compiled code."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == 1:  # it was gone before
            os._exit(1)


def work(load: Callable[[], Function], batch: bytes, path: Path | None) -> tuple[str, Any]:
    """What came of a batch, and with it: done (the pickled result, or None where saved), failed, refused (why)."""
    try:
        result = load()(pickle.loads(batch))
        if path is None:
            return "done", pickle.dumps(result, protocol=5)
        memory.save(path, result)
    except UserError as error:
        return "refused", error.args
    except Exception as error:  # noqa: BLE001 - whatever a batch raises goes to the parent, which tries again or raises it
        known = in_the_way(error)
        return ("refused", known.args) if known else ("failed", traceback.format_exc())
    return "done", None


def _read_ahead(connection: pipes.Connection, tasks: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            os._exit(1)  # the parent is gone: nobody waits for the result
        tasks.put(task)
