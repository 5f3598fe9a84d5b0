"""One worker process: it reads batches from its parent, and sends back results or what went wrong.

It is started as a fresh interpreter that imports only what its function needs; the user's script is run again (as
`multiprocessing` does) only where something in it is asked for, so that scripts need no `__main__` guard. A thread
reads ahead, so that the parent never waits on a busy worker; the same thread notices when the parent is gone, even by
kill -9, and ends the process. Ctrl-C is the parent's business.
"""

from __future__ import annotations

import functools
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing import spawn
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from veridical.engine import memory
from veridical.errors import UserError

Function = Callable[[Any], Any]

# Several processes each with several threads are slower, and a sum over threads may round differently.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
INSIDE = "VERIDICAL_WORKER"  # set in the environment of a worker and of what it starts


def command(descriptor: int) -> list[str]:
    """The command line of a worker that talks over a descriptor it inherits."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from veridical.engine.worker import main; main({descriptor})"
    return [sys.executable, "-c", code]


def main(descriptor: int) -> None:
    """Work until the parent says stop."""
    os.dup2(2, 1)  # what a function prints must not mix with the results on the parent's stdout
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ[INSIDE] = "1"
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    connection = Connection(descriptor)
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


def work(load: Callable[[], Function], batch: bytes, path: Path | None) -> tuple[str, Any]:
    """What came of a batch, and with it: done (the pickled result, or None where saved), failed, refused (why)."""
    try:
        payload = pickle.dumps(load()(pickle.loads(batch)), protocol=5)
        if path is None:
            return "done", payload
        memory.save(path, payload)
    except UserError as error:
        return "refused", (error.problem, error.fix)
    except Exception:  # noqa: BLE001 - whatever a batch raises goes to the parent, which tries again or raises it
        return "failed", traceback.format_exc()
    return "done", None


def _read_ahead(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            os._exit(1)  # the parent is gone: nobody waits for the result
        tasks.put(task)
