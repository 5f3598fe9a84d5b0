"""Question/answer files: three kinds of files, chosen columns, bad rows."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veridical.errors import UserError
from veridical.matching.questions import Columns, read_people, read_table

ROWS = [{"question": f"what is it {k}?", "answer": f"thing {k}", "video": str(k // 2)} for k in range(6)]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    if path.suffix == ".csv":
        names = list(rows[0])
        lines = [",".join(names), *(",".join(f'"{row[n]}"' for n in names) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    table = read_table(write(tmp_path / f"qa{suffix}", ROWS), Columns(group="video"))
    assert [(r.question.raw, r.answer.raw, r.origins) for r in table.rows] == [
        (r["question"], r["answer"], (r["video"],)) for r in ROWS
    ]
    assert all(row.rationale is None for row in table.rows)
    assert not table.notes


def test_a_likely_group_that_is_not_named_is_pointed_out(tmp_path: Path) -> None:
    assert "--group" in read_table(write(tmp_path / "qa.csv", ROWS)).notes[0]


def test_columns_can_be_named_and_missing_ones_are_told(tmp_path: Path) -> None:
    rows = [{"Q": "why?", "A": "so", "why": "because", "n": f"x{k}"} for k in range(4)]
    table = read_table(write(tmp_path / "qa.jsonl", rows), Columns("Q", "A", "why", id="n"))
    assert all(row.rationale is not None for row in table.rows)
    assert table.rows[2].id == "x2"
    with pytest.raises(UserError, match=r"no column 'question'; it has: Q, A, why, n"):
        read_table(tmp_path / "qa.jsonl")
    with pytest.raises(UserError, match="named for both question and answer"):
        read_table(tmp_path / "qa.jsonl", Columns("Q", "Q"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "question,answer\nwhy?,so\nwhy?, \n,so\n", r"a.csv, line 3: 'answer' is empty. 1 other rows are bad"),
        ("a.csv", "question,answer\nwhy?,so\nwhy?\n", r"line 3: 1 fields; the first line names 2 columns"),
        ("a.csv", "question,answer,answer\nwhy?,so,so\n", "two columns named 'answer'"),
        ("a.csv", "question,answer\n", "no question with an answer"),
        ("a.csv", "", "no column 'question'; it has: none"),
        ("a.csv", 'question,answer\n"two\nlines",so\nwhy?,\n', "line 4: 'answer' is empty"),
        ("a.jsonl", '{"question": "why?", "answer": "so"}\n{"question": "why?"}\n', "line 2: 'answer' is empty"),
        ("a.jsonl", '{"question": "why?", "answer": ["so"]}\n', "line 1: 'answer' is .*; expected a text"),
        ("a.jsonl", '{"question": "why?", "answer": "so"}\n[1]\n', "line 2: the line is a list; expected an object"),
        ("a.csv", "question,answer,id\nwhy?,so,1\nwho?,I,1\n", "line 3: the id '1' is also that of line 2"),
        ("a.csv", "question,answer,id\nwhy?,so,q:r1\n", "cannot name a question"),
        ("a.txt", "x", "does not end in"),
    ],
)
def test_bad_files_are_told_with_their_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message):
        read_table(tmp_path / name)


def test_only_the_end_of_a_line_ends_it(tmp_path: Path) -> None:
    odd = "so\u2028so\x85 \x0b\x0c\x1c so"
    (tmp_path / "a.jsonl").write_text(json.dumps({"question": "why?", "answer": odd}, ensure_ascii=False) + "\r\n")
    (tmp_path / "a.csv").write_text(f"question,answer\r\nwhy?,{odd}\r\n'who?',\"a\r\nb\"\r\n", newline="")
    assert [row.answer.raw for row in read_table(tmp_path / "a.jsonl").rows] == [odd]
    found = read_table(tmp_path / "a.csv").rows
    assert [(row.id, row.answer.raw) for row in found] == [("2", odd), ("3", "a\r\nb")]


def test_what_is_no_text_at_all_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"question,answer\nwhy,\xff\n")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="not UTF-8"):
        read_table(tmp_path / "a.csv")
    with pytest.raises(UserError, match="no whole Parquet"):
        read_table(tmp_path / "a.parquet")
    with pytest.raises(UserError, match="There is no file"):
        read_table(tmp_path / "b.csv")


def test_keep_going_leaves_bad_rows_out_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("question,answer\nwhy?,so\nwhy?,\nwho?,I\n")
    table = read_table(tmp_path / "a.csv", keep_going=True)
    assert [row.id for row in table.rows] == ["2", "4"]
    assert table.left_out == ("a.csv, line 3: 'answer' is empty.",)
    assert "1 bad rows" in table.notes[0]


def test_answers_of_people(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("lambda,id,choice\n0.1,a,2\n0.1,a,0\n1,b,3\n")
    assert read_people(tmp_path / "p.csv") == {0.1: {"a": [2, 0]}, 1.0: {"b": [3]}}
    (tmp_path / "p.csv").write_text("lambda,id,choice\n0.1,a,left\n")
    with pytest.raises(UserError, match="line 2"):
        read_people(tmp_path / "p.csv")


def test_next_oe_reads(shared: Path) -> None:
    table = read_table(shared / "qa" / "next_oe_train.csv", Columns(group="video"))
    assert len(table.rows) == 37_523
    assert len({row.origins for row in table.rows}) == 3_870
