"""Accuracy, consistency, staged accuracy, the breakdown by tags and the comparison of two files, all with intervals.

Accuracy is over all scored examples; consistency is the share of groups all of whose examples are right; staged
accuracy is VCR's: Q->A the answer, QA->R the rationale given the right answer, Q->AR both.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from veridical.common.arrays import Bools, Ints
from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.evaluation.bootstrap import intervals_of_parts, resample, sign_test, stream
from veridical.evaluation.grade import Grades
from veridical.evaluation.key import AnswerKey

STAGES = ("Q->A", "QA->R", "Q->AR")
MEANING = (
    "difference = these predictions minus the others, on the same examples; interval: 95%, resampling whole groups. "
    "Sign test (exact, two-sided): of the examples that exactly one of the two gets right, is it a fair coin which "
    "one? It takes examples as independent, which those of one group are not; the test over groups (which of the two "
    "gets more of a group right) does not."
)


@dataclass(frozen=True, slots=True)
class Row:
    """The result on a part of the split, or of a baseline."""

    items: int
    groups: int
    accuracy: Estimate
    consistency: Estimate

    def to_json(self) -> dict[str, object]:
        return {
            **self.accuracy.to_json(),
            "items": self.items,
            "groups": self.groups,
            "consistency": self.consistency.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Measures:
    """What one set of choices achieves on the whole split."""

    row: Row
    answered: Estimate | None  # accuracy over the examples that have a readable prediction
    staged: dict[str, Estimate]


def per_item(item: Ints, flags: Bools, items: int) -> Ints:
    """How many examples of each item have the flag."""
    return np.bincount(item[flags], minlength=items)


def measure(key: AnswerKey, examples: Ints, right: Ints, answered: Ints, resamples: int, seed: int) -> Measures:
    """The measures of choices, given per item its examples and how many of them are right, and are answered."""
    n = _by_group(key, examples)
    right_of = _by_group(key, right)
    table = np.stack([n, right_of, n == right_of, np.ones_like(n), _by_group(key, answered)], 1)[n > 0]  # (G, 5)
    drawn = resample(table, resamples, stream(seed, "all"))
    row = Row(int((examples > 0).sum()), len(table), drawn.ratio(1, 0), drawn.ratio(2, 3))
    return Measures(row, drawn.ratio(1, 4) if answered.any() else None, _staged(key, right, resamples, seed))


def staged_right(key: AnswerKey, right: Ints) -> tuple[Ints, Ints]:
    """The questions that have all stages, and for each (Q, 3): answer right, rationale right, both right.

    The rationale that counts for Q->AR is the one given the answer that was chosen; where that answer is right, it is
    the one given the right answer, and where it is wrong nothing more can be won. So Q->AR is the conjunction.
    """
    questions, rationales = key.questions(), key.rationales()
    keep = key.answer[questions] >= 0
    questions, rationales = questions[keep], rationales[keep]
    if not rationales.size:
        return questions, np.zeros((0, 3), np.int64)
    rationale = rationales[np.arange(len(questions)), np.minimum(key.answer[questions], rationales.shape[1] - 1)]
    keep = (rationale >= 0) & key.scored[rationale]
    answer_right, rationale_right = right[questions[keep]] > 0, right[rationale[keep]] > 0
    return questions[keep], np.stack([answer_right, rationale_right, answer_right & rationale_right], 1).astype(
        np.int64
    )


def _staged(key: AnswerKey, right: Ints, resamples: int, seed: int) -> dict[str, Estimate]:
    questions, stages = staged_right(key, right)
    if not len(questions):
        return {}
    group = key.group[questions]
    counts = [np.bincount(group, minlength=key.groups)]
    counts += [np.bincount(group[stages[:, s] > 0], minlength=key.groups) for s in range(3)]
    table = np.stack(counts, 1)  # (G, 4)
    drawn = resample(table[table[:, 0] > 0], resamples, stream(seed, "staged"))
    return {name: drawn.ratio(1 + stage, 0) for stage, name in enumerate(STAGES)}


def by_tags(key: AnswerKey, examples: Ints, right: Ints, resamples: int, seed: int) -> dict[str, dict[str, Row]]:
    """The result on the items of each tag value; a group counts with those of its items that carry the value."""
    item, pair = key.tags.item, key.tags.pair
    scored = examples[item] > 0
    item, pair = item[scored], pair[scored]
    if not len(item):
        return {}
    # One row per (pair, group): items, examples, right examples.
    code = pair * key.groups + key.group[item]
    order = np.argsort(code, kind="stable")  # nearly sorted already, which this sort is quick on
    code, item = code[order], item[order]
    first = np.flatnonzero(np.diff(code, prepend=-1))
    n, good = np.add.reduceat(examples[item], first), np.add.reduceat(right[item], first)
    items = np.diff(first, append=len(item))
    owner = code[first] // key.groups
    ends = np.searchsorted(owner, np.arange(len(key.tags.pairs) + 1))
    low_high = intervals_of_parts(np.stack([n, good, n == good], 1), ends, key.tags.pairs, resamples, seed)
    out: dict[str, dict[str, Row]] = {}
    for number, (name, value) in enumerate(key.tags.pairs):
        part = slice(ends[number], ends[number + 1])
        groups = int(ends[number + 1] - ends[number])
        if groups:
            accuracy, consistency = low_high[number].tolist()
            out.setdefault(name, {})[value] = Row(
                items=int(items[part].sum()),
                groups=groups,
                accuracy=Estimate(float(good[part].sum() / n[part].sum()), *accuracy),
                consistency=Estimate(float((n[part] == good[part]).sum() / groups), *consistency),
            )
    return out


def _by_group(key: AnswerKey, counts: Ints) -> Ints:
    return np.bincount(key.group, weights=counts, minlength=key.groups).astype(np.int64)


@dataclass(frozen=True, slots=True)
class SignTest:
    """An exact two-sided sign test."""

    only_this: int  # only these predictions are right (over groups: more right)
    only_other: int
    p: float

    def to_json(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """These predictions against others."""

    against: Path
    accuracy: Estimate  # difference in accuracy
    consistency: Estimate  # difference in consistency
    staged: dict[str, Estimate]
    items: SignTest
    groups: SignTest

    def to_json(self) -> dict[str, object]:
        return {
            "against": str(self.against),
            "accuracy": self.accuracy.to_json(),
            "consistency": self.consistency.to_json(),
            "staged": {name: estimate.to_json() for name, estimate in self.staged.items()},
            "sign_test": self.items.to_json(),
            "sign_test_groups": self.groups.to_json(),
            "meaning": MEANING,
        }


def compare(this: Grades, other: Grades, against: Path, resamples: int, seed: int) -> Comparison:
    """Compare two graded files, example by example."""
    if this.per_view != other.per_view:
        raise UserError(
            f"One of the two files predicts items and the other ({against}) single views, or the reverse.",
            "Compare two files of items, or two of views.",
        )
    key = this.key
    group = key.group[this.item]

    def by_group(flags: Bools) -> Ints:
        return np.bincount(group[flags], minlength=key.groups)

    n, mine, theirs = by_group(np.ones_like(this.right)), by_group(this.right), by_group(other.right)
    table = np.stack([n, mine, theirs, n == mine, n == theirs, np.ones_like(n)], 1)[n > 0]  # (G, 6)
    drawn = resample(table, resamples, stream(seed, "compare"))
    return Comparison(
        against=against,
        accuracy=drawn.difference(1, 2, 0),
        consistency=drawn.difference(3, 4, 5),
        staged=_staged_difference(this, other, resamples, seed),
        items=_sign(this.right & ~other.right, other.right & ~this.right),
        groups=_sign(mine > theirs, theirs > mine),
    )


def _staged_difference(this: Grades, other: Grades, resamples: int, seed: int) -> dict[str, Estimate]:
    key = this.key
    questions, mine = staged_right(key, per_item(this.item, this.right, len(key.ids)))
    if not len(questions):
        return {}
    _, theirs = staged_right(key, per_item(other.item, other.right, len(key.ids)))
    columns = [np.ones(len(questions), np.int64), *mine.T, *theirs.T]
    group = key.group[questions]
    table = np.stack([np.bincount(group, weights=c, minlength=key.groups) for c in columns], 1).astype(np.int64)
    drawn = resample(table[table[:, 0] > 0], resamples, stream(seed, "compare", "staged"))  # of (G, 7)
    return {name: drawn.difference(1 + stage, 4 + stage, 0) for stage, name in enumerate(STAGES)}


def _sign(mine: Bools, theirs: Bools) -> SignTest:
    wins, losses = int(mine.sum()), int(theirs.sum())
    return SignTest(wins, losses, sign_test(wins, losses))
