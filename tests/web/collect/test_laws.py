"""The laws of assignment, whatever people do and in whatever order: never too many answers, never twice the same, never
one's own sentence where another can, nothing lost, and it comes to an end."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.web.collect import making
from tests.web.collect.memory import MemoryStore

from veridical.errors import UserError
from veridical.web.collect.assigning import choose, gold_due, open_to, view
from veridical.web.collect.records import GOLD, Candidate, Offer, Project, Standing, Task, Worker
from veridical.web.collect.service import Service

NAMES = [f"t{k}" for k in range(6)]
PEOPLE = ["w1", "w2", "w3", "w4"]
candidates = st.builds(
    Candidate,
    id=st.sampled_from(NAMES),
    kind=st.just("validate"),
    key=st.sampled_from(NAMES),
    needed=st.integers(1, 5),
    done=st.integers(0, 5),
    leased=st.integers(0, 3),
    author=st.sampled_from(["", *PEOPLE]),
    camp=st.sampled_from(["", "answer", "rationale"]),
    stratum=st.sampled_from(["", "and", "or"]),
    pool=st.integers(0, 1),
)
workers = st.builds(
    Worker,
    id=st.sampled_from(PEOPLE),
    consented=st.sampled_from([None, 1.0]),
    blocked=st.sampled_from([None, None, 1.0]),
    tier=st.integers(0, 1),
    camp=st.sampled_from(["", "answer", "rationale"]),
)


@given(workers, st.lists(candidates), st.dictionaries(st.sampled_from(["", "and", "or"]), st.integers(0, 9)), st.data())
def test_what_is_chosen_may_be_done(worker: Worker, some: list[Candidate], counts: dict[str, int], data: st.DataObject):
    others = {one.id: data.draw(st.integers(0, 2)) for one in some}
    chosen = choose(worker, some, counts, lambda one: others[one.id])
    allowed = [one for one in some if open_to(worker, one)]
    able = [one for one in allowed if one.author != worker.id]
    if chosen is None:
        assert not able
        assert all(others[one.id] for one in allowed)
        return
    assert chosen in allowed
    assert chosen.done + chosen.leased < chosen.needed
    if chosen.author == worker.id:
        assert not able
        assert not others[chosen.id]
    else:
        assert counts.get(chosen.stratum, 0) == min(counts.get(one.stratum, 0) for one in able)


def people(count: int) -> tuple[Service, list[str], list[float]]:
    """A service with a clock that tests turn."""
    clock = [1000.0]
    store = MemoryStore()
    tasks = [making.prune_task(f"s{k}", split="train" if k else "held-out") for k in range(2)]
    tasks += [making.contrast_task("s7"), making.contrast_task("s8", "held-out")]
    store.create(making.project(held_out=0.5, stale_days=1000.0, false_alarms=0), tasks, clock[0])
    service = Service(store, "dogs", lambda: clock[0])
    service.start()
    names = []
    for _ in range(count):
        one = service.join("simulated")
        service.consent(one.id, "1")
        names.append(one.id)
    return service, names, clock


def checked(service: Service) -> None:
    """What must hold at every moment."""
    tx = service.store._projects["dogs"]  # type: ignore[attr-defined]
    leases = list(tx._leases.values())
    assert max(Counter(one.worker for one in leases if one.ended is None).values(), default=0) <= 1
    by_task: dict[str, list[str]] = defaultdict(list)
    for one in tx._answers.values():
        if not one.void:
            by_task[one.task].append(one.worker)
    for name, task in tx._tasks.items():
        open_now = [lease for lease in leases if lease.task == name and lease.ended is None]
        assert len(by_task[name]) + len(open_now) <= task.needed, name  # never too many
        if len(by_task[name]) == task.needed:
            assert tx.closed(name) in ("done", "flagged")
    for worker in tx._workers:
        keys = [tx._tasks[a.task].key for a in tx._answers.values() if a.worker == worker]
        assert len(set(keys)) == len(keys)  # never twice
    for one in tx._answers.values():
        assert tx._tasks[one.task].author != one.worker or tx._alone, one  # never one's own
    paid = [p for p in tx._payments.values() if p.why == "task"]
    work = list(tx._answers.values())
    assert sum(p.mills for p in paid) == sum(making.PAY[a.kind] for a in work)  # to the tenth of a cent


steps = st.lists(
    st.tuples(
        st.sampled_from(["next", "answer", "answer", "answer", "again", "back", "late", "stranger", "leave", "bad"]),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.integers(3, 4))
def test_whatever_people_do(some: list[tuple[str, int, bool]], count: int) -> None:
    service, names, clock = people(count)
    store = service.store._projects["dogs"]  # type: ignore[attr-defined]
    store._alone = False
    held: dict[str, Offer] = {}
    last: dict[str, Offer] = {}
    for what, who, verdict in some:
        name = names[who % count]
        clock[0] += 10
        if what == "leave" and len([w for w in store.workers() if w.active]) > 2:
            service.withdraw(name)
            held.pop(name, None)
        offer = service.next(name)
        if not isinstance(offer, Offer):
            continue
        assert held.get(name, offer).lease.id == offer.lease.id  # two tabs see one task
        held[name] = offer
        if what == "answer":
            assert not hasattr(service.submit(name, offer.lease.id, making.answer(offer, verdict=verdict)), "problems")
            last[name] = held.pop(name)
        elif what == "again" and name in last:
            repeated = service.submit(name, last[name].lease.id, making.answer(last[name], verdict=verdict))
            assert repeated.again  # type: ignore[union-attr]
        elif what == "bad":
            refused = service.submit(name, offer.lease.id, {"verdict": 3, "choice": "x", "selected": [1, 1]})
            assert offer.task.kind in ("prune", "sets") or refused.problems  # type: ignore[union-attr]
            if offer.task.kind in ("prune", "sets"):
                last[name] = held.pop(name)
        elif what == "back":
            service.give_back(name, offer.lease.id)
            held.pop(name)
        elif what == "late":
            clock[0] += 4000
            service.tick()
            late = service.submit(name, offer.lease.id, making.answer(offer))
            assert not hasattr(late, "again") or late.answer.worker == name
            held.clear()
        elif what == "stranger":
            other = names[(who + 1) % count]
            if other != name:
                with pytest.raises(UserError):
                    service.submit(other, offer.lease.id, making.answer(offer))
        checked(service)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([2, 5, 7]))
def test_it_comes_to_an_end_and_nothing_is_lost(seed: int, count: int) -> None:
    """People who abandon one of three tasks finish all of it, where there are enough of them."""
    service, names, clock = people(count)
    store = service.store._projects["dogs"]  # type: ignore[attr-defined]
    store._alone = count == 2
    state = seed
    for _ in range(3000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        clock[0] += 30
        name = names[state >> 33 & 0xFFFF and (state >> 33) % count]
        offer = service.next(name)
        if not isinstance(offer, Offer):
            if not any(isinstance(service.next(other), Offer) for other in names):
                break
            continue
        if state % 3 == 0:
            clock[0] += 4000  # gone; somebody else gets it
            service.tick()
            continue
        service.submit(name, offer.lease.id, making.answer(offer, selected=(0, 2)))
    open_tasks = [t for t in store.tasks() if store.closed(t.id) is None and t.purpose == "work"]
    if count > 5:  # five judgements, none by the writer
        assert not open_tasks
    for task in open_tasks:  # two people cannot give five judgements; all that they can is done
        assert task.id.startswith("extra:")
    written = [a for a in store.answers() if a.kind == "contrast"]
    assert len(written) == 6
    validated = {t.key for t in store.tasks() if t.id.startswith("validate:")}
    assert len(validated) == 24
    assert all(store.answers_of(f"validate:{key}") for key in validated)


def test_ones_own_sentence_is_judged_where_nobody_else_can() -> None:
    store = MemoryStore()
    tasks = [making.validate_task("set-1-0-0", author="w1"), making.validate_task("set-1-1-0", author="w2")]
    store.create(making.project(), tasks, 0.0)
    service = Service(store, "dogs", lambda: 5.0)
    service.start()
    first = service.join("link").id
    service.consent(first, "1")
    second = service.join("link").id
    service.consent(second, "1")
    offer = service.next(first)
    assert isinstance(offer, Offer)
    service.submit(first, offer.lease.id, {"verdict": True})
    assert store._projects["dogs"].answers_of("validate:set-1-1-0")  # the other's
    assert not isinstance(service.next(first), Offer)  # w2 can
    service.withdraw(second)
    offer = service.next(first)
    assert isinstance(offer, Offer)  # nobody else can now


def test_gold_comes_once_in_every_block_at_another_place() -> None:
    project = making.project(gold_every=6)
    looks = {GOLD: Standing(asked=12, right=12)}
    due = [k for k in range(120) if gold_due(project, Worker("w5", given=k, standings=looks))]
    assert len(due) == 20
    assert {k // 6 for k in due} == set(range(20))
    assert len({k % 6 for k in due}) > 3
    early = [k for k in range(120) if gold_due(project, Worker("w5", given=k))]
    assert {k // 2 for k in early} == set(range(60))  # one of two, until it is plain that somebody looks
    assert len(early) == 60
    assert not any(gold_due(making.project(gold_every=0), Worker("w5", given=k)) for k in range(50))


@given(st.integers().map(str), st.integers().map(str))
def test_boxes_are_shown_in_any_of_six_orders(task: str, worker: str) -> None:
    one = Task(task, "validate", {})
    assert 0 <= view(Project("a", "nlvr", "A"), one, worker) < 6


def test_writing_tasks_that_nobody_took_go_after_three_days_but_a_pause_does_not_count() -> None:
    clock = [0.0]
    store = MemoryStore()
    store.create(making.project(), [making.contrast_task("s1"), making.contrast_task("s2"), making.prune_task("s3")], 0)
    service = Service(store, "dogs", lambda: clock[0])
    clock[0] = 50 * 86400.0  # a draft does not age
    service.start()
    one = service.join("link").id
    service.consent(one, "1")
    assert service.tick().removed == 0
    clock[0] += 2 * 86400
    service.pause()
    clock[0] += 9 * 86400
    service.resume()
    clock[0] += 0.5 * 86400
    assert service.tick().removed == 0
    offer = service.next(one, "writer")
    assert isinstance(offer, Offer)
    clock[0] += 0.6 * 86400 - 100
    service.tick()  # the lease expired long ago, too
    tx = store._projects["dogs"]
    assert [t.kind for t in tx.tasks() if tx.closed(t.id) is None] == ["prune"]
