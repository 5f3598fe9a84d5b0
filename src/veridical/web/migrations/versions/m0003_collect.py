"""Collections: projects, tasks, leases, answers, workers, reviews and payments."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "0003", "0002", None, None
TABLES = ("groups", "tasks", "leases", "answers", "workers", "reviews", "payments", "requesters")


def _text(name: str, size: int | None = None, null: bool = False, key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(size) if size else sa.Text(), nullable=null, primary_key=key)


def _whole(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer(), nullable=False) for name in names]


def _time(name: str, null: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Float(), nullable=null)


def _make(name: str, *columns: sa.Column[Any]) -> None:
    to = sa.ForeignKey("collect_projects.name", ondelete="CASCADE")
    op.create_table(f"collect_{name}", sa.Column("project", sa.String(80), to, primary_key=True), *columns)


def _index(table: str, name: str, columns: str, unique: bool = False, where: str = "") -> None:
    only: dict[str, Any] = {f"{kind}_where": sa.text(where) for kind in ("sqlite", "postgresql")} if where else {}
    named = f"collect_{table}_{name}"
    op.create_index(named, f"collect_{table}", ["project", *columns.split()], unique=unique, **only)


def upgrade() -> None:
    op.create_table(
        "collect_projects",
        _text("name", 80, key=True), _text("project"), _text("digest", 64), _text("status", 10), _time("since"),
        *_whole("round", "workers", "invited"),
    )  # fmt: skip
    account = sa.ForeignKey("accounts.id", ondelete="CASCADE")
    _make("requesters", sa.Column("account_id", sa.Integer(), account, primary_key=True))
    pool = sa.Column("pool", sa.Integer(), primary_key=True)
    _make("groups", _text("kind", 12, key=True), pool, _text("camp", 200, key=True))
    _tasks()
    _answers()
    _people()


def _tasks() -> None:
    _make(
        "tasks",
        _text("id", 200, key=True), _text("kind", 12), _text("payload"), *_whole("needed"), _text("purpose", 14),
        _text("expected", null=True), _text("key", 200), _text("author", 20), _text("camp", 200),
        _text("stratum", 200), *_whole("pool"), _text("origin", 200), _text("split", 40), *_whole("step"),
        _text("role", 40), _time("created"), *_whole("done", "leased"), _text("closed", 10, null=True),
        sa.Column("free", sa.Boolean(), nullable=False), *_whole("mixed"),
    )  # fmt: skip
    _index("tasks", "free", "kind pool camp free done mixed")
    _index("tasks", "purpose", "purpose role kind mixed")
    untouched = "closed IS NULL AND purpose = 'work' AND done = 0 AND leased = 0"
    _index("tasks", "untouched", "kind created", where=untouched)


def _answers() -> None:
    _make(
        "leases",
        _text("id", 40, key=True), _text("task", 200), _text("key", 200), _text("worker", 20), _time("start"),
        _time("expires"), _text("purpose", 14), *_whole("view"), _text("ended", 10, null=True), _time("end", null=True),
    )  # fmt: skip
    _index("leases", "one", "worker", unique=True, where="ended IS NULL")
    taken = "purpose != 'qualification' AND (ended IS NULL OR ended = 'answered')"
    _index("leases", "once", "worker key", unique=True, where=taken)
    _index("leases", "key", "worker key")
    _index("leases", "expires", "expires", where="ended IS NULL")
    _make(
        "answers",
        _text("id", 40, key=True), _text("task", 200), _text("worker", 20), _text("kind", 12), _text("purpose", 14),
        _text("value"), _time("start"), _time("time"), *_whole("round"), sa.Column("right", sa.Boolean()),
        _text("warnings"), _text("void", 200), _text("stratum", 200),
    )  # fmt: skip
    _index("answers", "task", "task")
    _index("answers", "worker", "worker purpose stratum")
    _index("answers", "round", "round kind")
    _index("answers", "time", "time")


def _people() -> None:
    _make(
        "workers",
        _text("id", 20, key=True), _text("platform", 10), _text("platform_key", 64, null=True),
        _text("platform_id", 200), _text("session", 200), _time("joined"), _time("consented", null=True),
        _text("consent", 40), _time("withdrawn", null=True), _time("blocked", null=True), _text("blocked_because"),
        _text("standings"), _text("qualified"), *_whole("tier"), _text("camp", 200), *_whole("given"), _time("seen"),
    )  # fmt: skip
    _index("workers", "platform", "platform platform_key", unique=True)
    _make(
        "reviews",
        _text("answer", 40, key=True), _text("worker", 20), _text("about", 14), *_whole("round"), _time("asked"),
        sa.Column("follows", sa.Boolean()), _text("note"), _text("by", 80), _time("time", null=True),
    )  # fmt: skip
    _index("reviews", "worker", "worker round")
    _make(
        "payments",
        _text("id", 200, key=True), _text("worker", 20), _text("why", 14), *_whole("mills"), _time("time"),
        _text("kind", 12, null=True), _text("note"), _text("batch", 80),
    )  # fmt: skip
    _index("payments", "worker", "worker")


def downgrade() -> None:
    for name in TABLES:
        op.drop_table(f"collect_{name}")
    op.drop_table("collect_projects")
