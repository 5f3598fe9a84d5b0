"""What people write: headers, spaces, index columns, yes and no, letters, other names; and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical
from veridical.benchmark import BenchmarkWriter
from veridical.errors import UserError
from veridical.evaluation.words import known_names
from veridical.records import Item, Prediction, Text

TEXTS = ("a cat", "Two dogs", "three", "none of them")


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four statements: false, true, true, false."""
    from veridical.records import TRUTH

    out = tmp_path_factory.mktemp("s") / "b"
    with BenchmarkWriter(out, name="b", task="statement") as writer:
        items = [Item(f"dev-{n}", "statement", (), Text("s"), TRUTH, answer=int(n in (1, 2))) for n in range(4)]
        writer.add_items("dev", items)
    return out


@pytest.fixture(scope="module")
def choices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four questions with four candidates each; the answer of q-k is candidate k."""
    return write_choices(tmp_path_factory.mktemp("c") / "b", TEXTS)


def write_choices(out: Path, texts: Sequence[str]) -> Path:
    with BenchmarkWriter(out, name="c", task="choice") as writer:
        four = tuple(Text(text) for text in texts)
        writer.add_items("test", [Item(f"q-{k}", "choice", (), Text("?"), four, answer=k) for k in range(4)])
    return out


def accuracy(benchmark: Path, predictions: Any) -> float:
    found = veridical.evaluate(benchmark, predictions, resamples=10)
    assert (found.missing.count, found.extra.count) == (0, 0)  # type: ignore[union-attr]
    return float(found.accuracy.value)  # type: ignore[union-attr]


RIGHT = ("false", "true", "true", "false")


@pytest.mark.parametrize(
    "text",
    [
        "identifier,prediction\n{0}",
        "sentence,verdict\n{0}",  # names that nobody knows
        ",id,prediction\n0,dev-0,false\n1,dev-1,true\n2,dev-2,true\n3,dev-3,false\n",
        ",x,y\n0,dev-0,false\n1,dev-1,true\n2,dev-2,true\n3,dev-3,false\n",
        "0,dev-0,false\n1,dev-1,true\n2,dev-2,true\n3,dev-3,false\n",
        ",0\n{0}",  # a series of pandas
        "label,id,score\nfalse,dev-0,1\ntrue,dev-1,1\ntrue,dev-2,1\nfalse,dev-3,1\n",
        "id,answer,prediction\ndev-0,true,false\ndev-1,false,true\ndev-2,false,true\ndev-3,true,false\n",
        "dev-0 , False\ndev-1,  TRUE \n dev-2,true\ndev-3,false\n",
        "dev-0,0\ndev-1,1\ndev-2,1.0\ndev-3,0\n",
        "dev-0,no\ndev-1,Yes\ndev-2,y\ndev-3,N\n",
        '"dev-0","false"\n"dev-1","true"\n"dev-2","true"\n"dev-3","false"\n',
        "dev-0\tfalse\ndev-1\ttrue\ndev-2\ttrue\ndev-3\tfalse\n",
        "id;prediction\r\ndev-0;false\r\ndev-1;true\r\ndev-2;true\r\ndev-3;false\r\n",
        '{{"item": "dev-0", "answer": false}}\n{{"item": "dev-1", "answer": true}}\n'
        '{{"item": "dev-2", "answer": "yes"}}\n{{"item": "dev-3", "answer": 0}}\n',
        '{{"id": "dev-0", "prediction": false, "answer": true}}\n{{"id": "dev-1", "prediction": "true"}}\n'
        '{{"id": "dev-2", "prediction": 1}}\n{{"id": "dev-3", "prediction": "no"}}\n',
        '{{"dev-0": false, "dev-1": true, "dev-2": [0.1, 0.9], "dev-3": "false"}}',
        '[{{"id": "dev-0", "pred": "no"}}, {{"id": "dev-1", "pred": "yes"}}, {{"id": "dev-2", "pred": "yes"}},\n'
        ' {{"id": "dev-3", "pred": "no"}}]',
    ],
)
def test_spellings_of_true_and_false(statements: Path, tmp_path: Path, text: str) -> None:
    plain = "".join(f"dev-{n},{word}\n" for n, word in enumerate(RIGHT))
    (tmp_path / "p").write_text(text.format(plain))
    assert accuracy(statements, tmp_path / "p") == 1.0


@pytest.mark.parametrize("words", ["ABCD", "abcd", "0123", TEXTS, ["A.", "(b)", "c:", "NONE OF THEM"]])
def test_spellings_of_choices(choices: Path, tmp_path: Path, words: Any) -> None:
    (tmp_path / "p.csv").write_text("".join(f'q-{k},"{word}"\n' for k, word in enumerate(words)))
    assert accuracy(choices, tmp_path / "p.csv") == 1.0


def test_a_word_with_two_meanings_is_refused(tmp_path: Path) -> None:
    made = write_choices(tmp_path / "b", ("1", "2", "3", "4"))
    with pytest.raises(UserError, match="'3' is the text of candidate C and, counted from 0, the place of candidate D"):
        veridical.evaluate(made, {"q-0": 3})
    assert accuracy(made, {"q-0": "A", "q-1": "B", "q-2": "C", "q-3": 4}) == 1.0


def test_a_text_of_two_candidates_is_refused(tmp_path: Path) -> None:
    made = write_choices(tmp_path / "b", ("a cat", "a dog", "A cat", "none"))
    with pytest.raises(UserError, match="'a cat' is the text of candidates A and C") as error:
        veridical.evaluate(made, {"q-0": "a cat", "q-1": "a dog"})
    assert "Write letters" in error.value.fix
    assert accuracy(made, {"q-0": "A", "q-1": "a dog", "q-2": "C", "q-3": "none"}) == 1.0


@pytest.mark.parametrize(
    ("said", "words"), [("E", "'E' is no candidate of q-0"), (4, "'4' is no candidate"), ("a dog", "'a dog' is no")]
)
def test_what_is_no_candidate(choices: Path, said: Any, words: str) -> None:
    with pytest.raises(UserError, match=words) as error:
        veridical.evaluate(choices, {"q-0": said, "q-1": "B"})
    assert "A to D" in error.value.fix
    assert "1 other lines are fine" in error.value.fix


@pytest.mark.parametrize("said", [0.7, {"a": 1}, [True, False], object()])
def test_what_is_no_prediction(statements: Path, said: Any) -> None:
    with pytest.raises(UserError, match=r"The prediction for 'dev-0', number 1: .* is no prediction"):
        veridical.evaluate(statements, {"dev-0": said})


def test_an_empty_answer_is_unreadable_and_counted(statements: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("dev-0,false\ndev-1,\ndev-2,true\ndev-3,false\n")
    found = veridical.evaluate(statements, tmp_path / "p.csv", resamples=10)
    assert found.unreadable.names == ("dev-1",)  # type: ignore[union-attr]
    assert found.accuracy.value == 0.75
    (tmp_path / "q.jsonl").write_text('{"item": "dev-0", "answer": null}\n{"item": "dev-1", "text": "so it is"}\n')
    with pytest.raises(UserError, match="none of the 2 predictions for split 'dev' can be read"):
        veridical.evaluate(statements, tmp_path / "q.jsonl")


@pytest.mark.parametrize("text", ["id,prediction\n", "id,prediction", "id;prediction\r\n", '"id","prediction"\n'])
def test_a_header_alone_holds_no_predictions(statements: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(UserError, match=r"p\.csv has a header but no predictions"):
        veridical.evaluate(statements, tmp_path / "p.csv")
    with pytest.raises(UserError, match=r"p\.csv has a header but no predictions"):
        veridical.compare(statements, {"dev-0": True}, tmp_path / "p.csv")


def test_a_mistyped_id_is_named_with_the_nearest(
    statements: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = veridical.evaluate(statements, {"dev-0": False, "dev-1": True, "dev-2": True, "Dev-3": False, "x": True})
    assert found.to_json()["meant"] == {"Dev-3": "dev-3"}
    for typed in ("dev_3", "dev.3", "dev 3", "DEV_3"):
        assert veridical.evaluate(statements, {"dev-0": False, typed: False}).to_json()["meant"] == {typed: "dev-3"}
    found.show()
    assert "extra: 2 (about no item of the split, left out): Dev-3 (meant: dev-3?), x" in capsys.readouterr().err
    with pytest.raises(UserError, match="the last is about 'devv-2', and an item is called 'dev-2'"):
        veridical.evaluate(statements, {"dveev-9": True, "devv-2": True})


def series(values: dict[str, Any]) -> Any:
    return pd.Series(values)


def by_index(values: dict[str, Any]) -> Any:
    return pd.DataFrame({"text": "x", "prediction": list(values.values())}, index=pd.Index(list(values), name="id"))


def by_column(values: dict[str, Any]) -> Any:
    return pd.DataFrame({"item": list(values), "answer": list(values.values())})


def only_column(values: dict[str, Any]) -> Any:
    return pd.DataFrame({"whatever": list(values.values())}, index=list(values))


def records(values: dict[str, Any]) -> Any:
    return [Prediction(name, (0.0, 1.0) if value else (1.0, 0.0)) for name, value in values.items()]


@pytest.mark.parametrize("make", [dict, series, by_index, by_column, only_column, records])
def test_predictions_in_memory(statements: Path, make: Callable[[dict[str, Any]], Any]) -> None:
    values = {f"dev-{n}": word == "true" for n, word in enumerate(RIGHT)}
    opened = veridical.open(statements)
    assert accuracy(opened, make(values)) == 1.0  # type: ignore[arg-type]
    assert veridical.compare(opened, make(values), dict.fromkeys(values, True), resamples=50).one.accuracy.value == 1.0


def test_a_frame_of_the_benchmark_with_a_column_more(statements: Path, choices: Path) -> None:
    opened = veridical.open(choices)
    frame = opened.frame("test")
    with pytest.raises(UserError, match="the benchmark's own answers"):
        veridical.evaluate(opened, frame)
    frame["prediction"] = [0, 1, None, 3]  # pandas makes these 0.0, 1.0, not a number
    found = veridical.evaluate(opened, frame, resamples=10)
    assert (found.accuracy.value, found.unreadable.count) == (0.75, 1)  # type: ignore[union-attr]
    with pytest.raises(UserError, match="None of the columns x, y is called `prediction`"):
        veridical.evaluate(statements, pd.DataFrame({"x": [1], "y": [2]}))
    with pytest.raises(UserError, match="A int holds no predictions"):
        veridical.evaluate(statements, 3)  # type: ignore[arg-type]


def test_in_memory_predictions_have_a_hash(statements: Path) -> None:
    one, same, other = (
        veridical.evaluate(statements, {"dev-0": word}, resamples=10).predictions_hash  # type: ignore[union-attr]
        for word in (False, False, True)
    )
    assert one == same != other


@settings(max_examples=40, deadline=None)
@given(
    answers=st.lists(st.booleans(), min_size=4, max_size=4),
    words=st.sampled_from([("true", "false"), ("Yes", "no"), ("1", "0"), ("T", "F")]),
    header=st.sampled_from(["", "id,prediction\n", "x,y\n"]),
    space=st.sampled_from(["", " ", "  "]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_every_spelling_scores_the_same(
    statements: Path,
    tmp_path_factory: pytest.TempPathFactory,
    answers: list[bool],
    words: tuple[str, str],
    header: str,
    space: str,
    end: str,
) -> None:
    lines = [f"dev-{n}{space},{space}{words[0] if answer else words[1]}" for n, answer in enumerate(answers)]
    path = tmp_path_factory.mktemp("p") / "p.csv"
    path.write_bytes((header.replace("\n", end) + end.join(lines) + end).encode())
    in_memory = {f"dev-{n}": answer for n, answer in enumerate(answers)}
    assert accuracy(statements, path) == accuracy(statements, in_memory)


def test_predictions_come_before_answers_where_a_file_has_both() -> None:
    names = known_names()
    assert names.said.index("prediction") < names.said.index("answer")
    assert not set(names.item) & set(names.said)


@pytest.mark.parametrize("word", ["true", "T", "x"])
def test_unknown_ids_at_the_top_of_statements_are_extra(statements: Path, tmp_path: Path, word: str) -> None:
    """One line may be a header; many are answers about something else, or no answers at all."""
    known = [f"dev-{n},{said}" for n, said in enumerate("FTTF")]
    path = tmp_path / "p.csv"
    path.write_text("\n".join([*(f"other-{n},{word}" for n in range(1500)), *known]))
    if word == "x":
        with pytest.raises(UserError, match=r"'x' is neither true nor false"):
            veridical.evaluate(statements, path, resamples=10)
    else:
        assert veridical.evaluate(statements, path, resamples=10).extra.count == 1500  # type: ignore[union-attr]


@pytest.mark.parametrize(("top", "extra"), [("B", 3), ("two dogs", 3), ("3", 3), ("whatever", 2)])
def test_unknown_ids_at_the_top_of_choices_are_extra(choices: Path, tmp_path: Path, top: str, extra: int) -> None:
    known = [f"q-{k},{'ABCD'[k]}" for k in range(4)]
    path = tmp_path / "p.csv"
    path.write_text("\n".join([*(f"other-{n},{top}" for n in range(3)), *known]))
    found = veridical.evaluate(choices, path, resamples=10)
    assert (found.extra.count, found.accuracy.value) == (extra, 1)  # type: ignore[union-attr]
