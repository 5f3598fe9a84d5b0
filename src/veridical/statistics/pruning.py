"""The papers' rules for pruning examples on which people disagree.

A rule looks at judgements only and gives each item a reason to remove it, or "" to keep it; builders apply the same
functions that measure agreement before and after.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.common.arrays import Bools
from veridical.records import JudgementKind
from veridical.statistics.judgements import NONSENSE, SKIP, UNKNOWN, Judged

Rule = Literal["nlvr", "nlvr2"]
RULES: dict[Rule, str] = {
    "nlvr": "the majority says nonsense, or fewer than two votes lie between the first two candidates",
    "nlvr2": "two or more extra judgements disagree with the label",
}
NO_REASON = ""
MAJORITY_NONSENSE, SMALL_GAP = "majority nonsense", "gap under two votes"
EXTRA_DISAGREE = "two or more extra judgements disagree"
_MOST_DISAGREEING = 1  # extra judgements that may disagree with the label (NLVR2, section 3.4)
_LEAST_GAP = 2  # votes (NLVR, section 4)

Reasons = NDArray[np.str_]


def prune_nlvr(judged: Judged) -> Reasons:
    """NLVR, section 4: prune majority nonsense, and where several people judged, a gap of fewer than two votes.

    The gap is between the candidates: nonsense is no class of the label (three times true and twice nonsense stays, as
    it does in the official release).
    """
    votes = judged.where(judged.of_kind("validation"))
    nonsense = np.bincount(votes.item[votes.verdict == NONSENSE], minlength=len(judged.ids))
    chosen = votes.where(votes.verdict >= 0)
    candidates = np.sort(chosen.counts(), axis=1)  # (N, candidates), most votes last
    several = np.bincount(votes.item[votes.verdict != SKIP], minlength=len(judged.ids)) > 1
    small = several & (candidates[:, -1] - candidates[:, -2] < _LEAST_GAP)
    return np.select([nonsense > candidates[:, -1], small], [MAJORITY_NONSENSE, SMALL_GAP], NO_REASON)


def prune_nlvr2(judged: Judged) -> Reasons:
    """NLVR2, section 3.4: prune where two or more extra judgements disagree with the label."""
    known = (judged.verdict != SKIP) & (judged.answer[judged.item] != UNKNOWN)
    disagree = judged.of_kind("extra") & known & ~judged.right
    number = np.bincount(judged.item[disagree], minlength=len(judged.ids))
    return np.where(number > _MOST_DISAGREEING, EXTRA_DISAGREE, NO_REASON)


def rule_for(judged: Judged) -> Rule | None:
    """The rule that fits the judgements: NLVR2's where there are extra ones, NLVR's where several people validated."""
    if judged.of_kind("extra").any():
        return "nlvr2"
    validated = judged.item[judged.of_kind("validation")]
    return "nlvr" if len(validated) and np.bincount(validated).max() > 1 else None


def prune(judged: Judged, rule: Rule) -> Reasons:
    """(N,) The reason to prune each item, or ""."""
    return prune_nlvr2(judged) if rule == "nlvr2" else prune_nlvr(judged)


def rated(judged: Judged) -> Bools:
    """(J,) The judgements that agreement is measured on: validations and extra ones, or a human test's where none."""
    kinds: tuple[JudgementKind, ...] = ("validation", "extra")
    return judged.of_kind(*kinds) if judged.of_kind(*kinds).any() else judged.of_kind("human")
