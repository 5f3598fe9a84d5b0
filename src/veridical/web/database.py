"""The database of the app: SQLite in a file by default, PostgreSQL where an address of one is given.

Reading and writing are told apart: a write takes SQLite's lock when it begins, so that what it counts is still true
when it commits, and is on disk when it ends. Migrations run on start.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import DateTime, Engine, TypeDecorator, create_engine, event
from sqlalchemy.exc import ArgumentError, DatabaseError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Session

from veridical.errors import UserError

WAIT = 30  # seconds that a connection waits for another's write
DATABASE, SECRET = "board.sqlite", "secret.key"  # in the folder of a server: its database, and what keys its hashes
POOL = 12  # connections that are kept; more requests than these wait for one


class Base(DeclarativeBase):
    """The tables of all rooms of the app."""


class Moment(TypeDecorator[datetime]):
    """A moment in UTC, also where the database keeps no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


class Database:
    """Where the app keeps what it knows."""

    def __init__(self, address: str, *, passing: bool = False) -> None:
        """`passing`: of one process, and thrown away whole where that fails: SQLite then maps no file of it, which
        on a disk that is full can end a process, and waits for none."""
        self.address, self.engine = address, _engine(address, _PASSING if passing else _LASTING)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._writing = threading.Lock()  # SQLite lets one write at a time; waiting here is fair, and cheaper

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one state of the database."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session whose changes are kept together when the block ends well, or not at all."""
        alone = self._writing if self.is_sqlite else nullcontext()
        with alone, Session(self.engine, expire_on_commit=False) as session:
            session.connection(execution_options={"writes": True})
            yield session
            try:
                session.commit()
            except SQLAlchemyError:
                session.invalidate()  # SQLite leaves the transaction open on its connection
                raise

    def upgrade(self) -> None:
        """Bring the tables to the newest form."""
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", "veridical.web:migrations")
        try:
            with self.engine.connect().execution_options(writes=True) as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
                connection.commit()
        except (DatabaseError, CommandError, UnicodeDecodeError) as error:  # not there, damaged, or of a newer version
            raise self.unusable(error) from None

    def unusable(self, error: Exception) -> UserError:
        """What a database says against being used, in words."""
        said = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
        if isinstance(error, UnicodeDecodeError):  # what SQLite said of it names damaged bytes
            said = "it is damaged"
        reason = said.splitlines()[0].rstrip(".")
        where = self.engine.url.render_as_string(hide_password=True)
        fix = "Check its address and the disk, or put a backup back; a newer version of Veridical may have changed it."
        return UserError(f"The database {where} cannot be used: {reason}.", fix)

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def usable(database: Database) -> Iterator[None]:
    """Say in words where a database is damaged, or has no room, for a command that is not a server."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise database.unusable(error) from None


def sqlite_address(path: Path) -> str:
    """The address of a database in a file, which may be made."""
    if path.is_symlink() and not path.exists():  # it would be made there, wherever that is
        raise UserError(f"{path} is a link that leads nowhere.", "Remove it, or put the database where it leads.")
    return f"sqlite:///{path}"


_LASTING = ("journal_mode=WAL", "synchronous=FULL")
_PASSING = ("journal_mode=MEMORY", "synchronous=OFF")


def _engine(address: str, settings: tuple[str, ...]) -> Engine:
    kind, _, rest = address.partition("://")
    if kind in ("postgres", "postgresql"):
        address = f"postgresql+psycopg://{rest}"
    try:
        if kind not in ("postgres", "postgresql", "sqlite"):
            raise ArgumentError(kind)
        engine = create_engine(address, pool_size=POOL, max_overflow=POOL, pool_timeout=WAIT, pool_pre_ping=True)
    except ArgumentError:
        problem = "The address of the database is not one of PostgreSQL."  # it is not shown: it may hold a password
        raise UserError(problem, "Write postgresql://user:password@host/name, or leave it out.") from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", partial(_prepare, settings))
        event.listen(engine, "begin", _begin)
    return engine


def _prepare(settings: tuple[str, ...], connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so
    for setting in (*settings, "foreign_keys=ON", f"busy_timeout={WAIT * 1000}"):
        connection.execute(f"PRAGMA {setting}")


def _begin(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")
