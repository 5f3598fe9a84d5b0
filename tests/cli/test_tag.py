"""`veridical tag`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "veridical", "tag", *arguments], capture_output=True, text=True, check=False
    )


def test_json_has_the_fixed_shape(tmp_path: Path) -> None:
    path = tmp_path / "sentences.txt"
    path.write_text("There are at least two dogs.\n\nEach image contains a cat.\nWhy is Casey sad?\n")
    first, second, third = json.loads(run(str(path), "--json").stdout)
    assert first["sentence"] == "There are at least two dogs."
    assert first["phenomena"] == ["soft cardinality", "existential quantifier"]
    assert "universal quantifier" in second["phenomena"]
    assert third["inference"] == ["explanation", "mental"]


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "sentences.txt"
    path.write_bytes(b"\xff\xfe")
    out = run(str(path))
    assert out.returncode == 2
    assert "UTF-8" in out.stderr
