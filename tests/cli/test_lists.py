"""`solve -h` and `audit -h` list what there is to choose from."""

from __future__ import annotations

import pytest
from tests.commands import invoke

from veridical.auditing.run import CHECKS, NEURAL
from veridical.common import registry
from veridical.solvers import SOLVERS


@pytest.mark.parametrize(("verb", "known"), [("solve", SOLVERS), ("audit", CHECKS | NEURAL)])
def test_help_lists_the_names(verb: str, known: dict[str, str]) -> None:
    listed = {word.strip(",.;") for word in invoke(verb, "-h").stdout.split()}
    assert set(known) <= listed


def test_plug_ins_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "plugins", lambda room: {"oracle": "x:y"} if room == "solvers" else {})
    assert "random, oracle." in " ".join(invoke("solve", "-h").stdout.split())
