"""Writes of many requests that reach the disk together: a group of transactions, one commit.

A disk that needs 10 ms to say that something is on it takes a hundred commits a second, and no more. So whoever writes
while others wait leaves the commit to them: each has a savepoint of its own, which is undone alone where it fails, the
last of the group commits, and nobody is told anything before that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from veridical.web.database import Database

MOST = 32  # transactions of one commit


class Group:
    """Some transactions on one connection."""

    def __init__(self, database: Database) -> None:
        self._stack = ExitStack()
        self.connection: Connection = self._stack.enter_context(database.write()).connection()
        self.size = 0
        self.ended = threading.Event()
        self.error: SQLAlchemyError | None = None

    def commit(self) -> None:
        """Have all of it on disk; what goes wrong is everybody's."""
        self.error = SQLAlchemyError("The commit did not end.")
        try:
            self._stack.close()
            self.error = None
        except SQLAlchemyError as error:
            self.error = error
        finally:
            self.ended.set()


class Grouped:
    """Who writes, one at a time; commits are shared."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn, self._counting = threading.Lock(), threading.Lock()
        self._waiting = 0
        self._group: Group | None = None

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction that nobody else's failure touches; on disk when the block ends well."""
        with self._counting:
            self._waiting += 1
        self._turn.acquire()
        with self._counting:
            self._waiting -= 1
        try:
            if self._group is None:
                self._group = Group(self._database)
            group = self._group
            group.size += 1
            try:
                with group.connection.begin_nested():
                    yield group.connection
            finally:
                if not self._waiting or group.size >= MOST:  # whoever waits will end it
                    self._group = None
                    group.commit()
        finally:
            self._turn.release()
        group.ended.wait()
        if group.error is not None:
            raise group.error
