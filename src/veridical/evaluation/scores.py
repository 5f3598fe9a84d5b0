"""The result of an evaluation, with all that is needed to trace it, and its fixed JSON shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veridical import __version__
from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.evaluation.baselines import Baseline
from veridical.evaluation.compare import Comparison
from veridical.evaluation.grade import NAMED
from veridical.evaluation.metrics import Row

_TROUBLES = ("missing", "extra", "unreadable", "duplicated")


@dataclass(frozen=True)
class Counted:
    """How many, and the first of their names."""

    count: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scores:
    """How good one file of predictions is on one split. Fractions, not percent."""

    benchmark: str
    benchmark_hash: str
    split: str
    scheme: str
    predictions: Path
    predictions_hash: str  # sha256 of the file
    benchmark_matches: bool | None  # whether they say they were made for this benchmark; None where they do not say
    per_view: bool  # every view of an item is an example (NLVR's images)
    items: int  # items with an answer
    examples: int  # what accuracy is over: the items, or their views
    groups: int
    accuracy: Estimate  # over all examples; missing and unreadable ones are not right
    consistency: Estimate  # groups all of whose examples are right
    answered: Estimate | None  # accuracy over the examples with a readable prediction; None where there are none
    staged: dict[str, Estimate]  # Q->A, QA->R, Q->AR where items have rationales
    by: dict[str, dict[str, Row]]  # tag -> value -> result
    missing: Counted
    extra: Counted  # predictions for what is no item of the split
    unreadable: Counted  # no scores, a score that is no number, or two predictions that disagree
    duplicated: Counted  # examples predicted more than once
    tied: int  # examples whose highest score was shared; the first candidate counts
    baselines: tuple[Baseline, ...]
    comparison: Comparison | None
    resamples: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """The fixed shape that scripts rely on, and more."""
        kinds = {name: getattr(self, name) for name in _TROUBLES}
        return {
            "items": self.items,
            "accuracy": self.accuracy.to_json(),
            "consistency": self.consistency.to_json(),
            "staged": {name: estimate.to_json() for name, estimate in self.staged.items()},
            "by": {tag: {value: row.to_json() for value, row in rows.items()} for tag, rows in self.by.items()},
            **{name: counted.count for name, counted in kinds.items()},
            "tied": self.tied,
            "names": {name: list(counted.names) for name, counted in kinds.items()},
            "answered": self.answered.to_json() if self.answered else None,
            "examples": self.examples,
            "groups": self.groups,
            "per_view": self.per_view,
            "baselines": {row.name: row.to_json() for row in self.baselines},
            "comparison": self.comparison.to_json() if self.comparison else None,
            "benchmark": {"name": self.benchmark, "hash": self.benchmark_hash},
            "benchmark_matches": self.benchmark_matches,
            "split": self.split,
            "scheme": self.scheme,
            "predictions": {"path": str(self.predictions), "sha256": self.predictions_hash},
            "resamples": self.resamples,
            "seed": self.seed,
            "veridical": __version__,
        }


def official_output(scores: Scores) -> str:
    """What the published scripts print for the same files: NLVR's and NLVR2's two lines, or VCR's three.

    Like them, it refuses a file that lacks predictions.
    """
    if scores.missing.count or scores.unreadable.count:
        raise UserError(
            f"{scores.predictions}: {scores.missing.count:,} predictions are missing, {scores.unreadable.count:,} "
            "unreadable; the published scripts stop at such a file.",
            "Evaluate it without --official, which counts and names them.",
        )
    if scores.staged:
        names = {"Answer acc:   ": "Q->A", "Rationale acc:": "QA->R", "Joint acc:    ": "Q->AR"}
        return "".join(f"{name} {scores.staged[stage].value:.3f}\n" for name, stage in names.items())
    return f"precision={scores.accuracy.value}\nconsistency={scores.consistency.value}\n"


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over trials: the population's, as the papers' tables and NumPy have it.

    `low` and `high` are the means of the trials' own bounds: how far the items alone could move a single trial.
    """

    mean: float
    std: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        return {"value": self.mean, "low": self.low, "high": self.high, "mean": self.mean, "std": self.std}


def spread(estimates: Sequence[Estimate]) -> Spread:
    """Mean and deviation of the trials' estimates of one number."""
    value, low, high = np.array([(one.value, one.low, one.high) for one in estimates]).T
    return Spread(float(value.mean()), float(value.std()), float(low.mean()), float(high.mean()))


@dataclass(frozen=True)
class Trials:
    """Several files of predictions of the same system, as the papers report it."""

    each: tuple[Scores, ...]
    accuracy: Spread
    consistency: Spread
    staged: dict[str, Spread]
    by: dict[str, dict[str, Spread]]

    def to_json(self) -> dict[str, Any]:
        """The keys of one file's result, so that scripts read both alike; further ones are in `each`.

        Estimates are means over trials, and say their deviation; what is missing, extra, unreadable ... is counted over
        all trials.
        """
        each = [scores.to_json() for scores in self.each]
        first = each[0]
        same = ("items", "examples", "groups", "per_view", "baselines", "benchmark", "split", "scheme")
        answered = [scores.answered for scores in self.each if scores.answered]
        return {
            "trials": len(each),
            **{name: first[name] for name in (*same, "resamples", "seed", "veridical")},
            "accuracy": self.accuracy.to_json(),
            "consistency": self.consistency.to_json(),
            "staged": {name: one.to_json() for name, one in self.staged.items()},
            "by": {tag: {value: self._part(tag, value) for value in rows} for tag, rows in self.by.items()},
            **{name: sum(one[name] for one in each) for name in (*_TROUBLES, "tied")},
            "names": {name: _first_names(one["names"][name] for one in each) for name in _TROUBLES},
            "answered": spread(answered).to_json() if answered else None,
            "benchmark_matches": _all([scores.benchmark_matches for scores in self.each]),
            "predictions": [one["predictions"] for one in each],
            "comparison": None,  # one per trial
            "each": each,
        }

    def _part(self, tag: str, value: str) -> dict[str, object]:
        rows = [scores.by[tag][value] for scores in self.each]
        consistency = spread([row.consistency for row in rows]).to_json()
        counts = {"items": rows[0].items, "groups": rows[0].groups}
        return {**self.by[tag][value].to_json(), **counts, "consistency": consistency}


def _first_names(lists: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))[:NAMED]


def _all(each: list[bool | None]) -> bool | None:
    """False where one is; None where none says anything."""
    said = [one for one in each if one is not None]
    return all(said) if said else None
