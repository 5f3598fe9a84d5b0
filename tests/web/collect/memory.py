"""A store in memory, written to be read: what `store` asks for, in the plainest way. Other stores are compared with it,
and the laws of assignment are tried on it quickly."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from veridical.web.collect import kinds as shapes
from veridical.web.collect.assigning import mixed
from veridical.web.collect.records import (
    FORGOTTEN,
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
    Standing,
    Status,
    Task,
    Worker,
)


class MemoryTransaction:
    """All there is of one project."""

    def __init__(self, project: Project, tasks: Iterable[Task], time: float) -> None:
        self.project, self.status, self.since, self.round = project, "draft", time, 1
        self._tasks: dict[str, Task] = {one.id: replace(one, created=time) for one in tasks}
        self._closed: dict[str, Closed] = {}
        self._leases: dict[str, Lease] = {}
        self._answers: dict[str, Answer] = {}
        self._workers: dict[str, Worker] = {}
        self._known: dict[tuple[str, str], str] = {}  # platform and who they are there -> worker
        self._reviews: dict[str, Review] = {}
        self._payments: dict[str, Payment] = {}
        self._of: dict[str, list[str]] = {}  # task -> answers
        self._asked_again: set[str] = set()  # answers whose keys are open to their workers again
        self._open: Counter[str] = Counter()  # task -> leases

    def set_status(self, status: Status, time: float) -> None:
        self.status, self.since = status, time

    def set_round(self, number: int) -> None:
        self.round = number

    # tasks

    def add_tasks(self, tasks: Iterable[Task]) -> int:
        added = 0
        for one in tasks:
            if one.id not in self._tasks or self._closed.get(one.id) == "removed":
                self._tasks[one.id] = one
                self._closed.pop(one.id, None)
                added += 1
        return added

    def task(self, id: str) -> Task | None:
        return self._tasks.get(id)

    def tasks(self) -> list[Task]:
        return [self._tasks[name] for name in sorted(self._tasks)]

    def candidate(self, id: str) -> Candidate | None:
        one = self._tasks.get(id)
        if one is None or id in self._closed:
            return None
        return Candidate(
            one.id, one.kind, one.key, one.needed, len(self.answers_of(id)),
            self._open[id],
            one.author, one.camp, one.stratum, one.pool, one.created,
        )  # fmt: skip

    def _unavailable(self, worker: str) -> set[str]:
        mine = [one for one in self._leases.values() if one.worker == worker and one.id not in self._asked_again]
        tasks = [lease.task for lease in mine if lease.ended in (None, "answered", "returned")]
        return {self._tasks[name].key for name in tasks if self._tasks[name].purpose != "qualification"}

    def candidates(
        self, worker: str, kinds: Collection[Kind], pool: int, camp: str, limit: int = 40
    ) -> list[Candidate]:
        gone = self._unavailable(worker)
        found = []
        for one in self._tasks.values():
            if one.purpose == "work" and one.kind in kinds and one.pool <= pool and one.key not in gone:
                made = self.candidate(one.id)
                if made is None or made.done + made.leased >= made.needed:
                    continue
                if not one.camp or not camp or one.camp == camp:
                    found.append(made)
        return sorted(found, key=lambda one: (one.done == 0, mixed(one.id)))[:limit]

    def gold(self, worker: str, kinds: Collection[Kind]) -> list[Task]:
        gone = self._unavailable(worker)
        found = [
            one
            for one in self._tasks.values()
            if one.purpose == "gold" and one.kind in kinds and one.key not in gone and one.id not in self._closed
        ]
        return sorted(found, key=lambda one: mixed(one.id))

    def qualification(self, role: str) -> list[Task]:
        found = [one for one in self._tasks.values() if one.purpose == "qualification" and one.role == role]
        return sorted(found, key=lambda one: (one.step, one.id))

    def close_task(self, id: str, how: Closed) -> None:
        self._closed[id] = how

    def closed(self, id: str) -> Closed | None:
        return self._closed.get(id)

    def all_closed(self) -> Mapping[str, Closed]:
        return dict(self._closed)

    def reopen_task(self, id: str) -> None:
        self._closed.pop(id, None)

    def stale(self, kinds: Collection[Kind], before: float) -> list[str]:
        out = []
        for one in self._tasks.values():
            made = self.candidate(one.id)
            old = one.purpose == "work" and one.kind in kinds and one.created < before
            if made is not None and old and not made.done and not made.leased:
                out.append(one.id)
        return sorted(out)

    def postpone(self, seconds: float) -> None:
        for one in list(self._tasks.values()):
            if one.id not in self._closed:
                self._tasks[one.id] = replace(one, created=one.created + seconds)

    # leases

    def held(self, worker: str) -> Lease | None:
        return next((one for one in self._leases.values() if one.worker == worker and one.ended is None), None)

    def lease(self, id: str) -> Lease | None:
        return self._leases.get(id)

    def add_lease(self, lease: Lease) -> None:
        assert lease.id not in self._leases
        assert self.held(lease.worker) is None
        self._leases[lease.id] = lease
        self._open[lease.task] += 1

    def end_lease(self, id: str, how: Ended, time: float) -> None:
        self._open[self._leases[id].task] -= self._leases[id].ended is None
        self._leases[id] = replace(self._leases[id], ended=how, end=time)

    def release(self, task: str, time: float) -> None:
        for one in [one for one in self._leases.values() if one.task == task and one.ended is None]:
            self.end_lease(one.id, "returned", time)
            self._asked_again.add(one.id)

    def expired(self, now: float, limit: int = 500) -> list[Lease]:
        return [one for one in self._leases.values() if one.ended is None and one.expires < now][:limit]

    # answers

    def add_answer(self, answer: Answer) -> None:
        assert answer.id not in self._answers
        self._answers[answer.id] = answer
        self._of.setdefault(answer.task, []).append(answer.id)

    def answer(self, id: str) -> Answer | None:
        return self._answers.get(id)

    def answers_of(self, task: str) -> list[Answer]:
        return [self._answers[name] for name in self._of.get(task, ()) if not self._answers[name].void]

    def answers_by(self, worker: str) -> list[Answer]:
        return [one for one in self._answers.values() if one.worker == worker]

    def answers(self) -> list[Answer]:
        return list(self._answers.values())

    def written(self, round: int, kinds: Collection[Kind]) -> list[Answer]:
        return [
            one
            for one in self._answers.values()
            if one.purpose == "work" and one.kind in kinds and one.round == round and not one.void
        ]

    def answered(self, worker: str, key: str) -> bool:
        return any(
            one.worker == worker and one.purpose != "qualification" and self._tasks[one.task].key == key
            for one in self._answers.values()
            if one.id not in self._asked_again
        )

    def void(self, answers: Collection[str], why: str, again: bool = False) -> None:
        self._asked_again |= set(answers) if again else set()
        for name in answers:
            self._answers[name] = replace(self._answers[name], void=why)

    def erase(self, answers: Collection[str], author: str) -> None:
        for name in answers:
            self._answers[name] = replace(self._answers[name], value={FORGOTTEN: True}, warnings=())
        for name, one in self._tasks.items():
            if one.author == author and self._closed.get(name) == "removed":
                self._tasks[name] = replace(one, payload=shapes.blank(one))

    def counts(self, worker: str) -> Mapping[str, int]:
        mine = (one for one in self.answers_by(worker) if one.purpose == "work")
        return Counter(self._tasks[one.task].stratum for one in mine)

    # people

    def worker(self, id: str) -> Worker | None:
        return self._workers.get(id)

    def find_worker(self, platform: Platform, platform_id: str) -> Worker | None:
        return self._workers.get(self._known.get((platform, platform_id), ""))

    def new_worker(self) -> str:
        return f"w{len(self._workers) + 1}"

    def put_worker(self, worker: Worker) -> None:
        self._workers[worker.id] = worker
        if worker.platform_id:
            self._known[worker.platform, worker.platform_id] = worker.id
        elif worker.withdrawn is not None and worker.blocked is None:  # who is blocked does not come back
            self._known = {who: name for who, name in self._known.items() if name != worker.id}

    def workers(self) -> list[Worker]:
        return list(self._workers.values())

    def able(self, key: str, role: str, camp: str, pool: int, but: str) -> int:
        own = next(one for one in self.project.roles if one.name == role)
        start = Standing() if own.tutorial or own.questions or own.writing else Standing("qualified")
        return sum(
            one.active
            and one.id != but
            and one.tier >= pool
            and (not camp or one.camp in ("", camp))
            and one.standings.get(role, start).stage == "qualified"
            and key not in self._unavailable(one.id)
            for one in self._workers.values()
        )

    # reviews and money

    def put_review(self, review: Review) -> None:
        self._reviews[review.answer] = review

    def review(self, answer: str) -> Review | None:
        return self._reviews.get(answer)

    def reviews(self, worker: str | None = None, round: int | None = None) -> list[Review]:
        return [
            one
            for one in self._reviews.values()
            if (worker is None or one.worker == worker) and (round is None or one.round == round)
        ]

    def add_payment(self, payment: Payment) -> None:
        self._payments.setdefault(payment.id, payment)

    def payments(self, worker: str | None = None) -> list[Payment]:
        return [one for one in self._payments.values() if worker is None or one.worker == worker]

    def mark_paid(self, payments: Collection[str], batch: str) -> None:
        for name in payments:
            self._payments[name] = replace(self._payments[name], batch=batch)


class MemoryStore:
    """Projects in memory; a transaction that fails leaves nothing behind."""

    def __init__(self) -> None:
        self._projects: dict[str, MemoryTransaction] = {}

    def names(self) -> list[str]:
        return sorted(self._projects)

    def create(self, project: Project, tasks: Iterable[Task], time: float) -> None:
        assert project.name not in self._projects
        self._projects[project.name] = MemoryTransaction(project, tasks, time)

    @contextmanager
    def begin(self, project: str) -> Iterator[MemoryTransaction]:
        before = {name: copy.copy(value) for name, value in vars(self._projects[project]).items()}
        try:
            yield self._projects[project]
        except BaseException:
            vars(self._projects[project]).update(before)
            raise

    @contextmanager
    def look(self, project: str) -> Iterator[MemoryTransaction]:
        yield self._projects[project]
