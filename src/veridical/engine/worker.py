"""One worker process: it reads batches from its parent, and sends back results or what went wrong.

A thread reads ahead, so that the parent never waits on a busy worker; the same thread notices when the parent is gone,
even by kill -9, and ends the process. Ctrl-C is the parent's business.
"""

from __future__ import annotations

import functools
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from veridical.engine import memory
from veridical.errors import UserError

# Several processes each with several threads are slower, and a sum over threads may round differently.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main(connection: Connection, function: bytes) -> None:
    """Work until the parent says stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    tasks: queue.SimpleQueue[tuple[int, bytes, Path | None] | None] = queue.SimpleQueue()
    threading.Thread(target=_read_ahead, args=(connection, tasks), daemon=True).start()
    while (task := tasks.get()) is not None:
        index, batch, path = task
        try:
            connection.send((index, *work(function, batch, path)))
        except (BrokenPipeError, ConnectionResetError):
            os._exit(1)


def work(function: bytes, batch: bytes, path: Path | None) -> tuple[str, Any]:
    """What came of a batch, and with it: done (the pickled result, or None where saved), failed, refused (why)."""
    try:
        payload = pickle.dumps(_function(function)(pickle.loads(batch)), protocol=5)
        if path is None:
            return "done", payload
        memory.save(path, payload)
    except UserError as error:
        return "refused", (error.problem, error.fix)
    except Exception:  # noqa: BLE001 - whatever a batch raises goes to the parent, which tries again or raises it
        return "failed", traceback.format_exc()
    return "done", None


@functools.lru_cache(maxsize=1)
def _function(pickled: bytes) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = pickle.loads(pickled)
    return function


def _read_ahead(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            os._exit(1)  # the parent is gone: nobody waits for the result
        tasks.put(task)
        if task is None:
            return
