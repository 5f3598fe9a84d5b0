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
OTHERS = ("structure-mlp", "structure-rnn")


def torchrun(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Two processes of a script."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *map(str, words)]
    environment = os.environ | {"VERIDICAL_PROGRESS": "0", "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


def team(model: str, benchmark: Path, out: Path, kill_at: int, options: dict[str, object]) -> int:
    done = torchrun(CHILD, model, str(benchmark), str(out), str(kill_at), json.dumps(options))
    assert done.returncode == 0 or kill_at, done.stderr
    return done.returncode


def same(one: Path, other: Path) -> None:
    """The same weights and the same course, but for rounding."""
    left, right = (load_tensors(run / "trial-0" / LEARNED)[0] for run in (one, other))
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        torch.testing.assert_close(tensor, right[name], rtol=1e-3, atol=1e-5, msg=name)
    mine, theirs = courses(one, other)
    assert [row["validation"] for row in mine] == [row["validation"] for row in theirs]
    np.testing.assert_allclose([row["loss"] for row in mine], [row["loss"] for row in theirs], rtol=1e-4)


def courses(*runs: Path) -> list[list[dict[str, float]]]:
    return [json.loads((run / "trial-0" / "result.json").read_bytes())["history"] for run in runs]


def test_two_processes_come_to_the_weights_of_one(statements: Path, tmp_path: Path) -> None:
    train("text", statements, tmp_path / "one", set=OPTIONS, seed=5)
    team("text", statements, tmp_path / "two", 0, OPTIONS)
    same(tmp_path / "one", tmp_path / "two")


def test_a_batch_is_normalised_over_all_shares() -> None:
    """Outputs, gradients and what is remembered of the batches."""
    done = torchrun(Path(__file__).with_name("_norm.py"))
    assert done.stdout.split() == ["the", "same"], done.stderr


@pytest.mark.soak
def test_a_model_that_normalises_takes_the_same_course(statements: Path, tmp_path: Path) -> None:
    """The last of its batches is too small to be shared; weights that nothing hangs on are Adam's noise."""
    small = {"channels": 8, "hidden": 16, "embedding": 8, "strides": [4, 4]}
    options = OPTIONS | small | {"batch": 9, "rate": 1e-4}
    train("film", statements, tmp_path / "one", set=options, seed=5)
    team("film", statements, tmp_path / "two", 0, options)
    mine, theirs = courses(tmp_path / "one", tmp_path / "two")
    np.testing.assert_allclose([row["loss"] for row in mine], [row["loss"] for row in theirs], rtol=1e-3)


@pytest.mark.parametrize("model", ["cnn-rnn", *(pytest.param(m, marks=pytest.mark.soak) for m in OTHERS)])
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
    assert (Team(3, 4).copies(rows), ALONE.copies(rows)) == (1, 1)
    few = Team(3, 4)
    assert (few.rows(rows[:2]).tolist(), few.copies(rows[:2])) == ([0, 1], 4)  # too few to share: everybody's
    assert ALONE.rows(rows) is rows
    assert ALONE.sums(1.5, 2) == (1.5, 2)
    assert ALONE.share("x") == "x"
    assert len({Team(rank, 4).seed(7) for rank in range(4)}) == 4
