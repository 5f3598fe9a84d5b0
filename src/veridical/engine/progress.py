"""Progress of long work, for people: a bar with rate and time left on a terminal, a plain line now and then elsewhere.

Everything goes to stderr, so that `--json` results on stdout stay clean; VERIDICAL_PROGRESS=0 silences it. `advance`
may be called from several threads and costs a lock and an addition, so it may sit in inner loops.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PLAIN_SECONDS = 5.0  # between two plain lines
BAR_SECONDS = 0.1  # between two redraws of a bar


class Progress:
    """Counts items of work done; use as a context manager and call `advance` as work is finished."""

    def __init__(
        self,
        label: str,
        total: int | None = None,
        unit: str = "items",
        *,
        stream: TextIO | None = None,
        every: float = PLAIN_SECONDS,
    ) -> None:
        self.label, self.total, self.unit = label, total, unit
        self.done = 0
        self.failed = 0  # work that came to nothing: it is over, but not done
        self._skipped = 0  # work that an earlier run had finished: it counts as done, but not for the rate
        self._stream = sys.stderr if stream is None else stream
        self._every = every
        self._lock = threading.Lock()
        self._start = self._last = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._silent = not label or os.environ.get("VERIDICAL_PROGRESS") == "0"  # without a label, others tell

    def __enter__(self) -> Self:
        self._start = self._last = time.monotonic()
        if not self._silent and self._stream.isatty():
            self._open_bar()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            early = kind is None and self.total is not None and self.done + self.failed < self.total
            if self._bar is not None and self._task is not None:
                said = f"{self.label}, stopped early" if early else self.label
                self._bar.update(
                    self._task, completed=self.done, rate=self._rate_text(), description=said, refresh=True
                )
                self._bar.stop()
            if not self._silent and (self._bar is None or self.failed):
                ending = f"{self.failed:,} failed" if self.failed else "stopped early" if early else "done"
                self._line(ending if kind is None else "stopped")

    def note(self, text: str) -> None:
        """Say something about the work while it goes on."""
        with self._lock:
            if self._bar is not None:
                self._bar.console.print(text, highlight=False, markup=False)
            elif not self._silent:
                print(text, file=self._stream, flush=True)

    def advance(self, n: int = 1, *, skipped: bool = False, failed: bool = False) -> None:
        """Count `n` more items as done; `skipped` ones were done before this run, `failed` ones are not done at all."""
        with self._lock:
            if failed:
                self.failed += n
            else:
                self.done += n
            if skipped:
                self._skipped += n
            now = time.monotonic()
            if self._silent or now - self._last < (BAR_SECONDS if self._bar is not None else self._every):
                return
            self._last = now
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, completed=self.done, rate=self._rate_text())
            else:
                self._line(self._left())

    @property
    def rate(self) -> float:
        """Items per second of this run."""
        return (self.done - self._skipped) / max(time.monotonic() - self._start, 1e-9)

    def _rate_text(self) -> str:
        rate = f"{self.rate:,.0f}" if self.rate >= 100 else f"{self.rate:.3g}"
        return f"{rate} {self.unit}/s"

    def _left(self) -> str:
        failed = f"{self.failed:,} failed" if self.failed else ""
        if self.total is None or self.rate <= 0:
            return failed
        left = f"{clock(max(self.total - self.done - self.failed, 0) / self.rate)} left"
        return f"{failed}, {left}" if failed else left

    def _line(self, ending: str) -> None:
        of = "" if self.total is None else f"/{self.total:,}"
        spent = clock(time.monotonic() - self._start)
        parts = [f"{self.label}: {self.done:,}{of} {self.unit}", self._rate_text(), spent, ending]
        print(", ".join(part for part in parts if part), file=self._stream, flush=True)

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = [
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
        ]
        self._bar = RichProgress(*columns, console=Console(file=self._stream))
        self._task = self._bar.add_task(self.label, total=self.total, rate="")
        self._bar.start()


@dataclass
class Clock:
    """Seconds by step; each begins where the one before it ended."""

    seconds: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def done(self, step: str) -> None:
        """A step has ended, and the next begins."""
        now = time.perf_counter()
        self.seconds[step], self.last = now - self.last, now


def clock(seconds: float) -> str:
    """A length of time for people.

    >>> clock(7.4), clock(75), clock(3 * 3600 + 120)
    ('0:07', '1:15', '3:02:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
