"""Killed with SIGKILL at any step and run again, training ends in the same weights as a run that was never killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from veridical import train

CHILD = Path(__file__).with_name("_child.py")
OPTIONS = {"epochs": 3, "batch": 16, "checkpoint_steps": 4, "dropout": 0.3}
FILES = ("model.safetensors", "inputs.json", "result.json")


def start(model: str, benchmark: Path, out: Path, kill_at: int, options: dict[str, object]) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(CHILD), model, str(benchmark), str(out), str(kill_at), json.dumps(options)]
    return subprocess.Popen(
        command, env=os.environ | {"VERIDICAL_PROGRESS": "0"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finish(child: subprocess.Popen[bytes]) -> int:
    _, errors = child.communicate()
    assert child.returncode in (0, -signal.SIGKILL), errors.decode()
    return child.returncode


def contents(run: Path) -> dict[str, bytes]:
    return {name: (run / "trial-0" / name).read_bytes() for name in FILES}


@pytest.mark.parametrize(
    ("model", "sizes"),
    [("text", {}), ("film", {"width": 20, "height": 20, "channels": 8, "hidden": 16, "classifier": 16})],
)  # film: its convolutions lie in memory in another order than on disk
def test_killed_twice_it_ends_in_the_same_weights(
    model: str, sizes: dict[str, int], statements: Path, tmp_path: Path
) -> None:
    out, whole, options = tmp_path / "run", tmp_path / "whole", OPTIONS | sizes
    assert finish(start(model, statements, out, 6, options)) == -signal.SIGKILL  # within the first epoch
    assert (out / "trial-0/checkpoint.safetensors").exists()
    assert finish(start(model, statements, out, 15, options)) == -signal.SIGKILL  # within the second
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the children
    for folder in (out, whole):
        train(model, statements, folder, set=options, seed=5)
    torch.set_num_threads(threads)
    assert contents(out) == contents(whole)


@pytest.mark.soak
@pytest.mark.parametrize("model", ["text", "cnn-rnn", "structure-mlp", "structure-rnn"])
def test_a_storm_of_kills_changes_nothing(model: str, statements: Path, tmp_path: Path) -> None:
    """Killed from outside at random moments: while encoding, stepping, writing a checkpoint or the result."""
    options = OPTIONS | {"epochs": 40, "patience": 100, "checkpoint_steps": 1}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert finish(start(model, statements, whole, 0, options)) == 0
    rng = random.Random(0)
    for _ in range(200):
        child = start(model, statements, killed, 0, options)
        waited = time.monotonic() + 2 + 4 * rng.random()
        while child.poll() is None and time.monotonic() < waited:
            time.sleep(0.01)
        child.kill()
        if finish(child) == 0:
            break
    assert contents(killed) == contents(whole)
