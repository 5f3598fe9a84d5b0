"""The routes of hosts: open and close a board, remove entries, appoint others; and of whoever runs the server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from veridical.errors import UserError
from veridical.web.accounts import name_key
from veridical.web.board.pages import about
from veridical.web.board.site import Member, Site, TheSite, nothing
from veridical.web.board.tables import ADDRESS, CLOSED, DRAFT, OPEN, Board, BoardHost, Entry, Team
from veridical.web.tables import Account
from veridical.web.visitors import Visitor, checked_form, field, page

router = APIRouter(include_in_schema=False)
MOST_SHOWN = 500


@router.get("/boards/{board}/host")
def host_page(request: Request, site: TheSite, visitor: Member, board: str) -> Response:
    """A board as its hosts see it: every entry, the private ones too."""
    return _host_page(request, site, visitor, board)


def _host_page(
    request: Request, site: Site, visitor: Visitor, board: str, problem: UserError | None = None
) -> Response:
    with site.database.read() as session:
        found = _own_board(session, site, visitor, board)
        every = select(Entry, Team).outerjoin(Team, Team.id == Entry.team_id).where(Entry.board_id == board)
        entries = session.execute(every.order_by(Entry.at.desc()).limit(MOST_SHOWN)).all()
        hosts = session.scalars(select(Account).join(BoardHost).where(BoardHost.board_id == board)).all()
        shown: dict[str, Any] = {
            **about(site), "board": found, "hosted": site.boards[board], "hosts": hosts, "problem": problem,
            "entries": [(e, team, site.rounding.values(e.scores) if e.scores else {}) for e, team in entries],
            "statuses": (DRAFT, OPEN, CLOSED),
        }  # fmt: skip
    return page(request, visitor, "board/host.html", shown, 422 if problem else 200)


def _own_board(session: Session, site: Site, visitor: Visitor, board: str) -> Board:
    if board not in site.boards or not site.is_host(session, board, visitor):
        raise nothing()
    return site.board(session, board, visitor)


@router.post("/boards/{board}/host")
async def change_board(request: Request, site: TheSite, visitor: Member, board: str) -> Response:
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_change_board, request, site, visitor, board, form)


def _change_board(request: Request, site: Site, visitor: Visitor, board: str, form: FormData) -> Response:
    do = field(form, "do")
    try:
        with site.database.write() as session:
            found = _own_board(session, site, visitor, board)
            if do == "status" and field(form, "status") in (DRAFT, OPEN, CLOSED):
                found.status = field(form, "status")
            elif do in ("remove", "restore"):
                _remove(session, board, field(form, "entry"), field(form, "reason") if do == "remove" else None)
            elif do == "appoint":
                _appoint(session, board, field(form, "name"))
            elif do == "dismiss":
                key = name_key(field(form, "name"))
                gone = select(Account.id).where(Account.key == key).scalar_subquery()
                session.execute(delete(BoardHost).where(BoardHost.board_id == board, BoardHost.account_id == gone))
    except UserError as error:
        return _host_page(request, site, visitor, board, error)
    return RedirectResponse(f"/boards/{board}/host" if do != "dismiss" else "/", 303)


def _remove(session: Session, board: str, name: str, reason: str | None) -> None:
    """Take an entry off the board, or put it back where `reason` is None."""
    found = session.get(Entry, name)
    if found is None or found.board_id != board:
        raise nothing()
    if reason is not None and not reason.strip():
        raise UserError("No reason was given.", "Say why the entry is removed: its team reads it.")
    found.removed = None if reason is None else reason.strip()[:ADDRESS]


def _appoint(session: Session, board: str, name: str) -> None:
    account = session.scalar(select(Account).where(Account.key == name_key(name)))
    if account is None:
        raise UserError(f"There is no account {name.strip()!r}.", "Have them sign up first.")
    if session.get(BoardHost, (board, account.id)) is None:
        session.add(BoardHost(board_id=board, account_id=account.id))


# --- the admin -------------------------------------------------------------------------------------------------------


@router.get("/admin")
def admin_page(request: Request, site: TheSite, visitor: Member) -> Response:
    """Every account."""
    return _admin_page(request, site, visitor)


def _admin_page(request: Request, site: Site, visitor: Visitor, link: str = "") -> Response:
    if not visitor.is_admin:
        raise nothing()
    with site.database.read() as session:
        accounts = session.scalars(select(Account).order_by(Account.key).limit(MOST_SHOWN)).all()
    shown = {**about(site), "accounts": accounts, "link": link, "waiting": site.workers.waiting}
    return page(request, visitor, "board/admin.html", shown)


@router.post("/admin")
async def change_accounts(request: Request, site: TheSite, visitor: Member) -> Response:
    """Block an account, let it in again, or make a link: for a new password, or for a new account."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_change_accounts, request, site, visitor, form)


def _change_accounts(request: Request, site: Site, visitor: Visitor, form: FormData) -> Response:
    if not visitor.is_admin or visitor.account is None:
        raise nothing()
    do, key, link = field(form, "do"), name_key(field(form, "name")), ""
    with site.database.write() as session:
        account = session.scalar(select(Account).where(Account.key == key))
        if do == "invite":
            link = f"{request.base_url}links/account/{site.accounts.link(session, 'account')}"
        elif account is None:
            raise nothing()
        elif do == "block" and account.id != visitor.account.id:
            account.blocked = True
            site.accounts.log_out_everywhere(session, account.id)
        elif do == "unblock":
            account.blocked = False
        elif do == "password":
            link = f"{request.base_url}links/password/{site.accounts.link(session, 'password', account.id)}"
    return _admin_page(request, site, visitor, link)
