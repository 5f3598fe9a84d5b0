"""Progress: plain lines where there is no terminal, a bar where there is one, nothing where it is switched off."""

from __future__ import annotations

import io
import threading

import pytest

from veridical.engine.progress import Progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIDICAL_PROGRESS", raising=False)


def test_plain_lines_say_what_is_done_and_how_fast() -> None:
    out = io.StringIO()
    with Progress("drawing", 1000, "scenes", stream=out, every=0.0) as progress:
        progress.advance(400)
        progress.advance(600)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("drawing: 400/1,000 scenes, ")
    assert "scenes/s" in lines[0]
    assert lines[0].endswith("left")
    assert lines[-1].startswith("drawing: 1,000/1,000 scenes")
    assert lines[-1].endswith("done")


def test_lines_are_seldom() -> None:
    out = io.StringIO()
    with Progress("drawing", stream=out) as progress:
        for _ in range(10_000):
            progress.advance()
    assert len(out.getvalue().splitlines()) == 1  # only the last one: 10,000 steps take far less than five seconds


def test_an_error_is_not_called_done() -> None:
    out = io.StringIO()

    def fail() -> None:
        with Progress("drawing", 10, stream=out) as progress:
            progress.advance(3)
            raise KeyError("x")

    with pytest.raises(KeyError):
        fail()
    assert out.getvalue().strip().endswith("stopped")


def test_work_that_needs_less_than_was_planned_says_so() -> None:
    """A training that stops early left a bar at 189 of 270, as if it hung."""
    for out in (io.StringIO(), _Terminal()):
        with Progress("training", 270, "steps", stream=out) as progress:
            progress.advance(189)
        assert "stopped early" in out.getvalue()
        assert "189/270" in out.getvalue()


def test_what_failed_is_not_called_done() -> None:
    out = io.StringIO()
    with Progress("files", 3, "files", stream=out, every=0.0) as progress:
        progress.advance()
        progress.advance(2, failed=True)
    assert (progress.done, progress.failed) == (1, 2)
    assert out.getvalue().splitlines()[-1].startswith("files: 1/3 files, ")
    assert out.getvalue().endswith(", 2 failed\n")
    terminal = _Terminal()
    with Progress("files", 1, "files", stream=terminal) as progress:
        progress.advance(failed=True)
    assert "1 failed" in terminal.getvalue()


def test_notes_stand_between(monkeypatch: pytest.MonkeyPatch) -> None:
    for out in (io.StringIO(), _Terminal()):
        with Progress("asking", 2, stream=out) as progress:
            progress.note("A request is [tried] again.")
        assert "A request is [tried] again." in out.getvalue()
    monkeypatch.setenv("VERIDICAL_PROGRESS", "0")
    with Progress("asking", 2, stream=(out := io.StringIO())) as progress:
        progress.note("again")
    assert out.getvalue() == ""


def test_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_PROGRESS", "0")
    for out in (io.StringIO(), _Terminal()):
        with Progress("drawing", 10, stream=out, every=0.0) as progress:
            progress.advance(10)
        assert out.getvalue() == ""
        assert progress.done == 10


def test_a_terminal_gets_a_bar() -> None:
    out = _Terminal()
    with Progress("drawing", 10, "scenes", stream=out) as progress:
        progress.advance(10)
    assert "drawing" in out.getvalue()
    assert "10/10" in out.getvalue()
    assert "scenes/s" in out.getvalue()


def test_threads_lose_no_count() -> None:
    with Progress("drawing", stream=io.StringIO()) as progress:
        threads = [threading.Thread(target=lambda: [progress.advance() for _ in range(5000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert progress.done == 20_000


def test_skipped_work_does_not_count_as_speed() -> None:
    with Progress("drawing", 1000, stream=io.StringIO()) as progress:
        progress.advance(1000, skipped=True)
        assert progress.rate == 0
