"""The registry of builders, and `veridical.builders` as a function."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import veridical.builders
from veridical.builders import BUILDERS, load_builder
from veridical.errors import UserError


@pytest.mark.parametrize("kind", BUILDERS)
def test_every_builder_takes_a_folder_and_keyword_options(kind: str) -> None:
    builder = load_builder(kind)
    assert builder.__doc__
    first, *options = inspect.signature(builder).parameters.values()
    assert first.name == "out"
    assert all(option.kind is option.KEYWORD_ONLY for option in options if option.default is not option.empty)
    assert "processes" in {option.name for option in options}


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no builder 'clevr'"):
        veridical.build("clevr", tmp_path / "out")  # type: ignore[operator]
    assert not (tmp_path / "out").exists()


def test_the_package_is_the_verb(tmp_path: Path) -> None:
    report = veridical.build("nlvr", tmp_path / "out", presentations=4, processes=1)  # type: ignore[operator]
    assert report.kind == "nlvr"
    assert report.out == tmp_path / "out"
    assert report.to_json()["out"] == str(tmp_path / "out")
