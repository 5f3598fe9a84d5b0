"""`veridical submit`: a file of predictions to a board, and what came of it.

What had no answer is sent again: the same file under the same name is the same entry, so that nothing counts twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from veridical.common.files import read_bytes
from veridical.common.intervals import Estimate
from veridical.common.result import Result, Table
from veridical.errors import UserError

TRIES = 5
WAIT = 600.0  # seconds for a score that comes later


@dataclass(frozen=True)
class Submitted(Result):
    """An entry on a board."""

    entry: Mapping[str, Any]

    @property
    def exit_code(self) -> int:
        return 0 if self.entry["status"] == "scored" else 1

    def parts(self) -> Iterator[Table | str]:
        one = self.entry
        found = (one["scores"] or {}).get("metrics", {})
        shown = [(name, str(Estimate(**value))) for name, value in found.items()]
        title = f"{one['name']} on {one['board']}: {one['status']}, {'public' if one['public'] else 'private'}"
        yield Table(title, ("%", "value [95%]"), shown)
        if one["said"]:
            yield one["said"]
        yield f"{one['address']}  ({one['tries_left']} tries left today)"

    def to_json(self) -> Any:
        return dict(self.entry)


def submit(url: str, file: Path, token: str, said: Mapping[str, Any]) -> Submitted:
    """Send a file to a board, given by its address, and wait for the score."""
    import httpx

    base, board = board_of(url)
    data = read_bytes(file)
    with httpx.Client(base_url=base, headers={"authorization": f"Bearer {token}"}, timeout=120) as client:
        board = board or _only_board(client)
        query = {**said, "file": file.name, "public": "true" if said.get("public") else "false"}
        entry = _answer(_tried(lambda: client.post(f"/api/boards/{board}/entries", params=query, content=data)))
        until = time.monotonic() + WAIT
        while entry["status"] == "waiting" and time.monotonic() < until:
            time.sleep(1)
            entry = _answer(_tried(partial(client.get, f"/api/entries/{entry['id']}")))
    return Submitted(entry)


def board_of(url: str) -> tuple[str, str | None]:
    """The server of an address, and the board that it names.

    >>> board_of("https://example.org/boards/nlvr-test")
    ('https://example.org', 'nlvr-test')
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{url!r} is not the address of a board.", "Copy it from the browser: https://.../boards/...")
    words = [word for word in parts.path.split("/") if word]
    if words and words[0] == "api":
        words = words[1:]
    return f"{parts.scheme}://{parts.netloc}", words[1] if words[:1] == ["boards"] and len(words) > 1 else None


def _only_board(client: Any) -> str:
    boards = [one["id"] for one in _answer(_tried(lambda: client.get("/api/boards")))]
    if len(boards) != 1:
        problem = f"The server has {len(boards)} boards."
        raise UserError(problem, f"Give the address of one: {client.base_url}/boards/{boards[0] if boards else '...'}.")
    return str(boards[0])


def _tried(send: Any) -> Any:
    """The answer to a request, which is sent again where there was none."""
    import httpx

    for number in range(TRIES):
        try:
            answer = send()
            if answer.status_code != 503:
                return answer
        except httpx.TransportError as error:
            if number == TRIES - 1:
                raise UserError(f"The server does not answer: {error}.", "Check the address, or try later.") from None
        time.sleep(0.5 * 2**number)
    return answer


def _answer(answer: Any) -> Any:
    """What the server said, or its refusal."""
    try:
        found = answer.json()
    except ValueError:
        found = None
    if answer.is_success and found is not None:
        return found
    if isinstance(found, dict) and "problem" in found:
        raise UserError(str(found["problem"]), str(found.get("fix", "")))
    raise UserError(f"The server answered {answer.status_code}.", "Is this the address of a board?")
