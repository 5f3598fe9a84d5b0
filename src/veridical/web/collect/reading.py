"""Reads of a whole collection, beside the server's process: progress, people, what waits for a review, an export.

They take seconds of a processor where there are many answers, and Python runs one thread at a time: workers would wait
for whoever looks. So a large collection is read by another process, a small one where we are. Who asks while the same
is being read shares the next reading with all others who ask: a page that is loaded again and again is read twice.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
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
WAITING = 8  # threads that may wait for one reading: the server has forty for everybody


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
        self._asking = Lock()
        self._next: dict[bytes, tuple[Future[Answered | None], int]] = {}  # what waits for the process, and who for it

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
        told = self._shared(msgspec.json.encode(job))
        if told is None:
            raise UserError("The collection could not be read.", "Try again in a moment.")
        if told.refused is not None:
            raise UserError(*told.refused)
        if told.failed:
            raise SQLAlchemyError(told.failed)
        return msgspec.json.decode(told.found, type=kind) if kind is not None else None

    def _shared(self, job: bytes) -> Answered | None:
        """What the other process says of a job; who asks the same before it begins has the same answer."""
        with self._asking:
            found, count = self._next.get(job, (None, 0))
            if count >= WAITING:
                raise UserError("The collection is being read, and many wait for it.", "Try again in a moment.")
            waiting: Future[Answered | None] = found or Future()
            self._next[job] = waiting, count + 1
        if found is not None:
            return found.result()
        with self._lock:
            with self._asking:
                del self._next[job]  # whoever asks from here on may have changed something
            try:
                waiting.set_result(self._beside.told(job, _answered))
            except BaseException as error:
                waiting.set_exception(error)
                raise
        return waiting.result()

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
