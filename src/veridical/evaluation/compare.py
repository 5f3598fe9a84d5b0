"""The paired comparison of two prediction files on the same examples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veridical.common.arrays import Bools, Ints
from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.evaluation.bootstrap import resample, sign_test, stream
from veridical.evaluation.grade import Grades
from veridical.evaluation.metrics import STAGES, per_item, staged_right

MEANING = (
    "difference = these predictions minus the others, on the same examples; interval: 95%, resampling whole groups. "
    "Sign test (exact, two-sided): of the examples that exactly one of the two gets right, is it a fair coin which "
    "one? It takes examples as independent, which those of one group are not; the test over groups (which of the two "
    "gets more of a group right) does not."
)


@dataclass(frozen=True, slots=True)
class SignTest:
    """An exact two-sided sign test."""

    only_this: int  # only these predictions are right (over groups: more right)
    only_other: int
    p: float

    def to_json(self) -> dict[str, float]:
        return {"only_this": self.only_this, "only_other": self.only_other, "p": self.p}


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
            "Compare two files of the same kind.",
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
        staged=_staged(this, other, resamples, seed),
        items=_sign(this.right & ~other.right, other.right & ~this.right),
        groups=_sign(mine > theirs, theirs > mine),
    )


def _staged(this: Grades, other: Grades, resamples: int, seed: int) -> dict[str, Estimate]:
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
