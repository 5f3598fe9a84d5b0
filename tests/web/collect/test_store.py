"""The store in a database does what the one in memory does, whatever people do, and keeps little of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text
from tests.web.collect import making
from tests.web.collect.memory import MemoryStore

from veridical.errors import UserError
from veridical.web.collect.records import Offer, Role
from veridical.web.collect.service import Service
from veridical.web.collect.sql_store import SqlStore
from veridical.web.collect.tables import leases, tasks, workers
from veridical.web.collect.working import Refused
from veridical.web.database import Database, sqlite_address

PEOPLE = 4
ROLES = (
    Role("pruner", ("prune", "sets")),
    Role("writer", ("contrast",), tutorial=1, questions=1, least_right=1, writing=True, pay=500),
    Role("validator", ("validate",)),
)


@contextmanager
def store_at(address: str) -> Iterator[SqlStore]:
    database = Database(address)
    database.upgrade()
    try:
        yield SqlStore(database, b"secret")
    finally:
        database.close()


@pytest.fixture(params=["sqlite", "postgres"])
def sql(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """A store on each kind of database."""
    is_sqlite = request.param == "sqlite"
    with store_at(sqlite_address(tmp_path / "a.sqlite") if is_sqlite else request.getfixturevalue("postgres")()) as one:
        yield one


def some_tasks() -> list[Any]:
    from veridical.web.collect import kinds
    from veridical.web.collect.records import Task

    out = [making.prune_task(f"s{k}", split="train" if k else "held-out") for k in range(2)]
    out += [making.contrast_task("s7", pool=1), making.contrast_task("s8", "held-out"), making.contrast_task("s9")]
    asked = kinds.plain(kinds.Tutorial("Which?", ("this", "that"), "Because."))
    quest = {"purpose": "qualification", "needed": 0, "role": "writer"}
    out.append(Task("q0", "tutorial", asked, expected={"choice": 0}, step=0, **quest))
    pairs = making.contrast_task("q").payload["pairs"]
    judged = {"sentence": making.SENTENCE, "pairs": pairs, "selected": [0, 1]}
    out.append(Task("q1", "guideline", judged, expected={"follows": True}, step=1, **quest))
    out.append(replace(making.contrast_task("q2"), step=2, **quest))
    out += [replace(making.validate_task(f"g{k}", 0), purpose="gold") for k in range(3)]
    return out


def beginning(store: Any, clock: list[float]) -> Service:
    made = making.project(roles=ROLES, held_out=0.5, gold_every=4, sample=2, small_pool=0.5)
    store.create(made, some_tasks(), clock[0])
    service = Service(store, "dogs", lambda: clock[0])
    service.start()
    for number in range(PEOPLE):
        one = service.join("prolific", f"person {number}", f"sitting {number}")
        service.consent(one.id, "1")
    return service


def done(service: Service, what: str, who: int, flag: bool) -> Any:
    """What comes of somebody doing something."""
    name = f"w{who + 1}"
    try:
        if what == "leave":
            return (service.withdraw if flag else service.forget)(name)
        if what == "block":
            return service.block(name, "why", flag)
        if what == "unblock":
            return service.unblock(name)
        if what == "pause":
            return (service.pause(), service.next(name), service.resume())
        if what == "round":
            return service.end_round()
        if what == "review":
            return [service.review(one.answer.id, flag, "me") for one in service.reviews()[: who + 1]]
        if what == "pay":
            return service.pay("prolific")
        if what == "join":
            return service.join("prolific", f"person {who}")
        offer = service.next(name)
        if not isinstance(offer, Offer):
            return offer
        if what == "back":
            return service.give_back(name, offer.lease.id)
        if what == "answer":
            return offer, service.submit(name, offer.lease.id, making.answer(offer, verdict=flag, selected=(0, 2)))
        if what == "again":
            said = making.answer(offer)
            return service.submit(name, offer.lease.id, said), service.submit(name, offer.lease.id, said)
        return offer
    except UserError as error:
        return error.problem


def state(store: Any) -> Any:
    """All that a store says it has."""
    with store.look("dogs") as tx:
        people = [replace(one, standings=dict(one.standings)) for one in tx.workers()]
        answers = sorted(tx.answers(), key=lambda one: one.id)
        seen = {
            one.id: (tx.held(one.id), dict(tx.counts(one.id)), sorted(a.id for a in tx.answers_by(one.id)),
                     {c.id: c for c in tx.candidates(one.id, ("prune", "contrast", "validate"), one.tier, one.camp)},
                     sorted(t.id for t in tx.gold(one.id, ("validate",))),
                     tx.able("s1", "writer", "", 0, one.id))
            for one in people
        }  # fmt: skip
        return (
            tx.status, tx.round, list(tx.tasks()), dict(tx.all_closed()), answers, people, seen,
            sorted(tx.reviews(), key=lambda one: one.answer), sorted(tx.payments(), key=lambda one: one.id),
            sorted(tx.stale(("contrast",), 1e9)), [one.id for one in tx.qualification("writer")],
        )  # fmt: skip


WHAT = ["next", "answer", "answer", "answer", "answer", "again", "back", "late", "leave", "block", "unblock", "pause",
        "round", "review", "pay", "join"]  # fmt: skip
steps = st.lists(st.tuples(st.sampled_from(WHAT), st.integers(0, PEOPLE - 1), st.booleans()), min_size=5, max_size=30)


def compare(store: SqlStore, some: list[tuple[str, int, bool]]) -> None:
    clock = [1000.0]
    services = [beginning(MemoryStore(), clock), beginning(store, clock)]
    for what, who, flag in some:
        clock[0] += 10
        if what == "late":
            clock[0] += 4000
        one, other = [done(service, what, who, flag) for service in services]
        assert one == other, what
    memory, database = (state(service.store) for service in services)
    for mine, theirs in zip(memory, database, strict=True):
        assert mine == theirs


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps)
def test_a_database_does_what_memory_does(
    tmp_path_factory: pytest.TempPathFactory, some: list[tuple[str, int, bool]]
) -> None:
    with store_at(sqlite_address(tmp_path_factory.mktemp("law") / "a.sqlite")) as store:
        compare(store, some)


def test_on_either_database_a_long_day(sql: SqlStore) -> None:
    import random

    rng = random.Random(5)
    compare(sql, [(rng.choice(WHAT[:7] + WHAT), rng.randrange(PEOPLE), rng.random() < 0.7) for _ in range(60)])


def test_writing_that_was_all_in_the_large_pool_is_opened_to_everybody(sql: SqlStore) -> None:
    tasks = [making.contrast_task(f"s{k}", pool=1) for k in range(4)]
    sql.create(making.project(roles=(Role("writer", ("contrast",)),), small_pool=0.25), tasks, 0.0)
    service = Service(sql, "dogs", lambda: 10.0)
    service.start()
    who = service.join("link").id
    service.consent(who, "1")
    assert not isinstance(service.next(who), Offer)
    service.tick()
    assert isinstance(service.next(who), Offer)


def test_who_judged_a_sentence_that_is_gone_may_judge_the_one_in_its_place(sql: SqlStore) -> None:
    sql.create(making.project(false_alarms=0), [making.contrast_task("s1")], 0.0)
    service = Service(sql, "dogs", lambda: 10.0)
    service.start()
    bad, good, judge, last = (service.join("link").id for _ in range(4))
    for one in (bad, good, judge, last):
        service.consent(one, "1")

    def write_and_judge(writer: str, hold: bool) -> tuple[int, Any]:
        offer = service.next(writer, "writer")
        assert isinstance(offer, Offer)
        service.submit(writer, offer.lease.id, making.answer(offer))
        held, said = service.next(last, "validator") if hold else None, 0
        while isinstance(offer := service.next(judge, "validator"), Offer):
            service.submit(judge, offer.lease.id, {"verdict": True})
            said += 1
        return said, held

    said, held = write_and_judge(bad, True)
    assert (said, isinstance(held, Offer)) == (3, True)
    service.block(bad, "wrote at random")
    told = service.submit(last, held.lease.id, {"verdict": True})  # of the sentence that is gone
    assert isinstance(told, Refused)
    assert told.gone
    assert write_and_judge(good, False)[0] == 4
    with sql.look("dogs") as tx:
        assert Counter((one.worker, bool(one.void)) for one in tx.answers()) == {
            (bad, True): 1, (judge, True): 3, (good, False): 1, (judge, False): 4,
        }  # fmt: skip


def test_at_once_nobody_gets_what_another_has(sql: SqlStore) -> None:
    """Many ask and answer at the same time: each task has one holder, each answer is there once."""
    made = making.project(roles=(Role("validator", ("validate",)),))
    sql.create(made, [making.validate_task(f"i{k}", needed=1 + k % 2) for k in range(20)], 0.0)
    service = Service(sql, "dogs")
    service.start()
    names = [service.join("simulated").id for _ in range(5)]
    for name in names:
        service.consent(name, "1")
    taken: list[str] = []
    problems: list[Any] = []

    def work(name: str) -> None:
        while isinstance(offer := service.next(name), Offer):
            lease = offer.lease.id
            both = [service.submit(name, lease, {"verdict": True}) for _ in range(2)]
            problems.extend(one for one in both if hasattr(one, "problems"))
            taken.append(lease)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not problems
    with sql.look("dogs") as tx:
        answers = list(tx.answers())
    assert len(answers) == len(set(taken)) == len(taken) == 10 + 20
    assert len({(one.task, one.worker) for one in answers}) == len(answers)
    with sql.database.read() as session:
        assert not session.execute(select(tasks.c.id).where(tasks.c.done + tasks.c.leased > tasks.c.needed)).all()
        assert not session.execute(select(leases.c.id).where(leases.c.ended.is_(None))).all()


def test_what_identifies_a_person_goes_with_them(sql: SqlStore) -> None:
    clock = [1000.0]
    service = beginning(sql, clock)

    def row(name: str) -> Any:
        with sql.database.read() as session:
            return session.execute(select(workers).where(workers.c.id == name)).mappings().one()

    assert row("w1")["platform_id"] == "person 0"
    assert "person 0" not in row("w1")["platform_key"]
    service.forget("w1")
    assert (row("w1")["platform_id"], row("w1")["session"], row("w1")["platform_key"]) == ("", "", None)
    assert service.join("prolific", "person 0").id == "w5"  # nobody knows them again
    service.block("w2", "why")
    service.withdraw("w2")
    assert row("w2")["platform_id"] == ""
    assert service.join("prolific", "person 1").id == "w2"  # who was blocked stays so, and no name is kept
    assert row("w2")["platform_id"] == ""


def test_what_somebody_wrote_is_deleted_when_they_want_to_be_forgotten(sql: SqlStore) -> None:
    """Their words are nowhere: in no answer, in no task that was made of them, in no export."""
    roles = (Role("writer", ("contrast",), writing=True), Role("validator", ("validate",)))
    quest: dict[str, Any] = {"purpose": "qualification", "needed": 0, "role": "writer", "step": 0}
    sql.create(
        making.project(roles=roles), [making.contrast_task("s1"), replace(making.contrast_task("q"), **quest)], 0.0
    )
    service = Service(sql, "dogs", lambda: 1000.0)
    service.start()
    writer, judge = (service.join("prolific", name).id for name in ("one", "two"))
    for name in (writer, judge):
        service.consent(name, "1")

    def does(name: str, role: str, said: dict[str, Any]) -> str:
        offer = service.next(name, role)
        assert isinstance(offer, Offer)
        service.submit(name, offer.lease.id, said)
        return offer.lease.id

    tried = does(writer, "writer", {"selected": [0, 1], "sentence": "my secret is one of the dogs"})
    service.review(tried, True, "host")
    does(writer, "writer", {"selected": [0, 1], "sentence": "my secret is two of the dogs"})
    does(judge, "validator", {"verdict": True})
    service.end_round()

    def dump() -> str:
        with sql.database.read() as session:
            names = ("collect_answers", "collect_tasks", "collect_reviews", "collect_workers")
            return "".join(str(session.execute(text(f"SELECT * FROM {name}")).all()) for name in names)

    assert "two of the dogs" in dump()
    service.withdraw(writer)
    assert "my secret is one" in dump()
    service.forget(writer)
    assert "my secret" not in dump()
    assert service.reviews() == []  # nobody is asked about it
    assert {one.worker.id: (one.answers, one.void) for one in service.people()} == {writer: (1, 1), judge: (1, 1)}
    assert service.progress().sentences == 0
    assert isinstance(service.next(judge, "writer"), Offer)  # to qualify, for what is to be written again


def test_a_transaction_that_fails_leaves_nothing(sql: SqlStore) -> None:
    beginning(sql, [1000.0])
    before = state(sql)

    def fail() -> None:
        with sql.begin("dogs") as tx:
            tx.close_task("prune:s1", "removed")
            tx.set_round(7)
            tx.new_worker()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert state(sql) == before


def test_candidates_are_found_by_an_index(sql: SqlStore) -> None:
    """However many tasks there are: no statement of the next task reads the table."""
    sql.create(making.project(), [making.validate_task(f"i{k}") for k in range(2000)], 0.0)
    if not sql.database.is_sqlite:
        with sql.database.write() as session:
            session.execute(text("ANALYZE"))
    seen: list[tuple[str, Any]] = []
    from sqlalchemy import event

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *more: Any) -> None:
        seen.append((statement, parameters))

    event.listen(sql.database.engine, "before_cursor_execute", note)
    with sql.look("dogs") as tx:
        assert len(tx.candidates("w1", ("validate",), 0, "")) == 40
    event.remove(sql.database.engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN " if sql.database.is_sqlite else "EXPLAIN "
    with sql.database.engine.connect() as connection:
        plans = [str(connection.exec_driver_sql(explain + one, given).all()) for one, given in seen if "free" in one]
    assert plans
    assert all("collect_tasks_free" in plan for plan in plans), plans
