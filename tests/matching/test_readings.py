"""What `match` always says of its choices: readers without pictures, on random, paper and fours; when it warns."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import veridical
from veridical.common.intervals import Estimate
from veridical.common.result import Caution, Table
from veridical.matching.readings import ALONE, JOINT, QUESTION, Reading, cautions

from .conftest import question_rows

WORDS = {"relevance": "tfidf", "similarity": "tfidf", "group": "video"}


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["question", "answer", "video"])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("folds", [1, 3])
@pytest.mark.parametrize("method", ["fours", "paper"])
def test_three_readers_of_three_sets_are_always_reported(tmp_path: Path, method: str, folds: int) -> None:
    file = write(tmp_path / "qa.csv", question_rows(120))
    report = veridical.match(file, tmp_path / "out", folds=folds, method=method, **WORDS)
    if method == "paper" and folds == 1:  # a response that is right in training is wrong in the test
        assert not report.readings
        return
    assert [one.reader for one in report.readings] == [ALONE, QUESTION, JOINT]
    for one in report.readings:
        for name in ("random", "paper", "fours"):
            found = one.of(name)
            assert found is not None
            assert found.low <= found.value <= found.high
    tables = [part for part in report.parts() if isinstance(part, Table)]
    assert tables[1].columns == ("stage", "reader", "random", "paper", "fours")
    assert "120 questions" in tables[1].title
    assert report.to_json()["readings"][0]["reader"] == ALONE


def test_choices_that_the_question_gives_away_are_warned_of(tmp_path: Path) -> None:
    """Every answer repeats a word of its own question that no other has: nothing can be done about that."""
    rows = [{"question": f"where is w{k}", "answer": f"beside w{k}", "video": f"v{k}"} for k in range(80)]
    report = veridical.match(write(tmp_path / "qa.csv", rows), tmp_path / "out", folds=2, **WORDS)
    warned = [part for part in report.parts() if isinstance(part, Caution)]
    assert any("the question and the choices is right in" in one for one in warned)
    fair = [{"question": "where is it", "answer": f"beside w{k}", "video": f"v{k}"} for k in range(80)]
    report = veridical.match(write(tmp_path / "fair.csv", fair), tmp_path / "fair", folds=2, **WORDS)
    assert not [part for part in report.parts() if isinstance(part, Caution)]
    assert next(one.fours.value for one in report.readings if one.reader == QUESTION and one.fours) < 0.45


def test_warnings_count_from_chance() -> None:
    passing = Estimate(0.5, 0.4, 0.6)
    one = Reading(QUESTION, "answer", None, None, passing, 100)
    assert list(cautions([one], "fours", 4))
    assert not list(cautions([one], "fours", 2))
    assert not list(cautions([one], "paper", 4))  # what was not made is not warned of
