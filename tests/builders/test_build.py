"""The registry of builders, and `veridical.build`, which asks it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import veridical
from veridical.builders import BUILDERS, load_builder
from veridical.errors import UserError


@pytest.mark.parametrize("name", BUILDERS)
def test_every_builder_takes_a_folder_and_options_that_have_defaults(name: str) -> None:
    builder = load_builder(name)
    assert builder.__doc__
    first, *options = inspect.signature(builder).parameters.values()
    assert first.name == "out"
    assert all(option.kind is option.VAR_KEYWORD or option.default is not option.empty for option in options)
    assert "workers" in {option.name for option in options}


def test_an_unknown_builder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no builder 'clevr'"):
        veridical.build("clevr", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_verb_asks_the_registry(tmp_path: Path) -> None:
    report = veridical.build("nlvr", tmp_path / "out", presentations=4, processes=1)
    assert report.kind == "nlvr"
    assert report.out == tmp_path / "out"
    assert report.to_json()["out"] == str(tmp_path / "out")
