"""Single cues: n-grams of texts and elements of pictures that are tied to the answer, and labels tied to their group.

A cue's z is computed over groups (items of one group are not independent): the sum over groups of label minus
expectation among the items that carry the cue, over the root of the sum of its squares. All cues that occur in enough
groups are tried, and each is judged at 1% over all of them (Bonferroni), by its z and by the binomial: of twenty
candidates none may well be right, and has a z of -4.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist

import numpy as np

from veridical.auditing import findings
from veridical.auditing.blind import budgeted
from veridical.auditing.data import AuditData, AuditItem, codes
from veridical.auditing.findings import Finding, Part, Power, Verdict, WorstExample
from veridical.auditing.harness import share_of
from veridical.auditing.pictures import elements
from veridical.auditing.texts import words
from veridical.auditing.words import more_items
from veridical.common.arrays import Doubles, Ints
from veridical.evaluation.bootstrap import stream
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

    @property
    def items(self) -> int:
        """Of candidates one of each item is right."""
        return len(self.y) if self.labels else int(self.y.sum())


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

    def example(self) -> WorstExample:
        note = f"{100 * self.rate:.1f}% of {self.rows:,} (expected {100 * self.expected:.1f}%)"
        return WorstExample(self.name, self.name, f"{note}, log-odds {self.log_odds:+.2f}, z {self.z:+.1f}")


def ngram_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """N-grams of sentences tied to their label, or of candidates tied to being right."""
    rows = budgeted(data.labelled(), options.items, options.seed)
    if data.task == "matrix" or not rows:
        return findings.not_applicable(name, "There are no texts with known answers.")
    if data.task == "statement":
        return _cue_finding(name, "n-grams", _labels(rows, [_ngrams(r.query) for r in rows]), options)
    return _cue_finding(name, "n-grams", _right_or_wrong(rows, lambda r, k: _ngrams(r.candidates[k])), options)


def element_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Elements of pictures tied to the label, or of candidate panels tied to being right."""
    if data.task == "choice":
        return findings.not_applicable(name, "A picture has several questions and no label of its own.")
    rows = budgeted(data.labelled(), options.items, options.seed)
    panels = data.benchmark.panels
    if data.task == "statement":
        seen = _labels(rows, [_counts(elements(panels[p]) for p in r.item.panels if p in panels) for r in rows])
    else:
        found = {c: _counts([elements(panels[c])]) for r in rows for c in r.candidates if c in panels}
        seen = _right_or_wrong(rows, lambda r, k: found.get(r.candidates[k], set()))
    if not any(seen.cues):
        return findings.not_applicable(name, "The pictures have no annotated objects here.")
    return _cue_finding(name, "elements", seen, options)


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
    rate, mean = right / rows, expected / rows
    listed = list(names)
    trifle = np.abs(right - expected) < LEAST_EFFECT * rows
    return [
        Cue(listed[c], int(rows[c]), int(groups[c]), float(rate[c]), float(mean[c]), float(z[c]))
        for c in np.lexsort((-np.abs(z), trifle))
        if groups[c] >= LEAST_GROUPS
    ]


def critical(tried: int) -> float:
    """The z beyond which one of so many cues is believed, at 1% over all, two-sided."""
    return NormalDist().inv_cdf(1 - LEVEL / (2 * max(tried, 1)))


def _worth(cue: Cue, seen: Observations) -> float:
    """What a guesser wins that follows this cue, as a share of what it would miss.

    Of sentences it otherwise follows the majority; of candidates the right ones count that carry the cue unexpectedly.
    """
    total = len(seen.y)
    if not seen.labels:
        return max(0.0, cue.rate - cue.expected) * cue.rows / (total * cue.expected) / (1 - cue.expected)
    base = float(seen.expected.mean())
    flip = cue.rate < 0.5 if base >= 0.5 else cue.rate > 0.5
    gain = abs(2 * cue.rate - 1) * cue.rows / total if flip else 0.0
    return gain / max(1 - max(base, 1 - base), 1e-9)


def _cue_finding(name: str, noun: str, seen: Observations, options: AuditOptions) -> Finding:
    cues = find_cues(seen)
    if not cues:
        return findings.not_applicable(name, f"No {noun} occur in {LEAST_GROUPS} groups or more.")
    limit = critical(len(cues))
    rare = LEVEL / (2 * len(cues))
    real = [c for c in cues if abs(c.z) > limit and abs(c.rate - c.expected) >= LEAST_EFFECT and c.tail < rare]
    best = max((_worth(c, seen) for c in real), default=0.0)
    power = _control(seen, len(cues), options.seed)
    verdict: Verdict = (
        "fail" if best >= findings.FAIL_CUE else "warn" if real else "pass" if power.ok else "cannot tell"
    )
    about = findings.ABOUT[name].about("statement" if seen.labels else "")
    top = cues[0]
    says = f"{len(real)} of {len(cues):,} {noun} are tied to the answer beyond chance (|z| > {limit:.1f})."
    if abs(top.rate - top.expected) >= LEAST_EFFECT:
        word = "true" if seen.labels else "right"
        says += f" The strongest is “{top.name}”: {word} in {100 * top.rate:.1f}% of {top.rows:,},"
        says += f" expected {100 * top.expected:.1f}%."
    do = about.advice(verdict)
    if verdict == "cannot tell":
        do = more_items(seen.items, power)
    listed = [asdict(c) | {"log_odds": c.log_odds} for c in (real or cues)[:50]]
    return Finding(
        name, about.title, verdict, says, len(real), reference=0, unit="count", reference_name="none", advantage=best,
        power=power, examples=tuple(c.example() for c in (real or cues)[:findings.EXAMPLES]), do=do,
        details={"tried": len(cues), "critical": limit, "cues": listed},
    )  # fmt: skip


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
        hit = find_cues(replace(seen, cues=[{CONTROL} if m else set() for m in marked]))
        found += bool(hit and abs(hit[0].z) > limit)
    p = float(seen.expected.mean())
    variance = p * (1 - p)
    need = min(((limit + findings.POWERED) ** 2) * variance / (1 - p) ** 2 / len(seen.y), 1.0)
    plant = f"A word in {100 * CONTROL_SHARE:.0f}% of them, three quarters true or right"
    least = (LEAST_GROUPS + findings.POWERED * math.sqrt(LEAST_GROUPS)) / len(seen.y)  # to occur in enough groups
    power = Power(need, min(max(need, least), 1.0), CONTROL_SHARE, None, found / repeats, plant)
    if power.ok:
        return power
    lift = abs(0.75 - p) * math.sqrt(CONTROL_SHARE * len(seen.y) / variance)  # the z to expect of the planted cue
    short = max((limit + findings.POWERED) / lift, math.sqrt(least / CONTROL_SHARE))
    return replace(power, enough=findings.enough_items(seen.items, short, 1.0))


def single_label_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Groups (sentences, presentations) whose items all have one label."""
    rows = data.labelled()
    if data.task != "statement" or not rows:
        return findings.not_applicable(name, "Only statements have labels that a group can share.")
    parts, single, larger, total, alone = [], [], [], 0, 0
    for split in (s for s in data.splits if any(r.split == s for r in rows)):
        y = np.array([r.answer for r in rows if r.split == split])
        group = codes(r.group for r in rows if r.split == split)
        n, true = np.bincount(group), np.bincount(group, weights=y)
        one, several = (true == 0) | (true == n), n > 1
        p = y.mean()
        e = share_of(one, 1000, stream(options.seed, "single", split))
        parts.append(Part(f"{split}: {int(one.sum()):,} of {len(n):,}", e.value, e.low, e.high))
        single.append(one[several])
        larger.append((p**n + (1 - p) ** n)[several])  # by chance
        total += len(n)
        alone += int((~several).sum())
    flags, chance = np.concatenate(single), np.concatenate(larger)
    if not len(flags):
        return findings.not_applicable(name, "Every group has one item.")
    number = int(flags.sum()) + alone
    error = math.sqrt(float((chance * (1 - chance)).sum())) / len(flags)
    share, expected = float(flags.mean()), float(chance.mean())
    verdict = findings.graded(share, findings.RARE, math.inf)
    if share > expected + findings.CRITICAL * error and share > findings.RARE:
        verdict = "fail"
    e = share_of(flags, 2000, stream(options.seed, "single"))
    says = f"{number:,} of {total:,} groups have one label only ({alone:,} of them a single item)."
    says += f" Of groups with several items it is {100 * share:.1f}%;"
    says += f" if labels ignored groups it would be {100 * expected:.1f}%."
    about = findings.ABOUT[name]
    return Finding(
        name, about.title, verdict, says, e.value, e.low, e.high, expected, "share", "labels at random",
        power=Power(findings.SEEN * error, findings.SEEN * error), examples=_one_label(rows),
        do=about.advice(verdict), parts=tuple(parts), details={"groups": total, "single": number, "of_one_item": alone},
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
        for key, g in one[: findings.EXAMPLES]
    )
