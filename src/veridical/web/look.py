"""One look for every page of the app: the templates and the style of reports, and headers that keep text text.

A page loads scripts, styles and pictures from this server alone; whatever a benchmark or a team wrote is escaped by
the templates, and would not run if it were not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.pages import markup

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import HTMLResponse
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC = Path(str(files("veridical.web") / "static"))


@cache
def environment() -> Environment:
    """The templates of this room over those of `veridical.pages`, with the same escaping."""
    from jinja2 import ChoiceLoader, PackageLoader

    loaders = [PackageLoader("veridical.web"), PackageLoader("veridical.pages")]
    return markup.environment().overlay(loader=ChoiceLoader(loaders))


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made of a template."""
    from starlette.responses import HTMLResponse

    return HTMLResponse(environment().get_template(template).render(**values), status)


def static() -> list[BaseRoute]:
    """The routes of style sheets and scripts; the style of reports is served as one file."""
    from starlette.responses import Response
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    def pages_style(request: Request) -> Response:
        return Response(shared_style(), media_type="text/css", headers={"cache-control": "max-age=3600"})

    return [Route("/static/pages.css", pages_style), Mount("/static", StaticFiles(directory=STATIC), name="static")]


@cache
def shared_style() -> str:
    """The style of reports and audits, which the app's own adds to."""
    return f"{markup.style('plot.css')}\n{markup.style('style.css')}"


class Guarded:
    """Headers for every response: nothing from elsewhere, in no frame of strangers, no guessing of types."""

    def __init__(self, app: ASGIApp, frames: Iterable[str] = ()) -> None:
        self.app = app
        ancestors = " ".join(frames) or "'none'"  # pages that may hold ours in a frame, such as a notebook's
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
            f"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
        )
        self.headers = {
            b"content-security-policy": policy.encode(),
            b"x-content-type-options": b"nosniff",
            b"referrer-policy": b"same-origin",
            b"cross-origin-opener-policy": b"same-origin",
            b"cross-origin-resource-policy": b"same-origin",
        }
        if ancestors == "'none'":
            self.headers[b"x-frame-options"] = b"DENY"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                extra = [(name, value) for name, value in self.headers.items() if name not in given]
                message["headers"] = [*message["headers"], *extra]
            await send(message)

        await self.app(scope, receive, guarded)
