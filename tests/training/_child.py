"""A training run in a process of its own: `_child.py MODEL BENCHMARK OUT KILL_AT OPTIONS_JSON`.

It kills itself with SIGKILL right after step KILL_AT (never, if 0), counted over the life of the run.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import torch

from veridical.options.running import TrainOptions
from veridical.training import train


def main() -> None:
    model, benchmark, out, kill_at, options = sys.argv[1:]
    torch.set_num_threads(1)

    def after_step(step: int) -> None:
        if step == int(kill_at):
            os.kill(os.getpid(), signal.SIGKILL)

    train(model, benchmark, out, TrainOptions(set=json.loads(options), seed=5), after_step=after_step)


if __name__ == "__main__":
    main()
