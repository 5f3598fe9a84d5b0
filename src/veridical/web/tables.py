"""People in the database: accounts, their sign-ins, failed tries, and links that work once.

Nothing is kept of a person but a name and a password's hash. What opens a door (a cookie, a link) is kept as a hash,
and addresses of machines only as keyed hashes, for as long as tries are counted.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from veridical.web.database import Base, Moment, now

NAME = 60  # characters of a name


class Account(Base):
    """Somebody who can sign in."""

    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(NAME))
    key: Mapped[str] = mapped_column(String(4 * NAME), unique=True)  # the name as it is compared
    password: Mapped[str] = mapped_column(String(200))  # argon2's hash
    admin: Mapped[bool] = mapped_column(default=False)  # runs this server
    blocked: Mapped[bool] = mapped_column(default=False)
    made: Mapped[datetime] = mapped_column(Moment, default=now)


class SignIn(Base):
    """A browser that is signed in, until it is signed out."""

    __tablename__ = "sign_ins"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)  # of the cookie
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"), index=True)
    made: Mapped[datetime] = mapped_column(Moment, default=now)
    ends: Mapped[datetime] = mapped_column(Moment)


class Failure(Base):
    """A try that counts against a limit: a wrong password, a new account, a bad file."""

    __tablename__ = "failures"
    id: Mapped[int] = mapped_column(primary_key=True)
    about: Mapped[str] = mapped_column(String(80))  # what is limited, and whose: a keyed hash
    at: Mapped[datetime] = mapped_column(Moment, default=now)
    __table_args__ = (Index("failures_about_at", "about", "at"),)


class Link(Base):
    """A link that works once: to run this server, to make an account, or to choose a new password."""

    __tablename__ = "links"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    purpose: Mapped[str] = mapped_column(String(20))  # claim, account, password
    account_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    ends: Mapped[datetime] = mapped_column(Moment)
