"""Everything that workers and requesters do, each call one transaction: what pages, programs and rehearsals use.

`working` and `managing` have what happens inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from veridical.web.collect import managing, working
from veridical.web.collect.ledger import Batch
from veridical.web.collect.managing import PersonShown, ReviewShown, Ticked
from veridical.web.collect.progress import Progress, progress
from veridical.web.collect.records import (
    Nothing,
    Offer,
    Payment,
    Platform,
    Project,
    Review,
    RoundResult,
    Standing,
    Status,
    Worker,
)
from veridical.web.collect.store import Store
from veridical.web.collect.working import Refused, Said, Taken


class Service:
    """One project of a store; `now` is the clock."""

    def __init__(self, store: Store, project: str, now: Callable[[], float] = time.time) -> None:
        self.store, self.name, self.now = store, project, now

    @property
    def project(self) -> Project:
        with self.store.look(self.name) as tx:
            return tx.project

    # workers

    def join(self, platform: Platform, platform_id: str = "", session: str = "") -> Worker:
        """Somebody comes; the same name of a platform is the same worker."""
        with self.store.begin(self.name) as tx:
            return working.join(tx, platform, platform_id, session, self.now())

    def worker(self, worker: str) -> Worker:
        with self.store.look(self.name) as tx:
            return working.known(tx, worker)

    def consent(self, worker: str, version: str) -> Worker:
        with self.store.begin(self.name) as tx:
            return working.consent(tx, worker, version, self.now())

    def next(self, worker: str, role: str = "") -> Offer | Nothing:
        """What to do now; what is held already is offered again."""
        with self.store.begin(self.name) as tx:
            return working.next_task(tx, worker, role, self.now())

    def submit(self, worker: str, lease: str, said: Said) -> Taken | Refused:
        """Take an answer; once taken, however often it is sent."""
        with self.store.begin(self.name) as tx:
            return working.submit(tx, worker, lease, said, self.now())

    def give_back(self, worker: str, lease: str) -> None:
        with self.store.begin(self.name) as tx:
            working.give_back(tx, worker, lease, self.now())

    def withdraw(self, worker: str) -> None:
        """Leave; what was said stays, and is paid."""
        with self.store.begin(self.name) as tx:
            working.withdraw(tx, worker, False, self.now())

    def forget(self, worker: str) -> None:
        """Leave, and be forgotten: what was said counts no more, and nobody can be paid who is not known."""
        with self.store.begin(self.name) as tx:
            working.withdraw(tx, worker, True, self.now())

    # requesters

    def start(self) -> Status:
        return self._become("open")

    def pause(self) -> Status:
        return self._become("paused")

    def resume(self) -> Status:
        return self._become("open")

    def finish(self) -> Status:
        return self._become("finished")

    def _become(self, status: Status) -> Status:
        with self.store.begin(self.name) as tx:
            return managing.set_status(tx, status, self.now())

    def tick(self) -> Ticked:
        """What time brings: to be called every half minute or so."""
        with self.store.begin(self.name) as tx:
            return managing.tick(tx, self.now())

    def end_round(self) -> list[Review]:
        with self.store.begin(self.name) as tx:
            return managing.end_round(tx, self.now())

    def review(self, answer: str, follows: bool, by: str, note: str = "") -> RoundResult | Standing | None:
        with self.store.begin(self.name) as tx:
            return managing.review(tx, answer, follows, by, note, self.now())

    def block(self, worker: str, because: str, void: bool = True) -> None:
        with self.store.begin(self.name) as tx:
            working.block(tx, worker, because, void, self.now())

    def unblock(self, worker: str) -> None:
        """Let somebody go on; what was void stays so."""
        with self.store.begin(self.name) as tx:
            managing.unblock(tx, worker)

    def adjust(self, worker: str, mills: int, note: str) -> Payment:
        with self.store.begin(self.name) as tx:
            return managing.adjust(tx, worker, mills, note, self.now())

    def pay(self, platform: Platform) -> Batch:
        with self.store.begin(self.name) as tx:
            return managing.pay(tx, platform, self.now())

    def progress(self) -> Progress:
        with self.store.look(self.name) as tx:
            return progress(tx.project, tx.status, tx.round, managing.state(tx), self.now())

    def reviews(self) -> list[ReviewShown]:
        with self.store.look(self.name) as tx:
            return managing.reviews(tx)

    def people(self) -> list[PersonShown]:
        with self.store.look(self.name) as tx:
            return managing.people(tx)
