"""The whole app, boards and collections: its parts put together, its routes, and what a refusal looks like."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, RedirectResponse, Response

from veridical import __version__
from veridical.common.files import read_bytes, write_whole
from veridical.errors import NO_SPACE, UserError
from veridical.options.serving import ServeOptions
from veridical.web import look
from veridical.web.accounts import Accounts, Limited
from veridical.web.board import api, hosting, items, pages, people
from veridical.web.board.entries import Entries, Rules
from veridical.web.board.hosted import Hosted
from veridical.web.board.identity import check_belongs
from veridical.web.board.site import SignInFirst, Site
from veridical.web.board.standings import Rounding, standings
from veridical.web.board.tables import Board
from veridical.web.board.uploads import Bounded, TooLong
from veridical.web.board.workers import Limits, Workers
from veridical.web.collect import api as collect_api
from veridical.web.collect import entry_pages, request_pages, work_pages
from veridical.web.collect.entry_pages import JoinFirst
from veridical.web.collect.hosted import Ticking, opened
from veridical.web.collect.sql_store import SqlStore
from veridical.web.database import DATABASE, SECRET, Database, sqlite_address, usable
from veridical.web.visitors import Forged, page, visitor_of

SECRET_BYTES = 32
AGAIN = "Try again in a moment. Nothing was changed."
FORM = 1 << 16  # bytes that a form needs beside its file


def make_site(
    boards: dict[str, Hosted], data: Path, options: ServeOptions, database: str | None = None,
    collections: Sequence[Path | str] = (),
) -> Site:  # fmt: skip
    """The parts of a server, its database ready; `collections` are folders of projects."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    base = Database(database or sqlite_address(data / DATABASE))
    entries = Entries(base, data / "entries", Rules(options.per_day, options.total))
    limits = Limits(options.seconds, options.megabytes, options.smallest_part)
    with usable(base):
        base.upgrade()
        check_belongs(base, entries, data)
        entries.sweep()
        secret = _secret(data / SECRET)
        projects = opened(collections, SqlStore(base, secret))
    site = Site(
        title=options.title,
        database=base,
        accounts=Accounts(base, secret, options.sign_up),
        boards=boards,
        entries=entries,
        workers=Workers(base, boards, data / "entries", limits, options.processes),
        rounding=Rounding(options.round),
        data=data,
        patience=options.patience,
        show_items=options.show_items,
        collections=projects,
    )
    site.workers.compare_later = partial(_compare, site)
    return site


def _compare(site: Site, board: str) -> None:
    """Have the neighbours of a table compared that are new."""
    with site.database.read() as session:
        found = session.get(Board, board)
        unmarked = standings(session, found, site.rounding).unmarked if found else ()
    for one, other in unmarked:
        site.workers.add(one, other)


def _secret(path: Path) -> bytes:
    """What keys hashes: made once, kept in a file that its owner alone reads."""
    if not path.exists():
        write_whole(path, secrets.token_hex(SECRET_BYTES))
        path.chmod(0o600)
    found = read_bytes(path)
    if len(found) < SECRET_BYTES:
        problem = f"{path} has {len(found)} bytes: it cannot be the secret of this board."
        raise UserError(problem, "Put a backup of it back; or remove it, and whoever is signed in signs in again.")
    return found


def make_app(site: Site, most: int) -> FastAPI:
    """The app; `most` are the bytes of a body that it takes."""

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        ticking = Ticking(site.collections)
        site.workers.start()
        ticking.start()
        try:
            yield
        finally:
            await run_in_threadpool(ticking.stop)
            await run_in_threadpool(site.workers.stop)
            site.database.close()

    app = FastAPI(
        title=site.title, version=__version__, lifespan=running, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json",
    )  # fmt: skip
    app.state.site = site
    collecting = (collect_api, entry_pages, work_pages, request_pages) if site.collections else ()
    for part in (api, pages, people, hosting, *collecting, *([items] if site.show_items else [])):
        app.include_router(part.router)
    app.router.routes.extend(look.static())
    _refusals(app)
    app.add_middleware(Bounded, most=most + FORM)
    app.add_middleware(look.Guarded)
    return app


def _refusals(app: FastAPI) -> None:
    """What each error becomes."""

    @app.exception_handler(UserError)
    async def refused(request: Request, error: UserError) -> Response:
        status = 429 if isinstance(error, Limited) else 413 if isinstance(error, TooLong) else 422
        return await _problem(request, status, error)

    @app.exception_handler(RequestValidationError)
    async def unlawful(request: Request, error: RequestValidationError) -> Response:
        if not _is_api(request):
            return await _problem(request, 404, UserError("There is nothing here."))
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"][1:])) or "the body"
        return await _problem(request, 422, UserError(f"{where}: {first['msg']}.", "See /api/openapi.json."))

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        made = await _problem(request, error.status_code, UserError(str(error.detail)))
        made.headers.update(error.headers or {})
        return made

    @app.exception_handler(SignInFirst)
    async def sign_in_first(request: Request, error: SignInFirst) -> Response:
        return RedirectResponse("/log-in", 303)

    @app.exception_handler(JoinFirst)
    async def join_first(request: Request, error: JoinFirst) -> Response:
        return RedirectResponse(f"/collections/{error.project}", 303)

    @app.exception_handler(Forged)
    async def forged(request: Request, error: Forged) -> Response:
        fix = "Go back, load the page again, and send the form once more."
        return await _problem(request, 403, UserError("This form is too old, or did not come from here.", fix))

    @app.exception_handler(ClientDisconnect)
    async def hung_up(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=400)

    @app.exception_handler(SQLAlchemyError)
    async def no_database(request: Request, error: SQLAlchemyError) -> Response:
        return JSONResponse({"problem": "The database does not answer.", "fix": AGAIN}, 503)

    @app.exception_handler(OSError)
    async def no_room(request: Request, error: OSError) -> Response:
        if error.errno not in NO_SPACE:
            raise error
        return JSONResponse({"problem": "The server has no room for this.", "fix": AGAIN}, 503)


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


async def _problem(request: Request, status: int, error: UserError) -> Response:
    if _is_api(request):
        return JSONResponse({"problem": error.problem, "fix": error.fix}, status)
    site: Site = request.app.state.site
    visitor = await run_in_threadpool(visitor_of, request, site.accounts)
    shown = {**pages.about(site), "problem": error}
    return page(request, visitor, "board/problem.html", shown, status)
