"""Names of a room and of plug-ins; errors list what there is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from veridical.common import registry
from veridical.errors import UserError

KNOWN = {"join": "os.path:join", "torn": "os.path:torn"}


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with entry points, as pip leaves it."""
    (tmp_path / "plug_in.py").write_text("THING = 3\n")
    about = tmp_path / "plug_in-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plug-in\nVersion: 1.0\n")
    points = "three = plug_in:THING\nbroken = plug_in:NOTHING\njoin = plug_in:THING\n"
    (about / "entry_points.txt").write_text(f"[veridical.things]\n{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "plug_in", raising=False)
    registry.plugins.cache_clear()
    yield
    registry.plugins.cache_clear()


@pytest.mark.usefixtures("plugin")
def test_own_names_come_first_and_plugins_add_to_them() -> None:
    import os.path

    assert registry.resolve(KNOWN, "join", "thing", "things") is os.path.join
    assert registry.resolve(KNOWN, "three", "thing", "things") == 3
    assert registry.names(KNOWN, "things") == ("join", "torn", "three", "broken")
    assert registry.names(KNOWN, "others") == ("join", "torn")
    with pytest.raises(UserError, match=r"The plug-in thing 'broken' \(plug_in:NOTHING\) does not load"):
        registry.resolve(KNOWN, "broken", "thing", "things")
    with pytest.raises(AttributeError):  # a bug of ours is one
        registry.resolve(KNOWN, "torn", "thing", "things")


def test_an_unknown_name_lists_the_known_and_the_nearest() -> None:
    with pytest.raises(UserError) as error:
        registry.resolve(KNOWN, "jion", "thing", "others")
    assert error.value.problem == "There is no thing 'jion'. Did you mean 'join'?"
    assert error.value.fix == "Choose one of: join, torn."
