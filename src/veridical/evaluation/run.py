"""`veridical evaluate`: a benchmark and a file of predictions become scores."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools
from veridical.common.files import read_bytes
from veridical.errors import UserError
from veridical.evaluation import origin
from veridical.evaluation.arrays import are_arrays, read_arrays
from veridical.evaluation.baselines import Baseline, baselines, human_row
from veridical.evaluation.compare import Comparison, compare
from veridical.evaluation.grade import NAMED, Grades, grade, guess_split
from veridical.evaluation.key import AnswerKey, read_key
from veridical.evaluation.metrics import Measures, Row, by_tags, measure, per_item
from veridical.evaluation.readers import read_predictions
from veridical.evaluation.scores import Counted, Scores, Trials, spread


def evaluate(
    benchmark: Path | str,
    predictions: Path | str,
    *,
    split: str | None = None,
    scheme: str = "main",
    against: Path | str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Scores:
    """Score predictions: accuracy, consistency, staged accuracy, per tag, with 95% intervals over groups.

    `split` is guessed from the names where it is not given. `against` is a second file to compare with, example by
    example. Accuracy is over every item of the split that has an answer: what is missing or unreadable is not right,
    and is counted and named; `answered` is the accuracy over the rest.
    """
    _check(resamples, seed)
    bench = Benchmark(benchmark)
    graded = _grade(bench, Path(predictions), split, scheme)
    grades, key = graded.grades, graded.grades.key
    right = per_item(grades.item, grades.right, len(key.ids))
    answered = per_item(grades.item, grades.chosen >= 0, len(key.ids))
    with ThreadPoolExecutor(1) as aside:
        people = aside.submit(human_row, bench, key)
        found = measure(key, grades.examples, right, answered, resamples, seed)
        by = by_tags(key, grades.examples, right, resamples, seed)
        beside = baselines(bench, key, grades.examples, resamples, seed)
        human = people.result()
    comparison = None
    if against is not None:
        other = _grade(bench, Path(against), key.split, scheme, key).grades
        comparison = compare(grades, other, Path(against), resamples, seed)
    return _scores(
        bench, graded, found, by, (*beside, human) if human else beside, comparison, resamples=resamples, seed=seed
    )


def _check(resamples: int, seed: int) -> None:
    if resamples < 1:
        raise UserError(f"{resamples} resamples give no interval.", "Take at least 1; 2,000 is usual.")
    if seed < 0:
        raise UserError(f"The seed {seed} is negative.", "Take 0 or more.")


@dataclass(frozen=True)
class _Graded:
    """A file of predictions, graded, and what it is."""

    grades: Grades
    path: Path
    digest: str  # sha256 of the file
    benchmarks: frozenset[str]  # hashes of the benchmarks that it says it is about


def _scores(
    bench: Benchmark,
    graded: _Graded,
    found: Measures,
    by: dict[str, dict[str, Row]],
    beside: tuple[Baseline, ...],
    comparison: Comparison | None,
    *,
    resamples: int,
    seed: int,
) -> Scores:
    grades = graded.grades
    return Scores(
        benchmark=bench.name,
        benchmark_hash=bench.hash,
        split=grades.key.split,
        scheme=grades.key.scheme,
        predictions=graded.path,
        predictions_hash=graded.digest,
        benchmark_matches=origin.matches(graded.benchmarks, bench.hash),
        per_view=grades.per_view,
        items=found.row.items,
        examples=len(grades.chosen),
        groups=found.row.groups,
        accuracy=found.row.accuracy,
        consistency=found.row.consistency,
        answered=found.answered,
        staged=found.staged,
        by=by,
        missing=_count(grades, grades.missing),
        extra=Counted(len(grades.extra), grades.extra[:NAMED]),
        unreadable=_count(grades, grades.unreadable),
        duplicated=_count(grades, grades.duplicated),
        tied=grades.tied,
        baselines=beside,
        comparison=comparison,
        resamples=resamples,
        seed=seed,
    )


def evaluate_trials(
    benchmark: Path | str,
    predictions: Sequence[Path | str],
    *,
    split: str | None = None,
    scheme: str = "main",
    against: Path | str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Trials:
    """Score several trials of one system, and give the mean and standard deviation over them."""
    if not predictions:
        raise UserError("No prediction files were given.", "Give one file per trial.")
    each = tuple(
        evaluate(benchmark, path, split=split, scheme=scheme, against=against, resamples=resamples, seed=seed)
        for path in predictions
    )
    if len({scores.split for scores in each}) > 1 or len({scores.per_view for scores in each}) > 1:
        raise UserError(
            "The files are not trials of one thing: they are about different splits, or some about items and some "
            "about single views.",
            "Evaluate them one by one.",
        )
    return Trials(
        each=each,
        accuracy=spread([s.accuracy for s in each]),
        consistency=spread([s.consistency for s in each]),
        staged={stage: spread([s.staged[stage] for s in each]) for stage in each[0].staged},
        by={
            tag: {value: spread([s.by[tag][value].accuracy for s in each]) for value in rows}
            for tag, rows in each[0].by.items()
        },
    )


def _grade(bench: Benchmark, path: Path, split: str | None, scheme: str, key: AnswerKey | None = None) -> _Graded:
    """Read and grade one file."""
    if are_arrays(path):
        if split is None and len(bench.splits(scheme)) > 1:
            raise UserError(
                f"{path} holds arrays, which do not say which split they are about.", "Say it with --split."
            )
        key = key or read_key(bench, split or bench.splits(scheme)[0], scheme)
        return _Graded(grade(read_arrays(path, key), key), path, _arrays_hash(path), origin.beside(path))
    data = read_bytes(path)
    with ThreadPoolExecutor(1) as hasher:  # hashing lets go of the interpreter, so it costs a second core only
        digest = hasher.submit(lambda: hashlib.sha256(data).hexdigest())
        predictions = read_predictions(path, data)
        key = key or read_key(bench, split or guess_split(bench, predictions, scheme), scheme)
        said = predictions.benchmarks | origin.beside(path)
        return _Graded(grade(predictions, key), path, digest.result(), said)


def _arrays_hash(path: Path) -> str:
    files = sorted(path.glob("*.npy")) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _count(grades: Grades, which: Bools) -> Counted:
    return Counted(int(which.sum()), grades.names(which))
