"""Runs commands in forks of itself, so that a kill costs no imports: a JSON line in, the exit code out.

`{"words": [...], "seconds": 0.2}` is killed with SIGKILL after so many seconds, where it has not ended by then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from importlib import import_module

from veridical.cli import run
from veridical.web.board import serving as board

ROOMS = (
    "veridical.cli.parser", "veridical.training", "veridical.auditing.run", "veridical.reporting.run",
    "veridical.formats.releases", "veridical.formats.table.importing", "veridical.matching.match", "veridical.encoders",
    "veridical.builders.nlvr.build", "veridical.evaluation.scores", "veridical.solvers.solver",
    "veridical.experiments.sweep", "veridical.builders.nlvr2.build", "veridical.builders.vcr.build",
    "veridical.builders.vprom.build", "veridical.web.explore.export", "veridical.web.collect.rehearsal",
    "veridical.formats.download",
)  # fmt: skip


def fork(words: list[str], seconds: float) -> int:
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os._exit(run(words))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    board.listen = lambda *_: None  # `serve` does all but serve, and ends
    for room in ROOMS:
        import_module(room)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(fork(asked["words"], asked["seconds"])), flush=True)


if __name__ == "__main__":
    main()
