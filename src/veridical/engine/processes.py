"""The engine of this machine's processes.

Each worker has its own pipe, so a process that dies (kill -9, out of memory) is noticed at once. Workers are fresh
interpreters, not forks: a fork of a process with threads (Arrow, torch) can hang. Even a single process is a worker:
sums over this process's threads would round differently, what a function prints would mix with results on stdout, and
an `exit()` in it would end the caller.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import connection as pipes
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from veridical.engine import Batch, Plan, Result
from veridical.engine.pool import (
    INSIDE,
    ONE_THREAD,
    Crew,
    Function,
    Gone,
    Job,
    Task,
    Worker,
    attempt,
    available,
    keeper,
    prepared,
    results,
)

STOP_SECONDS = 2.0  # for a worker to end by itself before it is killed
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h


def run(function: Callable[[Batch], Result], batches: Iterable[Batch], plan: Plan) -> Iterator[Result]:
    """See `veridical.engine.run`."""
    return results(prepared(function, batches, plan), batches, _crew)


def _crew(job: Job) -> tuple[Crew, int]:
    return _Processes(job.pickled), job.most(job.plan.workers.processes or available())


class _Processes(Crew):
    def __init__(self, pickled: bytes) -> None:
        self.pickled = pickled  # the function

    def hire(self) -> Worker:
        ours, theirs = pipes.Pipe()
        # A process group of its own: Ctrl-C in the terminal reaches this process alone, which then stops its workers.
        process = subprocess.Popen(
            command(theirs.fileno()), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, process_group=0
        )
        theirs.close()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it died at once: its first batch will tell
            script = spawn.get_preparation_data("worker")  # where it finds the user's script, if it needs it
            ours.send(({k: v for k, v in script.items() if k.startswith("init_main")}, self.pickled))
        return _Process(process, ours)

    def wait(self, workers: Sequence[Any]) -> list[Worker]:
        by_pipe = {one.pipe: one for one in workers}
        return [by_pipe[ready] for ready in pipes.wait(list(by_pipe))]  # one that died has closed its pipe

    def dismiss(self, workers: Sequence[Any]) -> None:
        for one in workers:
            one.process.terminate()
        for one in workers:
            one.end()


class _Process(Worker):
    def __init__(self, process: subprocess.Popen[bytes], pipe: pipes.Connection) -> None:
        super().__init__()
        self.process, self.pipe = process, pipe

    def give(self, task: Task) -> None:
        try:
            self.pipe.send((task.index, task.batch, task.path))
        except (BrokenPipeError, ConnectionResetError):
            raise self._gone() from None

    def says_more(self) -> bool:
        return not self.pipe.closed and self.pipe.poll()

    def hear(self) -> tuple[str, Any]:
        try:
            index, outcome, value = self.pipe.recv()
        except (EOFError, OSError):
            self.pipe.close()
            raise self._gone() from None
        if self.tasks[0].index != index:
            raise RuntimeError(f"worker answered batch {index} where {self.tasks[0].index} was asked")
        return outcome, value

    def _gone(self) -> Gone:
        code = self.wait()
        if code >= 0:
            return Gone(f"ended with exit code {code}")
        hint = "Signal 9 usually means that memory ran out: use fewer processes." if code == -signal.SIGKILL else ""
        return Gone(f"was killed by signal {-code} ({signal.Signals(-code).name})", hint)

    def wait(self) -> int:
        """Wait for it to end, or end it; its exit code."""
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def end(self) -> None:
        """It should be ending: wait for it."""
        self.pipe.close()
        self.wait()


# --- in a worker -----------------------------------------------------------------------------------------------------


def command(descriptor: int) -> list[str]:
    """The command line of a worker that talks over a descriptor it inherits."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from veridical.engine.processes import main; "
    return [sys.executable, "-c", code + f"main({descriptor}, {os.getpid()})"]


def main(descriptor: int, parent: int) -> None:
    """One worker process: it reads batches from its parent, and sends back results or what went wrong, until that ends.

    The user's script is run again (as `multiprocessing` does) only where something in it is asked for, so that scripts
    need no `__main__` guard. A thread reads ahead, so that the parent never waits on a busy worker; the same thread
    notices when the parent is gone, even by kill -9, and ends the process. Ctrl-C is the parent's business.
    """
    _end_with(parent)
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
            connection.send((index, *attempt(load, batch, keeper(path))))
        except (BrokenPipeError, ConnectionResetError):
            os._exit(1)


def _end_with(parent: int) -> None:
    """Have Linux end this process with its parent, which may be process 1 of a container: a thread that waits to hear
    of it does not run inside of long calls into compiled code."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before
            os._exit(1)


def _read_ahead(connection: pipes.Connection, tasks: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            os._exit(1)  # the parent is gone: nobody waits for the result
        tasks.put(task)
