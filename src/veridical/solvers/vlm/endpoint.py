"""The server behind a model: is it there before anything is asked, and what is said while requests are tried again.

A request that fails is tried again by Inspect, with growing pauses. A server that is not there at all is found out
within seconds; one that goes away meanwhile fails the run once a single question has used up its retries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from inspect_ai.hooks import Hooks, ModelRetry, hooks

from veridical.common.result import remark
from veridical.errors import UserError

if TYPE_CHECKING:
    from inspect_ai.model import Model
    from tenacity import RetryError

SECONDS = 5.0  # that a server has to take a connection
PAUSE = 2.0  # seconds between two remarks about retries
Tell = Callable[[str], None]

# What Inspect calls failures, in words.
_FAILURES = {
    "APIConnectionError": "no connection",
    "APITimeoutError": "no answer in time",
    "ConnectError": "no connection",
    "ConnectTimeout": "no connection in time",
    "ReadTimeout": "no answer in time",
    "TimeoutError": "no answer in time",
    "AttemptTimeoutError": "no answer in time",
    "RemoteProtocolError": "the connection was cut",
}


class Unanswered(Exception):
    """A question that used up its retries."""


def address_of(model: Model) -> str:
    """The address of the server that a model is asked at; empty where it has none, as local weights."""
    client = getattr(model.api, "client", None)
    found = getattr(client, "base_url", None) or getattr(model.api, "base_url", None)
    return str(found or "").rstrip("/")


def check_endpoint(address: str, given: str | None) -> None:
    """Refuse an address at which nothing answers; `given` is what the user wrote, if anything."""
    import httpx

    name = "--model-base-url" if given else "the address"
    if urlsplit(address).scheme not in ("http", "https"):
        raise UserError(f"{name} is {address!r}.", "Give an address such as http://127.0.0.1:8000/v1.")
    try:
        reply = httpx.get(f"{address}/models", timeout=SECONDS)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL, httpx.ProxyError) as error:
        raise UserError(
            f"Nothing answers at {address}: {_reason(error)}. Nothing was asked.",
            f"Start the server there, or mend {name}.",
        ) from None
    except httpx.TimeoutException:
        remark(f"{address} takes connections, but did not answer within {SECONDS:g} s. Going on.")
        return
    except httpx.HTTPError:
        return  # something is there, and may only have no list of models
    better = f"{address}/v1"
    if given and reply.status_code == HTTPStatus.NOT_FOUND and _is_there(f"{better}/models"):
        raise UserError(f"There are no models at {address}, but at {better}.", f"Give --model-base-url {better}.")


def _is_there(address: str) -> bool:
    import httpx

    try:
        return httpx.get(address, timeout=SECONDS).is_success
    except httpx.HTTPError:
        return False


def _reason(error: Exception) -> str:
    """Why there is no connection, as people say it."""
    text = str(error).rstrip(".")
    words = {"refused": "the connection was refused", "not known": "there is no such host", "timed out": "it timed out"}
    words |= {"No address": "there is no such host", "resolution": "the name of the host could not be looked up"}
    return next((said for part, said in words.items() if part in text), text or type(error).__name__)


def used_up(error: RetryError, model: Model) -> Unanswered:
    """The error of a question that was tried too often: why, and where."""
    cause = error.last_attempt.exception()
    kind = type(cause).__name__
    why = _FAILURES.get(kind) or f"{kind}: {cause}".splitlines()[0][:200]
    status = getattr(cause, "status_code", None)
    if isinstance(status, int):
        why = f"status {status}"
    tries = error.last_attempt.attempt_number
    return Unanswered(f"{address_of(model) or model} gave no answer in {tries} attempts ({why})")


def is_gone(error: RetryError) -> bool:
    """Whether a question failed because there was no server, and not because of what it said."""
    return getattr(error.last_attempt.exception(), "status_code", None) is None


# --- while requests are tried again ----------------------------------------------------------------------------------

_telling: list[Tell] = []  # who wants to hear of retries


class RetryRemarks(Hooks):
    """Passes retries on to those who want to hear of them, one remark every few seconds."""

    def __init__(self) -> None:
        self._last, self._unsaid = 0.0, 0

    async def on_model_retry(self, data: ModelRetry) -> None:
        self._unsaid += 1
        now = time.monotonic()
        if not _telling or now - self._last < PAUSE:
            return
        many = f"{self._unsaid:,} requests are" if self._unsaid > 1 else "A request is"
        why = f"status {data.status_code}" if data.status_code else _FAILURES.get(data.exception_type or "")
        wait = f"attempt {data.attempt} failed, the next is in {data.wait_time:.0f} s"
        text = f"{many} tried again: {why or data.exception_type} ({wait})."
        self._last, self._unsaid = now, 0
        for tell in _telling:
            tell(text)


@cache
def _listen() -> None:
    hooks("veridical_retries", "Says that requests are tried again, while it happens.")(RetryRemarks)


@contextmanager
def retries_told(tell: Tell) -> Iterator[None]:
    """Be told of retries; once the model is open, since Inspect would announce a hook that is there before."""
    _listen()
    _telling.append(tell)
    try:
        yield
    finally:
        _telling.remove(tell)
