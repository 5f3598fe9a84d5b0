"""The board in the database: boards and their hosts, teams and their tokens, entries, comparisons."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from veridical.web.database import Base, Moment, now
from veridical.web.tables import NAME

ADDRESS = 300  # characters of a link
# of an entry: taken and to be scored; scored; the file was bad; the limits or the machine were in the way
WAITING, SCORED, REFUSED, FAILED = "waiting", "scored", "refused", "failed"
# of a board: seen by its hosts alone; taking entries; seen but taking none
DRAFT, OPEN, CLOSED = "draft", "open", "closed"
# what an entry is: of a team; of the host, with or without the pictures; of people; computed by us
TEAM, BASELINE, BLIND, HUMAN, COMPUTED = "team", "baseline", "blind", "human", "computed"


class Identity(Base):
    """Which site this database is of, in one row: the folder of its files says the same."""

    __tablename__ = "board_identity"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)


class Board(Base):
    """One hidden split, hosted."""

    __tablename__ = "boards"
    id: Mapped[str] = mapped_column(String(80), primary_key=True)  # in addresses
    benchmark: Mapped[str] = mapped_column(String(200))
    digest: Mapped[str] = mapped_column(String(64))  # of its items and their answers
    split: Mapped[str] = mapped_column(String(80))
    scheme: Mapped[str] = mapped_column(String(80))
    status: Mapped[str] = mapped_column(String(10), default=OPEN)
    beside: Mapped[dict[str, Any] | None] = mapped_column(JSON)  # chance, the majority of train, people
    made: Mapped[datetime] = mapped_column(Moment, default=now)


class BoardHost(Base):
    """Who may look after a board."""

    __tablename__ = "board_hosts"
    board_id: Mapped[str] = mapped_column(ForeignKey("boards.id", ondelete="CASCADE"), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True)


class Team(Base):
    """Who competes."""

    __tablename__ = "teams"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME))
    key: Mapped[str] = mapped_column(String(4 * NAME), unique=True)  # the name as it is compared
    made: Mapped[datetime] = mapped_column(Moment, default=now)
    # whose tries its entries are, also after they left; None: not known of an old team, which counts alone
    maker_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"), index=True)


class TeamMember(Base):
    __tablename__ = "team_members"
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, index=True)


class Token(Base):
    """What a program of a team sends instead of a password."""

    __tablename__ = "tokens"
    id: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), index=True)
    name: Mapped[str] = mapped_column(String(NAME))
    made: Mapped[datetime] = mapped_column(Moment, default=now)


class Entry(Base):
    """A file of predictions that was sent, and what came of it."""

    __tablename__ = "entries"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)  # also of its folder; not to be guessed
    board_id: Mapped[str] = mapped_column(ForeignKey("boards.id", ondelete="CASCADE"))
    team_id: Mapped[int | None] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))  # None: the host's
    kind: Mapped[str] = mapped_column(String(10), default=TEAM)
    name: Mapped[str] = mapped_column(String(NAME))
    paper: Mapped[str] = mapped_column(String(ADDRESS), default="")
    code: Mapped[str] = mapped_column(String(ADDRESS), default="")
    public: Mapped[bool] = mapped_column(default=False)
    withdrawn: Mapped[bool] = mapped_column(default=False)  # by the team
    removed: Mapped[str | None] = mapped_column(String(ADDRESS))  # by a host, who says why
    file: Mapped[str] = mapped_column(String(80))  # its name in the entry's folder
    sha256: Mapped[str] = mapped_column(String(64))
    status: Mapped[str] = mapped_column(String(10), default=WAITING)
    said: Mapped[str] = mapped_column(Text, default="")  # what was wrong with it, for its team
    scores: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    at: Mapped[datetime] = mapped_column(Moment, default=now)
    scored_at: Mapped[datetime | None] = mapped_column(Moment)
    __table_args__ = (
        Index("entries_board_team_at", "board_id", "team_id", "at"),
        Index("entries_status", "status"),
    )


class Mark(Base):
    """One entry compared with another on the same items: per metric, whether the difference is real."""

    __tablename__ = "marks"
    one: Mapped[str] = mapped_column(ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True)
    other: Mapped[str] = mapped_column(ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True)
    found: Mapped[dict[str, Any]] = mapped_column(JSON)
