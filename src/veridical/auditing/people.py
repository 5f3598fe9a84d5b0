"""What people said about the items: ambiguous and unanswerable ones, agreement, and how well people do."""

from __future__ import annotations

import msgspec
import numpy as np

from veridical.auditing import findings
from veridical.auditing.data import AuditData
from veridical.auditing.findings import ABOUT, Finding, Verdict, WorstExample, not_applicable
from veridical.auditing.harness import share_of
from veridical.common.arrays import Bools, Ints
from veridical.evaluation.bootstrap import stream
from veridical.options.running import AuditOptions
from veridical.statistics import human_performance
from veridical.statistics.judgements import NONSENSE, Judged, load_judged
from veridical.statistics.summary import agreement

_SEVERAL = 2  # judgements that an item needs before disagreement can show
_NOBODY = "Nobody's judgements are in the benchmark, or each item has only one."


def _judged(data: AuditData, options: AuditOptions) -> Judged:
    return load_judged(data.benchmark, data.splits, data.scheme, hidden=options.hidden)


def ambiguous_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Items whose label is not the clear majority of the judgements."""
    judged = _judged(data, options)
    if not len(judged.item):
        return not_applicable(name, _NOBODY)
    counts = judged.where(judged.verdict >= 0).counts()
    several = counts.sum(1) >= _SEVERAL
    if not several.any():
        return not_applicable(name, _NOBODY)
    label = np.clip(judged.answer, 0, counts.shape[1] - 1)
    own = counts[np.arange(len(label)), label]
    others = counts.copy()
    others[np.arange(len(label)), label] = 0
    gap = own - others.max(1)
    bad = several & (judged.answer >= 0) & (gap < _SEVERAL)
    against = bad & (gap < 0)
    says = f"In {int(bad.sum()):,} of {int(several.sum()):,} items with several judgements the label leads by fewer"
    says += f" than two votes; in {int(against.sum()):,} the majority says otherwise."
    texts = [f"{own[i]} for the label, {others[i].max()} against" for i in range(len(label))]
    return _shares(name, data, judged, bad, several, -gap, texts, says, options.seed)


def unanswerable_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Items that people called nonsense."""
    judged = _judged(data, options)
    if not len(judged.item):
        return not_applicable(name, _NOBODY)
    votes = np.bincount(judged.item, minlength=len(judged.ids))
    nonsense = np.bincount(judged.item[judged.verdict == NONSENSE], minlength=len(judged.ids))
    seen, bad = votes > 0, (nonsense > 0) & (2 * nonsense >= votes)
    says = f"{int((nonsense > 0).sum()):,} of {int(seen.sum()):,} judged items were called nonsense by somebody,"
    says += f" {int(bad.sum()):,} by half or more."
    texts = [f"{nonsense[i]} of {votes[i]} say nonsense" for i in range(len(votes))]
    return _shares(name, data, judged, bad, seen, nonsense, texts, says, options.seed)


def _shares(
    name: str, data: AuditData, judged: Judged, bad: Bools, seen: Bools, badness: Ints, notes: list[str], says: str,
    seed: int,
) -> Finding:  # fmt: skip
    e = share_of(bad[seen], 2000, stream(seed, name))
    verdict = findings.graded(e.value, findings.RARE, findings.FAIL_JUDGED)
    by_id = {r.item.id: r for r in data.rows}
    worst = [i for i in np.argsort(-np.where(bad, badness, -99), kind="stable")[: findings.EXAMPLES] if bad[i]]
    examples = [
        WorstExample(judged.ids[i], by_id[judged.ids[i]].query, notes[i]) for i in worst if judged.ids[i] in by_id
    ]
    return Finding(
        name, ABOUT[name].title, verdict, says, e.value, e.low, e.high, findings.RARE, "share", "at most",
        examples=tuple(examples),
        do=ABOUT[name].advice(verdict), details={"items": int(seen.sum()), "bad": int(bad.sum())},
    )  # fmt: skip


def agreement_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Krippendorff's alpha of all judgements, after the papers' pruning where it applies."""
    found = agreement(_judged(data, options), options.seed)
    if found is None or found.alpha is None:
        return not_applicable(name, _NOBODY)
    alpha, good, least = found.alpha, findings.GOOD_ALPHA, findings.LEAST_ALPHA
    verdict: Verdict = "fail" if alpha < least else "warn" if alpha < good else "pass"
    says = f"Krippendorff's alpha is {alpha:.3f} over {found.items:,} items with several judgements;"
    says += f" {good} is good, below {least} labels are not reliable."
    return Finding(
        name, ABOUT[name].title, verdict, says, alpha, found.low, found.high, good, "alpha", "at least",
        do=ABOUT[name].advice(verdict),
        details={k: v for k, v in msgspec.to_builtins(found).items() if k != "after"},
    )  # fmt: skip


def human_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """How well people do: the ceiling of any score."""
    people = human_performance(data.benchmark, scheme=data.scheme, hidden=options.hidden)
    if people is None or people.mean is None:
        return not_applicable(name, "No judgements that measure people are in the benchmark.")
    y = np.array([r.answer for r in data.labelled()], np.int64)
    chance = float(np.bincount(y).max() / len(y)) if len(y) else 0.0
    low = people.mean < findings.LEAST_HUMAN or people.mean <= chance
    verdict: Verdict = "fail" if low else "warn" if people.mean < findings.GOOD_HUMAN else "pass"
    error = (people.std or 0.0) / max(people.workers, 1) ** 0.5
    says = f"People are right in {100 * people.mean:.1f}% ({people.workers:,} workers,"
    says += f" {people.judgements:,} judgements; {people.rule}); always the same answer in {100 * chance:.1f}%."
    return Finding(
        name, ABOUT[name].title, verdict, says, people.mean,
        max(people.mean - 1.96 * error, 0.0), min(people.mean + 1.96 * error, 1.0), findings.GOOD_HUMAN,
        "accuracy", "at least", do=ABOUT[name].advice(verdict), details={"std": people.std, "workers": people.workers},
    )  # fmt: skip
