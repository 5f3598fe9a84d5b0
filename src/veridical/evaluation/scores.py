"""`veridical evaluate` and `compare`: a benchmark and predictions become scores, with all that traces them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veridical import __version__
from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools
from veridical.common.files import Json
from veridical.common.intervals import Estimate
from veridical.common.result import Result, Table, Verbatim
from veridical.errors import UserError
from veridical.evaluation import metrics
from veridical.evaluation.grade import MISSING, NAMED, UNREADABLE, AnswerKey, Grades
from veridical.evaluation.metrics import Baseline, Comparison, Row
from veridical.evaluation.opened import OpenPredictions, is_in_memory, open_predictions, read_part
from veridical.evaluation.words import nearest
from veridical.options import check_seed
from veridical.records import split_view

SHOWN = 3  # names that remarks show
MOST_RESAMPLES = 1_000_000
_TROUBLES = ("missing", "extra", "unreadable", "duplicated")


@dataclass(frozen=True)
class Counted:
    """How many, and the first of their names."""

    count: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scores(metrics.Measures, Result):
    """How good one file of predictions is on one split. Fractions, not percent."""

    benchmark: str
    benchmark_hash: str
    split: str
    scheme: str
    predictions: Path
    predictions_hash: str  # sha256 of the file
    benchmark_matches: bool | None  # whether they say they were made for this benchmark; None where they do not say
    per_view: bool  # every view of an item is an example (NLVR's images)
    examples: int  # what accuracy is over: the items, or their views
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
    official: bool = False  # shown as the published scripts do
    limit: int | None = None  # the predictions were made for so many of the first items, and scored on these
    split_items: int = 0  # of the whole split, with an answer
    meant: dict[str, str] = field(default_factory=dict)  # of what is no item, which item was probably meant

    def parts(self) -> Iterator[Table | str]:
        from veridical.evaluation.shown import parts

        return iter([Verbatim(official_output(self))]) if self.official else parts(self)

    def to_json(self) -> Json:
        """The fixed shape that scripts rely on, and more."""
        troubles = {name: getattr(self, name) for name in _TROUBLES}
        return {
            "items": self.items,
            "accuracy": self.accuracy.to_json(),
            "consistency": self.consistency.to_json(),
            "staged": {name: estimate.to_json() for name, estimate in self.staged.items()},
            "by": {tag: {value: row.to_json() for value, row in rows.items()} for tag, rows in self.by.items()},
            **{name: counted.count for name, counted in troubles.items()},
            "tied": self.tied,
            "names": {name: list(counted.names) for name, counted in troubles.items()},
            "meant": self.meant,
            "limit": self.limit,
            "split_items": self.split_items,
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
class Trials(Result):
    """Several files of predictions of the same system, as the papers report it."""

    each: tuple[Scores, ...]
    accuracy: Spread
    consistency: Spread
    staged: dict[str, Spread]
    by: dict[str, dict[str, Spread]]
    official: bool = False  # shown as the published scripts do

    def parts(self) -> Iterator[Table | str]:
        from veridical.evaluation.shown import trials_parts

        outputs = (Verbatim(official_output(scores)) for scores in self.each)
        return outputs if self.official else trials_parts(self)

    def to_json(self) -> dict[str, object]:
        """The keys of one file's result, so that scripts read both alike; further ones are in `each`.

        Estimates are means over trials, and say their deviation; what is missing, extra, unreadable ... is counted over
        all trials.
        """
        each = [scores.to_json() for scores in self.each]
        first = each[0]
        same = (
            "items",
            "split_items",
            "limit",
            "examples",
            "groups",
            "per_view",
            "baselines",
            "benchmark",
            "split",
            "scheme",
        )
        answered = [scores.answered for scores in self.each if scores.answered]
        matches = [one for scores in self.each if (one := scores.benchmark_matches) is not None]
        names = {name: dict.fromkeys(n for one in each for n in one["names"][name]) for name in _TROUBLES}
        return {
            "trials": len(each),
            **{name: first[name] for name in (*same, "resamples", "seed", "veridical")},
            "accuracy": self.accuracy.to_json(),
            "consistency": self.consistency.to_json(),
            "staged": {name: one.to_json() for name, one in self.staged.items()},
            "by": {tag: {value: self._part(tag, value) for value in rows} for tag, rows in self.by.items()},
            **{name: sum(one[name] for one in each) for name in (*_TROUBLES, "tied")},
            "names": {name: list(found)[:NAMED] for name, found in names.items()},
            "meant": {name: near for one in each for name, near in one["meant"].items()},
            "answered": spread(answered).to_json() if answered else None,
            "benchmark_matches": all(matches) if matches else None,  # None where no trial says anything
            "predictions": [one["predictions"] for one in each],
            "comparison": None,  # one per trial
            "each": each,
        }

    def _part(self, tag: str, value: str) -> dict[str, object]:
        rows = [scores.by[tag][value] for scores in self.each]
        consistency = spread([row.consistency for row in rows]).to_json()
        counts = {"items": rows[0].items, "groups": rows[0].groups}
        return {**self.by[tag][value].to_json(), **counts, "consistency": consistency}


def evaluate(
    benchmark: str | os.PathLike[str],
    predictions: Any,
    *,
    split: str | None = None,
    scheme: str | None = None,
    against: Any = None,
    resamples: int = 2000,
    seed: int = 0,
    official: bool = False,
) -> Scores:
    """Score predictions: see `veridical.api.evaluate`. `answered` is the accuracy over what is readable."""
    if not 1 <= resamples <= MOST_RESAMPLES:
        problem = f"{resamples:,} resamples give no interval, or take all memory."
        raise UserError(problem, f"Take 1 to {MOST_RESAMPLES:,}; 2,000 is usual.")
    check_seed(seed)
    bench, opened = Benchmark(benchmark), open_predictions(predictions)
    key = read_part(bench, opened, split, scheme)
    other = None if against is None else open_predictions(against)
    compared = None if other is None else _compared(opened, other, key, resamples, seed)
    return _scores(opened, opened.grade(key), compared, resamples, seed, official)


def _scores(
    opened: OpenPredictions, whole: Grades, compared: Comparison | None, resamples: int, seed: int, official: bool
) -> Scores:
    limit = opened.limit(whole)
    grades = whole if limit is None else opened.grade(whole.key.first(limit))
    if not (grades.chosen >= 0).any():
        raise _unreadable(opened, grades)
    key = grades.key
    bench = key.benchmark
    right = metrics.per_item(grades.item, grades.right, len(key.ids))
    answered = metrics.per_item(grades.item, grades.chosen >= 0, len(key.ids))
    with ThreadPoolExecutor(1) as aside:
        people = aside.submit(metrics.human_row, bench, key)
        found = metrics.measure(key, grades.examples, right, answered, resamples, seed)
        by = metrics.by_tags(key, grades.examples, right, resamples, seed)
        beside = metrics.baselines(bench, key, grades.examples, resamples, seed)
        human = people.result()
    missing = np.equal(grades.chosen, MISSING)
    return Scores(
        **vars(found),
        benchmark=bench.name,
        benchmark_hash=bench.hash,
        split=key.split,
        scheme=key.scheme,
        predictions=opened.path,
        predictions_hash=opened.digest.result(),
        benchmark_matches=opened.benchmarks == {bench.hash} if opened.benchmarks else None,
        per_view=grades.per_view,
        examples=len(grades.chosen),
        by=by,
        missing=_count(grades, missing),
        extra=Counted(len(grades.extra), grades.extra[:NAMED]),
        unreadable=_count(grades, np.equal(grades.chosen, UNREADABLE)),
        duplicated=_count(grades, grades.duplicated),
        tied=grades.tied,
        baselines=(*beside, human) if human else beside,
        comparison=compared,
        resamples=resamples,
        seed=seed,
        official=official,
        limit=limit,
        split_items=int(whole.key.scored.sum()),
        meant=_meant(grades),
    )


def _unreadable(opened: OpenPredictions, grades: Grades) -> UserError:
    """No score is made of nothing."""
    known = int((grades.chosen == UNREADABLE).sum())
    what = f"none of the {known:,} predictions for split {grades.key.split!r} can be read"
    if not known:
        what = f"it has no prediction for an item of split {grades.key.split!r} that has an answer"
    return UserError(
        f"{opened.path}: {what}.",
        'Each says its answer as "scores": [one number per candidate], or as "answer". Nothing was scored.',
    )


def _meant(grades: Grades) -> dict[str, str]:
    """For the first predictions that are about no item, the item that was probably meant."""
    if not grades.extra:
        return {}
    missing = np.unique(grades.item[grades.chosen == MISSING])
    ids = grades.key.ids.take(missing).to_pylist()
    found = {name: nearest(split_view(name)[0], ids) for name in grades.extra[:SHOWN]}
    return {name: near for name, near in found.items() if near is not None}


def _compared(one: OpenPredictions, other: OpenPredictions, key: AnswerKey, resamples: int, seed: int) -> Comparison:
    """Two files, on the items that both are about; of those that a limit leaves, what one of them lacks is left out."""
    mine, theirs = one.grade(key), other.grade(key)
    limits = [limit for limit in (one.limit(mine), other.limit(theirs)) if limit is not None]
    if limits:
        both = key.first(min(limits))
        mine, theirs = one.grade(both), other.grade(both)
    for opened, grades in ((one, mine), (other, theirs)):
        if not (grades.chosen >= 0).any():
            raise _unreadable(opened, grades)
    return metrics.compare(mine, theirs, other.path, resamples, seed)


@dataclass(frozen=True)
class Compared(Result):
    """Two systems on the same items."""

    one: Scores
    other: Scores
    found: Comparison

    def parts(self) -> Iterator[Table | str]:
        from veridical.evaluation.shown import compared_parts

        return compared_parts(self)

    @property
    def verdict(self) -> str:
        """Which is better, if that is certain, in a sentence."""
        from veridical.evaluation.shown import verdict

        return verdict(self)

    def to_json(self) -> Json:
        """What `evaluate` gives for each, and the comparison."""
        both = {"verdict": self.found.verdict, "in_words": self.verdict, **self.found.to_json()}
        return {"comparison": both, "a": self.one.to_json(), "b": self.other.to_json()}


def compare(
    benchmark: str | os.PathLike[str],
    a: Any,
    b: Any,
    *,
    split: str | None = None,
    scheme: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Compared:
    """Compare two systems: see `veridical.api.compare`. Both are scored on the same split."""
    one = evaluate(benchmark, a, split=split, scheme=scheme, against=b, resamples=resamples, seed=seed)
    other = evaluate(benchmark, b, split=one.split, scheme=one.scheme, resamples=resamples, seed=seed)
    assert one.comparison is not None
    return Compared(one, other, one.comparison)


def evaluate_files(score: Callable[[Any], Scores], files: Any) -> Scores | Trials:
    """Predictions, or several that are trials of one system, each scored by `score`."""
    several = isinstance(files, list | tuple) and not is_in_memory(files)
    each = [score(file) for file in (files if several else [files])]
    return each[0] if len(each) == 1 else trials_of(each)


def trials_of(each: Sequence[Scores]) -> Trials:
    """Several trials of one system, scored: the mean and standard deviation over them."""
    if not each:
        raise UserError("No prediction files were given.", "Give one file per trial.")
    about = {(scores.split, scores.per_view, scores.limit) for scores in each}
    if len(about) > 1:
        raise UserError(
            "The files are not trials of one thing: they are about different splits, or more or fewer items of one, or "
            "some about items and some about single views.",
            "Evaluate them one by one.",
        )
    return Trials(
        each=tuple(each),
        official=each[0].official,
        accuracy=spread([s.accuracy for s in each]),
        consistency=spread([s.consistency for s in each]),
        staged={stage: spread([s.staged[stage] for s in each]) for stage in each[0].staged},
        by={
            tag: {value: spread([s.by[tag][value].accuracy for s in each]) for value in rows}
            for tag, rows in each[0].by.items()
        },
    )


def _count(grades: Grades, which: Bools) -> Counted:
    return Counted(int(which.sum()), grades.names(which))
