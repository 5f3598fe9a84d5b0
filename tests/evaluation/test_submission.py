"""Official submission files: what is written reads back as the same scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import veridical
from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.errors import UserError
from veridical.evaluation.submission import write_submission
from veridical.records import TRUTH, Item, Text


def lines(path: Path, scores: dict[str, list[float]]) -> Path:
    path.write_text("".join(json.dumps({"item": name, "scores": s}) + "\n" for name, s in scores.items()))
    return path


def statements(folder: Path) -> Path:
    with BenchmarkWriter(folder, name="s", task="statement") as writer:
        writer.add_items(
            "dev", [Item(f"dev-{k}", "statement", (), Text("x"), TRUTH, k % 2, f"g{k}") for k in range(20)]
        )
    return folder


def questions(folder: Path, hidden: tuple[str, ...] = ()) -> Path:
    texts = tuple(Text(t) for t in "abcd")
    items = []
    for k in range(12):
        items.append(Item(f"q{k}", "choice", (), Text("?"), texts, k % 4, f"q{k}"))
        items += [
            Item(
                f"q{k}:r{g}",
                "choice",
                (),
                Text("?"),
                texts,
                1 if g == k % 4 else None,
                f"q{k}",
                parent=f"q{k}",
                given=g,
            )
            for g in range(4)
        ]
    with BenchmarkWriter(folder, name="c", task="choice", hidden=hidden) as writer:
        writer.add_items("val", items)
    return folder


def test_statements_read_back_the_same(tmp_path: Path) -> None:
    folder = statements(tmp_path / "s")
    rng = np.random.default_rng(0)
    predicted = lines(tmp_path / "p.jsonl", {f"dev-{k}": rng.random(2).tolist() for k in range(20)})
    assert write_submission(folder, predicted, tmp_path / "o" / "p.csv", split="dev").rows == 20
    assert (tmp_path / "o" / "p.csv").read_text().splitlines()[0].split(",")[1] in ("true", "false")
    first, second = (veridical.evaluate(folder, p, split="dev") for p in (predicted, tmp_path / "o" / "p.csv"))
    assert first.accuracy == second.accuracy


@pytest.mark.parametrize("hidden", [(), ("val",)])
def test_twenty_probabilities_read_back_the_same(tmp_path: Path, hidden: tuple[str, ...]) -> None:
    folder = questions(tmp_path / "c", hidden)
    rng = np.random.default_rng(0)
    names = [item.id for item in Benchmark(folder).items("val")]
    predicted = lines(tmp_path / "p.jsonl", {name: rng.normal(size=4).tolist() for name in names})
    assert write_submission(folder, predicted, tmp_path / "p.csv", split="val").rows == 12
    rows = [row.split(",") for row in (tmp_path / "p.csv").read_text().splitlines()]
    assert len(rows[0]) == 21
    assert sum(float(cell) for cell in rows[1][1:5]) == pytest.approx(1, abs=1e-4)
    first, second = (veridical.evaluate(folder, p, split="val") for p in (predicted, tmp_path / "p.csv"))
    assert first.staged == second.staged


def test_nothing_may_be_missing(tmp_path: Path) -> None:
    predicted = lines(tmp_path / "p.jsonl", {"dev-1": [0.1, 0.9]})
    with pytest.raises(UserError, match="19 items have no prediction"):
        write_submission(statements(tmp_path / "s"), predicted, tmp_path / "p.csv", split="dev")
    assert not (tmp_path / "p.csv").exists()
    unreadable = lines(tmp_path / "u.jsonl", {f"dev-{k}": [] for k in range(20)})
    with pytest.raises(UserError, match="could not be read"):
        write_submission(statements(tmp_path / "s"), unreadable, tmp_path / "p.csv", split="dev")


def test_matrices_have_no_official_file(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "m", name="V-PROM", task="matrix") as writer:
        writer.add_items("test", [Item("m", "matrix", ("a",), None, ("b", "c"), 0)])
    with pytest.raises(UserError, match="no official submission"):
        write_submission(tmp_path / "m", lines(tmp_path / "p", {"m": [1, 0]}), tmp_path / "p.csv", split="test")
