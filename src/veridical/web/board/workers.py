"""Workers: threads that give entries to scoring processes, and write down what came of them.

An entry that waits is in the database before anybody works on it, so whatever was cut off (a worker, the whole server)
is found there again: on start, and by a look at all that wait every few seconds.
"""

from __future__ import annotations

import queue
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from veridical.common.result import remark
from veridical.web.beside import TRIES, Beside
from veridical.web.board.hosted import Hosted
from veridical.web.board.scoring import NOT_OURS, Done, Job
from veridical.web.board.tables import REFUSED, SCORED, WAITING, Entry, Mark
from veridical.web.database import Database, now

IDLE = 0.2  # seconds after which a worker without work asks whether it is to end
LOOK = 5.0  # seconds between looks at what waits


@dataclass(frozen=True)
class Limits:
    """What a scoring process may take."""

    seconds: int = 60
    megabytes: int = 1024
    smallest: int = 50  # items that a part needs to be shown


def job_of(
    board: Hosted, limits: Limits, file: tuple[str, str] | None = None, against: tuple[str, str] | None = None
) -> Job:
    """What is to be done on a board."""
    return Job(
        str(board.benchmark.directory), board.split, board.scheme, limits.seconds, limits.megabytes, limits.smallest,
        file, against,
    )  # fmt: skip


STARTING = 60.0  # seconds in which a process that scores has begun


class Process(Beside):
    """A process that scores."""

    module = "veridical.web.board.scoring"

    def limit(self, line: bytes) -> float:
        """A job says how long it may take; its key is read first, and each may take twice as long on a busy machine."""
        return 4.0 * msgspec.json.decode(line, type=Job).seconds + STARTING

    def ask(self, job: Job) -> Done:
        """Have a job done."""
        done = self.told(msgspec.json.encode(job), _done)
        return done or Done("failed", NOT_OURS, why="the process that scores ended by itself")


def _done(line: bytes) -> Done | None:
    """What a line of a scoring process says."""
    try:
        return msgspec.json.decode(line, type=Done)
    except msgspec.DecodeError:
        return None


@dataclass
class Workers:
    """The threads, each with a process of its own, and who waits for what."""

    database: Database
    boards: dict[str, Hosted]
    folder: Path  # of all entries, absolute
    limits: Limits = field(default_factory=Limits)
    count: int = 2
    compare_later: Callable[[str], None] | None = None  # told of a board whose entries changed

    def __post_init__(self) -> None:
        self._queue: queue.PriorityQueue[tuple[int, int, str, str | None]] = queue.PriorityQueue()
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str | None], Future[None]] = {}  # what is queued or worked on
        self._failed: Counter[tuple[str, str | None]] = Counter()  # comparisons, since the start
        self._number = 0
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin with what waits."""
        self.look()
        targets = [self._work] * self.count + [self._look_often]
        self._threads = [threading.Thread(target=target, daemon=True) for target in targets]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End; what is not done waits for the next start."""
        self._end.set()
        for thread in self._threads:
            thread.join()

    def add(self, entry: str, against: str | None = None) -> Future[None]:
        """Have an entry scored, or compared; what this gives is done when that is."""
        with self._lock:
            known = self._known.get((entry, against))
            if known is not None:
                return known
            made: Future[None] = Future()
            if self._failed[entry, against] >= TRIES:  # every look at the table asks for it again
                made.set_result(None)
                return made
            self._number += 1
            self._known[entry, against] = made
            # comparisons come after all that waits to be scored
            self._queue.put((0 if against is None else 1, self._number, entry, against))
            return made

    @property
    def waiting(self) -> int:
        return len(self._known)

    def look(self) -> None:
        """Queue every entry that waits and is not queued."""
        with self.database.read() as session:
            found = select(Entry.id).where(Entry.status == WAITING, Entry.board_id.in_(self.boards)).order_by(Entry.at)
            for entry in session.scalars(found).all():
                self.add(entry)

    def _look_often(self) -> None:
        while not self._end.wait(LOOK):
            try:
                self.look()
            except SQLAlchemyError as error:
                remark(f"veridical: the database does not answer ({type(error).__name__}); trying again.")

    def _work(self) -> None:
        process = Process()
        try:
            while not self._end.is_set():
                try:
                    _, _, entry, against = self._queue.get(timeout=IDLE)
                except queue.Empty:
                    continue
                try:
                    self._do(process, entry, against)
                except (SQLAlchemyError, OSError) as error:  # it still waits, and is found by the next look
                    remark(f"veridical: entry {entry} has to wait: {error}")
                finally:
                    self._finished(entry, against)
        finally:
            process.close()

    def _finished(self, entry: str, against: str | None) -> None:
        with self._lock:
            done = self._known.pop((entry, against))
        try:
            done.set_result(None)
        except InvalidStateError:  # nobody waits for it any more
            return

    def _do(self, process: Process, entry: str, against: str | None) -> None:
        with self.database.read() as session:
            job = self._job(session, entry, against)
        if job is None:
            return
        done = process.ask(job)
        if done.why:
            remark(f"veridical: entry {entry}: {done.why}")
        with self.database.write() as session:
            if against is None:
                board = self._keep(session, entry, done)
            else:
                board = None
                self._mark(session, entry, against, done)
        if against is None and done.status == REFUSED:
            shutil.rmtree(self.folder / entry, ignore_errors=True)  # what was wrong with it is written down
        if board is not None and self.compare_later is not None:
            self.compare_later(board)

    def _mark(self, session: Session, entry: str, against: str, done: Done) -> None:
        """Write down what a comparison found; one that failed is tried again, and after that not before a new start."""
        if done.status != SCORED:
            with self._lock:
                self._failed[entry, against] += 1
        elif session.get(Mark, (entry, against)) is None:
            session.add(Mark(one=entry, other=against, found=done.scores or {}))

    def _job(self, session: Session, entry: str, against: str | None) -> Job | None:
        """What is to be done, or None where it has been done meanwhile, or cannot be."""
        one = session.get(Entry, entry)
        if one is None or (against is None and one.status != WAITING) or one.board_id not in self.boards:
            return None
        other = None if against is None else session.get(Entry, against)
        if against is not None and other is None:
            return None
        return job_of(self.boards[one.board_id], self.limits, self._file(one), self._file(other))

    def _file(self, entry: Entry | None) -> tuple[str, str] | None:
        return None if entry is None else (str(self.folder / entry.id), entry.file)

    @staticmethod
    def _keep(session: Session, entry: str, done: Done) -> str | None:
        """Write down what came of an entry; the board whose table changed by it."""
        one = session.get(Entry, entry)
        if one is None or one.status != WAITING:
            return None
        one.status, one.said, one.scores, one.scored_at = done.status, done.said, done.scores, now()
        return one.board_id if one.public else None
