"""`veridical demo`: the whole path on all four benchmarks, made from a seed.

Each benchmark is a `Course`: how it is built, what is trained on it, who solves it. A course builds, checks, audits,
trains, solves and evaluates; one report joins them all.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical import api
from veridical.common.intervals import Estimate
from veridical.common.result import Result, Table, remark
from veridical.errors import UserError
from veridical.options import check_seed, several

if TYPE_CHECKING:
    from veridical.auditing import Audit
    from veridical.evaluation import Scores

MOST_SCALE = 1000
MINUTES = (6, 10)  # of processor for all four at a scale of 1, as measured on a quiet and on a busy machine


@dataclass(frozen=True)
class Course:
    """One benchmark of the demo."""

    builder: str
    title: str
    build: Mapping[str, Any]  # options of the builder; sizes are for a scale of 1
    sized: str  # the option that the scale multiplies
    split: str  # that is solved
    trained: Mapping[str, tuple[str, Mapping[str, Any]]]  # row -> model of the zoo, its options
    unaudited: tuple[str, ...] = ()  # checks that take longer than all else; the audit's page lists them
    scheme: str = "main"
    features: Mapping[str, Any] | None = None  # options of `veridical features`, where models need vectors
    solvers: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # row -> solver and what it looks at
    noun: str = ""  # what the sized things are called; left out: as the option is
    point: str = ""  # what a newcomer should notice


@cache
def courses() -> tuple[Course, ...]:
    """The courses of the demo, in their order: demo.json."""
    import msgspec

    return msgspec.json.decode(Path(__file__).with_name("demo.json").read_bytes(), type=tuple[Course, ...])


@dataclass(frozen=True)
class Finished:
    """What a course came to."""

    course: Course
    benchmark: Path
    predictions: dict[str, Path]  # by the name of the row
    scores: dict[str, Scores]
    audit: Path


@dataclass(frozen=True)
class DemoResult(Result):
    """Where everything is, and how every solver did."""

    courses: tuple[Finished, ...]
    report: Path
    seconds: float

    def parts(self) -> Iterator[Table | str]:
        for one in self.courses:
            items = next(iter(one.scores.values())).items
            title = f"{one.course.title}\n{items:,} items of {one.course.split}, % [95%]"
            rows = {row: _estimates(one.course, score) for row, score in one.scores.items()}
            columns = ("solver", *next(iter(rows.values())))
            yield Table(title, columns, [(row, *map(str, found.values())) for row, found in rows.items()])
            yield one.course.point
        first = self.courses[0]
        yield (
            f"\nReport:     {self.report.resolve().as_uri()}    (open it in a browser)\n"
            f"Audits:     {first.audit.with_suffix('.html')} and the others beside it\n"
            f"Benchmarks: {', '.join(str(one.benchmark) for one in self.courses)}\n"
            f"All of it took {self.seconds:.0f} s. Next: source .venv/bin/activate, and docs/tutorials/test-my-model.md"
        )

    def to_json(self) -> dict[str, Any]:
        courses = [
            {
                "builder": one.course.builder,
                "benchmark": one.benchmark,
                "audit": one.audit,
                "scores": {row: scores.to_json() for row, scores in one.scores.items()},
            }
            for one in self.courses
        ]
        return {"report": self.report, "seconds": self.seconds, "courses": courses}


def demo(out: Path | str = "demo", scale: float = 1.0, seed: int = 0, only: Sequence[str] = ()) -> DemoResult:
    """Make all four benchmarks from a seed, check, audit, train, solve, evaluate, and write a report: minutes.

    Args:
        out: Where everything goes.
        scale: Larger or smaller benchmarks; 1 takes a few minutes.
        seed: What decides everything random.
        only: Only this benchmark: nlvr, nlvr2, vprom or vcr; may be repeated.
    """
    start = time.monotonic()
    check_seed(seed)
    known = [course.builder for course in courses()]
    only = several(only)
    if unknown := sorted(set(only) - set(known)):
        raise UserError(f"There is no benchmark {unknown[0]!r}.", f"Choose: {', '.join(known)}.")
    if not 0 < scale <= MOST_SCALE:
        raise UserError(f"The scale is {scale}.", f"Give a number above 0, at most {MOST_SCALE}.")
    folder = Path(out)
    chosen = [course for course in courses() if not only or course.builder in only]
    if len(chosen) == len(known):
        remark(expected(scale))
    done = []
    for number, course in enumerate(chosen, start=1):
        remark(f"\n== {number}/{len(chosen)}  {course.title}")
        done.append(_run(course, folder, scale, seed))
    remark("\n== Writing the report")
    page = folder / "report.html"
    runs = [f"{row}={path}" for one in done for row, path in one.predictions.items()]
    runs += [str(one.audit) for one in done]
    api.report(runs, page, benchmark=[one.benchmark for one in done], title="Veridical: the demo")
    return DemoResult(tuple(done), page, time.monotonic() - start)


def expected(scale: float) -> str:
    """How long all four will take, for whoever waits.

    >>> expected(2)
    'All four take 12 to 20 minutes of a processor; the last is more than half of it.'
    """
    least, most = (max(1, round(scale * minutes)) for minutes in MINUTES)
    return f"All four take {least} to {most} minutes of a processor; the last is more than half of it."


def _run(course: Course, folder: Path, scale: float, seed: int) -> Finished:
    from veridical.evaluation import evaluate

    benchmark = folder / course.builder
    options = dict(course.build)
    options[course.sized] = max(1, round(options[course.sized] * scale))
    remark(f"   building {options[course.sized]:,} {course.noun or course.sized} from seed {seed}")
    api.build(course.builder, benchmark, seed=seed, replace=True, **options)
    checked = api.check(benchmark)
    if not checked.ok:
        raise UserError(f"{benchmark} is damaged: {checked.problems[0].message}", "Remove it and run the demo again.")
    remark(f"   checked, whole: {checked.items:,} items, {checked.images:,} images, no origin in two splits")
    audit = folder / f"{course.builder}-audit.html"
    audited = api.audit(benchmark, audit, skip=course.unaudited, scheme=course.scheme, seed=seed)
    remark(f"   audited: {_counted(audited)}. {audited.unread}")
    if course.features:
        rest = {name: value for name, value in course.features.items() if name != "encoder"}
        api.features(course.features["encoder"], benchmark, **rest)
    predictions = dict(_predictions(course, benchmark, folder, seed))
    scores = {
        row: evaluate(benchmark, path, split=course.split, scheme=course.scheme) for row, path in predictions.items()
    }
    return Finished(course, benchmark, predictions, scores, audit.with_suffix(".json"))


def _predictions(course: Course, benchmark: Path, folder: Path, seed: int) -> Iterator[tuple[str, Path]]:
    rows: dict[str, tuple[str, dict[str, Any]]] = {"random": ("random", {"seed": seed})}
    for row, (model, config) in course.trained.items():
        run = folder / "runs" / f"{course.builder}-{_slug(row)}"
        trained = api.train(model, benchmark, run, set=config, scheme=course.scheme, seed=seed)
        remark(f"   trained {row}: {100 * trained.mean:.1f}% on a held-out slice of training")
        rows[row] = (str(run), {})
    rows |= {row: (solver, {"source": sees}) for row, (solver, sees) in course.solvers.items()}
    for row, (solver, options) in rows.items():
        path = folder / "predictions" / f"{course.builder}-{_slug(row)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        api.solve(solver, benchmark, split=course.split, scheme=course.scheme, out=path, **options)
        yield row, path


def _counted(audited: Audit) -> str:
    """How many checks came out how, the worst first."""
    from veridical.auditing.findings import ORDER

    counts = Counter(finding.verdict for finding in audited.findings)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in ORDER if counts[verdict])


def _slug(row: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in row.lower()).strip("-").replace("--", "-")


def _estimates(course: Course, score: Scores) -> Mapping[str, Estimate]:
    """What the table shows of a system, by the name of the column."""
    if score.staged:
        return score.staged
    accuracy = {"accuracy": score.accuracy}
    return accuracy if course.builder == "vprom" else {**accuracy, "consistency": score.consistency}
