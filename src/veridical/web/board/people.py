"""The routes where people sign up and in, and look after their account and teams."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from veridical.errors import UserError
from veridical.web.accounts import Limited, verified
from veridical.web.board import teams as rooms
from veridical.web.board.pages import about
from veridical.web.board.site import Member, Site, TheSite, TheVisitor, nothing
from veridical.web.board.tables import Entry, Team
from veridical.web.tables import Account
from veridical.web.visitors import Visitor, checked_form, field, page, signed_in, signed_out

router = APIRouter(include_in_schema=False)


def _status(problem: UserError | None) -> int:
    return 200 if problem is None else 429 if isinstance(problem, Limited) else 422


def _sign_page(
    request: Request, site: Site, visitor: Visitor, template: str, problem: UserError | None = None, **values: Any
) -> Response:
    shown = {**about(site), "problem": problem, "name": "", "team": "", **values}
    return page(request, visitor, template, shown, _status(problem))


@router.get("/sign-up")
def sign_up_page(request: Request, site: TheSite, visitor: TheVisitor) -> Response:
    return _sign_page(request, site, visitor, "board/sign-up.html")


@router.post("/sign-up")
async def sign_up(request: Request, site: TheSite, visitor: TheVisitor) -> Response:
    """A new account, with a team of its own."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_sign_up, request, site, visitor, form)


def _sign_up(request: Request, site: Site, visitor: Visitor, form: FormData) -> Response:
    name, team = field(form, "name"), field(form, "team")
    try:
        with site.database.write() as session:
            account = site.accounts.sign_up(session, name, field(form, "password"), visitor.address)
            rooms.make_team(session, team or name, account.id)
            token = site.accounts.signed_in(session, account.id)
    except UserError as error:
        return _sign_page(request, site, visitor, "board/sign-up.html", error, name=name, team=team)
    return signed_in(request, token)


@router.get("/log-in")
def log_in_page(request: Request, site: TheSite, visitor: TheVisitor) -> Response:
    return _sign_page(request, site, visitor, "board/log-in.html")


@router.post("/log-in")
async def log_in(request: Request, site: TheSite, visitor: TheVisitor) -> Response:
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_log_in, request, site, visitor, form)


def _log_in(request: Request, site: Site, visitor: Visitor, form: FormData) -> Response:
    name = field(form, "name")
    try:
        token = site.accounts.log_in(name, field(form, "password"), visitor.address)
    except UserError as error:
        return _sign_page(request, site, visitor, "board/log-in.html", error, name=name)
    return signed_in(request, token)


@router.post("/log-out")
async def log_out(request: Request, site: TheSite, visitor: Member) -> Response:
    """End this sign-in, or with `everywhere` all of them."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_log_out, request, site, visitor, bool(field(form, "everywhere")))


def _log_out(request: Request, site: Site, visitor: Visitor, everywhere: bool) -> Response:
    assert visitor.account is not None
    with site.database.write() as session:
        if everywhere:
            site.accounts.log_out_everywhere(session, visitor.account.id)
        else:
            site.accounts.log_out(session, visitor.cookie)
    return signed_out(request)


# --- links that work once --------------------------------------------------------------------------------------------


@router.get("/links/{purpose}/{token}")
def link_page(request: Request, site: TheSite, visitor: TheVisitor, purpose: str, token: str) -> Response:
    """Choose a password: for the account that runs this server, a new one, or one that forgot its own."""
    with site.database.read() as session:
        try:
            found = site.accounts.linked(session, token, purpose)
        except UserError:
            raise nothing() from None
        account = session.get(Account, found.account_id) if found.account_id else None
    name = account.name if account else ""
    return _sign_page(request, site, visitor, "board/link.html", name=name, purpose=purpose)


@router.post("/links/{purpose}/{token}")
async def use_link(request: Request, site: TheSite, visitor: TheVisitor, purpose: str, token: str) -> Response:
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_use_link, request, site, visitor, purpose, token, form)


def _use_link(request: Request, site: Site, visitor: Visitor, purpose: str, token: str, form: FormData) -> Response:
    name = field(form, "name")
    try:
        with site.database.write() as session:
            found = site.accounts.linked(session, token, purpose)
            account = session.get(Account, found.account_id) if found.account_id else None
            if account is None:
                account = site.accounts.make(session, name, field(form, "password"), admin=purpose == "claim")
                rooms.make_team(session, account.name, account.id)
            else:
                name = account.name
                site.accounts.change_password(session, account, field(form, "password"))
            session.delete(found)
            signed = site.accounts.signed_in(session, account.id)
    except UserError as error:
        return _sign_page(request, site, visitor, "board/link.html", error, name=name, purpose=purpose)
    return signed_in(request, signed)


# --- account and teams -----------------------------------------------------------------------------------------------


@router.get("/account")
def account_page(request: Request, site: TheSite, visitor: Member) -> Response:
    return _account_page(request, site, visitor)


def _account_page(request: Request, site: Site, visitor: Visitor, problem: UserError | None = None) -> Response:
    assert visitor.account is not None
    with site.database.read() as session:
        mine = rooms.teams_of(session, visitor.account.id)
    shown = {**about(site), "teams": mine, "problem": problem, "account": visitor.account}
    return page(request, visitor, "board/account.html", shown, _status(problem))


@router.post("/account")
async def change_account(request: Request, site: TheSite, visitor: Member) -> Response:
    """Change the password."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_change_password, request, site, visitor, form)


def _change_password(request: Request, site: Site, visitor: Visitor, form: FormData) -> Response:
    assert visitor.account is not None
    try:
        if not verified(visitor.account.password, field(form, "old")):
            raise UserError("The old password is wrong.", "Nothing was changed.")
        with site.database.write() as session:
            account = session.get(Account, visitor.account.id)
            assert account is not None
            site.accounts.change_password(session, account, field(form, "new"))
            token = site.accounts.signed_in(session, account.id)
    except UserError as error:
        return _account_page(request, site, visitor, error)
    return signed_in(request, token, "/account")


@router.post("/teams")
async def new_team(request: Request, site: TheSite, visitor: Member) -> Response:
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_new_team, request, site, visitor, field(form, "name"))


def _new_team(request: Request, site: Site, visitor: Visitor, name: str) -> Response:
    assert visitor.account is not None
    try:
        with site.database.write() as session:
            made = rooms.make_team(session, name, visitor.account.id)
    except UserError as error:
        return _account_page(request, site, visitor, error)
    return RedirectResponse(f"/teams/{made.id}", 303)


@router.get("/teams/{team}")
def team_page(request: Request, site: TheSite, visitor: Member, team: int) -> Response:
    """A team, for its members: entries, members, tokens."""
    return _team_page(request, site, visitor, team)


def _team_page(
    request: Request, site: Site, visitor: Visitor, team: int, problem: UserError | None = None, token: str = ""
) -> Response:
    with site.database.read() as session:
        found = _own_team(session, team, visitor)
        mine = select(Entry).where(Entry.team_id == team, Entry.board_id.in_(site.boards)).order_by(Entry.at.desc())
        entries = session.scalars(mine.limit(200)).all()
        shown = {
            **about(site), "team": found, "members": rooms.members_of(session, team), "problem": problem,
            "tokens": rooms.tokens_of(session, team), "token": token, "boards": site.boards, "base": request.base_url,
            "entries": [(one, site.rounding.values(one.scores) if one.scores else {}) for one in entries],
        }  # fmt: skip
    return page(request, visitor, "board/team.html", shown, _status(problem))


def _own_team(session: Session, team: int, visitor: Visitor) -> Team:
    assert visitor.account is not None
    try:
        return rooms.team_of(session, min(team, 2**31 - 1), visitor.account.id)
    except LookupError:
        raise nothing() from None


@router.post("/teams/{team}")
async def change_team(request: Request, site: TheSite, visitor: Member, team: int) -> Response:
    """Add a member, leave, make a token, revoke one."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_change_team, request, site, visitor, team, form)


def _change_team(request: Request, site: Site, visitor: Visitor, team: int, form: FormData) -> Response:
    assert visitor.account is not None
    do, name, token = field(form, "do"), field(form, "name"), ""
    try:
        with site.database.write() as session:
            _own_team(session, team, visitor)
            if do == "add":
                rooms.add_member(session, team, name)
            elif do == "leave":
                rooms.leave(session, team, visitor.account.id)
            elif do == "token":
                token = rooms.make_token(session, team, name)
            elif do == "revoke" and field(form, "token").isdecimal():
                rooms.revoke(session, team, min(int(field(form, "token")[:9]), 2**31 - 1))
    except UserError as error:
        return _team_page(request, site, visitor, team, error)
    if token:  # shown on this answer and never again
        return _team_page(request, site, visitor, team, token=token)
    return RedirectResponse("/account" if do == "leave" else f"/teams/{team}", 303)
