"""What a requester does: start and stop, end rounds, review, block, pay, and look at how it goes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veridical.errors import UserError
from veridical.web.collect import assigning, ledger, progress, qualifying, rounds, working
from veridical.web.collect.records import (
    FORGOTTEN,
    WRITING,
    Answer,
    Payment,
    Platform,
    Review,
    RoundResult,
    Standing,
    Status,
    Task,
    Worker,
)
from veridical.web.collect.store import Transaction

SWEPT = 5000  # leases that are looked at each time
_FROM: dict[Status, tuple[Status, ...]] = {
    "open": ("draft", "paused", "finished"),
    "paused": ("open",),
    "finished": ("open", "paused", "draft"),
}


@dataclass(frozen=True)
class Ticked:
    """What was done in passing."""

    expired: int
    removed: int
    reviews: int


@dataclass(frozen=True)
class ReviewShown:
    """Something to look at: what was written, and for what."""

    review: Review
    answer: Answer
    task: Task


@dataclass(frozen=True)
class PersonShown:
    """A worker, as the requester sees them."""

    worker: Worker
    answers: int  # of work and gold
    written: int
    void: int
    seconds: float | None  # median of an answer
    gold: qualifying.Gold
    agrees: float | None  # share of judgements that say what the writer meant
    mills: int
    owed: int


def set_status(tx: Transaction, status: Status, now: float) -> Status:
    """Start, pause, resume or finish; time that a project is paused does not count for what is removed."""
    if tx.status == status:
        return status
    if tx.status not in _FROM.get(status, ()):
        raise UserError(f"The project is {tx.status}: it cannot become {status}.", "Start it first.")
    if status == "open" and tx.status in ("draft", "paused"):
        tx.postpone(now - tx.since)
    tx.set_status(status, now)
    return status


def tick(tx: Transaction, now: float) -> Ticked:
    """Return abandoned tasks, remove writing tasks that nobody took for three days, end a round that is full."""
    expired = working.sweep(tx, now, SWEPT)
    removed: list[str] = []
    if tx.status == "open":
        removed = tx.stale(WRITING, assigning.stale_before(tx.project, now))
        for name in removed:
            tx.close_task(name, "removed")
        if not any(one.active and one.tier for one in tx.workers()):
            replenish(tx, now)
    size = tx.project.round_size
    full = size and len(tx.written(tx.round, WRITING)) >= size
    return Ticked(expired, len(removed), len(end_round(tx, now)) if full else 0)


def unblock(tx: Transaction, worker: str) -> None:
    """Let somebody go on."""
    one = working.known(tx, worker)
    tx.put_worker(replace(one, blocked=None, blocked_because=""))


# --- rounds ----------------------------------------------------------------------------------------------------------


def end_round(tx: Transaction, now: float) -> list[Review]:
    """Ask for the review of a sample of what everybody wrote in this round, and begin the next one."""
    by_worker: dict[str, list[Answer]] = defaultdict(list)
    for one in tx.written(tx.round, WRITING):
        by_worker[one.worker].append(one)
    out = []
    for worker in sorted(by_worker):
        for one in rounds.sample(by_worker[worker], tx.project.sample, tx.project.seed):
            out.append(Review(one.id, worker, "round", tx.round, now))
            tx.put_review(out[-1])
    if by_worker:
        tx.set_round(tx.round + 1)
        replenish(tx, now)
    return out


def replenish(tx: Transaction, now: float) -> int:
    """Open more writing tasks to everybody, where all of the small pool are gone: nobody could pass a round."""
    if tx.project.small_pool >= 1 or tx.candidates("", WRITING, 0, "", 1):
        return 0
    waiting = [one for name in tx.stale(WRITING, math.inf) if (one := tx.task(name)) is not None and one.pool]
    some = waiting[: max(tx.project.sample, math.ceil(len(waiting) * tx.project.small_pool))]
    for one in some:
        tx.close_task(one.id, "removed")
    tx.add_tasks(replace(one, pool=0) for one in some)
    return len(some)


def review(
    tx: Transaction, answer: str, follows: bool, by: str, note: str, now: float
) -> RoundResult | Standing | None:
    """Say whether an answer follows the guidelines; what that means for its writer, where it is the last to be said."""
    asked = tx.review(answer)
    if asked is None:
        raise UserError(f"Nobody asked for a review of {answer!r}.", "Choose one of the queue.")
    if asked.follows is not None and asked.about == "round" and _settled(tx, asked):
        raise UserError("This round is settled already.", "Adjust the payment instead.")
    tx.put_review(replace(asked, follows=follows, by=by, note=note, time=now))
    if asked.about == "qualification":
        return _reviewed(tx, asked.worker, answer, now)
    return _settle(tx, asked.worker, asked.round, now)


def _reviewed(tx: Transaction, worker: str, answer: str, now: float) -> Standing | None:
    """A qualification that a person looked at."""
    said = tx.answer(answer)
    task = tx.task(said.task) if said else None
    role = next((r for r in tx.project.roles if task is not None and r.name == task.role), None)
    if role is None:
        return None
    one = working.known(tx, worker)
    standing = working.step_of(tx, one, role).standing
    tx.put_worker(replace(one, standings={**one.standings, role.name: standing}))
    return standing


def _settled(tx: Transaction, asked: Review) -> bool:
    return all(r.follows is not None for r in tx.reviews(asked.worker, asked.round) if r.about == "round")


def _settle(tx: Transaction, worker: str, number: int, now: float) -> RoundResult | None:
    """The bonus and tier of a worker whose sample was all looked at."""
    one = working.known(tx, worker)
    asked = [r for r in tx.reviews(worker) if r.about == "round"]
    mine = [a for a in tx.written(number, WRITING) if a.worker == worker]
    earlier: dict[int, list[Review]] = defaultdict(list)
    for r in asked:
        if r.round < number:
            earlier[r.round].append(r)
    strikes = sum(_strike(tx, some) for some in earlier.values())
    written = sum(map(rounds.sentences, mine))
    found = rounds.result(tx.project, one, number, [r for r in asked if r.round == number], written, strikes)
    if found is None:
        return None
    paid = ledger.bonus_for(found, mine[0].kind if mine else None, now)
    if paid is not None:
        tx.add_payment(paid)
    tx.put_worker(replace(one, tier=found.tier))
    if found.blocked_because:
        working.block(tx, worker, found.blocked_because, found.void, now)
    return found


def _strike(tx: Transaction, some: Sequence[Review]) -> bool:
    if any(r.follows is None for r in some):
        return False
    return rounds.is_strike(tx.project, sum(bool(r.follows) for r in some), len(some))


def reviews(tx: Transaction) -> list[ReviewShown]:
    """What waits for a person, the oldest first; not of those who are blocked and nothing of whom counts."""
    out = []
    blocked = {one.id for one in tx.workers() if one.blocked is not None}
    for one in sorted(tx.reviews(), key=lambda r: (r.asked, r.answer)):
        said = tx.answer(one.answer) if one.follows is None else None
        task = tx.task(said.task) if said else None
        if said is None or task is None or FORGOTTEN in said.value:
            continue
        if not (said.void and said.worker in blocked):
            out.append(ReviewShown(one, said, task))
    return out


# --- money -----------------------------------------------------------------------------------------------------------


def adjust(tx: Transaction, worker: str, mills: int, note: str, now: float) -> Payment:
    """Add a line to the ledger by hand; the same words at the same moment are one line."""
    working.known(tx, worker)
    if not note.strip() or not mills:
        raise UserError("An adjustment needs a sum and a reason.", "Say what it is for.")
    made = Payment(f"adjustment:{worker}:{now:.3f}", worker, "adjustment", mills, now, note=note.strip())
    tx.add_payment(made)
    return made


def pay(tx: Transaction, platform: Platform, now: float) -> ledger.Batch:
    """The file that pays what the people of a platform are owed; its lines are paid from now on. Who withdrew and is
    owed nothing more is not known by name any longer."""
    people, lines = tx.workers(), tx.payments()
    number = len({one.batch for one in lines if one.batch}) + 1
    made = ledger.batch(tx.project, platform, people, lines, f"{tx.project.name}-{number}")
    tx.mark_paid(made.payments, made.name)
    owed = ledger.totals(tx.payments()).owed
    for one in people:
        if one.withdrawn is not None and one.platform_id and not owed.get(one.id):
            tx.put_worker(replace(one, platform_id="", session=""))
    return made


# --- looking ---------------------------------------------------------------------------------------------------------


def state(tx: Transaction) -> progress.State:
    """What progress is computed from."""
    return progress.State(
        {one.id: one for one in tx.tasks()},
        tx.all_closed(),
        list(tx.answers()),
        tx.payments(),
        sum(one.blocked is not None for one in tx.workers()),
        sum(one.follows is None for one in tx.reviews()),
    )


def people(tx: Transaction) -> list[PersonShown]:
    """Everybody, with how well and how fast they work."""
    money = ledger.totals(tx.payments())
    by_worker: dict[str, list[Answer]] = defaultdict(list)
    for one in tx.answers():
        by_worker[one.worker].append(one)
    return [_person(one, by_worker[one.id], money) for one in tx.workers()]


def _person(one: Worker, answers: Sequence[Answer], money: ledger.Totals) -> PersonShown:
    done = [a for a in answers if a.purpose != "qualification"]
    judged = [a.right for a in done if a.purpose == "work" and a.kind == "validate" and a.right is not None]
    return PersonShown(
        one,
        len(done),
        sum(rounds.sentences(a) for a in done if a.kind in WRITING and a.purpose == "work"),
        sum(bool(a.void) for a in done),
        float(np.median([a.time - a.start for a in done])) if done else None,
        qualifying.gold(one),
        sum(map(bool, judged)) / len(judged) if judged else None,
        money.by_worker.get(one.id, 0),
        money.owed.get(one.id, 0),
    )
