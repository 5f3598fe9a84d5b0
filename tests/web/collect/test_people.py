"""Qualification, gold, rounds and tiers, blocking, payments to the tenth of a cent, leaving and being forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.collect import making
from tests.web.collect.memory import MemoryStore, MemoryTransaction

from veridical.common.intervals import wilson
from veridical.errors import UserError
from veridical.web.collect import ledger, qualifying, rounds
from veridical.web.collect.assigning import gold_due
from veridical.web.collect.kinds import Guideline, Tutorial, plain
from veridical.web.collect.records import (
    GOLD,
    MEANT,
    Answer,
    Bonus,
    Nothing,
    Offer,
    Payment,
    Project,
    Review,
    Role,
    RoundResult,
    Standing,
    Task,
    Worker,
)
from veridical.web.collect.service import Service
from veridical.web.collect.working import Refused, Taken

ROLE = Role("writer", ("contrast",), tutorial=6, questions=19, least_right=15, writing=True, pay=1500)


def qualification() -> list[Task]:
    pairs = tuple((one, one) for one in making.pictures("a", "b", "c", "d"))
    asked: list[tuple[Any, Any, Any]] = [("tutorial", Tutorial("?", ("x", "y"), "x"), {"choice": 0})] * 6
    asked += [("guideline", Guideline("A sentence of a kind.", pairs), {"follows": k % 2 == 0}) for k in range(19)]
    asked.append(("contrast", making.contrast_task("q").payload, None))
    return [
        Task(f"q:{k:02}", kind, plain(shown) if not isinstance(shown, dict) else shown, 0, "qualification", expected,
             step=k, role="writer")
        for k, (kind, shown, expected) in enumerate(asked)
    ]  # fmt: skip


TASKS = qualification()


def said(task: Task, right: bool, number: int) -> Answer:
    return Answer(f"w1-{number}", task.id, "w1", task.kind, "qualification", {}, 0.0, float(number), 1,
                  None if task.expected is None else right)  # fmt: skip


@given(st.lists(st.booleans(), min_size=19, max_size=19), st.sampled_from([None, True, False]))
def test_nineteen_judgements_of_which_fifteen_must_be_right_and_a_sentence_that_a_person_reads(
    rights: list[bool], follows: bool | None
) -> None:
    answers: list[Answer] = []
    reviews: dict[str, Review] = {}
    given = iter(rights)
    for _ in range(40):
        found = qualifying.step(ROLE, TASKS, answers, reviews)
        if found.next is None:
            break
        assert found.next.step == found.place - 1
        right = next(given) if found.next.kind == "guideline" else True
        answers.append(said(found.next, right, len(answers)))
    wrong = rights.count(False)
    if wrong > 4:
        assert found.standing.stage == "failed"
        assert "15 are needed" in found.standing.reason
        assert sum(a.kind == "guideline" for a in answers) == next(k for k in range(20) if rights[:k].count(False) == 5)
        return
    assert found.standing.stage == "review"
    reviews[answers[-1].id] = Review(answers[-1].id, "w1", "qualification", 1, 0.0, follows, "Too short.")
    stages = {None: "review", True: "qualified", False: "failed"}
    assert qualifying.step(ROLE, TASKS, answers, reviews).standing.stage == stages[follows]


def test_a_tutorial_question_is_asked_until_it_is_answered_rightly() -> None:
    answers = [said(TASKS[0], False, 0), said(TASKS[0], False, 1)]
    assert qualifying.step(ROLE, TASKS, answers, {}).next is TASKS[0]
    answers.append(said(TASKS[0], True, 2))
    found = qualifying.step(ROLE, TASKS, answers, {})
    assert found.next is TASKS[1]
    assert (found.place, found.steps) == (2, 26)


def opened(project: Project, tasks: list[Task]) -> tuple[Service, MemoryTransaction, list[float]]:
    clock = [1000.0]
    store = MemoryStore()
    store.create(project, tasks, 0.0)
    service = Service(store, project.name, lambda: clock[0])
    service.start()
    return service, store._projects[project.name], clock


def came(service: Service, **who: Any) -> str:
    one = service.join(**{"platform": "link", **who}).id
    service.consent(one, "1")
    return one


def test_a_writer_qualifies_through_the_service_and_is_paid_for_it() -> None:
    project = making.project(roles=(ROLE,))
    service, tx, _ = opened(project, [*TASKS, making.contrast_task("s1")])
    who = service.join("prolific", "5f0c", "session").id
    assert service.next(who) == Nothing("consent", "Please read and agree first.")
    with pytest.raises(UserError):
        service.consent(who, "0")
    service.consent(who, "1")
    right = {task.id: task.expected for task in TASKS}
    wrong_first = True
    while isinstance(offer := service.next(who), Offer):
        assert offer.task.expected is None
        assert "explanation" not in offer.task.payload
        if offer.task.kind == "tutorial" and wrong_first:
            told = service.submit(who, offer.lease.id, {"choice": 1})
            assert isinstance(told, Taken)
            assert (told.right, told.explanation) == (False, "x")
            wrong_first = False
            continue
        expected = right[offer.task.id]
        service.submit(who, offer.lease.id, expected or making.answer(offer))
    assert offer.why == "review"
    assert [p.id for p in tx.payments()] == ["qualification:writer:w1"]
    (waiting,) = service.reviews()
    assert waiting.answer.value["sentence"] == making.SENTENCE
    assert service.review(waiting.answer.id, True, "me") == Standing("qualified", 26, 19)
    offer = service.next(who)
    assert isinstance(offer, Offer)
    assert (offer.task.kind, offer.task.purpose) == ("contrast", "work")


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from([GOLD, MEANT]))
def test_somebody_is_blocked_only_where_chance_explains_it_no_more(right: int, asked: int, name: str) -> None:
    project = making.project()
    one = Worker("w1", standings={name: Standing(asked=asked, right=min(right, asked))})
    share = min(right, asked) / asked if asked else 1
    why = qualifying.caught(project, one)
    least = project.gold_accuracy if name == GOLD else project.meant_accuracy
    if why:
        assert asked >= (3 if name == GOLD else 6)
        assert share < least - 0.1
    if name == GOLD and asked >= 3 and not right:  # whoever is wrong thrice, and never right
        assert why
    if asked >= 20 and share <= (0.55 if name == GOLD else 0.5):
        assert why
    assert not (why and qualifying.is_trusted(project, one))
    assert not qualifying.caught(replace(project, false_alarms=0), one)


@pytest.mark.parametrize("accuracies", [(0.85, 0.75), (0.9, 0.8), (0.85, 0.95)])
def test_of_those_who_look_at_most_one_in_twenty_is_ever_blocked(accuracies: tuple[float, float]) -> None:
    blocked, trusted, _ = people_who_are_right(accuracies)
    assert blocked <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5
    assert trusted > 0.75


def test_of_those_who_guess_hardly_anybody_is_trusted_and_most_are_caught_within_twenty_answers() -> None:
    blocked, trusted, after = people_who_are_right((0.5, 0.5))
    assert blocked > 0.95
    assert trusted < 0.1
    assert sorted(after)[len(after) // 2] <= 15
    assert sum(one <= 20 for one in after) > 0.7 * 400


def people_who_are_right(accuracies: tuple[float, float], people: int = 400, answers: int = 100) -> Any:
    """Shares of people who are blocked, and who were trusted at some time; after how many answers some are blocked."""
    project, rng = making.project(gold_every=12), np.random.default_rng(7)
    trusted, after = 0, []
    for number in range(people):
        one, ever = Worker(f"w{number}"), False
        for count in range(1, answers + 1):
            is_gold = gold_due(project, one)
            right = bool(rng.random() < accuracies[not is_gold])
            said = Answer("a", "t", one.id, "validate", "gold" if is_gold else "work", {}, 0, 0, right=right)
            one = replace(qualifying.measured(one, said), given=one.given + 1)
            ever = ever or qualifying.is_trusted(project, one)
            if qualifying.caught(project, one):
                after.append(count)
                break
        trusted += ever
    return len(after) / people, trusted / people, after


def test_who_guesses_is_given_gold_then_caught_and_their_answers_are_asked_again() -> None:
    gold = [making.validate_task(f"g{k}", 0, meant=bool(k % 2), purpose="gold") for k in range(40)]
    gold = [replace(one, id=f"gold:{one.once}") for one in gold]
    work = [making.validate_task(f"set-{k}-0-0", meant=bool(k % 2)) for k in range(40)]
    service, tx, clock = opened(making.project(gold_every=10), [*gold, *work])
    who = came(service)
    for _ in range(200):
        clock[0] += 10
        offer = service.next(who)
        if not isinstance(offer, Offer):
            break
        assert offer.task.id == offer.lease.id == offer.lease.task  # nothing tells gold from work
        assert offer.lease.purpose == offer.task.purpose == "work"
        service.submit(who, offer.lease.id, {"verdict": True})
    one = tx.worker(who)
    assert isinstance(offer, Nothing)
    assert offer.why == "blocked"
    assert one is not None
    assert min(one.standings[MEANT].asked, one.standings[GOLD].asked) >= 2  # every second was gold, from the first
    assert one.given < 30
    assert all(a.void for a in tx.answers())
    other = came(service)
    done = 0
    while isinstance(offer := service.next(other), Offer):
        clock[0] += 10
        task = tx.task(tx.lease(offer.lease.id).task)  # type: ignore[union-attr]
        service.submit(other, offer.lease.id, dict(task.expected or {}))  # type: ignore[union-attr]
        done += task.purpose == "work"  # type: ignore[union-attr]
    assert done == 40  # all that the other had done was asked again


# --- rounds ----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 20), st.integers(0, 20), st.integers(1, 300), st.integers(0, 1), st.integers(0, 1))
def test_the_bonus_of_a_round(sampled: int, following: int, written: int, tier: int, strikes: int) -> None:
    following = min(following, sampled)
    reviews = [Review(f"a{k}", "w1", "round", 3, 0.0, k < following) for k in range(sampled)]
    found = rounds.result(making.project(), Worker("w1", tier=tier), 3, reviews, written, strikes)
    assert found is not None
    share = following / sampled
    each = 70 if share >= 0.75 else 30 if share >= 0.5 else 0
    assert found.bonus == each * written
    assert found.tier == (1 if share >= 0.75 else tier)
    assert found.void == (wilson(following, sampled)[1] < 0.5)
    assert bool(found.blocked_because) == ((share < 0.5 and strikes + 1 >= 2) or found.void)
    assert (
        rounds.result(making.project(), Worker("w1"), 3, [*reviews, Review("x", "w1", "round", 3, 0.0)], 1, 0) is None
    )


def test_rounds_of_writing_are_sampled_reviewed_and_paid_and_open_the_large_pool() -> None:
    tasks = [making.contrast_task(f"s{k}", pool=int(k >= 30)) for k in range(60)]
    service, tx, clock = opened(making.project(small_pool=0.5, roles=(Role("writer", ("contrast",)),)), tasks)
    who, other = came(service), came(service)
    for k in range(30):
        clock[0] += 60
        offer = service.next(who if k < 25 else other)
        assert isinstance(offer, Offer)
        service.submit(who if k < 25 else other, offer.lease.id, making.answer(offer))
    assert not isinstance(service.next(who), Offer)  # the small pool is empty
    asked = service.end_round()
    assert [sum(r.worker == one for r in asked) for one in (who, other)] == [20, 5]
    follows = [k % 4 != 0 if r.worker == who else k % 5 < 2 for k, r in enumerate(asked)]
    results = [service.review(r.answer, good, "me") for r, good in zip(asked, follows, strict=True)]
    settled = [one for one in results if one is not None]
    assert [(one.bonus, one.tier) for one in settled] == [(25 * 70, 1), (0, 0)]  # type: ignore[union-attr]
    with pytest.raises(UserError, match="settled"):
        service.review(asked[0].answer, False, "me")
    owed = ledger.totals(tx.payments()).by_worker
    assert owed == {who: 25 * 200 + 25 * 70, other: 5 * 200}
    offer = service.next(who)
    assert isinstance(offer, Offer)
    assert tx.task(tx.lease(offer.lease.id).task).pool == 1  # type: ignore[union-attr]


def test_who_writes_at_random_is_blocked_at_once_and_nobody_is_blamed_for_judging_it_otherwise() -> None:
    roles = (Role("writer", ("contrast",)), Role("validator", ("validate",)))
    tasks = [making.contrast_task(f"s{k}", "dev") for k in range(6)]
    service, tx, clock = opened(making.project(roles=roles, bonuses=(Bonus(0.5, 30),)), tasks)
    bad, *judges = (came(service) for _ in range(7))
    for _ in range(6):
        offer = service.next(bad, "writer")
        service.submit(bad, offer.lease.id, making.answer(offer))  # type: ignore[union-attr,arg-type]
    for number, one in enumerate(judges):
        for _ in range(10):
            clock[0] += 10
            offer = service.next(one, "validator")
            task = tx.task(tx.lease(offer.lease.id).task)  # type: ignore[union-attr]
            verdict = task.expected["verdict"] if number else "nonsense"  # type: ignore[union-attr,index]
            service.submit(one, offer.lease.id, {"verdict": verdict})  # type: ignore[union-attr]
            if not isinstance(service.next(one, "validator"), Offer):
                break
    assert tx.worker(judges[0]).blocked is not None  # type: ignore[union-attr]
    assert sum(tx.worker(one).standings[MEANT].asked for one in judges[1:]) > 20  # type: ignore[union-attr]
    assert [name for name in tx._tasks if name.startswith("gold:")]  # agreed on by five, and answered by nobody yet
    asked = service.end_round()
    assert len(asked) == 6
    told = [service.review(one.answer, False, "me") for one in asked]
    assert told[-1] == RoundResult(bad, 1, 6, 0, 6, 0, 0, "0 of 6 sentences followed the guidelines.", True)
    assert service.next(bad).why == "blocked"  # type: ignore[union-attr]
    assert [a for a in tx.answers() if not a.void] == []
    assert {tx.worker(one).standings[MEANT].asked for one in judges[1:]} == {0}  # type: ignore[union-attr]
    assert sum(tx.closed(one.id) is None for one in tx.tasks()) == 6  # to be written again, and nothing else
    assert service.reviews() == []
    offer = service.next(judges[1], "writer")
    service.submit(judges[1], offer.lease.id, making.answer(offer))  # type: ignore[union-attr,arg-type]
    for _ in range(4):  # another sentence for the same pairs: who judged the first may judge it
        offer = service.next(judges[2], "validator")
        service.submit(judges[2], offer.lease.id, {"verdict": True})  # type: ignore[union-attr]


def test_a_small_pool_that_nobody_passed_is_filled_again() -> None:
    tasks = [making.contrast_task(f"s{k}", pool=int(k >= 2)) for k in range(50)]
    service, tx, _clock = opened(making.project(small_pool=0.1, roles=(Role("writer", ("contrast",)),)), tasks)
    who = came(service)
    for _ in range(2):
        offer = service.next(who)
        service.submit(who, offer.lease.id, making.answer(offer))  # type: ignore[union-attr,arg-type]
    assert not isinstance(service.next(who), Offer)
    service.tick()
    assert isinstance(service.next(who), Offer)
    assert sum(one.pool == 0 for one in tx.tasks() if one.kind == "contrast") == 22


# --- what follows, and what is undone --------------------------------------------------------------------------------


def test_what_a_sentence_that_does_not_count_led_to_goes_and_is_written_again() -> None:
    service, tx, clock = opened(making.project(), [making.contrast_task("s1", "held-out")])
    writer, judge, other = (came(service) for _ in range(3))
    offer = service.next(writer)
    service.submit(writer, offer.lease.id, making.answer(offer, selected=(1, 2)))  # type: ignore[union-attr,arg-type]
    for _ in range(4):
        clock[0] += 5
        offer = service.next(judge, "validator")
        service.submit(judge, offer.lease.id, {"verdict": True})  # type: ignore[union-attr]
    assert {name for name in tx._tasks if name.startswith("extra:")} == {"extra:set-s1-1-0", "extra:set-s1-2-0"}
    paid = ledger.totals(tx.payments()).by_worker
    service.block(writer, "wrote nothing that makes sense")
    assert all(a.void for a in tx.answers())
    assert {tx.closed(name) for name in tx._tasks if name != "write:s1-0"} == {"removed"}
    assert ledger.totals(tx.payments()).by_worker == paid  # who judged is paid all the same
    offer = service.next(other)
    assert isinstance(offer, Offer)
    assert offer.task.kind == "contrast"
    again = {"selected": [0, 3], "sentence": "There are fewer dogs than cats in the two pictures."}
    service.submit(other, offer.lease.id, again)
    assert tx.task("validate:set-s1-0-0").author == other  # type: ignore[union-attr]
    assert tx.task("validate:set-s1-0-0").expected == {"verdict": True}  # type: ignore[union-attr]
    assert tx.closed("validate:set-s1-0-0") is None
    assert tx.closed("extra:set-s1-1-0") == "removed"


def test_pictures_that_somebody_pruned_are_looked_at_again_unless_sentences_were_written() -> None:
    roles = (Role("pruner", ("prune",)), Role("sorter", ("sets",)))
    service, tx, _ = opened(making.project(roles=roles), [making.prune_task("s1"), making.prune_task("s2")])
    bad, good = came(service), came(service)
    for _ in range(2):
        offer = service.next(bad, "pruner")
        service.submit(bad, offer.lease.id, making.answer(offer))  # type: ignore[union-attr,arg-type]
    offer = service.next(good, "sorter")
    service.submit(good, offer.lease.id, making.answer(offer))  # type: ignore[union-attr,arg-type]
    (kept,) = [a.task for a in tx.answers() if a.kind == "sets"]
    service.block(bad, "pruned at random")
    origin = kept.removeprefix("sets:")
    assert tx.closed(f"prune:{origin}") == "done"
    lost = "s2" if origin == "s1" else "s1"
    assert tx.closed(f"prune:{lost}") is None
    assert tx.closed(f"sets:{lost}") == "removed"
    offer = service.next(good, "pruner")
    assert isinstance(offer, Offer)


def test_items_on_which_five_agree_become_gold_for_others_but_not_for_their_writer() -> None:
    service, tx, clock = opened(making.project(gold_every=1), [making.contrast_task("s1", "dev")])
    writer, *judges, last = (came(service) for _ in range(8))
    offer = service.next(writer)
    service.submit(writer, offer.lease.id, making.answer(offer))  # type: ignore[union-attr,arg-type]
    for one in judges:
        while isinstance(offer := service.next(one, "validator"), Offer):
            clock[0] += 5
            task = tx.task(tx.lease(offer.lease.id).task)  # type: ignore[union-attr]
            service.submit(one, offer.lease.id, dict(task.expected or {}))  # type: ignore[union-attr]
    gold = {name for name in tx._tasks if name.startswith("gold:")}
    assert gold == {f"gold:set-s1-{k}-0" for k in range(4)}
    assert not isinstance(service.next(last, "validator"), Offer)  # gold is hidden among work, and there is none
    tx.add_tasks(making.validate_task(f"other-{k}", 2) for k in range(2))
    for one, is_gold in ((last, True), (writer, False)):
        offer = service.next(one, "validator")
        assert tx.lease(offer.lease.id).task.startswith("gold:") == is_gold  # type: ignore[union-attr]


# --- money -----------------------------------------------------------------------------------------------------------

payments = st.lists(
    st.builds(
        Payment,
        id=st.uuids().map(str),
        worker=st.sampled_from(["w1", "w2", "w3"]),
        why=st.sampled_from(["task", "bonus", "adjustment"]),
        mills=st.integers(-50, 5000),
        time=st.floats(0, 1e6),
        kind=st.sampled_from(["validate", "contrast", None]),
    ),
    max_size=30,
)
PEOPLE = [Worker("w1", "prolific", "aaa"), Worker("w2", "prolific", "bbb"), Worker("w3", "mturk", "A3", "asg")]


@settings(max_examples=60)
@given(payments)
def test_all_that_is_owed_is_paid_once_and_to_the_cent(lines: list[Payment]) -> None:
    found = ledger.totals(lines)
    assert found.mills == sum(p.mills for p in lines) == sum(found.by_why.values())
    assert found.mills == sum(found.by_worker.values())
    made = ledger.batch(making.project(), "prolific", PEOPLE, lines, "dogs-1")
    paid = [p for p in lines if p.id in made.payments]
    assert sum(p.mills for p in paid) == made.mills
    text = "".join(made.files.values())
    sums = dict(line.split(",") for line in text.splitlines())
    assert sum(round(1000 * float(v)) for v in sums.values()) == made.mills
    assert all(len(v.partition(".")[2]) == 2 for v in sums.values())
    assert not {p.worker for p in paid} - {"w1", "w2"}
    after = [replace(p, batch="dogs-1") if p.id in made.payments else p for p in lines]
    again = ledger.batch(making.project(), "prolific", PEOPLE, after, "dogs-2")
    assert not set(again.payments) & set(made.payments)


def test_the_files_that_platforms_take() -> None:
    lines = [
        Payment(f"task:{k}", one, "task", 30, float(k), "validate") for k, one in enumerate(("w1", "w2", "w3", "w3"))
    ]
    assert ledger.batch(making.project(), "prolific", PEOPLE, lines, "d-1").files == {
        "d-1-prolific.csv": "aaa,0.03\nbbb,0.03\n"
    }
    assert ledger.batch(making.project(), "mturk", PEOPLE, lines, "d-1").files == {
        "d-1-mturk.csv": "WorkerId,AssignmentId,BonusAmount,Reason,UniqueRequestToken\nA3,asg,0.06,Dogs,d-1-w3\n"
    }


@given(st.integers(0, 10**7), st.sampled_from([0.0, 0.2, 0.333, 1 / 3]))
def test_the_fee_is_never_too_small(mills: int, fee: float) -> None:
    whole = ledger.with_fee(making.project(fee=fee), mills)
    assert 0 <= whole - mills - mills * fee < 1.001


def test_gold_is_paid_as_work_and_questions_one_by_one_and_flags_as_flags() -> None:
    project = making.project(pay={"validate": 30, "contrast": 240, "flag": 50, "questions": 450})
    one = Answer("a", "t", "w1", "validate", "gold", {"verdict": True}, 0, 1)
    assert ledger.pay_for(project, one).mills == 30  # type: ignore[union-attr]
    asked = replace(one, kind="questions", purpose="work", value={"questions": [{}, {}]})
    assert ledger.pay_for(project, asked).mills == 900  # type: ignore[union-attr]
    flagged = replace(one, kind="contrast", value={"flag": "duplicate", "sentence": ""})
    assert ledger.pay_for(project, flagged).mills == 50  # type: ignore[union-attr]
    assert ledger.pay_for(project, replace(one, purpose="qualification")) is None


# --- leaving ---------------------------------------------------------------------------------------------------------


def test_who_leaves_is_paid_and_then_not_known_any_more() -> None:
    service, tx, clock = opened(making.project(), [making.validate_task("a"), making.validate_task("b")])
    who = came(service, platform="prolific", platform_id="aaa", session="s1")
    assert came(service, platform="prolific", platform_id="aaa") == who
    offer = service.next(who)
    service.submit(who, offer.lease.id, {"verdict": True})  # type: ignore[union-attr]
    service.next(who)
    service.withdraw(who)
    assert tx.held(who) is None
    assert service.next(who).why == "withdrawn"  # type: ignore[union-attr]
    assert tx.worker(who).platform_id == "aaa"  # type: ignore[union-attr]
    assert not tx.answers()[0].void
    clock[0] += 5
    assert service.pay("prolific").files == {}  # 2.5 cents are no whole number of cents
    service.adjust(who, 5, "rounded up")
    assert service.pay("prolific").files == {"dogs-1-prolific.csv": "aaa,0.03\n"}
    assert (tx.worker(who).platform_id, tx.worker(who).session) == ("", "")  # type: ignore[union-attr]


def test_who_wants_to_be_forgotten_is() -> None:
    service, tx, _ = opened(making.project(), [making.validate_task("a")])
    who = came(service, platform="mturk", platform_id="A1", session="x")
    offer = service.next(who)
    service.submit(who, offer.lease.id, {"verdict": True})  # type: ignore[union-attr]
    service.forget(who)
    assert (tx.worker(who).platform_id, tx.worker(who).session) == ("", "")  # type: ignore[union-attr]
    assert tx.answers()[0].void == "withdrawn"
    assert tx.closed("validate:a") is None  # somebody else is asked
    assert isinstance(service.next(came(service)), Offer)
    assert isinstance(
        service.submit(who, offer.lease.id, {"verdict": True}), Taken
    )  # it had been taken; nothing changes
    assert len(tx.answers()) == 1


def test_nothing_is_given_or_taken_while_a_project_does_not_run() -> None:
    service, _tx, _ = opened(making.project(), [making.validate_task("a"), making.validate_task("b")])
    who = came(service)
    offer = service.next(who)
    service.pause()
    assert service.next(who).why == "paused"  # type: ignore[union-attr]
    assert isinstance(service.submit(who, offer.lease.id, {"verdict": True}), Taken)  # type: ignore[union-attr]
    service.resume()
    offer = service.next(who)
    service.finish()
    assert isinstance(service.submit(who, offer.lease.id, {"verdict": True}), Refused)  # type: ignore[union-attr]
    with pytest.raises(UserError, match="cannot become"):
        service.pause()
