"""The result of an evaluation, with all that is needed to trace it, and its fixed JSON shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical import __version__
from veridical.errors import UserError
from veridical.evaluate.baselines import Baseline
from veridical.evaluate.bootstrap import Estimate
from veridical.evaluate.compare import Comparison
from veridical.evaluate.metrics import Row


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
        kinds = {name: getattr(self, name) for name in ("missing", "extra", "unreadable", "duplicated")}
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
    """Mean and standard deviation over trials: the population's, as the papers' tables and NumPy have it."""

    mean: float
    std: float

    def to_json(self) -> dict[str, float]:
        return {"mean": self.mean, "std": self.std}


@dataclass(frozen=True)
class Trials:
    """Several files of predictions of the same system, as the papers report it."""

    each: tuple[Scores, ...]
    accuracy: Spread
    consistency: Spread
    staged: dict[str, Spread]
    by: dict[str, dict[str, Spread]]

    def to_json(self) -> dict[str, Any]:
        return {
            "trials": len(self.each),
            "accuracy": self.accuracy.to_json(),
            "consistency": self.consistency.to_json(),
            "staged": {name: spread.to_json() for name, spread in self.staged.items()},
            "by": {tag: {value: spread.to_json() for value, spread in rows.items()} for tag, rows in self.by.items()},
            "each": [scores.to_json() for scores in self.each],
        }
