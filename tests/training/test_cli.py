"""`veridical train` and `veridical models`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands import invoke

from veridical.zoo import MODELS


def test_train_prints_its_result(statements: Path, tmp_path: Path) -> None:
    arguments = ["train", "text", str(statements), "--out", str(tmp_path / "run")]
    options = ["--set", "epochs=2", "--set", "hidden=8", "--trials", "2", "--validate", "dev", "--json"]
    done = invoke(*arguments, *options)
    found = json.loads(done.stdout)
    assert len(found["trials"]) == 2
    assert 0 <= found["validation"]["mean"] <= 1
    assert json.loads((tmp_path / "run/run.json").read_text())["config"]["hidden"] == 8
    assert "validation accuracy" in done.stderr


def test_options_need_a_value(statements: Path, tmp_path: Path) -> None:
    arguments = ["train", "text", str(statements), "--out", str(tmp_path / "run"), "--set", "epochs"]
    refused = invoke(*arguments)
    assert refused.exit_code == 2
    assert "NAME=VALUE" in refused.stderr


def test_models_lists_every_model() -> None:
    assert [m["name"] for m in json.loads(invoke("models", "--json").stdout)] == list(MODELS)
    shown = invoke("models").stdout
    assert all(name in shown for name in MODELS)
