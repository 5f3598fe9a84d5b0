"""EvalAI's worker calls our evaluate() with one file of annotations and one of predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from veridical.errors import UserError
from veridical.evaluation.evalai import evaluate, pack

Write = Callable[..., Path]


@pytest.fixture
def hidden(write_benchmark: Write, statement: Callable[..., object]) -> Path:
    items = [statement(f"i{k}", k % 2, group=f"g{k // 2}") for k in range(8)]
    return write_benchmark({"test": items}, hidden=("test",))


def test_a_packed_benchmark_scores_what_it_is_given(hidden: Path, write_lines: Write, tmp_path: Path) -> None:
    zipped = pack(hidden, tmp_path / "annotations.zip")
    sent = write_lines([(f"i{k}", [1 - k % 2, k % 2] if k != 3 else [1, 0]) for k in range(8)])
    found = evaluate(str(zipped), str(sent), "test", submission_metadata={"id": 1})
    assert found["result"] == [{"test": {"accuracy": 87.5, "consistency": 75.0}}]
    assert found == evaluate(str(hidden), str(sent), "dev-phase-of-the-only-split")


def test_a_part_of_a_split_is_not_scored(hidden: Path, write_lines: Write, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="7 predictions are missing"):
        evaluate(str(pack(hidden, tmp_path / "a.zip")), str(write_lines([("i0", [1, 0])])), "test")


def test_what_is_no_annotations_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"nonsense")
    with pytest.raises(UserError, match="cannot be unpacked"):
        evaluate(str(tmp_path / "a.zip"), "x", "test")
