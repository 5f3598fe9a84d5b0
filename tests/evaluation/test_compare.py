"""`veridical compare`: the verdict first; and what the files beside predictions say of split, scheme and limit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import invoke

import veridical
from veridical.benchmark import BenchmarkWriter
from veridical.errors import UserError
from veridical.records import TRUTH, Item, Text

RIGHT, WRONG = [0.0, 1.0], [1.0, 0.0]


@pytest.fixture
def many(write_benchmark, statement) -> Path:
    return write_benchmark({"dev": [statement(f"i{n:02}", 1, f"g{n // 2}") for n in range(60)]})


def lines(write_lines, right: int, name: str) -> Path:
    return write_lines([(f"i{n:02}", RIGHT if n < right else WRONG) for n in range(60)], name)


def test_the_verdict_comes_first(many: Path, write_lines) -> None:
    good, poor = lines(write_lines, 55, "good.jsonl"), lines(write_lines, 20, "poor.jsonl")
    shown = invoke("compare", many, good, poor)
    assert shown.stdout.startswith("good.jsonl is better than poor.jsonl: +58.3 points [")
    assert "good.jsonl minus poor.jsonl" in shown.stdout
    assert "35 examples only good.jsonl gets right, 0 only poor.jsonl" in shown.stderr
    assert invoke("compare", many, poor, good).stdout.startswith("poor.jsonl is worse than good.jsonl: -58.3 points")
    found = json.loads(invoke("compare", many, good, poor, "--json", "--quiet").stdout)
    assert found["comparison"]["verdict"] == "better"
    assert (found["a"]["items"], found["b"]["accuracy"]["value"]) == (60, pytest.approx(1 / 3))
    assert found["comparison"]["accuracy"]["value"] == pytest.approx(35 / 60)


def test_what_cannot_be_told_apart(many: Path, write_lines) -> None:
    a, b = lines(write_lines, 30, "a.jsonl"), lines(write_lines, 31, "b.jsonl")
    assert veridical.compare(many, a, b).verdict.startswith("a.jsonl and b.jsonl cannot be told apart: -1.7 points [")
    same = veridical.compare(many, a, a)
    assert same.verdict == "A and B are right on the same examples: there is no difference."
    (a.parent / "x").mkdir()
    again = a.rename(a.parent / "x" / "b.jsonl")
    assert str(again) in veridical.compare(many, again, b).verdict, "called alike, so the folder is named"
    assert "cannot be told apart" in veridical.compare(many, again, b)._repr_html_()


def test_nothing_in_common_is_no_comparison(many: Path, write_lines) -> None:
    one = write_lines([(f"i{n:02}", RIGHT) for n in range(30)], "a.jsonl")
    other = write_lines([(f"i{n:02}", RIGHT) for n in range(30, 60)], "b.jsonl")
    with pytest.raises(UserError, match=r"two files have nothing in common: .*b.jsonl predicts no item of 'dev'"):
        veridical.compare(many, one, other)
    with pytest.raises(UserError, match="nothing in common"):
        veridical.evaluate(many, one, against=other)


def test_a_file_that_lacks_items_is_compared_on_the_others(many: Path, write_lines) -> None:
    half = write_lines([(f"i{n:02}", RIGHT) for n in range(30)], "half.jsonl")
    whole = lines(write_lines, 60, "whole.jsonl")
    poor = write_lines([(f"i{n:02}", RIGHT if n >= 15 else WRONG) for n in range(60)], "poor.jsonl")
    shown = invoke("compare", many, half, poor, "--quiet")
    assert shown.stdout.startswith("half.jsonl is better than poor.jsonl: +50.0 points [")
    assert "of accuracy on the 30 of 60 examples that both predict." in shown.stdout
    assert "Warning: only 30 of 60 examples are predicted by both." in shown.stderr
    assert "50.0 [" in shown.stdout, "what is missing is not right in the accuracy of each"
    same = veridical.compare(many, half, whole)
    assert "are right on the same examples of the 30 that both predict" in same.verdict
    assert (same.found.common, same.found.examples, same.other.accuracy.value) == (30, 60, 1.0)
    assert (same.found.accuracy.value, same.found.consistency.value) == (0.0, 0.0)
    against = invoke("evaluate", many, half, "--against", whole, "--quiet")
    assert "Warning: only 30 of 60 examples are predicted by both." in against.stderr
    assert "Warning" not in invoke("compare", many, poor, whole).stderr


def test_questions_that_lack_a_stage_are_compared_on_the_other(write_benchmark, question, write_lines) -> None:
    made = write_benchmark({"val": [i for n in range(8) for i in question(f"val-{n}", 1, 1)]}, task="choice")
    right, wrong = [0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
    answers = write_lines([(f"val-{n}", right) for n in range(8)], "answers.jsonl")
    both = [(f"val-{n}{stage}", wrong) for n in range(8) for stage in ("", "/r0", "/r1", "/r2", "/r3")]
    found = veridical.compare(made, answers, write_lines(both, "both.jsonl")).found
    assert (found.common, found.examples, found.staged, found.difference.value) == (8, 16, {}, 1.0)


def test_several_files_are_said_to_be_trials(many: Path, write_lines) -> None:
    a, b = lines(write_lines, 30, "a.jsonl"), lines(write_lines, 31, "b.jsonl")
    shown = invoke("evaluate", many, a, b)
    assert "2 files are taken as trials of one system, and averaged" in shown.stderr
    assert "veridical compare BENCHMARK A B" in shown.stderr


def solve(benchmark: Path, out: Path, **more: object) -> Path:
    veridical.solve("random", benchmark, out=out, **more)  # type: ignore[arg-type]
    return out


def test_limited_predictions_are_scored_on_their_items(many: Path, tmp_path: Path) -> None:
    whole = veridical.evaluate(many, solve(many, tmp_path / "all.jsonl"))
    path = solve(many, tmp_path / "few.jsonl", limit=10)
    few = veridical.evaluate(many, path)
    assert (whole.items, whole.limit, few.items, few.limit, few.split_items) == (60, None, 10, 10, 60)  # type: ignore
    assert few.missing.count == 0  # type: ignore[union-attr]
    assert "few.jsonl was made with --limit 10: it is scored on the first 10 of the 60 items of dev" in (
        invoke("evaluate", many, path, "--quiet").stderr
    )
    both = veridical.compare(many, tmp_path / "all.jsonl", path)
    assert both.found.sign_test.only_this == both.found.sign_test.only_other == 0, "on the items that both are about"
    kept = path.read_text().splitlines()
    path.write_text("\n".join(kept[:4]))
    assert veridical.evaluate(many, path).missing.count == 6, "what was asked for and is not there is missing"  # type: ignore
    path.write_text((tmp_path / "all.jsonl").read_text())
    assert veridical.evaluate(many, path).items == 60, "somebody put all of them there"  # type: ignore[union-attr]
    path.write_text("\n".join(kept))
    with pytest.raises(UserError, match="more or fewer items"):
        veridical.evaluate(many, [tmp_path / "all.jsonl", path])


def test_a_limit_counts_questions_and_keeps_their_rationales(write_benchmark, question, tmp_path: Path) -> None:
    made = write_benchmark({"val": [i for n in range(6) for i in question(f"val-{n}", n % 4, 1)]}, task="choice")
    path = solve(made, tmp_path / "p.jsonl", limit=2)
    names = [json.loads(line)["item"] for line in path.read_text().splitlines()]
    assert names == [f"val-{n}{stage}" for n in range(2) for stage in ("", "/r0", "/r1", "/r2", "/r3")]
    found = veridical.evaluate(made, path)
    assert (found.items, found.missing.count) == (4, 0), "two answers and two rationales have answers"  # type: ignore
    assert set(found.staged) == {"Q->A", "QA->R", "Q->AR"}


@pytest.fixture
def schemes(tmp_path: Path) -> Path:
    """One pool of items, split in two ways."""
    with BenchmarkWriter(tmp_path / "pool", name="pool", task="statement") as writer:
        for scheme, test in (("far", 10), ("near", 30)):
            items = [Item(f"i{n:02}", "statement", (), Text("x"), TRUTH, answer=1) for n in range(60)]
            writer.add_items("test", items[:test], scheme)
            writer.add_items("train", items[test:], scheme)
    return tmp_path / "pool"


def test_split_and_scheme_are_read_beside_the_predictions(schemes: Path, tmp_path: Path) -> None:
    path = solve(schemes, tmp_path / "p.jsonl", scheme="near", split="test")
    found = veridical.evaluate(schemes, path)
    assert (found.scheme, found.split, found.items) == ("near", "test", 30)  # type: ignore[union-attr]
    assert veridical.evaluate(schemes, path, scheme="far", split="test").items == 10  # type: ignore[union-attr]
    path.with_name("p.jsonl.meta.json").unlink()
    with pytest.raises(UserError, match="2 schemes of splits"):
        veridical.evaluate(schemes, path)
    with pytest.raises(UserError, match="2 schemes of splits"):
        veridical.solve("random", schemes, out=tmp_path / "q.jsonl")


def test_the_only_scheme_and_split_are_taken(tmp_path: Path, schemes: Path) -> None:
    with BenchmarkWriter(tmp_path / "one", name="one", task="statement") as writer:
        writer.add_items("exam", [Item("a", "statement", (), Text("x"), TRUTH, answer=1)], "alone")
    path = solve(tmp_path / "one", tmp_path / "p.jsonl")
    assert json.loads(path.with_name("p.jsonl.meta.json").read_text())["split"] == "exam"
    assert veridical.evaluate(tmp_path / "one", {"a": True}).scheme == "alone"  # type: ignore[union-attr]
    assert veridical.stats(tmp_path / "one").to_json()["items"] == 1
    assert veridical.audit(tmp_path / "one", out=None, check="label", processes=1).scheme == "alone"
    with pytest.raises(UserError, match="pool has 2 splits, and none is called dev") as error:
        veridical.solve("random", schemes, scheme="far", out=tmp_path / "q.jsonl")
    assert "one of: test, train" in error.value.fix
