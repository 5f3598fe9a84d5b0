"""`veridical features ENCODER DIR`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import invoke

import veridical
from veridical import encoders as features


def test_the_verb_stores_and_says_what(panels: Path) -> None:
    result = invoke("features", "thumbnail", panels, "--split", "test", "--objects", "--json")
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert said["rows"] == len(features.load(panels, "thumbnail")) == 2 * 4
    assert (said["encoder"], said["size"], said["normalised"]) == ("thumbnail", 192, False)
    shown = invoke("features", "thumbnail", panels, "--split", "test", "--objects").stdout.split()
    assert shown[-2:] == ["8", "192"]


def test_an_encoder_that_is_not_here(panels: Path) -> None:
    pytest.importorskip("huggingface_hub")
    result = invoke("features", "microsoft/resnet-101", panels)
    assert result.exit_code == 2
    assert not list(panels.glob("features-*"))


def test_the_verb_in_python(panels: Path) -> None:
    assert len(veridical.features("thumbnail", panels, normalise=True)) == 18
