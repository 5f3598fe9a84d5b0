"""What everybody is owed, in mills (tenths of a cent), and the files that pay them.

Every line says what it is for, and its id is made of that, so that nothing is paid twice, however often a request or a
process is repeated. Sums are of whole numbers; a payment of a platform is in cents, and what is left of a worker's sum
stays owed.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from veridical.web.collect.records import Answer, Kind, Payment, Platform, Project, RoundResult, Worker
from veridical.web.collect.rounds import sentences

MILL = 1000  # a currency unit


@dataclass(frozen=True)
class Batch:
    """Files that pay somebody, and the lines of the ledger that they pay."""

    name: str
    files: Mapping[str, str] = field(default_factory=dict)  # name -> text
    payments: tuple[str, ...] = ()
    mills: int = 0
    workers: int = 0


def pay_for(project: Project, answer: Answer) -> Payment | None:
    """What an answer earns: work and gold alike, as nobody should see the difference."""
    flagged = bool(answer.value.get("flag"))
    mills = project.pay.get("flag" if flagged else answer.kind, 0)
    if answer.purpose == "qualification" or not mills:
        return None
    if answer.kind == "questions":
        mills *= sentences(answer)
    return Payment(f"task:{answer.id}", answer.worker, "task", mills, answer.time, answer.kind)


def bonus_for(found: RoundResult, kind: Kind | None, time: float) -> Payment | None:
    """What a round earns on top."""
    if not found.bonus:
        return None
    note = f"{found.following} of {found.sampled} follow the guidelines; {found.written} sentences"
    return Payment(f"bonus:{found.round}:{found.worker}", found.worker, "bonus", found.bonus, time, kind, note)


def qualified(project: Project, role: str, worker: str, time: float) -> Payment | None:
    """What a qualification earns that was done to its end, passed or not."""
    mills = next((one.pay for one in project.roles if one.name == role), 0)
    if not mills:
        return None
    return Payment(f"qualification:{role}:{worker}", worker, "qualification", mills, time)


@dataclass(frozen=True)
class Totals:
    """Sums of a ledger."""

    mills: int
    paid: int
    by_worker: Mapping[str, int]
    owed: Mapping[str, int]
    by_why: Mapping[str, int]
    by_kind: Mapping[str, int]  # of tasks and bonuses
    workers_by_kind: Mapping[str, int]


def totals(payments: Iterable[Payment]) -> Totals:
    """Sums, by worker, by reason, by kind of task."""
    worker: Counter[str] = Counter()
    owed: Counter[str] = Counter()
    why: Counter[str] = Counter()
    kind: Counter[str] = Counter()
    people: dict[str, set[str]] = defaultdict(set)
    paid = 0
    for one in payments:
        worker[one.worker] += one.mills
        why[one.why] += one.mills
        if one.kind is not None:
            kind[one.kind] += one.mills
            people[one.kind].add(one.worker)
        if one.batch:
            paid += one.mills
        else:
            owed[one.worker] += one.mills
    return Totals(
        sum(worker.values()), paid, dict(worker), {name: mills for name, mills in owed.items() if mills}, dict(why),
        dict(kind), {name: len(some) for name, some in people.items()},
    )  # fmt: skip


def with_fee(project: Project, mills: int) -> int:
    """What a sum costs whoever pays, the platform's fee included, to the next mill.

    >>> with_fee(Project("a", "nlvr", "A", fee=0.2), 125)
    150
    """
    return mills + -int(-mills * project.fee // 1)


def money(mills: int, currency: str = "USD") -> str:
    """A sum in words.

    >>> money(70), money(1_234_567), money(-5)
    ('$0.07', '$1,234.567', '-$0.005')
    """
    sign = {"USD": "$", "GBP": "£", "EUR": "€"}.get(currency, f"{currency} ")
    whole, rest = divmod(abs(mills), MILL)
    cents = f"{rest // 10:02}" + (str(rest % 10) if rest % 10 else "")
    return f"{'-' if mills < 0 else ''}{sign}{whole:,}.{cents}"


def batch(
    project: Project, platform: Platform, people: Sequence[Worker], payments: Sequence[Payment], name: str
) -> Batch:
    """What the people of a platform are owed, as the file that its bulk payments take.

    Lines are taken in the order of time up to a whole number of cents; what is left waits for the next batch. People
    without a platform's name for them cannot be paid there and are left out.
    """
    names = {one.id: one for one in people if one.platform == platform and one.platform_id}
    lines: list[tuple[Worker, int]] = []
    taken: list[str] = []
    for worker in sorted(names):
        owed = sorted((p for p in payments if p.worker == worker and not p.batch), key=lambda p: (p.time, p.id))
        some = _whole_cents(owed)
        mills = sum(p.mills for p in some)
        if mills > 0:
            lines.append((names[worker], mills))
            taken += [p.id for p in some]
    if not lines:
        return Batch(name)
    text = _mturk(lines, project.title, name) if platform == "mturk" else _prolific(lines)
    total = sum(mills for _, mills in lines)
    return Batch(name, {f"{name}-{platform}.csv": text}, tuple(taken), total, len(lines))


def _whole_cents(owed: Sequence[Payment]) -> list[Payment]:
    """The longest beginning whose sum is a whole number of cents."""
    best, total = 0, 0
    for place, one in enumerate(owed, 1):
        total += one.mills
        if total % 10 == 0:
            best = place
    return list(owed[:best])


def _cents(mills: int) -> str:
    return f"{mills // MILL}.{mills % MILL // 10:02}"


def _prolific(lines: Sequence[tuple[Worker, int]]) -> str:
    """Prolific's bulk bonus payments: `participant,amount` a line, without a header."""
    return "".join(f"{one.platform_id},{_cents(mills)}\n" for one, mills in lines)


def _mturk(lines: Sequence[tuple[Worker, int]], reason: str, name: str) -> str:
    """For MTurk's SendBonus, a row a worker; the token keeps it from being paid twice."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("WorkerId", "AssignmentId", "BonusAmount", "Reason", "UniqueRequestToken"))
    for one, mills in lines:
        writer.writerow((one.platform_id, one.session, _cents(mills), reason, f"{name}-{one.id}"))
    return out.getvalue()
