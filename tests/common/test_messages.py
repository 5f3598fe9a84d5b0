"""What is printed of what a stranger wrote: no commands for the terminal, no megabytes, no waiting at a pipe."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.common.files import read_bytes, refuse_endless
from veridical.common.result import Result, Table, remark
from veridical.errors import UserError


@given(st.text(max_size=2000), st.text(max_size=2000))
def test_a_message_is_short_and_printable(problem: str, fix: str) -> None:
    text = str(UserError(problem, fix))
    assert len(text) <= 500
    assert all(c.isprintable() or c in "\n\t" for c in text)


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    text = str(UserError("predictions.csv: " + "x" * 10_000 + " is unknown.", "Name one that is there."))
    assert text.startswith("predictions.csv: x")
    assert text.endswith("is unknown.\n  Name one that is there.")


def test_nothing_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    class Hostile(Result):
        def parts(self) -> list[Table | str]:
            rows = [("[bold]\x1b[2J\x07",)]
            return [Table("[/] of \x1b[1m", ("[red]name[/blue]",), rows), "a remark\x1b]0;title\x07"]

    Hostile().show()
    remark("again\x9b5m")
    out, err = capsys.readouterr()
    assert "[/] of" in out
    assert "[red]name[/blue]" in out
    assert "[bold]\\x1b[2J\\x07" in out
    assert not any(c in out + err for c in "\x1b\x07\x9b")


def test_a_named_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="named pipe"):
        read_bytes(tmp_path / "pipe")


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="a folder of Linux")
def test_a_named_pipe_in_memory_is_refused() -> None:
    """/dev/shm is a folder like others, and no hand of a shell."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.mkfifo(f"{folder}/pipe")
        with pytest.raises(UserError, match="named pipe"):
            refuse_endless(Path(folder, "pipe"))


def test_what_a_shell_hands_over_is_read() -> None:
    ends = os.pipe()
    os.write(ends[1], b"some")
    os.close(ends[1])
    try:
        assert read_bytes(Path(f"/dev/fd/{ends[0]}")) == b"some"
    finally:
        os.close(ends[0])
