"""`veridical train` and `veridical models`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from veridical.cli.models import models
from veridical.cli.train import train
from veridical.errors import UserError
from veridical.zoo import MODELS


def app() -> typer.Typer:
    out = typer.Typer()
    out.command("train")(train)
    out.command("models")(models)
    return out


def test_train_prints_its_result(statements: Path, tmp_path: Path) -> None:
    arguments = ["train", "text", str(statements), "--out", str(tmp_path / "run")]
    options = ["--set", "epochs=2", "--set", "hidden=8", "--trials", "2", "--validate", "dev", "--json"]
    done = CliRunner().invoke(app(), arguments + options, catch_exceptions=False)
    found = json.loads(done.stdout)
    assert len(found["trials"]) == 2
    assert 0 <= found["validation"]["mean"] <= 1
    assert json.loads((tmp_path / "run/run.json").read_text())["config"]["hidden"] == 8
    assert "validation accuracy" in done.stderr


def test_options_need_a_value(statements: Path, tmp_path: Path) -> None:
    arguments = ["train", "text", str(statements), "--out", str(tmp_path / "run"), "--set", "epochs"]
    with pytest.raises(UserError, match="NAME=VALUE"):
        CliRunner().invoke(app(), arguments, catch_exceptions=False)


def test_models_lists_every_model() -> None:
    done = CliRunner().invoke(app(), ["models", "--json"], catch_exceptions=False)
    assert [m["name"] for m in json.loads(done.stdout)] == list(MODELS)
    assert all(name in done.stderr for name in MODELS)
