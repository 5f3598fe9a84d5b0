"""The routes for people: the boards, their tables, an entry, and a form to send one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import RedirectResponse, Response

from veridical.errors import UserError
from veridical.web.accounts import Limited
from veridical.web.board.drawn import breakdown, over_time
from veridical.web.board.entries import Said
from veridical.web.board.sent import take
from veridical.web.board.site import Member, Site, TheSite, TheVisitor, nothing
from veridical.web.board.standings import LOOKS, PART_POINTS, standings
from veridical.web.board.tables import DRAFT, OPEN, Board, Entry, Team
from veridical.web.board.teams import team_of, teams_of
from veridical.web.visitors import Visitor, checked_form, field, page

router = APIRouter(include_in_schema=False)
CHUNK = 1 << 18
FORMATS = (  # that are taken, with an example of each
    ("JSON lines with scores", '{"item": "...", "scores": [0.1, 0.9]}'),
    ("JSON lines with an answer", '{"item": "...", "answer": true}'),
    ("CSV, as the scripts of NLVR and NLVR2 take it", "item,true"),
    ("CSV of VCR's leaderboard", "annot_id and 20 probabilities"),
    ("one JSON object", '{"item": true, "another item": false}'),
)


@router.get("/")
def front(request: Request, site: TheSite, visitor: TheVisitor) -> Response:
    """Every board, and who leads it; and the collections that who asks may run."""
    with site.database.read() as session:
        found = session.scalars(select(Board).where(Board.id.in_(site.boards)).order_by(Board.made, Board.id)).all()
        shown = [one for one in found if one.status != DRAFT or site.is_host(session, one.id, visitor)]
        boards = [(one, site.boards[one.id], standings(session, one, site.rounding)) for one in shown]
        hosted = {one.id for one in shown if site.is_host(session, one.id, visitor)}
        run = [one for one in site.collections.values() if site.is_requester(session, one.name, visitor)]
    values = {**about(site), "boards": boards, "hosted": hosted, "collections": run}
    return page(request, visitor, "board/front.html", values)


@router.get("/rules")
def rules(request: Request, site: TheSite, visitor: TheVisitor) -> Response:
    """What can be sent, what is limited and shown, and what that does not stop."""
    values = {
        "formats": FORMATS, "rules": site.entries.rules, "limits": site.workers.limits, "points": site.rounding.points,
        "part_points": max(PART_POINTS, site.rounding.points), "show_items": site.show_items,
    }  # fmt: skip
    return page(request, visitor, "board/rules.html", {**about(site), **values})


@router.get("/boards/{board}")
def show_board(request: Request, site: TheSite, visitor: TheVisitor, board: str, sort: str | None = None) -> Response:
    """The table of a board, and how to get onto it."""
    return _board_page(request, site, visitor, board, sort)


def _board_page(
    request: Request, site: Site, visitor: Visitor, board: str, sort: str | None = None,
    problem: UserError | None = None, said: Said | None = None,
) -> Response:  # fmt: skip
    with site.database.read() as session:
        found = site.board(session, board, visitor)
        try:
            table = standings(session, found, site.rounding, sort)
        except UserError:
            raise nothing() from None
        teams = teams_of(session, visitor.account.id) if visitor.account else []
        left = {team.id: site.entries.left(session, team.id, board) for team in teams}
        is_host = site.is_host(session, board, visitor)
    for one, other in table.unmarked:
        site.workers.add(one, other)
    values: dict[str, Any] = {
        "board": found, "hosted": site.boards[board], "table": table, "looks": LOOKS, "teams": teams, "left": left,
        "is_host": is_host, "takes": found.status == OPEN, "rules": site.entries.rules, "problem": problem,
        "said": said or Said(""), "parts_of": breakdown(table), "time": over_time(table),
        "show_items": site.show_items, "base": str(request.base_url), "points": site.rounding.points,
    }  # fmt: skip
    status = 200 if problem is None else 429 if isinstance(problem, Limited) else 422
    return page(request, visitor, "board/board.html", {**about(site), **values}, status)


@router.post("/boards/{board}/entries")
async def send_by_form(request: Request, site: TheSite, visitor: Member, board: str) -> Response:
    """Take a file from the form of a board's page."""
    form = await checked_form(request, visitor)
    said = said_of(form)
    file = form.get("file")
    try:
        team = await run_in_threadpool(_team_of_form, site, visitor, board, form)
        if not isinstance(file, UploadFile) or not file.filename:
            raise UserError("No file was chosen.", "Choose a file of predictions.")
        entry = await take(site, team, board, said, file.filename, _parts(file))
    except UserError as error:
        return await run_in_threadpool(_board_page, request, site, visitor, board, None, error, said)
    return RedirectResponse(f"/entries/{entry.id}", 303)


async def _parts(file: UploadFile) -> AsyncIterator[bytes]:
    while part := await file.read(CHUNK):
        yield part


def _team_of_form(site: Site, visitor: Visitor, board: str, form: FormData) -> int:
    assert visitor.account is not None
    with site.database.read() as session:
        site.board(session, board, visitor)
        chosen = field(form, "team")
        mine = teams_of(session, visitor.account.id)
        if not mine:
            raise UserError("You are in no team.", "Make one on the page of your account.")
        if chosen.isdecimal() and any(team.id == int(chosen) for team in mine):
            return int(chosen)
        return mine[0].id


def said_of(form: FormData) -> Said:
    """What a form says of an entry."""
    return Said(field(form, "name"), field(form, "paper"), field(form, "code"), field(form, "public") == "yes")


@router.get("/entries/{entry}")
def show_entry(request: Request, site: TheSite, visitor: TheVisitor, entry: str) -> Response:
    """One entry: its scores and, for its team and hosts, everything else."""
    return _entry_page(request, site, visitor, entry)


def _entry_page(
    request: Request, site: Site, visitor: Visitor, entry: str, problem: UserError | None = None
) -> Response:
    with site.database.read() as session:
        found, whole = site.entry(session, entry, visitor)
        board = site.board(session, found.board_id, visitor)
        team = session.get(Team, found.team_id) if found.team_id else None
        mine = visitor.account is not None and _is_mine(session, found, visitor.account.id)
        left = site.entries.left(session, found.team_id, board.id) if mine and found.team_id else None
    scores = found.scores if found.status == "scored" else None
    values: dict[str, Any] = {
        "entry": found, "board": board, "hosted": site.boards[board.id], "team": team, "whole": whole, "mine": mine,
        "values": site.rounding.values(scores) if scores else {}, "left": left, "problem": problem,
        "parts_of": site.rounding.parts(scores) if scores else {}, "extra": scores.get("extra", 0) if scores else 0,
        "sizes": {t: {v: k["items"] for v, k in row.items()} for t, row in scores["by"].items()} if scores else {},
    }  # fmt: skip
    return page(request, visitor, "board/entry.html", {**about(site), **values}, 422 if problem else 200)


def _is_mine(session: Session, entry: Entry, account: int) -> bool:
    if entry.team_id is None:
        return False
    try:
        team_of(session, entry.team_id, account)
    except LookupError:
        return False
    return True


@router.post("/entries/{entry}")
async def change_entry(request: Request, site: TheSite, visitor: Member, entry: str) -> Response:
    """Say something else of an entry, show it to everybody, or withdraw it."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_changed, request, site, visitor, entry, form)


def _changed(request: Request, site: Site, visitor: Visitor, entry: str, form: FormData) -> Response:
    assert visitor.account is not None
    try:
        with site.database.write() as session:
            found, _ = site.entry(session, entry, visitor)
            if not _is_mine(session, found, visitor.account.id):
                raise nothing()
            if field(form, "do") == "withdraw":
                site.entries.withdraw(session, found)
            elif not found.withdrawn:
                site.entries.change(session, found, said_of(form))
    except UserError as error:
        return _entry_page(request, site, visitor, entry, error)
    return RedirectResponse(f"/entries/{entry}", 303)


def about(site: Site) -> dict[str, Any]:
    """What every page of the board says of the site."""
    return {"brand": site.title, "sign_up": site.accounts.is_open}
