"""The published numbers: complete, consistent with each other, and in the papers where those are here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from veridical.reporting.published import number, numbers, part_name

PAPERS = Path(__file__).resolve().parents[3] / "shared" / "papers"
TABLES = {table.id: table for table in numbers().tables}
FILES = {
    "nlvr-table-3": "nlvr.txt",
    "nlvr-table-2": "nlvr.txt",
    "nlvr2-table-6": "nlvr2-acl2019.txt",
    "nlvr2-table-5": "nlvr2-acl2019.txt",
    "nlvr2-arxiv-table-8": "nlvr2-arxiv-v1.txt",
    "nlvr2-arxiv-table-9": "nlvr2-arxiv-v1.txt",
    "vcr-table-1": "vcr.txt",
    "vcr-table-2": "vcr.txt",
    "vprom-table-2": "vprom.txt",
    "vprom-table-5": "vprom.txt",
}


def test_every_row_fills_its_columns() -> None:
    assert {t.id: len(t.rows) for t in numbers().tables} == {
        "nlvr-table-3": 8,
        "nlvr2-table-6": 11,
        "nlvr2-arxiv-table-8": 13,
        "vcr-table-1": 11,
        "vcr-table-2": 5,
        "vprom-table-2": 6,
        "vprom-table-5": 46,
        "nlvr2-table-5": 13,
        "nlvr-table-2": 12,
        "nlvr2-arxiv-table-9": 5,
    }
    for table in numbers().tables:
        for row in table.rows:
            assert len(row.values) == len(table.columns), (table.id, row.name)
            for value in row.values:
                assert re.fullmatch(r"–|\d+(\.\d+)?(±\d+\.\d+)?", value), (table.id, row.name, value)


def test_tables_that_repeat_each_other_agree() -> None:
    old = {row.name.lower().replace(" only", ""): row.values for row in TABLES["nlvr-table-3"].rows}
    new = {row.name.split(" (")[0].lower(): row.values[::2] for row in TABLES["nlvr2-arxiv-table-8"].rows}
    for name in ("majority", "text", "image", "cnn+rnn", "nmn"):
        for one, other in zip(old[name], new[name], strict=True):
            exact, rounded = number(one), number(other)
            assert exact is not None
            assert rounded is not None
            assert abs(exact - rounded) <= 0.00051, (name, one, other)
    neutral = {row.name: row.values[0] for row in TABLES["vprom-table-5"].rows}
    features = [column.label for column in TABLES["vprom-table-2"].columns]
    for short, name in (("MLP-cat-6", "MLP-sum-6 layers"), ("GRU-shared",) * 2, ("VQA-like",) * 2):
        row = next(r for r in TABLES["vprom-table-2"].rows if r.name == name)
        assert row.values == tuple(neutral[f"{short}, {feature}"] for feature in features)
    main, ablations = ({row.name: row.values for row in TABLES[f"vcr-table-{k}"].rows} for k in (1, 2))
    assert ablations["R2C"] == main["R2C"][::2]  # on val
    shares = {row.name: row.values[2] for row in TABLES["nlvr2-table-5"].rows}
    for row in TABLES["nlvr-table-2"].rows:
        assert shares[row.name] == row.values[2]  # NLVR's share of each phenomenon


@pytest.mark.parametrize("name", sorted(FILES))
def test_each_row_stands_in_the_paper(name: str) -> None:
    if not PAPERS.is_dir():
        pytest.skip(f"the papers are not here ({PAPERS})")
    text = (PAPERS / FILES[name]).read_text(encoding="utf-8")
    text = re.sub(r"\{\\scriptstyle~?|\\pm|[${}~]|</?b>", lambda m: "±" if m[0] == r"\pm" else "", text)
    lines = [re.findall(r"\d+(?:\.\d+)?", line) for line in text.splitlines()]
    for row in TABLES[name].rows:
        wanted = [n for value in row.values for n in re.findall(r"\d+(?:\.\d+)?", value)]
        assert any(_runs_through(wanted, line) for line in lines), (row.name, wanted)


def _runs_through(wanted: list[str], line: list[str]) -> bool:
    return any(line[k : k + len(wanted)] == wanted for k in range(len(line) - len(wanted) + 1))


def test_names_of_parts() -> None:
    assert [part_name(n) for n in ("test1", "test2", "dev", "Obj.rel.held")] == [
        "test-p",
        "test-u",
        "dev",
        "obj.rel.held",
    ]
