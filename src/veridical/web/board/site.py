"""What the routes share: the parts of the running app, who asks, and who may see what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from veridical.web.accounts import Accounts
from veridical.web.board.entries import Entries
from veridical.web.board.hosted import Hosted
from veridical.web.board.standings import Rounding
from veridical.web.board.tables import DRAFT, SCORED, Board, BoardHost, Entry, TeamMember
from veridical.web.board.workers import Workers
from veridical.web.collect.hosted import Collection, Signing
from veridical.web.collect.prolific import Keys
from veridical.web.collect.reading import Reading
from veridical.web.collect.tables import requesters
from veridical.web.database import Database
from veridical.web.visitors import Visitor, may_be_signed_in, visitor_of


@dataclass(frozen=True)
class Site:
    """The parts of a running server."""

    title: str
    database: Database
    reading: Reading
    accounts: Accounts
    boards: dict[str, Hosted]
    entries: Entries
    workers: Workers
    rounding: Rounding
    data: Path
    patience: float = 4.0  # seconds that a request waits for its entry to be scored
    show_items: bool = False
    collections: Mapping[str, Collection] = field(default_factory=dict)
    prolific: Keys = field(default_factory=Keys)

    @property
    def signing(self) -> Signing:
        return Signing(self.accounts)

    def collection(self, name: str) -> Collection:
        if name not in self.collections:
            raise nothing()
        return self.collections[name]

    def is_requester(self, session: Session, name: str, visitor: Visitor | None) -> bool:
        """Whether somebody runs a collection."""
        if visitor is None or visitor.account is None:
            return False
        mine = select(requesters).where(requesters.c.project == name, requesters.c.account_id == visitor.account.id)
        return visitor.account.admin or session.execute(mine).first() is not None

    def board(self, session: Session, name: str, visitor: Visitor | None = None) -> Board:
        """A board, for those who may see it."""
        found = session.get(Board, name) if name in self.boards else None
        if found is None or (found.status == DRAFT and not self.is_host(session, name, visitor)):
            raise nothing()
        return found

    def is_host(self, session: Session, board: str, visitor: Visitor | None) -> bool:
        """Whether somebody looks after a board."""
        if visitor is None or visitor.account is None:
            return False
        return visitor.account.admin or session.get(BoardHost, (board, visitor.account.id)) is not None

    def entry(self, session: Session, name: str, visitor: Visitor) -> tuple[Entry, bool]:
        """An entry, and whether who asks may see all of it: its team and the board's hosts do."""
        found = session.get(Entry, name)
        if found is None or found.board_id not in self.boards:
            raise nothing()
        board = self.board(session, found.board_id, visitor)
        account = visitor.account
        own = account is not None and found.team_id is not None
        if own and account is not None and session.get(TeamMember, (found.team_id, account.id)) is not None:
            return found, True
        if self.is_host(session, board.id, visitor):
            return found, True
        shown = found.public and not found.withdrawn and found.removed is None and found.status == SCORED
        if not shown:
            raise nothing()
        return found, False


def nothing() -> HTTPException:
    """What is not there, or not for who asks: both look the same."""
    return HTTPException(404, "There is nothing here.")


# What needs no database is async: a plain function would wait for a thread of its own, on every request.


async def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


TheSite = Annotated[Site, Depends(site_of)]


async def _visitor(request: Request, site: TheSite) -> Visitor:
    if may_be_signed_in(request):
        return await run_in_threadpool(visitor_of, request, site.accounts)
    return visitor_of(request, site.accounts)


TheVisitor = Annotated[Visitor, Depends(_visitor)]


class SignInFirst(Exception):
    """Only somebody who is signed in can go on."""


async def _member(visitor: TheVisitor) -> Visitor:
    if visitor.account is None:
        raise SignInFirst
    return visitor


Member = Annotated[Visitor, Depends(_member)]
