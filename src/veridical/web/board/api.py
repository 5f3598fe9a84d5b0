"""The routes for programs: tables for everybody; a team sends, looks at and withdraws its entries with a token."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict
from sqlalchemy import select

from veridical.web.board.entries import Said
from veridical.web.board.sent import take
from veridical.web.board.site import Site, TheSite, nothing
from veridical.web.board.standings import standings
from veridical.web.board.tables import DRAFT, OPEN, SCORED, WAITING, Board, Entry, Team
from veridical.web.board.teams import team_of_token


class Problem(BaseModel):
    """What was wrong, and what to do next."""

    problem: str
    fix: str = ""


class BoardOut(BaseModel):
    id: str
    benchmark: str
    split: str
    scheme: str
    items: int
    open: bool
    tries_per_day: int


class EntryOut(BaseModel):
    """An entry, for its team. Scores are rounded fractions."""

    id: str
    board: str
    name: str
    team: str
    paper: str
    code: str
    public: bool
    withdrawn: bool
    removed: str | None
    status: str
    said: str
    scores: dict[str, Any] | None
    sha256: str
    at: str
    address: str
    tries_left: int


class Changes(BaseModel):
    """What is to be said of an entry from now on; what is left out stays."""

    model_config = ConfigDict(extra="forbid")
    name: str | None = None
    paper: str | None = None
    code: str | None = None
    public: bool | None = None


_REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "no token, or one that was revoked"},
    404: {"model": Problem, "description": "no such thing, or not yours"},
    413: {"model": Problem, "description": "too long"},
    422: {"model": Problem, "description": "it cannot be taken; costs no try"},
    429: {"model": Problem, "description": "no try left"},
}
router = APIRouter(prefix="/api", tags=["api"])
_bearer = HTTPBearer(auto_error=False, description="a token of your team, from its page")


def _team(site: TheSite, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]) -> Team:
    if given is not None:
        with site.database.read() as session:
            team = team_of_token(session, given.credentials)
        if team is not None:
            return team
    raise HTTPException(401, "A token of a team is needed.", {"www-authenticate": "Bearer"})


TheTeam = Annotated[Team, Depends(_team)]


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: _REFUSALS[status] for status in statuses}


@router.get("/boards")
def list_boards(site: TheSite) -> list[BoardOut]:
    """Every board."""
    with site.database.read() as session:
        shown = select(Board).where(Board.status != DRAFT, Board.id.in_(site.boards))
        return [_board_out(site, board) for board in session.scalars(shown.order_by(Board.id))]


def _board_out(site: Site, board: Board) -> BoardOut:
    return BoardOut(
        id=board.id,
        benchmark=board.benchmark,
        split=board.split,
        scheme=board.scheme,
        items=site.boards[board.id].items,
        open=board.status == OPEN,
        tries_per_day=site.entries.rules.per_day,
    )


@router.get("/boards/{board}", responses=_refusals(404, 422))
def read_table(site: TheSite, board: str, sort: str | None = None) -> dict[str, Any]:
    """The table of a board, sorted by a metric; numbers are fractions."""
    with site.database.read() as session:
        return standings(session, site.board(session, board), site.rounding, sort).to_json()


@router.get("/boards/{board}/table.csv", responses=_refusals(404, 422), response_class=Response)
def read_csv(site: TheSite, board: str, sort: str | None = None) -> Response:
    """The table of a board for spreadsheets."""
    with site.database.read() as session:
        text = standings(session, site.board(session, board), site.rounding, sort).to_csv()
    headers = {"content-disposition": f'attachment; filename="{board}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


_BODY = {
    "requestBody": {
        "required": True,
        "description": "predictions: JSON lines or any of the official formats",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/boards/{board}/entries",
    status_code=201,
    responses={**_refusals(401, 404, 413, 422, 429), 202: {"model": EntryOut, "description": "taken; scored soon"}},
    openapi_extra=_BODY,
)
async def send_entry(
    request: Request,
    response: Response,
    site: TheSite,
    team: TheTeam,
    board: str,
    name: Annotated[str, Query(description="what the system is called")],
    paper: str = "",
    code: str = "",
    public: bool = False,
    file: Annotated[str, Query(description="the file's name, for complaints")] = "predictions",
) -> EntryOut:
    """Send predictions. When this answers, they are kept, and scored at once or soon; a bad file costs no try."""
    with site.database.read() as session:
        site.board(session, board)
    entry = await take(site, team.id, board, Said(name, paper, code, public), file, request.stream())
    if entry.status == WAITING:
        response.status_code = 202
    return _out(site, request, entry, team)


@router.get("/entries", responses=_refusals(401))
def list_entries(request: Request, site: TheSite, team: TheTeam) -> list[EntryOut]:
    """The entries of your team, the newest first."""
    with site.database.read() as session:
        mine = select(Entry).where(Entry.team_id == team.id, Entry.board_id.in_(site.boards))
        found = session.scalars(mine.order_by(Entry.at.desc()).limit(1000)).all()
    return [_out(site, request, entry, team) for entry in found]


@router.get("/entries/{entry}", responses=_refusals(401, 404))
def read_entry(request: Request, site: TheSite, team: TheTeam, entry: str) -> EntryOut:
    """An entry of your team."""
    with site.database.read() as session:
        found = session.get(Entry, entry)
    return _out(site, request, _own(site, team, found), team)


@router.patch("/entries/{entry}", responses=_refusals(401, 404, 422))
def change_entry(request: Request, site: TheSite, team: TheTeam, entry: str, changes: Changes) -> EntryOut:
    """Say something else of an entry, or show it to everybody."""
    with site.database.write() as session:
        found = _own(site, team, session.get(Entry, entry))
        now = Said(found.name, found.paper, found.code, found.public)
        site.entries.change(session, found, replace(now, **changes.model_dump(exclude_none=True)))
    return _out(site, request, found, team)


@router.delete("/entries/{entry}", responses=_refusals(401, 404))
def withdraw_entry(request: Request, site: TheSite, team: TheTeam, entry: str) -> EntryOut:
    """Take an entry off the board for good."""
    with site.database.write() as session:
        found = _own(site, team, session.get(Entry, entry))
        site.entries.withdraw(session, found)
    return _out(site, request, found, team)


def _own(site: Site, team: Team, entry: Entry | None) -> Entry:
    if entry is None or entry.team_id != team.id or entry.board_id not in site.boards:
        raise nothing()
    return entry


def _out(site: Site, request: Request, entry: Entry, team: Team) -> EntryOut:
    scores = None
    if entry.status == SCORED and entry.scores is not None:
        values = {name: one.to_json() for name, one in site.rounding.values(entry.scores).items()}
        by = {t: {v: one.to_json() for v, one in row.items()} for t, row in site.rounding.parts(entry.scores).items()}
        scores = {"metrics": values, "by": by}
    with site.database.read() as session:
        left = site.entries.left(session, team.id, entry.board_id)
    return EntryOut(
        id=entry.id, board=entry.board_id, name=entry.name, team=team.name, paper=entry.paper, code=entry.code,
        public=entry.public, withdrawn=entry.withdrawn, removed=entry.removed, status=entry.status, said=entry.said,
        scores=scores, sha256=entry.sha256, at=entry.at.isoformat(), address=f"{request.base_url}entries/{entry.id}",
        tries_left=left,
    )  # fmt: skip
