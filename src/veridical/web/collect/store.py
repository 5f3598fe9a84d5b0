"""What the service needs of a database: a transaction of one project, with everything it reads and writes.

A transaction sees one state, and nobody else writes to the project until it ends (SQLite's lock; on PostgreSQL the
project's row is locked first). What it wrote is on disk when it ended, all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from veridical.web.collect.records import (
    Answer,
    Candidate,
    Closed,
    Ended,
    Kind,
    Lease,
    Payment,
    Platform,
    Project,
    Review,
    Status,
    Task,
    Worker,
)


class Transaction(Protocol):
    """One state of one project."""

    @property
    def project(self) -> Project: ...

    @property
    def status(self) -> Status: ...

    def set_status(self, status: Status, time: float) -> None: ...

    @property
    def since(self) -> float:
        """When the status was set."""
        ...

    @property
    def round(self) -> int:
        """The round of writing that is going on, from 1."""
        ...

    def set_round(self, number: int) -> None: ...

    # tasks

    def add_tasks(self, tasks: Iterable[Task]) -> int:
        """Add tasks, and say how many. One whose id is there already is left as it is; but one that was closed as
        removed is replaced by the new one, and open again."""
        ...

    def task(self, id: str) -> Task | None: ...

    def tasks(self) -> Iterable[Task]:
        """All of them, by id (for exports)."""
        ...

    def candidates(
        self, worker: str, kinds: Collection[Kind], pool: int, camp: str, limit: int = 40
    ) -> list[Candidate]:
        """Open tasks of the purpose work and of these kinds, with a pool up to this, that can be leased once more
        (done + leased < needed), whose key this worker neither answered nor holds nor gave back (a lease that ended as
        returned); of this camp or none, and of any where the worker has none yet.

        Those with answers first, then in an order that mixes origins and strata (such as by a hash of the id).
        """
        ...

    def gold(self, worker: str, kinds: Collection[Kind]) -> list[Task]:
        """Gold tasks whose key this worker has not answered, in the mixed order."""
        ...

    def qualification(self, role: str) -> list[Task]:
        """The tasks of a role's qualification, by step."""
        ...

    def close_task(self, id: str, how: Closed) -> None:
        """No candidate any more."""
        ...

    def closed(self, id: str) -> Closed | None: ...

    def all_closed(self) -> Mapping[str, Closed]:
        """How every task that is closed was."""
        ...

    def candidate(self, id: str) -> Candidate | None:
        """A task that is open, as it stands; None where it is closed."""
        ...

    def reopen_task(self, id: str) -> None: ...

    def stale(self, kinds: Collection[Kind], before: float) -> list[str]:
        """Open tasks of these kinds, offered before a moment, with no answer and no open lease."""
        ...

    def postpone(self, seconds: float) -> None:
        """Add to `created` of all open tasks: a paused project does not age."""
        ...

    # leases

    def held(self, worker: str) -> Lease | None:
        """The lease that a worker holds (not ended), expired or not."""
        ...

    def lease(self, id: str) -> Lease | None: ...

    def add_lease(self, lease: Lease) -> None: ...

    def end_lease(self, id: str, how: Ended, time: float) -> None: ...

    def release(self, task: str, time: float) -> None:
        """End the open leases of a task that is removed: an answer to what was shown is refused, and their workers may
        take what comes in its place."""
        ...

    def expired(self, now: float, limit: int = 500) -> list[Lease]:
        """Leases that are not ended and expired before a moment."""
        ...

    # answers

    def add_answer(self, answer: Answer) -> None: ...

    def answer(self, id: str) -> Answer | None: ...

    def answers_of(self, task: str) -> list[Answer]:
        """Those that count, by time."""
        ...

    def answers_by(self, worker: str) -> list[Answer]:
        """All of a worker's, void ones too, by time."""
        ...

    def answers(self) -> Iterable[Answer]:
        """All, by time (for exports and progress)."""
        ...

    def written(self, round: int, kinds: Collection[Kind]) -> list[Answer]:
        """Answers of the purpose work, of some kinds, of a round, that count."""
        ...

    def answered(self, worker: str, key: str) -> bool:
        """Whether a worker answered a task of this key, as work or gold; void answers count."""
        ...

    def void(self, answers: Collection[str], why: str, again: bool = False) -> None:
        """They count no more; their keys stay answered by their workers, unless they may be asked again: what they were
        about is gone, and another sentence comes in its place."""
        ...

    def erase(self, answers: Collection[str], author: str) -> None:
        """Delete what these answers say, and the words of removed tasks that were made of this author's."""
        ...

    def counts(self, worker: str) -> Mapping[str, int]:
        """Answers of the purpose work by this worker, by stratum."""
        ...

    # people

    def worker(self, id: str) -> Worker | None: ...

    def find_worker(self, platform: Platform, platform_id: str) -> Worker | None: ...

    def new_worker(self) -> str:
        """An id that nobody had: w1, w2 ..."""
        ...

    def put_worker(self, worker: Worker) -> None: ...

    def workers(self) -> list[Worker]: ...

    def able(self, key: str, role: str, camp: str, pool: int, but: str) -> int:
        """How many other active workers, qualified for a role, could still answer a key."""
        ...

    # reviews and money

    def put_review(self, review: Review) -> None: ...

    def review(self, answer: str) -> Review | None: ...

    def reviews(self, worker: str | None = None, round: int | None = None) -> list[Review]: ...

    def add_payment(self, payment: Payment) -> None:
        """A payment whose id is there already is not added again."""
        ...

    def payments(self, worker: str | None = None) -> list[Payment]: ...

    def mark_paid(self, payments: Collection[str], batch: str) -> None: ...


class Store(Protocol):
    """The projects of a server."""

    def names(self) -> list[str]: ...

    def create(self, project: Project, tasks: Iterable[Task], time: float) -> None:
        """A project with its first tasks, as a draft; refused where one of that name is there."""
        ...

    def begin(self, project: str) -> AbstractContextManager[Transaction]:
        """A transaction that reads and writes."""
        ...

    def look(self, project: str) -> AbstractContextManager[Transaction]:
        """One that only reads, and waits for nobody."""
        ...
