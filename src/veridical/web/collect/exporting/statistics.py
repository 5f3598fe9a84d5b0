"""Who wrote, validated, pruned and relabelled, and what it cost: the papers' numbers (NLVR2, Table 4 of the draft)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from veridical.web.collect import progress
from veridical.web.collect.ledger import MILL, totals, with_fee
from veridical.web.collect.records import WRITING, Answer, Kind, Project, Worker
from veridical.web.collect.rounds import sentences

NAMES: dict[Kind, str] = {
    "prune": "image pruning",
    "sets": "set construction",
    "sentence": "sentence writing",
    "contrast": "sentence writing",
    "validate": "validation",
    "questions": "question writing",
    "accept": "question checking",
    "choose": "answering",
}


@dataclass(frozen=True)
class Work:
    """One kind of work."""

    name: str
    tasks: int
    answers: int  # that count
    workers: int
    mills: int  # bonuses too
    seconds: float | None  # median of an answer


@dataclass(frozen=True)
class Statistics:
    """What a collection was."""

    work: tuple[Work, ...]
    workers: int
    blocked: int
    withdrawn: int
    answers: int
    void: int
    sentences: int
    writers: int
    validators: int
    flagged: int  # sets that writers flagged
    removed: int  # writing tasks that nobody took
    pictures_removed: dict[str, int] = field(default_factory=dict)  # by reason
    judged: int = 0
    relabelled: float | None = None  # share of first validations that differ from what the writer meant
    own_validations: float | None = None  # share of them by the writer
    self_agreement: float | None = None
    other_agreement: float | None = None
    nonsense: int = 0  # judgements
    alpha: float | None = None
    kappa: float | None = None
    gold: float | None = None  # accuracy on gold
    mills: int = 0
    bonuses: int = 0
    qualification: int = 0  # mills
    fee: int = 0
    per_sentence: float | None = None  # mills
    warnings: dict[str, int] = field(default_factory=dict)  # guidelines that sentences seem to break


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def statistics(project: Project, state: progress.State, workers: Sequence[Worker]) -> Statistics:
    """The statistics of all that was done so far."""
    done = [one for one in state.answers if one.purpose == "work" and not one.void]
    found = progress.progress(project, "open", 1, state, 0.0)
    money = totals(state.payments)
    written = [one for one in done if one.kind in WRITING]
    count = sum(map(sentences, written))
    first = [one for one in done if one.task.startswith("validate:")]
    differs = [not one.right for one in first if one.value["verdict"] != "nonsense"]
    own = [state.tasks[one.task].author == one.worker for one in first]
    mine = [bool(one.right) for one, self in zip(first, own, strict=True) if self]
    others = [bool(one.right) for one, self in zip(first, own, strict=True) if not self]
    golden = [bool(one.right) for one in state.answers if one.purpose == "gold"]
    by_kind = {
        kind: Work(NAMES[kind], one.tasks, one.answers, one.workers, one.mills, one.seconds)
        for kind, one in found.kinds.items()
    }
    return Statistics(
        work=tuple(by_kind[kind] for kind in NAMES if kind in by_kind),
        workers=len({one.worker for one in state.answers}),
        blocked=sum(one.blocked is not None for one in workers),
        withdrawn=sum(one.withdrawn is not None for one in workers),
        answers=len(done),
        void=sum(bool(one.void) for one in state.answers),
        sentences=count,
        writers=len({one.worker for one in written if sentences(one)}),
        validators=len({one.worker for one in done if one.kind in ("validate", "accept")}),
        flagged=sum(how == "flagged" for how in state.closed.values()),
        removed=sum(how == "removed" and state.tasks[name].kind in WRITING for name, how in state.closed.items()),
        pictures_removed=_reasons(done),
        judged=len(first),
        relabelled=_share(differs),
        own_validations=_share(own),
        self_agreement=_share(mine),
        other_agreement=_share(others),
        nonsense=sum(one.value.get("verdict") == "nonsense" for one in done),
        alpha=found.alpha,
        kappa=found.kappa,
        gold=_share(golden),
        mills=money.mills,
        bonuses=money.by_why.get("bonus", 0),
        qualification=money.by_why.get("qualification", 0),
        fee=with_fee(project, money.mills) - money.mills,
        per_sentence=with_fee(project, money.mills) / count if count else None,
        warnings=_counted(name for one in written for name in one.warnings),
    )


def _reasons(done: Sequence[Answer]) -> dict[str, int]:
    return _counted(reason for one in done if one.kind == "prune" for reason in one.value["removed"].values())


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def costs(project: Project, state: progress.State) -> dict[str, dict[str, object]]:
    """What each kind of work cost, for the builder: dollars and workers."""
    found = totals(state.payments)
    out: dict[str, dict[str, object]] = {}
    mills: dict[str, int] = {}
    people: dict[str, set[str]] = {}
    for one in state.payments:
        name = NAMES[one.kind] if one.kind is not None and one.kind in NAMES else one.why
        mills[name] = mills.get(name, 0) + one.mills
        people.setdefault(name, set()).add(one.worker)
    for name in sorted(mills):
        out[name] = {"cost": mills[name] / MILL, "workers": len(people[name])}
    fee = with_fee(project, found.mills) - found.mills
    if fee:
        out["platform fee"] = {"cost": fee / MILL}
    return out
