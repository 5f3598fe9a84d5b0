"""What a worker does: take a task, answer it, give it back, leave. Each is one transaction, and may be repeated.

A lease that is held is offered again, in however many tabs; an answer that arrived is told again that it did. What an
answer brings (pay, tasks that follow, a qualification, a block) is written with it or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from veridical.errors import UserError
from veridical.sources.boxes.scenes import ORDERS
from veridical.web.collect import assigning, following, kinds, ledger, qualifying
from veridical.web.collect.records import (
    WRITING,
    Answer,
    Kind,
    Lease,
    Nothing,
    Offer,
    Platform,
    Purpose,
    Review,
    Role,
    Standing,
    Task,
    Worker,
)
from veridical.web.collect.store import Transaction
from veridical.web.collect.undoing import void_answers

LEASE = 1800.0  # seconds, where the project says nothing else
SWEPT = 20  # leases that are looked at in passing


@dataclass(frozen=True)
class Taken:
    """An answer that was taken."""

    answer: Answer
    again: bool = False  # it had been before: a double click, a lost connection
    right: bool | None = None  # of a tutorial question
    explanation: str = ""


@dataclass(frozen=True)
class Refused:
    """An answer that was not: what is wrong with it, or that its task went to somebody else."""

    problems: tuple[str, ...]
    gone: bool = False


class NotTheirs(UserError):
    """A task that somebody else holds, or that never was: both look the same."""

    def __init__(self) -> None:
        super().__init__("This task is not yours.", "Take the next one.")


Said = Mapping[str, Any] | Callable[[Task], Mapping[str, Any]]  # an answer, or how to read it, of the task it answers
GONE = Refused(("This task was given to somebody else in the meantime. Take the next one.",), gone=True)


def known(tx: Transaction, worker: str) -> Worker:
    found = tx.worker(worker)
    if found is None:
        raise UserError(f"There is no worker {worker!r}.", "Open the invitation link again.")
    return found


def join(tx: Transaction, platform: Platform, platform_id: str, session: str, now: float) -> Worker:
    """Somebody who comes for the first time, or who was here before."""
    found = tx.find_worker(platform, platform_id) if platform_id else None
    if found is None:
        found = Worker(tx.new_worker(), platform, platform_id, session, joined=now, seen=now)
        tx.put_worker(found)
    elif session and session != found.session:
        found = replace(found, session=session, seen=now)
        tx.put_worker(found)
    return found


def consent(tx: Transaction, worker: str, version: str, now: float) -> Worker:
    """Somebody agrees to the text of the project."""
    one = known(tx, worker)
    if version != tx.project.consent_version:
        raise UserError("The text to agree to has changed.", "Load the page again and read it.")
    if one.consented is None or one.consent != version:
        one = replace(one, consented=now, consent=version, seen=now)
        tx.put_worker(one)
    return one


# --- the next task ---------------------------------------------------------------------------------------------------


def next_task(tx: Transaction, worker: str, role: str, now: float) -> Offer | Nothing:
    """What a worker does now."""
    one = known(tx, worker)
    project = tx.project
    if why := _barred(tx, one):
        return why
    sweep(tx, now, SWEPT)
    held = tx.held(worker)
    if held is not None:
        task = tx.task(held.task)
        if task is not None:
            return _offer(tx, held, task, one)
        tx.end_lease(held.id, "returned", now)
    roles = [r for r in project.roles if not role or r.name == role]
    waiting = False
    for own in roles:
        found = _of_role(tx, one, own, now)
        if isinstance(found, Offer):
            return found
        waiting = waiting or found == "review"
    return _none(tx, known(tx, worker), roles, waiting)


def _barred(tx: Transaction, one: Worker) -> Nothing | None:
    project = tx.project
    if one.withdrawn is not None:
        return Nothing("withdrawn", "You left this study. Thank you for what you did.", _completed(tx, one))
    if one.blocked is not None:
        return Nothing("blocked", one.blocked_because or "You cannot go on here.", project.screen_out_code)
    if one.consented is None or one.consent != project.consent_version:
        return Nothing("consent", "Please read and agree first.")
    if tx.status in ("draft", "paused"):
        return Nothing("paused", "There is a break. Come back later: nothing of yours is lost.")
    if tx.status == "finished":
        return Nothing("finished", "All is done. Thank you!", _completed(tx, one))
    return None


def _completed(tx: Transaction, one: Worker) -> str:
    """The code for who is done: nobody is who did nothing."""
    return tx.project.completion_code if any(tx.answers_by(one.id)) else ""


def _gold(tx: Transaction, one: Worker, kind: Kind) -> Task | None:
    """A task with a known answer instead of work of its kind, where one is due."""
    if not assigning.gold_due(tx.project, one):
        return None
    found = [task for task in tx.gold(one.id, [kind]) if task.author != one.id]
    return min(found, key=lambda task: assigning.mixed(one.id, task.id), default=None)


def _standing(one: Worker, role: Role) -> Standing:
    needs = role.tutorial or role.questions or role.writing
    return one.standings.get(role.name, Standing() if needs else Standing("qualified"))


def _of_role(tx: Transaction, one: Worker, role: Role, now: float) -> Offer | str:
    """A task of a role, or of its qualification; or the stage that stands in the way."""
    standing = _standing(one, role)
    if standing.stage in ("review", "failed"):
        return standing.stage
    found = tx.candidates(one.id, role.kinds, one.tier, one.camp)
    if standing.stage != "qualified":
        if not found and standing.stage == "new":
            return "nothing"  # nobody is asked to qualify for what is not there
        step = step_of(tx, one, role)
        if step.next is not None:
            return _lease(tx, one, step.next, now, step.place, step.steps)
        return step.standing.stage

    def able(candidate: Any) -> int:
        return tx.able(candidate.key, role.name, candidate.camp, candidate.pool, one.id)

    chosen = assigning.choose(one, found, tx.counts(one.id), able)
    task = (_gold(tx, one, chosen.kind) or tx.task(chosen.id)) if chosen else None
    return _lease(tx, one, task, now) if task else "nothing"


def step_of(tx: Transaction, one: Worker, role: Role) -> qualifying.Step:
    """Where somebody stands with a role."""
    tasks = tx.qualification(role.name)
    mine = {task.id for task in tasks}
    answers = [a for a in tx.answers_by(one.id) if a.task in mine]
    reviews = {r.answer: r for r in tx.reviews(one.id) if r.about == "qualification"}
    return qualifying.step(role, tasks, answers, reviews)


def _lease(tx: Transaction, one: Worker, task: Task, now: float, place: int = 0, steps: int = 0) -> Offer:
    seconds = tx.project.seconds.get(task.kind, LEASE)
    view = assigning.view(tx.project, task, one.id) if task.kind == "validate" else 0
    made = Lease(f"{one.id}-{one.given}", task.id, one.id, now, now + seconds, task.purpose, view)
    tx.add_lease(made)
    camp = one.camp or (task.camp if task.purpose == "work" else "")
    tx.put_worker(replace(one, given=one.given + 1, seen=now, camp=camp))
    return replace(_shown(made, task), step=place, steps=steps)


def _offer(tx: Transaction, held: Lease, task: Task, one: Worker) -> Offer:
    """What is held, once more."""
    made = _shown(held, task)
    role = next((r for r in tx.project.roles if r.name == task.role), None)
    if task.purpose != "qualification" or role is None:
        return made
    step = step_of(tx, one, role)
    return replace(made, step=step.place, steps=step.steps)


def _shown(held: Lease, task: Task) -> Offer:
    """A task as its worker may see it: nothing tells gold from work, or what is expected."""
    payload = following.shown(task, ORDERS[held.view])
    payload.pop("explanation", None)
    purpose: Purpose = "qualification" if task.purpose == "qualification" else "work"
    bare = Task(task.id, task.kind, payload, purpose=purpose)
    if task.purpose != "qualification":
        bare = replace(bare, id=held.id)
    return Offer(replace(held, task=bare.id, purpose=purpose), bare)


def _none(tx: Transaction, one: Worker, roles: list[Role], waiting: bool) -> Nothing:
    code = _completed(tx, one)
    if waiting:
        return Nothing("review", "A person reads what you wrote. Come back later.", code)
    stages = [_standing(one, role) for role in roles]
    if stages and all(one.stage == "failed" for one in stages):
        words = next(one.reason for one in stages)
        return Nothing("failed", f"You did not qualify. {words}", tx.project.screen_out_code)
    return Nothing("waiting", "There is nothing to do right now. Come back later.", code)


# --- an answer -------------------------------------------------------------------------------------------------------


def submit(tx: Transaction, worker: str, lease: str, said: Said, now: float) -> Taken | Refused:
    """Take an answer, with all that follows from it."""
    held = tx.lease(lease)
    if held is None or held.worker != worker:
        raise NotTheirs
    one, task = known(tx, worker), tx.task(held.task)
    if task is None:
        return GONE
    if held.ended == "answered":
        found = tx.answer(lease)
        return _told(found, task, again=True) if found else GONE
    if not one.active or tx.status not in ("open", "paused") or not _still_wanted(tx, held, task):
        return GONE
    value = said(task) if callable(said) else said
    problems = kinds.check(task, value)
    if problems:
        return Refused(tuple(problems))
    plain = kinds.normal(task, value)
    right = kinds.is_right(task, plain)
    answer = Answer(
        lease, task.id, worker, task.kind, task.purpose, plain, held.start, now, tx.round, right,
        kinds.warnings(task, plain),
    )  # fmt: skip
    tx.end_lease(lease, "answered", now)
    tx.add_answer(answer)
    tx.put_worker(replace(one, seen=now))
    if task.purpose == "qualification":
        _qualify(tx, task, answer, now)
    else:
        _count(tx, task, answer, now)
    return _told(answer, task)


def _told(answer: Answer, task: Task, again: bool = False) -> Taken:
    if task.kind != "tutorial":
        return Taken(answer, again)
    return Taken(answer, again, answer.right, str(task.payload.get("explanation", "")))


def _still_wanted(tx: Transaction, held: Lease, task: Task) -> bool:
    """Whether an answer would be one too many: a lease that expired counts while nobody else took the task."""
    if held.ended is None:
        return True
    if held.ended != "expired" or task.purpose != "work" or tx.answered(held.worker, task.key):
        return False
    now = tx.candidate(task.id)
    return now is not None and now.done + now.leased < now.needed


def _qualify(tx: Transaction, task: Task, answer: Answer, now: float) -> None:
    role = next((r for r in tx.project.roles if r.name == task.role), None)
    if role is None:
        return
    if task.kind in WRITING:
        tx.put_review(Review(answer.id, answer.worker, "qualification", tx.round, now))
    one = known(tx, answer.worker)
    step = step_of(tx, one, role)
    tx.put_worker(replace(one, standings={**one.standings, role.name: step.standing}))
    if step.standing.stage in ("review", "qualified"):
        paid = ledger.qualified(tx.project, role.name, one.id, now)
        if paid is not None:
            tx.add_payment(paid)


def _count(tx: Transaction, task: Task, answer: Answer, now: float) -> None:
    """What an answer to work or gold brings."""
    paid = ledger.pay_for(tx.project, answer)
    if paid is not None:
        tx.add_payment(paid)
    one = known(tx, answer.worker)
    met = qualifying.measured(one, answer)
    if met is not one:
        tx.put_worker(met)
        if why := qualifying.caught(tx.project, met):
            block(tx, answer.worker, why, True, now)
            return
    if answer.purpose == "work":
        advance(tx, task, now)


def advance(tx: Transaction, task: Task, now: float) -> None:
    """Close a task that has its answers, and open what follows."""
    found = following.after(tx.project, task, tx.answers_of(task.id))
    if found.close is not None:
        tx.close_task(task.id, found.close)
        tx.add_tasks(replace(one, created=now) for one in found.tasks)


# --- leaving ---------------------------------------------------------------------------------------------------------


def give_back(tx: Transaction, worker: str, lease: str, now: float) -> None:
    """Not this one: it goes to somebody else, and comes back to nobody who gave it back before."""
    held = tx.lease(lease)
    if held is None or held.worker != worker:
        raise NotTheirs
    if held.ended is None:
        tx.end_lease(lease, "returned", now)


def sweep(tx: Transaction, now: float, limit: int) -> int:
    """Return what was abandoned."""
    found = tx.expired(now, limit)
    for one in found:
        tx.end_lease(one.id, "expired", now)
    return len(found)


def block(tx: Transaction, worker: str, because: str, void: bool, now: float) -> None:
    """Nothing more from somebody; with `void`, what they said counts no more, and is asked of others."""
    one = known(tx, worker)
    _release(tx, worker, now)
    if one.blocked is None:
        tx.put_worker(replace(one, blocked=now, blocked_because=because))
    if void:
        void_answers(tx, worker, because, now)


def withdraw(tx: Transaction, worker: str, forget: bool, now: float) -> None:
    """Somebody leaves. What they said stays, unless they want to be forgotten: then it counts no more and is deleted,
    but for pictures that they sorted and that others wrote about since; and nothing that says who they are is kept."""
    _release(tx, worker, now)
    one = known(tx, worker)
    one = replace(one, withdrawn=one.withdrawn or now)
    if forget or not any(not p.batch for p in tx.payments(worker)):
        one = replace(one, platform_id="", session="")
    tx.put_worker(one)
    if forget:
        void_answers(tx, worker, "withdrawn", now)
        tx.erase([a.id for a in tx.answers_by(worker) if a.void or a.purpose == "qualification"], worker)


def _release(tx: Transaction, worker: str, now: float) -> None:
    held = tx.held(worker)
    if held is not None:
        tx.end_lease(held.id, "returned", now)
