"""A request's body, bounded: nothing that is sent is longer than the server said it would take."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.errors import UserError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class TooLong(UserError):
    """The body is longer than what is taken."""


class Bounded:
    """Refuses bodies that are too long, by what they say of themselves or by what comes."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        said = dict(scope["headers"]).get(b"content-length", b"0")
        came, answered = 0, False

        async def bounded() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self.most:
                raise too_long(self.most)
            return message

        async def sending(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            if said.isdigit() and int(said[:18]) > self.most:
                raise too_long(self.most)
            await self.app(scope, bounded, sending)
        except TooLong as error:
            if answered:
                raise
            from starlette.responses import JSONResponse

            response = JSONResponse({"problem": error.problem, "fix": error.fix}, 413, {"connection": "close"})
            await response(scope, receive, send)


def too_long(most: int) -> TooLong:
    return TooLong(f"More than {most >> 20:,} MB were sent.", "Send predictions alone, one line for each item.")


async def kept(parts: AsyncIterator[bytes], path: Path) -> str:
    """Write what comes into a new file, which is on disk when this ends; its sha256."""
    from starlette.concurrency import run_in_threadpool

    digest = hashlib.sha256()
    with path.open("xb") as file:
        async for part in parts:
            digest.update(part)
            file.write(part)
        file.flush()
        await run_in_threadpool(os.fsync, file.fileno())
    return digest.hexdigest()
