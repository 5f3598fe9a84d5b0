"""`veridical features ENCODER DIR`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from veridical import encoders as features
from veridical.cli.features import features as verb
from veridical.errors import UserError


@pytest.fixture
def app() -> typer.Typer:
    out = typer.Typer()
    out.command()(verb)
    return out


def test_the_verb_stores_and_says_what(panels: Path, app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["thumbnail", str(panels), "--split", "test", "--objects", "--json"])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["rows"] == len(features.load(panels, "thumbnail")) == 2 * 4
    assert (said["encoder"], said["size"], said["normalised"]) == ("thumbnail", 192, False)
    assert "8 vectors of 192 numbers" in result.stderr


def test_an_encoder_that_is_not_here(panels: Path, app: typer.Typer) -> None:
    pytest.importorskip("huggingface_hub")
    result = CliRunner().invoke(app, ["microsoft/resnet-101", str(panels)])
    assert isinstance(result.exception, UserError)
    assert not list(panels.glob("features-*"))


def test_the_package_is_the_verb(panels: Path) -> None:
    assert len(features("thumbnail", panels, normalise=True)) == 18  # type: ignore[operator]
