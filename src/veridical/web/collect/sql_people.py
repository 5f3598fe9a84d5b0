"""People, reviews and money of a collection in the database, and how statements about one project are run."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    Executable,
    Insert,
    Select,
    Table,
    Update,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.elements import ColumnElement

from veridical.web.collect import rows
from veridical.web.collect.records import Payment, Platform, Project, Review, Status, Worker
from veridical.web.collect.tables import leases, payments, projects, reviews, workers

AT_ONCE = 400  # rows of one statement
Value = TypeVar("Value")


def batched(values: Iterable[Value]) -> Iterator[list[Value]]:
    """As many at a time as a statement takes."""
    each = iter(values)
    while some := list(islice(each, AT_ONCE)):
        yield some


# Making a statement costs more than running it: those that every task needs are made once, and take values.


@cache
def _by(table: Table, *names: str) -> Select[Any]:
    return select(table).where(*(table.c[name] == bindparam(f"{name}_") for name in ("project", *names)))


@cache
def _into(table: Table) -> Insert:
    return insert(table)


@cache
def _unless_there(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    made = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    return made.on_conflict_do_nothing(index_elements=["project", "id"])


@cache
def _change(table: Table, *names: str) -> Update:
    where = (table.c[name] == bindparam(f"{name}_") for name in ("project", "id"))
    return update(table).where(*where).values({name: bindparam(name) for name in names})


class People:
    """The part of a transaction that is about people; see `store.Transaction`."""

    def __init__(self, connection: Connection, head: Mapping[str, Any], project: Project, secret: bytes) -> None:
        self._connection, self._name, self._secret = connection, str(head["name"]), secret
        self.project = project
        self.status: Status = head["status"]
        self.since: float = head["since"]
        self.round: int = head["round"]
        # what this transaction has read or written, and nobody else changes until it ends
        self._people: dict[str, Worker] = {}
        self._keys: dict[str, tuple[str, str]] = {}  # task -> its key and stratum

    # --- statements ---

    def _run(self, statement: Executable, *values: Any) -> Any:
        return self._connection.execute(statement, *values)

    def _all(self, table: Table, *where: ColumnElement[bool], order: Any = ()) -> Iterator[Mapping[str, Any]]:
        statement = select(table).where(table.c.project == self._name, *where).order_by(*order)
        if not where:
            statement = statement.execution_options(yield_per=AT_ONCE)
        return iter(self._run(statement).mappings())

    def _named(self, **equal: Any) -> dict[str, Any]:
        """Values of the statements that are made once."""
        return {"project_": self._name, **{f"{name}_": value for name, value in equal.items()}}

    def _one(self, table: Table, **equal: Any) -> Mapping[str, Any] | None:
        """The row whose columns have these values."""
        found: Mapping[str, Any] | None = self._run(_by(table, *equal), self._named(**equal)).mappings().first()
        return found

    def _insert(self, table: Table, row: Mapping[str, Any]) -> None:
        self._run(_into(table), {"project": self._name, **row})

    def _set(self, table: Table, id: str, **values: Any) -> int:
        """Change the row of an id; how many there are."""
        return int(self._run(_change(table, *values), {**self._named(id=id), **values}).rowcount)

    def _change_head(self, **values: Any) -> None:
        self._run(update(projects).where(projects.c.name == self._name).values(**values))

    # --- people ---

    def worker(self, id: str) -> Worker | None:
        if id not in self._people and (row := self._one(workers, id=id)) is not None:
            self._people[id] = rows.worker_of(row)
        return self._people.get(id)

    def find_worker(self, platform: Platform, platform_id: str) -> Worker | None:
        key = self._platform_key(platform, platform_id)
        row = self._one(workers, platform=platform, platform_key=key)
        return None if row is None else rows.worker_of(row)

    def _platform_key(self, platform: str, platform_id: str) -> str:
        said = f"{self._name} {platform} {platform_id}".encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, said, hashlib.sha256).hexdigest()

    def new_worker(self) -> str:
        made = update(projects).where(projects.c.name == self._name).values(workers=projects.c.workers + 1)
        return f"w{self._run(made.returning(projects.c.workers)).scalar_one()}"

    def put_worker(self, worker: Worker) -> None:
        """Write down a worker; the hash that recognises them goes when they withdraw, unless they are blocked."""
        row = rows.row_of_worker(worker, None)
        if worker.platform_id:
            row["platform_key"] = self._platform_key(worker.platform, worker.platform_id)
        elif worker.withdrawn is None or worker.blocked is not None:
            del row["platform_key"]  # as it was
        if not self._set(workers, **row):
            self._insert(workers, {"platform_key": None, **row})
        self._people[worker.id] = worker

    def workers(self) -> list[Worker]:
        order = (func.length(workers.c.id), workers.c.id)
        return [rows.worker_of(row) for row in self._all(workers, order=order)]

    def able(self, key: str, role: str, camp: str, pool: int, but: str) -> int:
        taken = exists().where(
            leases.c.project == self._name, leases.c.worker == workers.c.id, leases.c.key == key,
            or_(leases.c.ended.is_(None), leases.c.ended != "expired"),
        )  # fmt: skip
        where = [
            workers.c.project == self._name, workers.c.id != but, workers.c.consented.is_not(None),
            workers.c.withdrawn.is_(None), workers.c.blocked.is_(None), workers.c.tier >= pool, ~taken,
        ]  # fmt: skip
        own = next((one for one in self.project.roles if one.name == role), None)
        if own is not None and (own.tutorial or own.questions or own.writing):
            where.append(workers.c.qualified.contains(f" {role} ", autoescape=True))
        if camp:
            where.append(workers.c.camp.in_(("", camp)))
        return int(self._run(select(func.count()).select_from(workers).where(*where)).scalar_one())

    # --- reviews and money ---

    def put_review(self, review: Review) -> None:
        row = {name: getattr(review, name) for name in review.__dataclass_fields__}
        self._run(delete(reviews).where(reviews.c.project == self._name, reviews.c.answer == review.answer))
        self._insert(reviews, row)

    def review(self, answer: str) -> Review | None:
        row = self._one(reviews, answer=answer)
        return None if row is None else rows.review_of(row)

    def reviews(self, worker: str | None = None, round: int | None = None) -> list[Review]:
        where = [] if worker is None else [reviews.c.worker == worker]
        where += [] if round is None else [reviews.c.round == round]
        return [rows.review_of(row) for row in self._all(reviews, *where, order=(reviews.c.asked, reviews.c.answer))]

    def add_payment(self, payment: Payment) -> None:
        row = {name: getattr(payment, name) for name in payment.__dataclass_fields__}
        self._run(_unless_there(payments, self._connection.dialect.name), {"project": self._name, **row})

    def payments(self, worker: str | None = None) -> list[Payment]:
        where = [] if worker is None else [payments.c.worker == worker]
        return [rows.payment_of(row) for row in self._all(payments, *where, order=(payments.c.time, payments.c.id))]

    def mark_paid(self, payments_: Collection[str], batch: str) -> None:
        for some in batched(payments_):
            named = update(payments).where(payments.c.project == self._name, payments.c.id.in_(some))
            self._run(named.values(batch=batch))
