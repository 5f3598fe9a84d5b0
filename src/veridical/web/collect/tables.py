"""Collections in the database: projects, tasks, leases, answers, people, reviews, payments.

Rows are the records of `records`, with what indexes need beside them: how many answers and open leases a task has,
whether it can be leased once more, and its place in an order that mixes origins. Of a person a keyed hash of the
platform's id is kept, which goes when they withdraw, and the id itself only while somebody has to be paid.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, String, Table, Text, and_, or_

from veridical.web.database import Base

NAME = 80  # characters of a project's name
ID = 200  # of a task's id, a key, an origin


def _project() -> Column[str]:
    return Column("project", String(NAME), ForeignKey("collect_projects.name", ondelete="CASCADE"), primary_key=True)


projects = Table(
    "collect_projects",
    Base.metadata,
    Column("name", String(NAME), primary_key=True),
    Column("project", Text, nullable=False),  # JSON
    Column("digest", String(64), nullable=False),  # of that JSON
    Column("status", String(10), nullable=False),
    Column("since", Float, nullable=False),  # of the status
    Column("round", Integer, nullable=False),
    Column("workers", Integer, nullable=False),  # ids given so far
    Column("invited", Integer, nullable=False),  # personal links made so far
)

requesters = Table(
    "collect_requesters",
    Base.metadata,
    _project(),
    Column("account_id", Integer, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
)

groups = Table(  # which kinds, pools and camps a project has tasks of: candidates are looked for in each
    "collect_groups",
    Base.metadata,
    _project(),
    Column("kind", String(12), primary_key=True),
    Column("pool", Integer, primary_key=True),
    Column("camp", String(ID), primary_key=True),
)

tasks = Table(
    "collect_tasks",
    Base.metadata,
    _project(),
    Column("id", String(ID), primary_key=True),
    Column("kind", String(12), nullable=False),
    Column("payload", Text, nullable=False),  # JSON
    Column("needed", Integer, nullable=False),
    Column("purpose", String(14), nullable=False),
    Column("expected", Text),  # JSON
    Column("key", String(ID), nullable=False),
    Column("author", String(20), nullable=False),
    Column("camp", String(ID), nullable=False),
    Column("stratum", String(ID), nullable=False),
    Column("pool", Integer, nullable=False),
    Column("origin", String(ID), nullable=False),
    Column("split", String(40), nullable=False),
    Column("step", Integer, nullable=False),
    Column("role", String(40), nullable=False),
    Column("created", Float, nullable=False),
    Column("done", Integer, nullable=False),  # answers that count
    Column("leased", Integer, nullable=False),  # leases that are open
    Column("closed", String(10)),
    Column("free", Boolean, nullable=False),  # not closed, and done + leased < needed
    Column("mixed", Integer, nullable=False),  # a hash of the id
)
_open = and_(tasks.c.closed.is_(None), tasks.c.purpose == "work", tasks.c.done == 0, tasks.c.leased == 0)
Index("collect_tasks_free", *(tasks.c[name] for name in ("project", "kind", "pool", "camp", "free", "done", "mixed")))
Index("collect_tasks_purpose", tasks.c.project, tasks.c.purpose, tasks.c.role, tasks.c.kind, tasks.c.mixed)
Index(
    "collect_tasks_untouched",
    tasks.c.project,
    tasks.c.kind,
    tasks.c.created,
    sqlite_where=_open,
    postgresql_where=_open,
)

leases = Table(
    "collect_leases",
    Base.metadata,
    _project(),
    Column("id", String(40), primary_key=True),
    Column("task", String(ID), nullable=False),
    Column("key", String(ID), nullable=False),  # of its task
    Column("worker", String(20), nullable=False),
    Column("start", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("purpose", String(14), nullable=False),
    Column("view", Integer, nullable=False),
    Column("ended", String(10)),
    Column("end", Float),
)
_held = leases.c.ended.is_(None)
_taken = and_(leases.c.purpose != "qualification", or_(leases.c.ended.is_(None), leases.c.ended == "answered"))
_mine = (leases.c.project, leases.c.worker)
Index("collect_leases_one", *_mine, unique=True, sqlite_where=_held, postgresql_where=_held)
Index("collect_leases_once", *_mine, leases.c.key, unique=True, sqlite_where=_taken, postgresql_where=_taken)
Index("collect_leases_key", *_mine, leases.c.key)
Index("collect_leases_expires", leases.c.project, leases.c.expires, sqlite_where=_held, postgresql_where=_held)

answers = Table(
    "collect_answers",
    Base.metadata,
    _project(),
    Column("id", String(40), primary_key=True),  # of its lease
    Column("task", String(ID), nullable=False),
    Column("worker", String(20), nullable=False),
    Column("kind", String(12), nullable=False),
    Column("purpose", String(14), nullable=False),
    Column("value", Text, nullable=False),  # JSON
    Column("start", Float, nullable=False),
    Column("time", Float, nullable=False),
    Column("round", Integer, nullable=False),
    Column("right", Boolean),
    Column("warnings", Text, nullable=False),  # JSON
    Column("void", String(ID), nullable=False),
    Column("stratum", String(ID), nullable=False),  # of its task
)
Index("collect_answers_task", answers.c.project, answers.c.task)
Index("collect_answers_worker", answers.c.project, answers.c.worker, answers.c.purpose, answers.c.stratum)
Index("collect_answers_round", answers.c.project, answers.c.round, answers.c.kind)
Index("collect_answers_time", answers.c.project, answers.c.time)

workers = Table(
    "collect_workers",
    Base.metadata,
    _project(),
    Column("id", String(20), primary_key=True),
    Column("platform", String(10), nullable=False),
    Column("platform_key", String(64)),  # a keyed hash of the platform's id; None where nothing is known of a person
    Column("platform_id", String(ID), nullable=False),  # while a payment needs it
    Column("session", String(ID), nullable=False),  # too
    Column("joined", Float, nullable=False),
    Column("consented", Float),
    Column("consent", String(40), nullable=False),
    Column("withdrawn", Float),
    Column("blocked", Float),
    Column("blocked_because", Text, nullable=False),
    Column("standings", Text, nullable=False),  # JSON
    Column("qualified", Text, nullable=False),  # the roles, each between spaces
    Column("tier", Integer, nullable=False),
    Column("camp", String(ID), nullable=False),
    Column("given", Integer, nullable=False),
    Column("seen", Float, nullable=False),
)
Index("collect_workers_platform", workers.c.project, workers.c.platform, workers.c.platform_key, unique=True)

reviews = Table(
    "collect_reviews",
    Base.metadata,
    _project(),
    Column("answer", String(40), primary_key=True),
    Column("worker", String(20), nullable=False),
    Column("about", String(14), nullable=False),
    Column("round", Integer, nullable=False),
    Column("asked", Float, nullable=False),
    Column("follows", Boolean),
    Column("note", Text, nullable=False),
    Column("by", String(NAME), nullable=False),
    Column("time", Float),
)
Index("collect_reviews_worker", reviews.c.project, reviews.c.worker, reviews.c.round)

payments = Table(
    "collect_payments",
    Base.metadata,
    _project(),
    Column("id", String(ID), primary_key=True),
    Column("worker", String(20), nullable=False),
    Column("why", String(14), nullable=False),
    Column("mills", Integer, nullable=False),
    Column("time", Float, nullable=False),
    Column("kind", String(12)),
    Column("note", Text, nullable=False),
    Column("batch", String(NAME), nullable=False),
)
Index("collect_payments_worker", payments.c.project, payments.c.worker)
