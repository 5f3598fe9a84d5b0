"""Single cues: n-grams of texts and elements of pictures that are tied to the answer, and labels tied to their group.

A cue's z is computed over groups (items of one group are not independent): the sum over groups of label minus
expectation among the items that carry the cue, over the root of the sum of its squares. All cues that occur in enough
groups are tried, and each is judged at 1% over all of them (Bonferroni), by its z and by the binomial: of twenty
candidates none may well be right, and has a z of -4.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np

from veridical.auditing.blind import budgeted
from veridical.auditing.data import AuditData, AuditItem, codes
from veridical.auditing.findings import (
    CRITICAL,
    EXAMPLES,
    FAIL_CUE,
    POWERED,
    RARE,
    Finding,
    Part,
    Power,
    Verdict,
    WorstExample,
    graded,
    not_applicable,
)
from veridical.auditing.pictures import elements
from veridical.auditing.texts import words
from veridical.common.arrays import Doubles, Ints
from veridical.evaluation.bootstrap import resample, stream
from veridical.options.running import AuditOptions

LEAST_GROUPS = 15  # groups that a cue must occur in to be tried
LONGEST = 3
LEAST_EFFECT = 0.02  # in groups that are balanced by design even a trifle is beyond chance
LEVEL = 0.01  # false alarms of one check: an audit makes some ten tests
CONTROL = "zuvo"  # the planted cue's name
CONTROL_SHARE = 0.05  # of the observations carry the planted cue


@dataclass(frozen=True)
class Observations:
    """What cues are looked for in: sentences with labels, or candidates that are right or wrong."""

    cues: list[set[str]]  # (R,)
    y: Ints  # (R,) 1: true, or the right candidate
    expected: Doubles  # (R,) the chance of that
    group: Ints  # (R,)
    labels: bool  # the observations are sentences; otherwise candidates


@dataclass(frozen=True)
class Cue:
    """One cue and how it is tied to the answer."""

    name: str
    rows: int  # observations that carry it
    groups: int
    rate: float  # how often they are true (right)
    expected: float
    z: float

    @property
    def tail(self) -> float:
        """How likely so many, or so few, of independent observations are true (right) by chance."""
        from scipy.stats import binom

        right = round(self.rate * self.rows)
        if self.rate > self.expected:
            return float(binom.sf(right - 1, self.rows, self.expected))
        return float(binom.cdf(right, self.rows, self.expected))

    @property
    def log_odds(self) -> float:
        """The logarithm of the odds ratio to what was expected, with half an observation added on both sides."""
        right = self.rate * self.rows
        odds = (right + 0.5) / (self.rows - right + 0.5)
        return math.log(odds) - math.log(self.expected / (1 - self.expected))


def ngram_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """N-grams of sentences tied to their label, or of candidates tied to being right."""
    title = "N-gram cues"
    rows = budgeted(data.labelled(), options.items, options.seed)
    if data.task == "matrix" or not rows:
        return not_applicable(name, title, "There are no texts with known answers.")
    return _cue_finding(name, title, "n-grams", _read(rows), options)


def element_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Elements of pictures tied to the label, or of candidate panels tied to being right."""
    title = "Element cues"
    rows = budgeted(data.labelled(), options.items, options.seed)
    panels = data.benchmark.panels
    if data.task == "choice":
        return not_applicable(name, title, "A picture has several questions and no label of its own.")
    if data.task == "statement":
        found = [[panels[p] for p in r.item.panels if p in panels] for r in rows]
        cues = [_counts(elements(p) for p in own) for own in found]
        seen = _labels(rows, cues)
    else:
        seen = _right_or_wrong(
            rows, lambda r, k: _counts([elements(panels[r.candidates[k]])]) if r.candidates[k] in panels else set()
        )
    if not any(seen.cues):
        return not_applicable(name, title, "The pictures have no annotated objects here.")
    return _cue_finding(name, title, "elements", seen, options)


def _read(rows: Sequence[AuditItem]) -> Observations:
    if rows[0].item.task == "statement":
        return _labels(rows, [_ngrams(r.query) for r in rows])
    return _right_or_wrong(rows, lambda r, k: _ngrams(r.candidates[k]))


def _ngrams(text: str) -> set[str]:
    tokens = words(text)
    return {" ".join(tokens[i : i + n]) for n in range(1, LONGEST + 1) for i in range(len(tokens) - n + 1)}


def _counts(found: Iterable[dict[str, int]]) -> set[str]:
    """Which elements there are, and for each whether it occurs once, twice ... in a panel."""
    out: set[str] = set()
    for counts in found:
        out.update(counts)
        out.update(f"{number} {name}" for name, number in counts.items() if 1 < number < 7)
    return out


def _labels(rows: Sequence[AuditItem], cues: list[set[str]]) -> Observations:
    y = np.array([r.answer for r in rows], np.int64)
    split = codes(r.split for r in rows)
    mean = np.array([y[split == s].mean() for s in range(int(split.max()) + 1)])
    return Observations(cues, y, mean[split], codes(r.group for r in rows), labels=True)


def _right_or_wrong(rows: Sequence[AuditItem], cues_of: Callable[[AuditItem, int], set[str]]) -> Observations:
    places = [(i, k) for i, r in enumerate(rows) for k in range(len(r.candidates))]
    group = codes(r.group for r in rows)
    return Observations(
        [cues_of(rows[i], k) for i, k in places],
        np.array([k == rows[i].answer for i, k in places], np.int64),
        np.array([1 / len(rows[i].candidates) for i, _ in places]),
        np.array([group[i] for i, _ in places], np.int64),
        labels=False,
    )


def find_cues(seen: Observations) -> list[Cue]:
    """All cues that occur in enough groups: the most strongly tied ones first, trifles last."""
    names: dict[str, int] = {}
    pairs = [(names.setdefault(c, len(names)), r) for r, cues in enumerate(seen.cues) for c in sorted(cues)]
    if not pairs:
        return []
    cue, row = np.array(pairs, np.int64).T
    residual = seen.y - seen.expected
    # One entry per (cue, group): the summed residual of the group's observations that carry the cue.
    code = cue * (int(seen.group.max()) + 1) + seen.group[row]
    entry, inverse = np.unique(code, return_inverse=True)
    summed = np.bincount(inverse, weights=residual[row])
    owner = entry // (int(seen.group.max()) + 1)
    number = len(names)
    groups = np.bincount(owner, minlength=number)
    total = np.bincount(owner, weights=summed, minlength=number)
    squares = np.bincount(owner, weights=summed**2, minlength=number)
    rows = np.bincount(cue, minlength=number)
    right = np.bincount(cue, weights=seen.y[row], minlength=number)
    expected = np.bincount(cue, weights=seen.expected[row], minlength=number)
    z = total / np.sqrt(np.maximum(squares, 1e-12))
    listed = list(names)
    trifle = np.abs(right - expected) < LEAST_EFFECT * rows
    order = np.lexsort((-np.abs(z), trifle))
    keep = [int(c) for c in order if groups[c] >= LEAST_GROUPS]
    return [
        Cue(
            listed[c],
            int(rows[c]),
            int(groups[c]),
            float(right[c] / rows[c]),
            float(expected[c] / rows[c]),
            float(z[c]),
        )
        for c in keep
    ]


def critical(tried: int) -> float:
    """The z beyond which one of so many cues is believed, at 1% over all, two-sided."""
    return NormalDist().inv_cdf(1 - LEVEL / (2 * max(tried, 1)))


def _advantage(cue: Cue, total: int, *, base: float) -> float:
    """What a guesser wins that follows this cue and otherwise the majority: a share of what the majority misses."""
    flip = cue.rate < 0.5 if base >= 0.5 else cue.rate > 0.5
    gain = abs(2 * cue.rate - 1) * cue.rows / total if flip else 0.0
    return gain / max(1 - max(base, 1 - base), 1e-9)


def _cue_finding(name: str, title: str, noun: str, seen: Observations, options: AuditOptions) -> Finding:
    cues = find_cues(seen)
    if not cues:
        return not_applicable(name, title, f"No {noun} occur in {LEAST_GROUPS} groups or more.")
    limit = critical(len(cues))
    rare = LEVEL / (2 * len(cues))
    real = [c for c in cues if abs(c.z) > limit and abs(c.rate - c.expected) >= LEAST_EFFECT and c.tail < rare]
    base = float(seen.expected.mean())
    gain = partial(_advantage, base=base) if seen.labels else _lift
    best = max((gain(c, len(seen.y)) for c in real), default=0.0)
    power = _control(seen, len(cues), options.seed)
    verdict: Verdict = "fail" if best >= FAIL_CUE else "warn" if real else "pass" if power.ok else "cannot tell"
    top = cues[0]
    says = f"{len(real)} of {len(cues):,} {noun} are tied to the answer beyond chance (|z| > {limit:.1f})."
    if abs(top.rate - top.expected) >= LEAST_EFFECT:
        word = "true" if seen.labels else "right"
        says += f" The strongest is “{top.name}”: {word} in {100 * top.rate:.1f}% of {top.rows:,},"
        says += f" expected {100 * top.expected:.1f}%."
    return Finding(
        check=name,
        title=title,
        verdict=verdict,
        says=says,
        number=len(real),
        reference=0,
        unit="count",
        reference_name="none",
        advantage=best,
        power=power,
        examples=tuple(_example(c) for c in (real or cues)[:EXAMPLES]),
        do=_ADVICE[seen.labels] if real else _more(power, len(seen.y)) if verdict == "cannot tell" else "",
        details={"tried": len(cues), "critical": limit, "cues": [_as_json(c) for c in (real or cues)[:50]]},
    )


_ADVICE = {
    True: "Rewrite or rebalance the items with these cues: as many true as false ones.",
    False: "Give distractors these cues as often as right candidates.",
}


def _more(power: Power, number: int) -> str:
    return (
        f"Audit more items: the planted cue was found in {100 * (power.seen or 0):.0f}% of all tries among {number:,}."
    )


def _lift(cue: Cue, total: int) -> float:
    """For candidates: how many more of the right ones carry it than expected, as a share of all right ones."""
    return max(0.0, cue.rate - cue.expected) * cue.rows / (total * cue.expected) / (1 - cue.expected)


def _example(c: Cue) -> WorstExample:
    note = f"{100 * c.rate:.1f}% of {c.rows:,} (expected {100 * c.expected:.1f}%)"
    return WorstExample(c.name, c.name, f"{note}, log-odds {c.log_odds:+.2f}, z {c.z:+.1f}")


def _as_json(c: Cue) -> dict[str, object]:
    return {f: getattr(c, f) for f in ("name", "rows", "groups", "rate", "expected", "z", "log_odds")}


def _control(seen: Observations, tried: int, seed: int) -> Power:
    """Plant a cue into a share of the observations, three quarters of them true or right, and look for it.

    The smallest share is analytic: n observations that are always right have z = sqrt(n (1 - p) / p).
    """
    rng = np.random.default_rng([seed, 11])
    limit = critical(tried + 1)
    found = 0
    repeats = 10
    for _ in range(repeats):
        weight = np.where(seen.y == 1, 0.75, 0.25) / np.where(seen.y == 1, seen.expected, 1 - seen.expected)
        marked = rng.random(len(seen.y)) < CONTROL_SHARE * weight / weight.mean()
        planted = replace(seen, cues=[{CONTROL} if m else set() for m in marked])
        hit = find_cues(planted)
        found += bool(hit and abs(hit[0].z) > limit)
    p = float(seen.expected.mean())
    variance = p * (1 - p)
    need = ((limit + POWERED) ** 2) * variance / (1 - p) ** 2 / len(seen.y)
    words_ = f"A word in {100 * CONTROL_SHARE:.0f}% of them, three quarters true or right"
    return Power(min(need, 1.0), min(need, 1.0), CONTROL_SHARE, None, found / repeats, words_)


def single_label_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Groups (sentences, presentations) whose items all have one label."""
    title = "Groups with one label only"
    rows = data.labelled()
    if data.task != "statement" or not rows:
        return not_applicable(name, title, "Only statements have labels that a group can share.")
    parts, single, larger, alone = [], [], [], 0
    for split in (s for s in data.splits if any(r.split == s for r in rows)):
        y = np.array([r.answer for r in rows if r.split == split])
        group = codes(r.group for r in rows if r.split == split)
        n, true = np.bincount(group), np.bincount(group, weights=y)
        one = (true == 0) | (true == n)
        p = y.mean()
        chance = np.where(n > 1, p**n + (1 - p) ** n, 0.0)
        several = n > 1
        e = resample(np.stack([np.ones_like(n), one.astype(np.int64)], 1), 1000, stream(options.seed, "single", split))
        est = e.ratio(1, 0)
        parts.append(Part(f"{split}: {int(one.sum()):,} of {len(n):,}", est.value, est.low, est.high))
        single.append(one[several])
        larger.append(chance[several])
        alone += int((~several).sum())
    flags, chance_ = np.concatenate(single), np.concatenate(larger)
    total = sum(len({r.group for r in rows if r.split == s}) for s in data.splits)
    number = int(flags.sum()) + alone
    if not len(flags):
        return not_applicable(name, title, "Every group has one item.")
    error = math.sqrt(float((chance_ * (1 - chance_)).sum())) / len(flags)
    share, expected = float(flags.mean()), float(chance_.mean())
    verdict = graded(share, RARE, math.inf)
    if share > expected + CRITICAL * error and share > RARE:
        verdict = "fail"
    e = resample(
        np.stack([np.ones(len(flags), np.int64), flags.astype(np.int64)], 1), 2000, stream(options.seed, "single")
    )
    est = e.ratio(1, 0)
    says = f"{number:,} of {total:,} groups have one label only ({alone:,} of them a single item)."
    says += f" Of groups with several items it is {100 * share:.1f}%;"
    says += f" if labels ignored groups it would be {100 * expected:.1f}%."
    return Finding(
        name, title, verdict, says, est.value, est.low, est.high, expected, "share", "labels at random",
        power=Power((CRITICAL + POWERED) * error, (CRITICAL + POWERED) * error),
        examples=_one_label(rows), parts=tuple(parts),
        do="One guess is consistent on these groups: report consistency without them, or add items of the other label."
        if verdict != "pass" else "",
        details={"groups": total, "single": number, "of_one_item": alone},
    )  # fmt: skip


def _one_label(rows: Sequence[AuditItem]) -> tuple[WorstExample, ...]:
    """The largest groups with one label."""
    groups: dict[tuple[str, str], list[AuditItem]] = {}
    for r in rows:
        groups.setdefault((r.split, r.group), []).append(r)
    one = [(k, g) for k, g in groups.items() if len(g) > 1 and len({r.answer for r in g}) == 1]
    one.sort(key=lambda pair: (-len(pair[1]), pair[0]))
    return tuple(
        WorstExample(key[1], f"{g[0].query} — {g[0].candidates[g[0].answer]}", f"{key[0]}, {len(g)} items")
        for key, g in one[:EXAMPLES]
    )
