"""Several processes that train one model (`torchrun`): what a single one comes to, and killed, the same again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from veridical import train
from veridical.training.team import ALONE, Team
from veridical.training.trained import load_tensors

CHILD = Path(__file__).with_name("_child.py")
SOURCE = Path(__file__).resolve().parents[2] / "src"
OPTIONS = {"epochs": 2, "batch": 15, "checkpoint_steps": 4, "dropout": 0.0, "clip": 1.0}  # 15: shares of 8 and of 7
LEARNED = "model.safetensors"


def team(model: str, benchmark: Path, out: Path, kill_at: int, options: dict[str, object]) -> int:
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(CHILD)]
    words += [model, str(benchmark), str(out), str(kill_at), json.dumps(options)]
    environment = os.environ | {"VERIDICAL_PROGRESS": "0", "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 or kill_at, done.stderr
    return done.returncode


def same(one: Path, other: Path) -> None:
    """The same weights and the same course, but for rounding."""
    left, right = (load_tensors(run / "trial-0" / LEARNED)[0] for run in (one, other))
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        torch.testing.assert_close(tensor, right[name], rtol=1e-3, atol=1e-5, msg=name)
    rows = [json.loads((run / "trial-0" / "result.json").read_bytes())["history"] for run in (one, other)]
    for mine, theirs in zip(*rows, strict=True):
        assert mine["validation"] == theirs["validation"]
        np.testing.assert_allclose(mine["loss"], theirs["loss"], rtol=1e-4)


def test_two_processes_come_to_the_weights_of_one(statements: Path, tmp_path: Path) -> None:
    train("text", statements, tmp_path / "one", set=OPTIONS, seed=5)
    team("text", statements, tmp_path / "two", 0, OPTIONS)
    same(tmp_path / "one", tmp_path / "two")


@pytest.mark.soak
@pytest.mark.parametrize("model", ["cnn-rnn", "structure-mlp", "structure-rnn"])
def test_other_models_do_so_too(model: str, statements: Path, tmp_path: Path) -> None:
    train(model, statements, tmp_path / "one", set=OPTIONS, seed=5)
    team(model, statements, tmp_path / "two", 0, OPTIONS)
    same(tmp_path / "one", tmp_path / "two")


@pytest.mark.soak
def test_a_team_that_was_killed_ends_in_the_same_bytes(statements: Path, tmp_path: Path) -> None:
    """Dropout too: each member goes on with its own random numbers."""
    options = OPTIONS | {"dropout": 0.3, "epochs": 3}
    assert team("text", statements, tmp_path / "killed", 6, options) != 0
    assert (tmp_path / "killed/trial-0/checkpoint.safetensors").exists()
    team("text", statements, tmp_path / "killed", 0, options)
    team("text", statements, tmp_path / "whole", 0, options)
    names = (LEARNED, "inputs.json", "result.json")
    for name in names:
        assert (tmp_path / "killed/trial-0" / name).read_bytes() == (tmp_path / "whole/trial-0" / name).read_bytes()


def test_shares_of_a_batch_are_all_of_it() -> None:
    rows = np.arange(15)
    shares = [Team(rank, 4).rows(rows) for rank in range(4)]
    assert sorted(np.concatenate(shares).tolist()) == rows.tolist()
    assert ALONE.rows(rows) is rows
    assert ALONE.sums(1.5, 2) == (1.5, 2)
    assert ALONE.share("x") == "x"
    assert len({Team(rank, 4).seed(7) for rank in range(4)}) == 4
