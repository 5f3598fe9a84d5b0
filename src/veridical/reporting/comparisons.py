"""Where two systems differ, and how groups stand or fall: paired comparisons, consistency, right for wrong reasons."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from veridical.common.arrays import Ints
from veridical.common.intervals import Estimate
from veridical.evaluation.metrics import Comparison, compare, staged_right
from veridical.reporting.studies import Part, Result, Study, System

MOST_PAIRS = 28  # of more systems, each is compared with the best only
SURE = 0.05


@dataclass(frozen=True)
class Pair:
    """Two systems on the same items."""

    one: System
    other: System
    found: Comparison

    @property
    def difference(self) -> Estimate:
        """In accuracy; of questions with rationales in having both right."""
        return self.found.staged.get("Q->AR", self.found.accuracy)

    @property
    def verdict(self) -> str:
        """In words: the interval of the difference and the test over groups must both speak."""
        low, high, p = self.difference.low, self.difference.high, self.found.groups.p
        if low > 0 and p < SURE:
            return f"{self.one.name} is better"
        if high < 0 and p < SURE:
            return f"{self.other.name} is better"
        return "cannot be told apart" if low <= 0 <= high else "not certain"


def pairs(study: Study, part: Part, resamples: int, seed: int) -> list[Pair]:
    """All pairs of systems, or the best against each where there are many; the better one first."""
    systems = sorted(study.on(part), key=lambda s: -s.results[part].main.value)
    wanted = list(combinations(systems, 2))
    if len(wanted) > MOST_PAIRS:
        wanted = [(systems[0], other) for other in systems[1:]]
    out = []
    for one, other in wanted:
        mine, theirs = one.results[part], other.results[part]
        if mine.grades.per_view == theirs.grades.per_view:
            path = theirs.first.predictions
            out.append(Pair(one, other, compare(mine.grades, theirs.grades, path, resamples, seed)))
        else:
            study.notes.append(
                f"Of {one.name} and {other.name} one predicts items and the other single views, so they are not "
                "compared example by example."
            )
    return out


@dataclass(frozen=True)
class Groups:
    """How the groups of several examples come out."""

    groups: int
    all_right: float
    some_right: float
    none_right: float
    independent: float  # share of groups all right, if examples were right independently of their group


def group_shares(result: Result) -> Groups | None:
    """Shares of groups with all, some and no examples right; None where groups are single examples."""
    grades = result.grades
    key = grades.key
    n = np.bincount(key.group, weights=grades.examples, minlength=key.groups)
    right = np.bincount(key.group, weights=result.right(), minlength=key.groups)
    several = n > 1
    if not several.any():
        return None
    n, right = n[several], right[several]
    accuracy = float(right.sum() / n.sum())
    return Groups(
        groups=len(n),
        all_right=float((right == n).mean()),
        some_right=float(((right > 0) & (right < n)).mean()),
        none_right=float((right == 0).mean()),
        independent=float((accuracy**n).mean()),
    )


@dataclass(frozen=True)
class Reasons:
    """Answers and rationales of one system, as shares of the questions."""

    questions: int
    both: float
    answer_only: float  # the right answer for a wrong reason
    rationale_only: float
    neither: float
    which: Ints  # item numbers with the right answer and a wrong rationale


def reasons(result: Result) -> Reasons | None:
    """The two stages crossed; None where items have no rationales."""
    questions, stages = staged_right(result.grades.key, result.right())
    if not len(questions):
        return None
    answer, rationale = stages[:, 0] > 0, stages[:, 1] > 0
    return Reasons(
        questions=len(questions),
        both=float((answer & rationale).mean()),
        answer_only=float((answer & ~rationale).mean()),
        rationale_only=float((~answer & rationale).mean()),
        neither=float((~answer & ~rationale).mean()),
        which=questions[answer & ~rationale],
    )
