"""The store of collections in the app's database: SQLite or PostgreSQL, one writer of a project at a time.

A transaction begins with the project's row, locked. What a task has (answers, open leases) is counted on its row in
the same transaction, so that the candidates for a worker are found by an index, however many tasks there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, exists, func, insert, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from veridical.errors import UserError
from veridical.web.collect import kinds, rows
from veridical.web.collect.records import (
    FORGOTTEN,
    Answer,
    Candidate,
    Closed,
    Ended,
    Kind,
    Lease,
    Project,
    Status,
    Task,
)
from veridical.web.collect.sql_people import People, batched
from veridical.web.collect.tables import answers, groups, leases, projects, tasks
from veridical.web.database import Database
from veridical.web.grouped import Grouped

_CANDIDATE = [tasks.c[name] for name in ("id", "kind", "key", "needed", "done", "leased", "author", "camp", "stratum",
                                         "pool", "created")]  # fmt: skip
_MINE = (leases.c.project == bindparam("project_"), leases.c.worker == bindparam("worker_"))
_TAKEN = exists().where(  # an answer, a lease that is held, or one that was given back
    *_MINE, leases.c.key == tasks.c.key, or_(leases.c.ended.is_(None), leases.c.ended != "expired")
)
_CANDIDATES = (
    select(*_CANDIDATE)
    .where(
        tasks.c.project == bindparam("project_"), tasks.c.kind == bindparam("kind_"), tasks.c.free.is_(True),
        tasks.c.pool == bindparam("pool_"), tasks.c.camp == bindparam("camp_"), ~_TAKEN,
    )
    .order_by(tasks.c.done.desc(), tasks.c.mixed.desc())
    .limit(bindparam("limit_"))
)  # fmt: skip
_GOLD = (
    select(tasks)
    .where(
        tasks.c.project == bindparam("project_"), tasks.c.purpose == "gold", tasks.c.role == bindparam("role_"),
        tasks.c.kind == bindparam("kind_"), tasks.c.closed.is_(None), ~_TAKEN,
    )
    .order_by(tasks.c.mixed)
    .limit(bindparam("limit_"))
)  # fmt: skip
_MY_TASK = (tasks.c.project == bindparam("project_"), tasks.c.id == bindparam("id_"))
_NOW = (tasks.c.done + bindparam("done_"), tasks.c.leased + bindparam("leased_"))
_COUNT = (
    update(tasks)
    .where(*_MY_TASK)
    .values(
        done=_NOW[0],
        leased=_NOW[1],
        free=tasks.c.closed.is_(None) & (tasks.c.purpose == "work") & (_NOW[0] + _NOW[1] < tasks.c.needed),
    )
)
_KEY = select(tasks.c.key, tasks.c.stratum).where(*_MY_TASK)
_OPEN = (leases.c.project == bindparam("project_"), leases.c.ended.is_(None))
_HELD = select(leases).where(*_OPEN, leases.c.worker == bindparam("worker_"))
_EXPIRED = (
    select(leases)
    .where(*_OPEN, leases.c.expires < bindparam("now_"))
    .order_by(leases.c.expires)
    .limit(bindparam("limit_"))
)
_END = (
    update(leases)
    .where(*_OPEN, leases.c.id == bindparam("id_"))
    .values(ended=bindparam("how_"), end=bindparam("time_"))
    .returning(leases.c.task)
)
_SAID = answers.c.project == bindparam("project_")
_ANSWERS = (
    select(answers)
    .where(_SAID, answers.c.task == bindparam("task_"), answers.c.void == "")
    .order_by(answers.c.time, answers.c.id)
)
_STRATA = (
    select(answers.c.stratum, func.count())
    .where(_SAID, answers.c.worker == bindparam("worker_"), answers.c.purpose == "work")
    .group_by(answers.c.stratum)
)
_GROUPS = select(groups).where(groups.c.project == bindparam("project_"))
_GOLD_ROLES = select(tasks.c.role).distinct().where(tasks.c.project == bindparam("project_"), tasks.c.purpose == "gold")
_HEAD = select(*(projects.c[name] for name in ("name", "digest", "status", "since", "round"))).where(
    projects.c.name == bindparam("project_")
)
_LOCK = _HEAD.with_for_update()


class SqlTransaction(People):
    """One state of one project; see `store.Transaction`."""

    # --- the project ---

    def set_status(self, status: Status, time: float) -> None:
        self.status, self.since = status, time
        self._change_head(status=status, since=time)

    def set_round(self, number: int) -> None:
        self.round = number
        self._change_head(round=number)

    def next_invitation(self) -> int:
        """The number of a new personal link."""
        made = update(projects).where(projects.c.name == self._name).values(invited=projects.c.invited + 1)
        return int(self._run(made.returning(projects.c.invited)).scalar_one())

    # --- tasks ---

    def add_tasks(self, tasks_: Iterable[Task]) -> int:
        count = 0
        known = {tuple(row) for row in self._run(select(groups.c.kind, groups.c.pool, groups.c.camp).where(
            groups.c.project == self._name))}  # fmt: skip
        for some in batched(tasks_):
            by_id = {one.id: one for one in reversed(some)}
            there = select(tasks.c.id, tasks.c.closed).where(tasks.c.project == self._name, tasks.c.id.in_(by_id))
            again = []
            for id, closed in self._run(there).all():
                one = by_id.pop(id)
                if closed == "removed":
                    self._replace_task(one)
                    again.append(one)
            new = sorted(by_id.values(), key=lambda one: one.id)
            if new:
                self._run(insert(tasks), [{"project": self._name, **rows.row_of_task(one)} for one in new])
            count += len(new) + len(again)
            opened = {(one.kind, one.pool, one.camp) for one in (*new, *again) if one.purpose == "work"}
            for group in sorted(opened - known):
                self._run(insert(groups).values(project=self._name, kind=group[0], pool=group[1], camp=group[2]))
                known.add(group)
        return count

    def _replace_task(self, task: Task) -> None:
        """Put a task in the place of one that was removed; who answered or holds that still does."""
        mine = (leases.c.project == self._name, leases.c.task == task.id, leases.c.ended.is_(None))
        leased = self._run(select(func.count()).select_from(leases).where(*mine)).scalar_one()
        row = {**rows.row_of_task(task), "done": len(self.answers_of(task.id)), "leased": leased}
        self._set(tasks, **row)
        self._keys.pop(task.id, None)
        self._count(task.id)

    def task(self, id: str) -> Task | None:
        row = self._one(tasks, id=id)
        if row is None:
            return None
        self._keys[id] = (row["key"], row["stratum"])
        return rows.task_of(row)

    def _key(self, id: str) -> tuple[str, str]:
        """The key and the stratum of a task."""
        if id not in self._keys:
            self._keys[id] = tuple(self._run(_KEY, self._named(id=id)).one())
        return self._keys[id]

    def tasks(self) -> Iterable[Task]:
        return map(rows.task_of, self._all(tasks, order=(tasks.c.id,)))

    def candidates(
        self, worker: str, kinds: Collection[Kind], pool: int, camp: str, limit: int = 40
    ) -> list[Candidate]:
        found: list[Mapping[str, Any]] = []
        for group in self._run(_GROUPS, self._named()).mappings().all():
            if group["kind"] not in kinds or group["pool"] > pool or (camp and group["camp"] not in ("", camp)):
                continue
            asked = {"kind_": group["kind"], "pool_": group["pool"], "camp_": group["camp"]}
            found += self._run(_CANDIDATES, {**self._me(worker, limit), **asked}).mappings().all()
        found.sort(key=lambda row: (row["done"] > 0, rows.mixed(row["id"])), reverse=True)
        return [Candidate(**row) for row in found[:limit]]

    def _me(self, worker: str, limit: int) -> dict[str, Any]:
        return {"project_": self._name, "worker_": worker, "limit_": limit}

    def gold(self, worker: str, kinds: Collection[Kind], limit: int = 40) -> list[Task]:
        found: list[Mapping[str, Any]] = []
        for role in self._run(_GOLD_ROLES, self._named()).scalars().all():
            for kind in kinds:
                found += self._run(_GOLD, {**self._me(worker, limit), "kind_": kind, "role_": role}).mappings().all()
        found.sort(key=lambda row: row["mixed"])
        return [rows.task_of(row) for row in found[:limit]]

    def qualification(self, role: str) -> list[Task]:
        where = (tasks.c.purpose == "qualification", tasks.c.role == role)
        return [rows.task_of(row) for row in self._all(tasks, *where, order=(tasks.c.step, tasks.c.id))]

    def close_task(self, id: str, how: Closed) -> None:
        self._set(tasks, id, closed=how, free=False)

    def closed(self, id: str) -> Closed | None:
        closed: Closed | None = self._run(select(tasks.c.closed).where(tasks.c.project == self._name, tasks.c.id == id)
                                          ).scalar()  # fmt: skip
        return closed

    def all_closed(self) -> Mapping[str, Closed]:
        shut = select(tasks.c.id, tasks.c.closed).where(tasks.c.project == self._name, tasks.c.closed.is_not(None))
        return {str(id): closed for id, closed in self._run(shut)}

    def candidate(self, id: str) -> Candidate | None:
        mine = select(*_CANDIDATE).where(tasks.c.project == self._name, tasks.c.id == id, tasks.c.closed.is_(None))
        row = self._run(mine).mappings().first()
        return None if row is None else Candidate(**row)

    def reopen_task(self, id: str) -> None:
        self._set(tasks, id, closed=None)
        self._count(id)

    def _count(self, id: str, done: int = 0, leased: int = 0) -> None:
        """Answers and leases more or less of a task, and whether it can be leased once more."""
        self._run(_COUNT, self._named(id=id, done=done, leased=leased))

    def set_needed(self, id: str, needed: int) -> None:
        """Have a task answered by more or fewer."""
        self._set(tasks, id, needed=needed)
        self._count(id)

    def stale(self, kinds: Collection[Kind], before: float) -> list[str]:
        where = (
            tasks.c.project == self._name, tasks.c.kind.in_(kinds), tasks.c.created < before, tasks.c.closed.is_(None),
            tasks.c.purpose == "work", tasks.c.done == 0, tasks.c.leased == 0,
        )  # fmt: skip
        return list(self._run(select(tasks.c.id).where(*where).order_by(tasks.c.id)).scalars())

    def postpone(self, seconds: float) -> None:
        still = update(tasks).where(tasks.c.project == self._name, tasks.c.closed.is_(None))
        self._run(still.values(created=tasks.c.created + seconds))

    # --- leases ---

    def held(self, worker: str) -> Lease | None:
        row = self._run(_HELD, self._named(worker=worker)).mappings().first()
        return None if row is None else rows.lease_of(row)

    def lease(self, id: str) -> Lease | None:
        row = self._one(leases, id=id)
        return None if row is None else rows.lease_of(row)

    def add_lease(self, lease: Lease) -> None:
        key, _ = self._key(lease.task)
        self._insert(leases, rows.row_of_lease(lease, key))
        if lease.ended is None:
            self._count(lease.task, leased=1)

    def end_lease(self, id: str, how: Ended, time: float) -> None:
        task = self._run(_END, self._named(id=id, how=how, time=time)).scalar()
        if task is not None:
            self._count(task, leased=-1)
        elif how == "answered":  # late, but nobody else has it
            self._set(leases, id, ended=how, end=time)

    def release(self, task: str, time: float) -> None:
        mine = (leases.c.project == self._name, leases.c.task == task, leases.c.ended.is_(None))
        for id in self._run(select(leases.c.id).where(*mine).order_by(leases.c.id)).scalars().all():
            self.end_lease(id, "returned", time)
            this = update(leases).where(leases.c.project == self._name, leases.c.id == id)
            self._run(this.values(key=leases.c.id))

    def expired(self, now: float, limit: int = 500) -> list[Lease]:
        found = self._run(_EXPIRED, self._named(now=now, limit=limit))
        return [rows.lease_of(row) for row in found.mappings()]

    # --- answers ---

    def add_answer(self, answer: Answer) -> None:
        _, stratum = self._key(answer.task)
        self._insert(answers, rows.row_of_answer(answer, stratum))
        if not answer.void:
            self._count(answer.task, done=1)

    def answer(self, id: str) -> Answer | None:
        row = self._one(answers, id=id)
        return None if row is None else rows.answer_of(row)

    def _answers(self, *where: ColumnElement[bool]) -> Iterator[Answer]:
        return map(rows.answer_of, self._all(answers, *where, order=(answers.c.time, answers.c.id)))

    def answers_of(self, task: str) -> list[Answer]:
        return [rows.answer_of(row) for row in self._run(_ANSWERS, self._named(task=task)).mappings()]

    def answers_by(self, worker: str) -> list[Answer]:
        return list(self._answers(answers.c.worker == worker))

    def answers(self) -> Iterable[Answer]:
        return self._answers()

    def written(self, round: int, kinds: Collection[Kind]) -> list[Answer]:
        mine = (answers.c.purpose == "work", answers.c.kind.in_(kinds), answers.c.round == round, answers.c.void == "")
        return list(self._answers(*mine))

    def answered(self, worker: str, key: str) -> bool:
        mine = (leases.c.project == self._name, leases.c.worker == worker, leases.c.key == key)
        done = (leases.c.ended == "answered", leases.c.purpose != "qualification")
        return self._run(select(leases.c.id).where(*mine, *done).limit(1)).first() is not None

    def void(self, answers_: Collection[str], why: str, again: bool = False) -> None:
        for some in batched(answers_):
            if again:
                theirs = update(leases).where(leases.c.project == self._name, leases.c.id.in_(some))
                self._run(theirs.values(key=leases.c.id))
            counted = update(answers).where(
                answers.c.project == self._name, answers.c.id.in_(some), answers.c.void == ""
            )
            gone = self._run(counted.values(void=why).returning(answers.c.task)).scalars().all()
            for task in gone:
                self._count(task, done=-1)

    def erase(self, answers_: Collection[str], author: str) -> None:
        nothing = {"value": rows.encoded({FORGOTTEN: True}), "warnings": rows.encoded([])}
        for some in batched(answers_):
            theirs = update(answers).where(answers.c.project == self._name, answers.c.id.in_(some))
            self._run(theirs.values(**nothing))
        made = [rows.task_of(row) for row in self._all(tasks, tasks.c.author == author, tasks.c.closed == "removed")]
        for one in made:
            self._set(tasks, one.id, payload=rows.encoded(kinds.blank(one)))

    def counts(self, worker: str) -> Mapping[str, int]:
        found = self._run(_STRATA, self._named(worker=worker))
        return {str(stratum): int(count) for stratum, count in found}


class SqlStore:
    """The projects in a database. `secret` keys the hashes that platforms' ids are found by."""

    def __init__(self, database: Database, secret: bytes = b"") -> None:
        self.database, self._secret = database, secret
        self._writes = Grouped(database)
        self._known: dict[str, Project] = {}  # by digest

    def names(self) -> list[str]:
        with self.database.read() as session:
            return list(session.scalars(select(projects.c.name).order_by(projects.c.name)))

    def create(self, project: Project, tasks: Iterable[Task], time: float) -> None:
        text = rows.encoded(project)
        head = {"status": "draft", "since": time, "round": 1, "workers": 0, "invited": 0}
        with self.database.write() as session:
            connection = session.connection()
            if connection.execute(select(projects.c.name).where(projects.c.name == project.name)).scalar() is not None:
                raise UserError(f"There is a collection {project.name!r} already.", "Choose another name.")
            row = {"name": project.name, "project": text, "digest": _digest(text), **head}
            connection.execute(insert(projects).values(**row))
            new = (replace(one, created=time) for one in tasks)
            SqlTransaction(connection, row, project, self._secret).add_tasks(new)

    def change(self, project: Project) -> None:
        """Have a project run as this says from now on."""
        text = rows.encoded(project)
        with self.database.write() as session:
            named = update(projects).where(projects.c.name == project.name)
            session.execute(named.values(project=text, digest=_digest(text)))

    @contextmanager
    def begin(self, project: str) -> Iterator[SqlTransaction]:
        with self._writes.begin() as connection:
            yield self._opened(connection, project, lock=True)

    @contextmanager
    def look(self, project: str) -> Iterator[SqlTransaction]:
        with self.database.read() as session:
            if not self.database.is_sqlite:  # whose reads see one state anyway
                session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield self._opened(session.connection(), project, lock=False)

    def _opened(self, connection: Connection, name: str, lock: bool) -> SqlTransaction:
        head = connection.execute(_LOCK if lock else _HEAD, {"project_": name}).mappings().first()
        if head is None:
            raise UserError(f"There is no collection {name!r}.", "Look at the list of collections.")
        known = self._known.get(head["digest"])
        if known is None:
            text = connection.execute(select(projects.c.project).where(projects.c.name == name)).scalar_one()
            known = self._known[head["digest"]] = msgspec.json.decode(text, type=Project)
        return SqlTransaction(connection, dict(head), known, self._secret)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
