"""Reads of a whole collection, beside the server's process: progress, people, what waits for a review, an export.

They take seconds of a processor where there are many answers, and Python runs one thread at a time: workers would wait
for whoever looks. So a large collection is read by another process, a small one where we are.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from veridical.errors import UserError
from veridical.web.beside import Beside
from veridical.web.collect.exporting import export
from veridical.web.collect.managing import PersonShown, ReviewShown
from veridical.web.collect.progress import Progress
from veridical.web.collect.service import Service
from veridical.web.collect.sql_store import SqlStore
from veridical.web.collect.tables import answers, tasks
from veridical.web.database import Database

LARGE = 4000  # tasks and answers that are read where we are: about a tenth of a second
NICE = 5  # workers come first


class Job(msgspec.Struct):
    """What is read: of which project, in which database; an export goes from its folder into `out`."""

    what: str
    project: str
    database: str
    folder: str = ""
    out: str = ""


class Answered(msgspec.Struct):
    """What was found, or why nothing was."""

    found: msgspec.Raw = msgspec.Raw(b"null")
    refused: tuple[str, str] | None = None  # what is wrong, and what to do
    failed: str = ""  # what the database did


def _export(service: Service, job: Job) -> None:
    export(service.store, job.project, Path(job.folder), Path(job.out))


READS: Mapping[str, tuple[Callable[[Service, Job], Any], Any]] = {  # how something is read, and the type of it
    "progress": (lambda service, _: service.progress(), Progress),
    "people": (lambda service, _: service.people(), list[PersonShown]),
    "reviews": (lambda service, _: service.reviews(), list[ReviewShown]),
    "export": (_export, None),
}


class Reading:
    """Who reads the collections of a database."""

    def __init__(self, database: Database, large: int = LARGE) -> None:
        self._database, self._large = database, large
        self._beside, self._lock = _Process(), Lock()

    def progress(self, service: Service) -> Progress:
        found: Progress = self._read(service, "progress")
        return found

    def people(self, service: Service) -> list[PersonShown]:
        found: list[PersonShown] = self._read(service, "people")
        return found

    def reviews(self, service: Service) -> list[ReviewShown]:
        found: list[ReviewShown] = self._read(service, "reviews")
        return found

    def export(self, service: Service, folder: Path, out: Path) -> None:
        self._read(service, "export", folder=str(folder), out=str(out))

    def _read(self, service: Service, what: str, **more: str) -> Any:
        job = Job(what, service.name, self._database.address, **more)
        read, kind = READS[what]
        if self._size(service.name) <= self._large:
            return read(service, job)
        with self._lock:
            told = self._beside.told(msgspec.json.encode(job), _answered)
        if told is None:
            raise UserError("The collection could not be read.", "Try again in a moment.")
        if told.refused is not None:
            raise UserError(*told.refused)
        if told.failed:
            raise SQLAlchemyError(told.failed)
        return msgspec.json.decode(told.found, type=kind) if kind is not None else None

    def _size(self, project: str) -> int:
        with self._database.read() as session:
            counts = (select(func.count()).where(table.c.project == project) for table in (tasks, answers))
            return sum(session.execute(one).scalar_one() for one in counts)

    def close(self) -> None:
        with self._lock:
            self._beside.close()


class _Process(Beside):
    module = "veridical.web.collect.reading"


def _answered(line: bytes) -> Answered | None:
    try:
        return msgspec.json.decode(line, type=Answered)
    except msgspec.DecodeError:
        return None


def done(job: Job) -> Answered:
    """Read something."""
    try:
        with closing(Database(job.database)) as database:
            found = READS[job.what][0](Service(SqlStore(database), job.project), job)
        return Answered(msgspec.Raw(msgspec.json.encode(found)))
    except UserError as error:
        return Answered(refused=(error.problem, error.fix))
    except SQLAlchemyError as error:
        return Answered(failed=type(error).__name__)


def main() -> None:
    """Jobs in, what was found out, until the server closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the server ends us
    os.nice(NICE)
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(msgspec.json.encode(done(msgspec.json.decode(line, type=Job))) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
