"""The journal: what is in it survives, what was being written is cut off, and it belongs to one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.errors import UserError
from veridical.solvers.vlm.answers import Asked, Journal, Usage

ABOUT = {"benchmark": "abc", "model": "openai/tiny"}


def asked(item: str, text: str = "true") -> Asked:
    return Asked(item, 0, 0, text, [0.0, 1.0], usage=Usage(100, 2, cost=0.5))


def test_what_was_added_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "p.journal"
    with Journal(path, ABOUT) as journal:
        journal.add(asked("a"))
        journal.add(asked("b", "two\nlines"))
    with Journal(path, ABOUT) as journal:
        assert journal.asked == {("a", 0, 0): asked("a"), ("b", 0, 0): asked("b", "two\nlines")}


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_cut_at_any_byte_it_keeps_the_whole_lines(data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.journal"
        with Journal(path, ABOUT) as journal:
            for name in "abcd":
                journal.add(asked(name))
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        kept = max(whole[:cut].count(b"\n") - 1, 0)
        with Journal(path, ABOUT) as journal:
            assert [name for name, _, _ in journal.asked] == list("abcd")[:kept]
            journal.add(asked("e"))
        with Journal(path, ABOUT) as journal:
            assert [name for name, _, _ in journal.asked] == [*"abcd"[:kept], "e"]


def test_it_belongs_to_one_run(tmp_path: Path) -> None:
    with Journal(tmp_path / "p.journal", ABOUT) as journal:
        journal.add(asked("a"))
    with (
        pytest.raises(UserError, match=r"1 answers to other questions: benchmark was 'abc' and is now 'xyz'"),
        Journal(tmp_path / "p.journal", ABOUT | {"benchmark": "xyz"}),
    ):
        pass
    assert len((tmp_path / "p.journal").read_bytes().splitlines()) == 2, "the other run's answers are kept"


def test_something_else_is_not_taken_for_a_journal(tmp_path: Path) -> None:
    (tmp_path / "p.journal").write_text("hello\nworld\n")
    with pytest.raises(UserError, match="no journal"), Journal(tmp_path / "p.journal", ABOUT):
        pass
    assert (tmp_path / "p.journal").read_text() == "hello\nworld\n"


def test_two_processes_cannot_ask_for_the_same_output(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from veridical.solvers.vlm.answers import Journal\n"
        "with Journal(Path(sys.argv[1]), {}): print('open', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "p.journal"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(UserError, match="in use"), Journal(path, {}):
            pass
        assert path.exists()
        other.communicate("")


def test_a_run_that_asked_nothing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Journal(tmp_path / "p.journal", ABOUT):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
