"""Items that give each other away: responses that are right once, and labels that are opposite within a group.

A solver that is handed a whole split may read its items together. Where candidates of several items are the same
texts, each right once, a response that surely belongs to one item is wrong in the others. And where two items of one
group show the same objects, or the same picture, or have the same text, the label of one may tell that of the other:
that wins nothing without looking, but one answer is then worth two.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from veridical.auditing import blind, findings
from veridical.auditing.cues import LEAST_GROUPS
from veridical.auditing.data import AuditData, AuditItem, candidate_uses, codes, normal
from veridical.auditing.findings import Finding, Verdict, WorstExample, not_applicable
from veridical.auditing.harness import over_groups
from veridical.common.arrays import Doubles, Ints
from veridical.common.intervals import Estimate
from veridical.evaluation.bootstrap import stream
from veridical.options.running import AuditOptions

LEAST_SHARED = 0.1  # of the items must have only candidates that other items have, too

Pair = tuple[AuditItem, AuditItem]


def check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Read all items together: responses that are right once, or items of a group whose labels tell each other."""
    if data.task == "matrix":
        return not_applicable(name, "Matrices have no texts to read.", data.task)
    if data.task == "statement":
        return _complements(name, data, options)
    if _shared(data) < LEAST_SHARED:
        return not_applicable(name, "Items do not share their candidates: each can only be read by itself.", data.task)
    return blind.check(name, data, options)


def _shared(data: AuditData) -> float:
    """The share of items all of whose candidates are candidates of others of the stage and split."""
    flags = []
    for stage in data.stages:
        for split in data.splits:
            rows = [r for r in data.labelled(stage) if r.split == split]
            uses = candidate_uses(rows)
            flags += [min(uses[normal(c)] for c in r.candidates) > 1 for r in rows]
    return float(np.mean(flags)) if flags else 0.0


# --- labels that tell each other -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """Pairs of items of one group that have something in common, and how many of their labels are opposite."""

    common: str
    opposite: Estimate
    expected: float  # if the group's labels were dealt at random
    error: float  # the standard error of the difference, over groups
    pairs: tuple[Pair, ...]
    groups: int

    @property
    def excess(self) -> float:
        return abs(self.opposite.value - self.expected)

    @property
    def real(self) -> bool:
        """More than chance makes of it."""
        return findings.real(self.excess, self.error)


def _complements(name: str, data: AuditData, options: AuditOptions) -> Finding:
    rows = data.labelled()
    groups: dict[tuple[str, str], list[AuditItem]] = {}
    for row in rows:
        groups.setdefault((row.split, row.group), []).append(row)
    several = [g for g in groups.values() if len(g) > 1]
    rules = [r for r in (_rule(common, key, several, data, options) for common, key in _KEYS.items()) if r is not None]
    if not rules:
        why = f"Fewer than {LEAST_GROUPS} groups have items that share their objects, pictures or text."
        return not_applicable(name, why, data.task)
    worst = max(rules, key=lambda r: (r.real, r.excess))
    verdict: Verdict = "warn" if worst.real else "pass"
    says = f"Of {len(worst.pairs):,} pairs of items of one group with {worst.common}, "
    says += f"{100 * worst.opposite.value:.1f}% have opposite labels; if a group's labels were dealt at random it "
    says += f"would be {100 * worst.expected:.1f}%."
    about = findings.ABOUT[name].about(data.task)
    shown = worst.pairs[: findings.EXAMPLES] if worst.real else ()
    return Finding(
        name, about.title, verdict, says, worst.opposite.value, worst.opposite.low, worst.opposite.high, worst.expected,
        "share", "labels at random", examples=tuple(map(_example, shown)),
        do=about.advice(verdict),
        details={"rules": {r.common: {"pairs": len(r.pairs), "groups": r.groups, "opposite": r.opposite.to_json(),
                                      "expected": r.expected, "error": r.error} for r in rules}},
    )  # fmt: skip


def _rule(
    common: str,
    key: Callable[[AuditData, AuditItem], Hashable],
    groups: Sequence[Sequence[AuditItem]],
    data: AuditData,
    options: AuditOptions,
) -> Rule | None:
    pairs: list[Pair] = []
    expected: list[float] = []
    for group in groups:
        keys = [key(data, row) for row in group]
        true, number = sum(r.answer for r in group), len(group)
        chance = 2 * true * (number - true) / (number * (number - 1))
        found = [(group[a], group[b]) for a, b in combinations(range(number), 2) if keys[a] and keys[a] == keys[b]]
        if len(found) == number * (number - 1) // 2:
            continue  # all pairs of a group: how its labels are dealt decides, not what two items share
        pairs += found
        expected += [chance] * len(found)
    owner: Ints = codes((a.split, a.group) for a, _ in pairs)
    if owner.max(initial=-1) + 1 < LEAST_GROUPS:
        return None
    opposite: Doubles = np.array([float(a.answer != b.answer) for a, b in pairs])
    drawn = over_groups(owner, [np.ones(len(pairs)), opposite], 2000, stream(options.seed, "joint", common))
    residual = np.bincount(owner, weights=opposite - np.array(expected))
    error = float(np.sqrt((residual**2).sum()) / len(pairs))
    return Rule(common, drawn.ratio(1, 0), float(np.mean(expected)), error, tuple(pairs), len(residual))


def _objects(data: AuditData, row: AuditItem) -> Hashable:
    """The objects of all pictures, wherever they are; None where some have none."""
    panels = [data.benchmark.panels[p] for p in row.item.panels if p in data.benchmark.panels]
    if not panels or not all(p.objects for p in panels):
        return None
    return tuple(sorted(repr((o.category, o.attributes)) for p in panels for o in p.objects))


def _pictures(data: AuditData, row: AuditItem) -> Hashable:
    panels = [data.benchmark.panels[p] for p in row.item.panels if p in data.benchmark.panels]
    names = [p.image or p.uri or "" for p in panels]
    return tuple(sorted(names)) if names and all(names) else None


def _text(data: AuditData, row: AuditItem) -> Hashable:
    return normal(row.query) or None


_KEYS: dict[str, Callable[[AuditData, AuditItem], Hashable]] = {
    "the same objects": _objects,
    "the same pictures": _pictures,
    "the same text": _text,
}


def _example(pair: Pair) -> WorstExample:
    one, other = pair
    labels = " and ".join(row.candidates[row.answer] for row in pair)
    return WorstExample(f"{one.item.id}, {other.item.id}", one.query, f"{one.split}: {labels}")
