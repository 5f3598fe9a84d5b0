"""Every prediction format is read right, and every kind of damage ends in one error with file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.errors import UserError
from veridical.evaluation import evaluate
from veridical.evaluation.csv_files import _read_fast, _read_rows
from veridical.evaluation.predictions import Predictions, choose
from veridical.evaluation.readers import ANSWER_COLUMNS, RATIONALE_COLUMNS, image_name, read_predictions


def test_jsonl(write_text) -> None:
    path = write_text(
        '{"item": "a", "scores": [0.1, 0.9], "raw": "it is true"}\n'
        '\n{"scores": [3, 1, 2], "item": "b", "seconds": 1}\r\n{"item": "c", "scores": []}\n{"item": "d"}\n'
        '{"item": "e", "scores": null}\n{"item": "f", "scores": [2, 2]}'
    )
    read = read_predictions(path)
    assert read.format == "jsonl"
    assert read.names.to_pylist() == ["a", "b", "c", "d", "e", "f"]
    assert read.chosen.tolist() == [1, 0, -1, -1, -1, 0]
    assert read.width.tolist() == [2, 3, 0, 0, 0, 2]
    assert read.tied.tolist() == [False] * 5 + [True]
    assert read.line.tolist() == [1, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "line",
    ["{bad", '{"scores": [1, 0]}', '{"item": 3.5, "scores": [1, 0]}', '{"item": "a", "scores": ["x"]}', "[]",
     '{"item": "a", "scores": [NaN, 1]}', '{"item": "a", "scores": [1, 0]} {"item": "b"}'],
)  # fmt: skip
def test_a_bad_jsonl_line_is_named(write_text, line: str) -> None:
    good = '{"item": "a", "scores": [1, 0]}\n'
    path = write_text(good + "\n" + line + "\n" + good, "p.jsonl")
    with pytest.raises(UserError) as error:
        read_predictions(path)
    assert f"{path}, line 3: " in error.value.problem
    assert "2 other lines are fine. Nothing was scored." in error.value.fix


def test_an_object_on_two_lines_is_refused(write_text) -> None:
    with pytest.raises(UserError, match="line 1"):
        read_predictions(write_text('{"item": "a",\n "scores": [1, 0]}\n'))


def test_jsonl_that_is_not_utf8(write_text) -> None:
    with pytest.raises(UserError, match="line 1"):
        read_predictions(write_text(b'{"item": "\xff", "scores": [1, 0]}\n'))


def test_truth_csv(write_text) -> None:
    read = read_predictions(write_text("a-0,true\nb-1,False\nc-2,TRUE\n"))
    assert read.format == "csv"
    assert (read.names.to_pylist(), said(read)) == (["a-0", "b-1", "c-2"], ["true", "False", "TRUE"])


def said(read: Predictions) -> list[str]:
    assert read.word is not None
    return [read.words[code] for code in read.word.tolist()]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("x,maybe", "'maybe' is neither true nor false"),
        ("x,A", "'A' is neither true nor false"),
        ("x", "found 'x'"),
        ("x,true,0.9", "found 'x,true,0.9'"),
        (",true", "found ',true'"),
        ("identifier,prediction", "'prediction' is neither"),
    ],
)
def test_a_bad_csv_line_is_named(write_text, write_benchmark, statement, line: str, says: str) -> None:
    path = write_text(f"a,true\nb,false\n{line}\nc,true\n{line}\n")
    with pytest.raises(UserError) as error:
        evaluate(write_benchmark({"dev": [statement(name, 1) for name in "abcx"]}), path)
    assert f"{path}, line 3: {says}" in error.value.problem
    assert "1 more are wrong too; 3 other lines are fine" in error.value.fix


def test_csv_oddities(write_text) -> None:
    read = read_predictions(write_text('\ufeffa,true\r\n\r\n"b",false'))
    assert (read.names.to_pylist(), read.line.tolist()) == (["a", "b"], [1, 3])
    with pytest.raises(UserError, match="line 2: byte 0xe9 is not UTF-8"):
        read_predictions(write_text(b"a,true\n\xe9,true\n"))


@given(st.lists(st.tuples(st.text("abc-'\" .0", min_size=1), st.sampled_from(["true", "False", "TRUE"])), min_size=1))
def test_the_fast_csv_reader_reads_as_the_careful_one(rows: list[tuple[str, str]]) -> None:
    text = "\n".join(f"{name},{label}" for name, label in rows)
    fast = _read_fast(Path("p"), text)
    if fast is not None:
        careful = _read_rows(Path("p"), text)
        assert fast.names.to_pylist() == careful.names.to_pylist()
        assert said(fast) == said(careful)
        assert fast.line.tolist() == careful.line.tolist()


def test_the_fast_csv_reader_is_used() -> None:
    assert _read_fast(Path("p"), "dev-1-0-0,true\ndev-1-1-0,False\n") is not None
    assert _read_fast(Path("p"), "identifier,prediction\ndev-1-0-0,true\n") is not None


def test_empty_and_missing_files(write_text, tmp_path: Path) -> None:
    for text in ("", "\n \n"):
        with pytest.raises(UserError, match="has no predictions"):
            read_predictions(write_text(text))
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_predictions(tmp_path / "nothing.csv")


def vcr_row(name: str, scores: np.ndarray) -> str:
    return ",".join([name, *(str(x) for x in scores.ravel())])


def test_vcr_csv_has_20_probabilities_per_question(write_text) -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((2, 5, 4))
    scores[1, 0, 2] = np.nan
    header = ",".join(["annot_id", *ANSWER_COLUMNS, *RATIONALE_COLUMNS])
    path = write_text("\n".join([header, vcr_row("val-0", scores[0]), vcr_row("val-1", scores[1])]) + "\n")
    read = read_predictions(path)
    assert read.format == "vcr csv"
    assert read.names.to_pylist() == ["val-0"] * 5 + ["val-1"] * 5
    assert read.given.tolist() == [-1, 0, 1, 2, 3] * 2
    assert read.chosen.tolist() == [*scores[0].argmax(1), -1, *scores[1, 1:].argmax(1)]
    # Columns may stand in any order.
    columns = np.array([line.split(",") for line in path.read_text().split()])
    shuffled = columns[:, rng.permutation(21)]
    again = read_predictions(write_text("\n".join(",".join(row) for row in shuffled), "again.csv"))
    assert again.names.equals(read.names)
    assert again.chosen.tolist() == read.chosen.tolist()


def test_bad_vcr_csv(write_text) -> None:
    header = ",".join(["annot_id", *ANSWER_COLUMNS, *RATIONALE_COLUMNS])
    with pytest.raises(UserError, match="line 1: 1 columns are missing or there twice, such as answer_3"):
        read_predictions(write_text(header.replace("answer_3,", "") + "\n"))
    with pytest.raises(UserError, match="line 2: could not convert string to float: 'x'"):
        read_predictions(write_text(header + "\nval-0" + ",x" * 20))
    with pytest.raises(UserError, match="line 2: 20 cells where the header has 21"):
        read_predictions(write_text(header + "\nval-0" + ",1" * 19))
    with pytest.raises(UserError, match="has a header but no predictions"):
        read_predictions(write_text(header + "\n"))


def test_a_cell_that_never_ends(write_text) -> None:
    header = ",".join(["annot_id", *ANSWER_COLUMNS, *RATIONALE_COLUMNS])
    with pytest.raises(UserError, match=r"line 2: field larger than field limit"):
        read_predictions(write_text(f'{header}\n"val-0{"x" * 140_000}'))


def test_json_that_is_nested_too_deeply(write_text) -> None:
    good, deep = '{"item": "a", "scores": [0, 1]}', '{"item": "b", "raw": ' + "[" * 200_000 + "}"
    with pytest.raises(UserError, match=r"line 2: lists or objects are nested too deeply") as caught:
        read_predictions(write_text(f"{good}\n{deep}\n{good}\n"))
    assert "2 other lines are fine" in caught.value.fix


def test_an_empty_file_names_the_formats_in_full(write_text) -> None:
    with pytest.raises(UserError, match="has no predictions") as caught:
        read_predictions(write_text(" \n"))
    assert "visual commonsense reasoning (VCR)" in caught.value.fix


def test_image_names() -> None:
    assert image_name("dev-1304-0-3.png") == ("1304-0", 3)
    assert image_name("test-1304-0-3") == ("1304-0", 3)
    assert image_name("1304") is None


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=1))
def test_choose_is_argmax_and_counts_ties(rows: list[list[float]]) -> None:
    chosen, tied = choose(np.array(rows))
    for row, c, t in zip(rows, chosen.tolist(), tied.tolist(), strict=True):
        assert c == row.index(max(row))
        assert t == (row.count(max(row)) > 1)
