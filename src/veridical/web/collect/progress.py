"""How far a collection is, how fast, when it ends, what it costs, and how people agree: all the requester sees.

What is still to come is counted along the pipeline: a sentence that is not written yet will have four pairs to be
validated. How many go on is what was seen so far.
"""

from __future__ import annotations

from collections import Counter, defaultdict
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


def agreement(judged: Mapping[str, Sequence[object]]) -> tuple[float | None, float | None]:
    """Krippendorff's alpha and Fleiss' kappa over verdicts by item; None where there is nothing to compare."""
    names = [name for name, said in judged.items() if len(said) > 1]
    if not names:
        return None, None
    pairs = [(row, _VALUES.get(verdict, 2)) for row, name in enumerate(names) for verdict in judged[name]]
    counts = count_values([p[0] for p in pairs], [p[1] for p in pairs], (len(names), 3))
    found = (krippendorff_alpha(counts), fleiss_kappa(counts))
    alpha, kappa = (None if np.isnan(value) else float(value) for value in found)
    return alpha, kappa


def verdicts(tasks: Mapping[str, Task], answers: Iterable[Answer]) -> dict[str, list[object]]:
    """What was said of each item, by its name."""
    out: dict[str, list[object]] = defaultdict(list)
    for one in answers:
        if one.kind in ("validate", "accept") and one.purpose == "work" and not one.void:
            out[tasks[one.task].key].append(one.value["verdict"])
    return out


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
    judged = verdicts(state.tasks, valid)
    alpha, kappa = agreement(judged)
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
        alpha=alpha,
        kappa=kappa,
        judged_twice=sum(len(said) > 1 for said in judged.values()),
        waiting_reviews=state.waiting_reviews,
        totals=money,
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
