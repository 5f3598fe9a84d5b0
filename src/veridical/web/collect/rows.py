"""Records as rows of the database, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

import msgspec

from veridical.web.collect.records import Answer, Lease, Payment, Review, Standing, Task, Worker

Row = Mapping[str, Any]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_standings = msgspec.json.Decoder(dict[str, Standing]).decode


@cache
def _names(record: type, *but: str) -> tuple[str, ...]:
    return tuple(one.name for one in fields(record) if one.name not in but)


def encoded(value: Any) -> str:
    return _encode(value).decode()


def mixed(id: str) -> int:
    """A place in an order that has nothing to do with where a task came from."""
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=4).digest()) & 0x7FFFFFFF


def row_of_task(task: Task) -> dict[str, Any]:
    row = {name: getattr(task, name) for name in _names(Task, "once")}
    return {
        **row, "payload": encoded(task.payload), "expected": None if task.expected is None else encoded(task.expected),
        "key": task.key, "done": 0, "leased": 0, "closed": None, "free": task.purpose == "work" and task.needed > 0,
        "mixed": mixed(task.id),
    }  # fmt: skip


def task_of(row: Row) -> Task:
    named = {name: row[name] for name in _names(Task, "once", "payload", "expected")}
    expected = None if row["expected"] is None else _decode(row["expected"])
    once = "" if row["key"] == row["id"] else row["key"]
    return Task(payload=_decode(row["payload"]), expected=expected, once=once, **named)


def row_of_lease(lease: Lease, key: str) -> dict[str, Any]:
    return {**{name: getattr(lease, name) for name in _names(Lease)}, "key": key}


def lease_of(row: Row) -> Lease:
    return Lease(**{name: row[name] for name in _names(Lease)})


def row_of_answer(answer: Answer, stratum: str) -> dict[str, Any]:
    row = {name: getattr(answer, name) for name in _names(Answer)}
    return {**row, "value": encoded(answer.value), "warnings": encoded(answer.warnings), "stratum": stratum}


def answer_of(row: Row) -> Answer:
    named = {name: row[name] for name in _names(Answer, "value", "warnings")}
    return Answer(value=_decode(row["value"]), warnings=tuple(_decode(row["warnings"])), **named)


def row_of_worker(worker: Worker, key: str | None) -> dict[str, Any]:
    row = {name: getattr(worker, name) for name in _names(Worker)}
    qualified = [role for role, standing in worker.standings.items() if standing.stage == "qualified"]
    return {
        **row, "standings": encoded(worker.standings), "qualified": "".join(f" {role} " for role in qualified),
        "platform_key": key,
    }  # fmt: skip


def worker_of(row: Row) -> Worker:
    named = {name: row[name] for name in _names(Worker, "standings")}
    return Worker(standings=_standings(row["standings"]), **named)


def review_of(row: Row) -> Review:
    return Review(**{name: row[name] for name in _names(Review)})


def payment_of(row: Row) -> Payment:
    return Payment(**{name: row[name] for name in _names(Payment)})
