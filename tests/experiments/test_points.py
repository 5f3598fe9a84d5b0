"""What a run of a sweep came to is looked at whole where it is read: found by the fuzzer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veridical.errors import UserError
from veridical.experiments.points import kept

PART = {"value": 0.5, "low": 0.4, "high": 0.6}
POINT: dict[str, Any] = {
    "model": "mlp-sum-2", "scheme": "neutral", "features": "thumbnail", "auxiliary": False, "fraction": 1.0,
    "context": "own", "made": {"seed": 0}, "accuracy": PART, "by": {"relation": {"and": PART}}, "controls": {},
    "validation": 0.5, "epochs": [1], "training_items": 30, "seconds": 1.5, "folder": "runs/x",
}  # fmt: skip


def test_all_of_it_is_given_back(tmp_path: Path) -> None:
    (tmp_path / "point.json").write_text(json.dumps(POINT))
    assert kept(tmp_path / "point.json") == POINT


@pytest.mark.parametrize("name", [name for name in POINT if name != "folder"])
@pytest.mark.parametrize("how", ["gone", "another"])
def test_what_is_missing_or_something_else_is_refused(tmp_path: Path, name: str, how: str) -> None:
    wrong = {key: value for key, value in POINT.items() if key != name}
    wrong |= {} if how == "gone" else {name: None}
    (tmp_path / "point.json").write_text(json.dumps(wrong))
    with pytest.raises(UserError, match="not a finished run of a sweep"):
        kept(tmp_path / "point.json")
