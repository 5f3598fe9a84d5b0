"""The journal of a run: every finished answer is appended and synced before anything else happens to it.

So a run that is killed at any moment has paid at most for the requests that were in flight, and never asks a finished
one again. A line that was being written at the kill is cut off when the journal is next opened.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from veridical.common.files import DECODING_ERRORS, Json, locked
from veridical.errors import UserError


class Usage(msgspec.Struct, frozen=True):
    """Tokens and money of one answer, as the provider reports them."""

    input: int = 0  # all input tokens, cached ones too
    output: int = 0
    reasoning: int = 0  # of the output, where the provider says so
    cost: float | None = None  # in dollars; None where no price is known


class Asked(msgspec.Struct, frozen=True):
    """One finished answer."""

    item: str  # item id, or `item#k` for view k
    wording: int
    order: int
    text: str  # what the model wrote
    scores: list[float]  # one per candidate, in the benchmark's order; empty where unreadable
    stop: str = ""  # why the model stopped: stop, max_tokens, content_filter ...
    reason: str = ""  # why the answer is unreadable
    probable: bool = False  # the scores are the model's probabilities, not only its choice
    usage: Usage = Usage()

    @property
    def key(self) -> tuple[str, int, int]:
        return self.item, self.wording, self.order


class _Head(msgspec.Struct, frozen=True):
    """The first line: what this journal belongs to."""

    journal: Json


_DECODE = msgspec.json.Decoder(Asked)


class Journal:
    """Finished answers of one run, on disk and in memory; use as a context manager. One process at a time."""

    def __init__(self, path: Path, about: Json) -> None:
        self.path = path
        self.about = about
        self.asked: dict[tuple[str, int, int], Asked] = {}
        self._descriptor = -1

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        busy = UserError(
            f"{self.path} is in use: another process is asking for the same output.",
            "Wait for it, or choose another --out.",
        )
        with ExitStack() as stack:
            self._descriptor = stack.enter_context(locked(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, busy))
            self._recover()
            self._held = stack.pop_all()
        return self

    def __exit__(
        self, raised: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()
        if raised is not None and not self.asked:
            self.path.unlink(missing_ok=True)  # nothing was asked: leave nothing behind

    def add(self, asked: Asked) -> None:
        """Keep one answer; when this returns, it survives a kill and a power cut."""
        self._append(msgspec.json.encode(asked))
        self.asked[asked.key] = asked

    def _recover(self) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):  # torn by a kill
            os.ftruncate(self._descriptor, whole)
        lines = data[:whole].splitlines()
        if not lines:
            self._append(msgspec.json.encode(_Head(self.about)))
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
            return
        try:
            found = msgspec.json.decode(lines[0], type=_Head).journal
            for line in lines[1:]:
                asked = _DECODE.decode(line)
                self.asked[asked.key] = asked
        except DECODING_ERRORS as error:
            raise UserError(
                f"{self.path} is no journal of answers, or is damaged: {error}.",
                "Choose another --out, or remove it and pay for its answers again.",
            ) from None
        different = sorted(k for k in {*found, *self.about} if found.get(k) != self.about.get(k))
        if different:
            name = different[0]
            raise UserError(
                f"{self.path} holds {len(self.asked):,} answers to other questions: "
                f"{name} was {found.get(name)!r} and is now {self.about.get(name)!r}.",
                "Choose another --out, or the same settings as before to continue.",
            )

    def _append(self, line: bytes) -> None:
        data = line + b"\n"
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fsync(self._descriptor)
