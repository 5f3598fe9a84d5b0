"""Results show themselves: tables, HTML, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from veridical.common.result import QUIET, Caution, Result, ResultList, Table, Verbatim
from veridical.errors import UserError


@dataclass(frozen=True)
class Found(Result):
    share: float
    where: Path
    counts: dict[int, int]

    def parts(self) -> Iterator[Table | str]:
        yield Table("<b>", ("what", "share"), [("<script>", self.share)])
        yield "A remark & more."


FOUND = Found(np.float64(0.5), Path("a/b"), {1: np.int64(2)})  # type: ignore[arg-type,dict-item]


def test_json_takes_numbers_of_numpy_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    FOUND.show(json=True)
    out = capsys.readouterr()
    assert json.loads(out.out) == {"share": 0.5, "where": "a/b", "counts": {"1": 2}}
    assert out.err == "A remark & more.\n"
    assert ResultList([FOUND]).to_json() == [FOUND.to_json()]


def test_tables_and_remarks_have_their_own_stream(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    FOUND.show()
    out = capsys.readouterr()
    assert [line.split() for line in out.out.splitlines()] == [["<b>"], ["what", "share"], ["<script>", "0.5"]]
    assert out.err == "A remark & more.\n"
    monkeypatch.setenv(QUIET, "1")
    FOUND.show()
    assert capsys.readouterr().err == ""


def test_a_caution_is_always_said_and_a_text_that_is_the_result_is_no_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Official(Result):
        def parts(self) -> Iterator[Table | str]:
            yield Caution("Look out.")
            yield Verbatim("precision=1\n")
            yield "A remark."

    class Refused(Found):
        def parts(self) -> Iterator[Table | str]:
            yield Table("", ("what",), [("it",)])
            raise UserError("It cannot be shown.")

    monkeypatch.setenv(QUIET, "1")
    for as_json in (False, True):
        Official().show(json=as_json)
        assert capsys.readouterr() == ("precision=1\n", "Look out.\n")
        with pytest.raises(UserError):
            Refused(0.5, Path("a"), {}).show(json=as_json)
        assert capsys.readouterr().out == ""


def test_notebooks_get_escaped_html() -> None:
    page = FOUND._repr_html_()
    assert "<script>" not in page
    assert "<td>&lt;script&gt;</td>" in page
    assert "<p>A remark &amp; more.</p>" in page
