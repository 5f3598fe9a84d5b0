"""What lies beside predictions."""

from __future__ import annotations

from pathlib import Path

from veridical.evaluation.notes import Notes, notes_beside


def test_notes_that_have_no_end_are_none(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl.meta.json").symlink_to("/dev/zero")
    assert notes_beside(tmp_path / "p.jsonl") == Notes()
