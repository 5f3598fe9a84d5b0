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
