"""What `veridical evaluate` prints: tables or JSON on stdout, remarks on stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import Ran, invoke


@pytest.fixture
def files(write_benchmark, statement, write_lines) -> tuple[Path, Path, Path]:
    dev = [
        statement(f"s{g}-{k}", k % 2, f"s{g}", kind="odd" if g % 2 else "even", serial=str(g))
        for g in range(30)
        for k in range(4)
    ]
    right = {item.id: [float(not item.answer), float(item.answer or 0)] for item in dev}
    poor = {name: [0.0, 1.0] for name in right}
    first = [*list(right.items())[:-2], ("elsewhere", [0.0, 1.0])]
    return write_benchmark({"dev": dev}), write_lines(first, "good.jsonl"), write_lines(poor.items(), "poor.jsonl")


def run(*arguments: object) -> Ran:
    result = invoke("evaluate", *arguments)
    assert result.exit_code == 0, result.stderr
    return result


def test_tables(files) -> None:
    made, good, poor = files
    result = run(made, good, "--against", poor)
    table, shown = result.stdout, result.stderr
    assert "b, dev: 120 items in 30 groups" in table
    assert "98.3 [" in table
    assert "by kind" in table
    assert "difference to poor.jsonl" in table
    assert "missing: 2 (without a prediction, counted as not right): s29-2, s29-3" in shown
    assert "extra: 1 (about no item of the split, left out): elsewhere" in shown
    assert "majority: always the most common answer of dev itself: false." in shown
    assert "by serial: 30 values of at most 4 items: see --json." in shown
    assert "59 examples only these get right, 0 only the others" in shown
    assert "Warning: only 118 of 120 examples are predicted by both." in shown


def test_names_of_any_length_are_shown_short(write_benchmark, statement, write_lines) -> None:
    items = [statement("a", 1, shape="s" * 5000), statement("a long one " + "m" * 5000, 1)]
    bench = write_benchmark({"dev": items})
    predictions = write_lines([("a", [0.0, 1.0]), ("x" * 10**6, [0.0, 1.0])])
    shown = run(bench, predictions)
    assert "missing: 1 (without a prediction, counted as not right): a long one mmm" in shown.stderr
    assert "extra: 1 (about no item of the split, left out): xxx" in shown.stderr
    assert "sss ... sss" in shown.stdout
    assert max(map(len, (shown.stdout + shown.stderr).splitlines())) < 400


def test_json(files) -> None:
    made, good, _ = files
    result = run(made, good, "--json", "--quiet", "--resamples", 50)
    found = json.loads(result.stdout)
    assert (found["items"], found["missing"], found["resamples"]) == (120, 2, 50)
    assert result.stderr == ""


def test_trials(files) -> None:
    made, good, poor = files
    shown = run(made, good, poor, "--resamples", 50)
    assert "2 trials" in shown.stdout
    assert "74.2 ± 24.2" in shown.stdout
    assert json.loads(run(made, good, poor, "--json").stdout)["trials"] == 2


def test_what_the_published_scripts_print(files) -> None:
    made, good, poor = files
    assert run(made, poor, "--official").stdout == "precision=0.5\nconsistency=0.0\n"
    assert run(made, poor, poor, "--official", "--json").stdout == 2 * "precision=0.5\nconsistency=0.0\n"
    for words in ((good, "--official"), (good, "--official", "--json"), (poor, good, "--official")):
        refused = invoke("evaluate", made, *words)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "2 predictions are missing" in refused.stderr


def test_stages_have_a_table_of_their_own(write_benchmark, question, write_lines) -> None:
    made = write_benchmark({"val": question("val-0", 1, 2) + question("val-1", 0, 3)}, task="choice")
    rows = [("val-0", [0, 1, 0, 0]), ("val-0/r1", [0, 0, 1, 0]), ("val-1", [0, 1, 0, 0]), ("val-1/r0", [0, 0, 0, 1])]
    shown = run(made, write_lines(rows, "p.jsonl")).stdout
    header = next(line for line in shown.splitlines() if "Q->AR" in line)
    assert header.split() == ["%", "Q->A", "QA->R", "Q->AR"]
    assert "p.jsonl   50.0 [0.0, 100.0]  100.0 [15.8, 100.0]  50.0 [0.0, 100.0]" in shown
    assert max(map(len, shown.splitlines())) < 160


def test_no_consistency_where_every_item_is_its_own_group(write_benchmark, statement, write_lines) -> None:
    made = write_benchmark({"dev": [statement("a", 1, kind="x"), statement("b", 0, kind="y")]})
    shown = run(made, write_lines([("a", [0, 1]), ("b", [0, 1])])).stdout
    assert "accuracy" in shown
    assert "consistency" not in shown


@pytest.mark.parametrize("options", [(), ("--json",), ("--quiet",), ("--json", "--quiet")])
def test_predictions_for_another_benchmark_are_scored_with_a_warning(files, options: tuple[str, ...]) -> None:
    made, good, poor = files
    poor.with_name("poor.jsonl.meta.json").write_text(json.dumps({"benchmark": "b", "benchmark_hash": "0" * 64}))
    assert "Warning: poor.jsonl says it was made for another benchmark than this b" in run(made, poor, *options).stderr
    both = run(made, good, poor, *options).stderr
    assert both.count("Warning") == 1
    assert "Warning" not in run(made, good, *options).stderr


def test_more_resamples_than_memory_holds(files) -> None:
    made, good, _ = files
    result = invoke("evaluate", made, good, "--resamples", 100_000_000_000)
    assert result.exit_code == 2
    assert "Take 1 to 1,000,000" in result.stderr
