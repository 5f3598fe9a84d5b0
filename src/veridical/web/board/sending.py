"""`veridical submit`: a file of predictions to a board, and what came of it.

What had no answer is sent again: the same file under the same name is the same entry, so that nothing counts twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from veridical.common.files import DECODING_ERRORS, read_bytes
from veridical.common.intervals import Estimate
from veridical.common.result import Result, Table
from veridical.errors import UserError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
TRIES = 5
LONGEST = 1 << 24  # bytes of an answer
NO_BOARD = "Is this the address of a board?"
WAIT = 600.0  # seconds for a score that comes later


class Scores(msgspec.Struct):
    """What an entry scored."""

    metrics: dict[str, Estimate]


class SentEntry(msgspec.Struct):
    """An entry as a board describes it; it may say more."""

    id: str
    board: str
    name: str
    status: str
    public: bool
    said: str
    address: str
    tries_left: int
    scores: Scores | None = None


class HostedBoard(msgspec.Struct):
    """A board as its server describes it."""

    id: str


@dataclass(frozen=True)
class Submitted(Result):
    """An entry on a board."""

    entry: SentEntry
    said: Mapping[str, Any]  # all that the server says of it

    @property
    def exit_code(self) -> int:
        return 0 if self.entry.status == "scored" else 1

    def parts(self) -> Iterator[Table | str]:
        one = self.entry
        shown = [(name, str(value)) for name, value in one.scores.metrics.items()] if one.scores else []
        title = f"{one.name} on {one.board}: {one.status}, {'public' if one.public else 'private'}"
        yield Table(title, ("%", "value [95%]"), shown)
        if one.said:
            yield one.said
        yield f"{one.address}  ({one.tries_left} tries left today)"

    def to_json(self) -> Any:
        return dict(self.said)


def submit(url: str, file: Path, token: str, said: Mapping[str, Any]) -> Submitted:
    """Send a file to a board, given by its address, and wait for the score."""
    import httpx

    base, board = board_of(url)
    data = read_bytes(file)
    try:
        with httpx.Client(base_url=base, headers={"authorization": f"Bearer {token}"}, timeout=120) as client:
            board = board or _only_board(client)
            query = {**said, "file": file.name, "public": "true" if said.get("public") else "false"}
            found = _asked(client, "POST", f"/api/boards/{board}/entries", params=query, content=data)
            entry = _as(found, SentEntry)
            until = time.monotonic() + WAIT
            while entry.status == "waiting" and time.monotonic() < until:
                time.sleep(1)
                found = _asked(client, "GET", f"/api/entries/{entry.id}")
                entry = _as(found, SentEntry)
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise UserError(f"{url!r} cannot be asked: {error}.", "Check the address and the token.") from None
    return Submitted(entry, found)


def board_of(url: str) -> tuple[str, str | None]:
    """The server of an address, and the board that it names.

    >>> board_of("https://example.org/boards/nlvr-test")
    ('https://example.org', 'nlvr-test')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{url!r} is not the address of a board.", "Copy it from the browser: https://.../boards/...")
    words = [word for word in parts.path.split("/") if word]
    if words and words[0] == "api":
        words = words[1:]
    return f"{parts.scheme}://{parts.netloc}", words[1] if words[:1] == ["boards"] and len(words) > 1 else None


def _only_board(client: httpx.Client) -> str:
    boards = [one.id for one in _as(_asked(client, "GET", "/api/boards"), list[HostedBoard])]
    if len(boards) != 1:
        problem = f"The server has {len(boards)} boards."
        raise UserError(problem, f"Give the address of one: {client.base_url}/boards/{boards[0] if boards else '...'}.")
    return boards[0]


def _asked(client: httpx.Client, method: str, path: str, **request: Any) -> Any:
    """What the server says to a request, which is sent again where there was no answer; or its refusal."""
    import httpx

    for number in range(TRIES):
        try:
            status, text = _answer(client, method, path, **request)
            if status != 503:
                break
        except httpx.TransportError as error:
            if number == TRIES - 1:
                raise UserError(f"The server does not answer: {error}.", "Check the address, or try later.") from None
        except httpx.DecodingError as error:
            raise UserError(f"What the server answers cannot be read: {error}.", NO_BOARD) from None
        time.sleep(0.5 * 2**number)
    try:
        found = msgspec.json.decode(text)
    except DECODING_ERRORS:
        found = None
    if 200 <= status < 300 and found is not None:
        return found
    if isinstance(found, dict) and "problem" in found:
        raise UserError(str(found["problem"]), str(found.get("fix", "")))
    raise UserError(f"The server answered {status}.", NO_BOARD)


def _answer(client: httpx.Client, method: str, path: str, **request: Any) -> tuple[int, bytes]:
    """The status and the text of one answer, which may not be longer than any of ours."""
    text = b""
    with client.stream(method, path, **request) as answer:
        for part in answer.iter_bytes():
            text += part
            if len(text) > LONGEST:
                raise UserError(f"The server answers with more than {LONGEST:,} bytes.", NO_BOARD)
    return answer.status_code, text


def _as(found: Any, kind: type[T]) -> T:
    """What a server said, as it should be."""
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise UserError(f"The server answers with something else: {error}.", NO_BOARD) from None
