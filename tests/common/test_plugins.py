"""Packages of others, as pip leaves them, through the verbs. (Each "add a ..." of docs/how-to makes a whole one.)"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commands import invoke

from veridical.common import registry
from veridical.errors import UserError
from veridical.sources import open_source

CODE = '''
from dataclasses import dataclass
from veridical.builders import BuildReport
from veridical.options import given
from veridical.sources import Source


@dataclass(frozen=True)
class Options:
    """What is built."""

    size: int = 3
    """How large it is."""


def build(out, options: Options = Options(), processes: int | None = None, **fields):
    """A builder of another package.

    Args:
        out: Where.
        processes: How many.
    """
    return BuildReport("other", out, {"items": {"main": {"dev": given(options, fields).size}}})


class Nothing(Source):
    name, exact = "nothing", True

    def photographs(self):
        return iter(())


class Files(Nothing):
    def __init__(self, path):
        self.path = path
'''
POINTS = """[veridical.builders]
other = plugged:build
broken = plugged:absent
[veridical.sources]
nothing = plugged:Nothing
files = plugged:Files
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "plugged.py").write_text(CODE)
    about = tmp_path / "plugged-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "plugged", raising=False)
    registry.plugins.cache_clear()
    yield
    registry.plugins.cache_clear()


def test_a_builder_has_its_command_and_its_options(tmp_path: Path) -> None:
    assert "--size" in invoke("build", "other", "--help").stdout
    done = invoke("build", "other", "--size", 7, "--out", tmp_path / "b", "--json")
    assert done.exit_code == 0, done.stderr
    assert '"dev": 7' in done.stdout


def test_one_that_does_not_load_stands_in_nobody_elses_way(tmp_path: Path) -> None:
    assert "--presentations" in invoke("build", "nlvr", "--help").stdout
    done = invoke("build", "broken", "--out", tmp_path / "b")
    assert done.exit_code == 2
    assert "The plug-in builder 'broken' (plugged:absent) does not load" in done.stderr


def test_a_source_takes_a_path_where_its_class_does() -> None:
    assert open_source("nothing").name == "nothing"
    assert open_source("files:here").path == "here"  # type: ignore[attr-defined]
    for name, problem in (
        ("nothing:here", "takes no path"),
        ("icons:here", "takes no path"),
        ("files", "needs a path"),
    ):
        with pytest.raises(UserError, match=problem):
            open_source(name)
