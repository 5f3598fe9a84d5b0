"""A process of ours beside the server's, which is asked a line and answers with one.

It is started when it is needed, and again when it has died; it ends by itself when the server does, however that ended:
nothing is left to read from. One that does not answer in time is ended, and counts as one that died.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from threading import Timer
from typing import TypeVar

TRIES = 2  # times that a process may die under a question before the question is at fault
Answer = TypeVar("Answer")


class Beside:
    """A module that is run by itself: lines in, lines out, one at a time."""

    module = ""
    seconds = 600.0  # for one answer: an export of a large collection takes minutes

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None

    def told(self, line: bytes, read: Callable[[bytes], Answer | None]) -> Answer | None:
        """What it answers, as `read` understands it; None where it died each time, or made no sense."""
        for _ in range(TRIES):
            running = self._started()
            assert running.stdin is not None
            assert running.stdout is not None
            late = Timer(self.limit(line), running.kill)  # then nothing is left to read
            late.start()
            try:
                running.stdin.write(line + b"\n")
                running.stdin.flush()
                answer = running.stdout.readline()
            except BrokenPipeError:
                answer = b""
            finally:
                late.cancel()
            found = read(answer) if answer.endswith(b"\n") else None
            if found is not None:
                return found
            self.close()
        return None

    def limit(self, line: bytes) -> float:
        """Seconds that an answer to a line may take."""
        return self.seconds

    def close(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.communicate()
            self._running = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._running is None:
            command = [sys.executable, "-m", self.module]
            quiet = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            paths = os.pathsep.join(filter(None, sys.path))  # the same code as ours, wherever that is
            env = {**os.environ, **quiet, "PYTHONPATH": paths}
            self._running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        return self._running
