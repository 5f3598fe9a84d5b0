"""How far a collection is, how fast, when it ends, what it costs, and how people agree: all the requester sees.

What is still to come is counted along the pipeline: a sentence that is not written yet will have four pairs to be
validated. How many go on is what was seen so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from veridical.statistics.agreement import count_values, fleiss_kappa, krippendorff_alpha
from veridical.web.collect.following import chain
from veridical.web.collect.ledger import Totals, totals, with_fee
from veridical.web.collect.records import WRITING, Answer, Kind, Payment, Project, Status, Task
from veridical.web.collect.rounds import sentences

HOUR = 3600.0
STEPS = 12  # moments at which agreement is looked at
RECENT = 24 * HOUR  # how far back the rate looks
_VALUES = {False: 0, True: 1, "nonsense": 2}


@dataclass(frozen=True)
class KindProgress:
    """The tasks of one kind."""

    tasks: int
    open: int
    done: int
    removed: int
    flagged: int
    answers: int  # that count
    wanted: int  # answers, those of tasks still to come included
    mills: int
    seconds: float | None  # median of an answer
    workers: int


@dataclass(frozen=True)
class Grown:
    """How people agreed when there were so many judgements."""

    judgements: int
    alpha: float | None
    kappa: float | None


@dataclass(frozen=True)
class Progress:
    """A collection at a moment."""

    name: str
    status: Status
    round: int
    kinds: Mapping[Kind, KindProgress]
    sentences: int  # written, and questions
    workers: int  # who answered anything
    blocked: int
    per_hour: float  # answers, of late
    seconds_left: float | None  # at that rate
    cost: int  # mills, with the platform's fee
    owed: int
    projected: int  # at the end
    alpha: float | None
    kappa: float | None
    judged_twice: int  # items with two judgements or more
    waiting_reviews: int = 0
    totals: Totals | None = field(default=None, repr=False)
    grown: tuple[Grown, ...] = ()


def agreement(judged: Mapping[str, Sequence[object]]) -> tuple[float | None, float | None]:
    """Krippendorff's alpha and Fleiss' kappa over verdicts by item; None where there is nothing to compare."""
    found = growth([(name, verdict) for name, some in judged.items() for verdict in some], 1)
    return (found[-1].alpha, found[-1].kappa) if found else (None, None)


def growth(said: Sequence[tuple[str, object]], steps: int = STEPS) -> tuple[Grown, ...]:
    """How people agreed as judgements came in; `said` are verdicts by time, each with its item."""
    rows: dict[str, int] = {}
    items = np.array([rows.setdefault(item, len(rows)) for item, _ in said], np.int64)
    values = np.array([_VALUES.get(verdict, 2) for _, verdict in said], np.int64)
    out = []
    for count in sorted({round_up(len(said) * step / steps) for step in range(1, steps + 1)} - {0}):
        counts = count_values(items[:count], values[:count], (len(rows), 3))
        several = counts[counts.sum(axis=1) > 1]
        found = (krippendorff_alpha(several), fleiss_kappa(several)) if len(several) else (np.nan, np.nan)
        alpha, kappa = (None if np.isnan(value) else float(value) for value in found)
        out.append(Grown(count, alpha, kappa))
    return tuple(out)


def verdicts(tasks: Mapping[str, Task], answers: Iterable[Answer]) -> list[tuple[str, object]]:
    """What was said of items, in its order."""
    return [
        (tasks[one.task].key, one.value["verdict"])
        for one in answers
        if one.kind in ("validate", "accept") and one.purpose == "work" and not one.void
    ]


@dataclass(frozen=True)
class State:
    """What a progress is computed from."""

    tasks: Mapping[str, Task]
    closed: Mapping[str, str]  # task -> how
    answers: Sequence[Answer]
    payments: Sequence[Payment]
    blocked: int = 0
    waiting_reviews: int = 0


def progress(project: Project, status: Status, round: int, state: State, now: float) -> Progress:
    """Everything on the requester's page."""
    work = [one for one in state.tasks.values() if one.purpose == "work"]
    valid = [one for one in state.answers if one.purpose == "work" and not one.void]
    counted = Counter(one.kind for one in valid)
    money = totals(state.payments)
    wanted = _wanted(project, work, state.closed, valid)
    recent = [one for one in valid if one.time > now - RECENT]
    rate = 0.0
    if recent:
        rate = len(recent) / (max(now - max(min(one.start for one in recent), now - RECENT), 60.0) / HOUR)
    left = sum(max(wanted[kind] - counted[kind], 0) for kind in wanted)
    said = verdicts(state.tasks, valid)
    grown = growth(said)
    ahead = sum(max(wanted[kind] - counted[kind], 0) * project.pay.get(kind, 0) for kind in wanted)
    return Progress(
        name=project.name,
        status=status,
        round=round,
        kinds={kind: _of_kind(kind, work, state, valid, wanted[kind], money) for kind in wanted},
        sentences=sum(sentences(one) for one in valid if one.kind in WRITING),
        workers=len({one.worker for one in state.answers}),
        blocked=state.blocked,
        per_hour=rate,
        seconds_left=0.0 if not left else (left / rate * HOUR if rate else None),
        cost=with_fee(project, money.mills),
        owed=sum(money.owed.values()),
        projected=with_fee(project, money.mills + round_up(ahead)),
        alpha=grown[-1].alpha if grown else None,
        kappa=grown[-1].kappa if grown else None,
        judged_twice=sum(count > 1 for count in Counter(item for item, _ in said).values()),
        waiting_reviews=state.waiting_reviews,
        totals=money,
        grown=grown,
    )


def round_up(value: float) -> int:
    return -int(-value // 1)


def _wanted(
    project: Project, work: Sequence[Task], closed: Mapping[str, str], valid: Sequence[Answer]
) -> dict[Kind, int]:
    """How many answers of each kind there will be at the end."""
    wanted: Counter[str] = Counter()
    finished: Counter[str] = Counter()
    unfinished: Counter[str] = Counter()
    given = Counter(one.task for one in valid)
    for task in work:
        shut = task.id in closed
        wanted[task.kind] += given[task.id] if shut else max(task.needed, given[task.id])
        (finished if shut else unfinished)[task.kind] += 1
    for kind, then, each in chain(project):
        made = wanted[then] / finished[kind] if finished[kind] and wanted[then] else each
        coming = round_up(unfinished[kind] * made)
        wanted[then] += coming
        unfinished[then] += coming  # prune, sets and contrast need one answer each
    there = {*wanted, *(task.kind for task in work)}
    return {kind: wanted[kind] for kind in get_args(Kind) if kind in there}


def _of_kind(
    kind: Kind, work: Sequence[Task], state: State, valid: Sequence[Answer], wanted: int, money: Totals
) -> KindProgress:
    own = [one for one in work if one.kind == kind]
    how = Counter(state.closed.get(one.id, "open") for one in own)
    said = [one for one in valid if one.kind == kind]
    seconds = float(np.median([one.time - one.start for one in said])) if said else None
    return KindProgress(
        len(own), how["open"], how["done"], how["removed"], how["flagged"], len(said), wanted,
        money.by_kind.get(kind, 0), seconds, len({one.worker for one in said}),
    )  # fmt: skip
