"""`veridical demo`: the whole path on all four benchmarks, made from a seed. `cli` joins the stages: it lives here.

Each benchmark is a `Course`: how it is built, what is trained on it, who solves it. A course builds, checks, audits,
trains, solves and evaluates; one report joins them all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.cli.output import say, table

if TYPE_CHECKING:
    from veridical.auditing import Audit
    from veridical.evaluation import Scores


@dataclass(frozen=True)
class Course:
    """One benchmark of the demo."""

    kind: str  # of `veridical build`
    title: str
    build: Mapping[str, Any]  # options of the builder; sizes are for a scale of 1
    sized: str  # the option that the scale multiplies
    split: str  # that is solved
    trained: Mapping[str, tuple[str, Mapping[str, Any]]]  # row -> model of the zoo, its options
    audited: tuple[str, ...]  # checks; a full audit takes minutes
    scheme: str = "main"
    features: Mapping[str, Any] | None = None  # options of `veridical features`, where models need vectors
    solvers: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # row -> solver and what it looks at
    point: str = ""  # what a newcomer should notice


LEAKS = ("origin-leak", "image-leak", "text-leak")
COURSES = (
    Course(
        "nlvr",
        "NLVR: three drawn boxes and a sentence, true or false?",
        {"presentations": 300, "splits": {"train": 0.7, "dev": 0.25, "test-u": 0.05}},
        "presentations",
        "dev",
        {"text only (LSTM)": ("text", {"epochs": 12}), "MaxEnt on the scene": ("maxent", {})},
        ("label", "text-only", "length", "single-label", *LEAKS),
        solvers={
            "programs, from the scene": ("programs", "structure"),
            "programs, from the pixels": ("programs", "pixels"),
        },
        point="Every sentence is true of two of its drawings and false of two: the text alone stays near 50%.\n"
        "Programs are read from the sentence and run on the scene.",
    ),
    Course(
        "nlvr2",
        "NLVR2: two pictures and a sentence, true or false?",
        {"sets": 60, "splits": {"train": 0.7, "dev": 0.3}, "hidden": ()},
        "sets",
        "dev",
        {
            "text only (LSTM)": ("text", {"epochs": 12}),
            "probe of thumbnails": ("probe", {"images": "thumbnail", "texts": "hashed-words", "epochs": 10}),
        },
        ("label", "text-only", "length", "single-label", *LEAKS),
        features={"encoder": "thumbnail"},
        point="Sets of similar pictures, four pairs a sentence. Simple models are lost here, as in the paper.",
    ),
    Course(
        "vprom",
        "V-PROM: a matrix of pictures with the ninth missing, which of eight fits?",
        {"matrices": 1200, "schemes": ("neutral",), "images": 3000},
        "matrices",
        "test",
        {
            "relation network": ("relation-network", {"images": "thumbnail", "epochs": 8}),
            "relation network, other items' contexts": (
                "relation-network",
                {"images": "thumbnail", "epochs": 4, "context": "other"},
            ),
        },
        ("position", "frequency", "origin-leak", "image-leak"),
        scheme="neutral",
        features={"encoder": "thumbnail"},
        point="No matrix is ambiguous: the simplest relation that any candidate completes fits one candidate only.",
    ),
    Course(
        "vcr",
        "Visual commonsense reasoning (VCR): a question about a tagged picture, four answers, four reasons",
        {"photographs": 240, "folds": 4, "hidden": ()},
        "photographs",
        "val",
        {
            "responses only (LSTM)": ("response-only", {"epochs": 10}),
            "question and responses": ("grounded", {"photograph": False, "epochs": 10}),
            "with the picture": ("grounded", {"images": "thumbnail", "epochs": 10}),
        },
        ("position", "length", "frequency", "response-only", *LEAKS),
        features={"encoder": "thumbnail", "objects": True},
        point="Adversarial Matching: every answer is right once and wrong three times, so answers alone tell nothing.",
    ),
)


@dataclass(frozen=True)
class Finished:
    """What a course came to."""

    course: Course
    benchmark: Path
    predictions: dict[str, Path]  # by the name of the row
    scores: dict[str, Scores]
    audit: Path


@dataclass(frozen=True)
class DemoResult:
    """Where everything is, and how every solver did."""

    courses: tuple[Finished, ...]
    report: Path
    seconds: float


def demo(out: Path | str, *, scale: float = 1.0, seed: int = 0, only: Sequence[str] = ()) -> DemoResult:
    """Build all four benchmarks from a seed, check and audit them, train, solve, evaluate, and write a report.

    `scale` makes the benchmarks larger or smaller, `only` leaves some out.
    """
    import veridical
    from veridical.errors import UserError

    start = time.monotonic()
    unknown = sorted(set(only) - {course.kind for course in COURSES})
    if unknown:
        raise UserError(f"There is no benchmark {unknown[0]!r}.", f"Choose: {', '.join(c.kind for c in COURSES)}.")
    if scale <= 0:
        raise UserError(f"The scale is {scale}.", "Give a number above 0.")
    folder = Path(out)
    chosen = [course for course in COURSES if not only or course.kind in only]
    done = []
    for number, course in enumerate(chosen, start=1):
        say(f"\n== {number}/{len(chosen)}  {course.title}")
        done.append(_run(course, folder, scale, seed))
    say("\n== Writing the report")
    page = folder / "report.html"
    runs = [f"{row}={path}" for one in done for row, path in one.predictions.items()]
    runs += [str(one.audit) for one in done]
    veridical.report(runs, page, benchmark=[one.benchmark for one in done], title="Veridical: the demo")
    return DemoResult(tuple(done), page, time.monotonic() - start)


def _run(course: Course, folder: Path, scale: float, seed: int) -> Finished:
    import veridical
    from veridical.errors import UserError

    benchmark = folder / course.kind
    options = dict(course.build)
    options[course.sized] = max(1, round(options[course.sized] * scale))
    say(f"   building {options[course.sized]:,} {course.sized} from seed {seed}")
    _build(course, benchmark, options, seed)
    checked = veridical.check(benchmark)
    if not checked.ok:
        raise UserError(f"{benchmark} is damaged: {checked.problems[0].message}", "Remove it and run the demo again.")
    say(f"   checked, whole: {checked.items:,} items, {checked.images:,} images, no leak between splits")
    audit = folder / f"{course.kind}-audit.html"
    say(f"   audited: {_verdicts(_audit(course, benchmark, audit, seed))}")
    if course.features:
        rest = {name: value for name, value in course.features.items() if name != "encoder"}
        veridical.features(course.features["encoder"], benchmark, **rest)
    predictions = dict(_predictions(course, benchmark, folder, seed))
    scores = {
        row: veridical.evaluate(benchmark, path, split=course.split, scheme=course.scheme)
        for row, path in predictions.items()
    }
    return Finished(course, benchmark, predictions, scores, audit.with_suffix(".json"))


def _build(course: Course, benchmark: Path, options: dict[str, Any], seed: int) -> None:
    import veridical

    if course.kind == "vcr":  # words are enough to match so few questions, and no model has to be loaded
        from veridical.matching.stages import Options

        options["matching"] = Options(relevance="tfidf", similarity="tfidf")
    veridical.build(course.kind, benchmark, seed=seed, **options)


def _audit(course: Course, benchmark: Path, page: Path, seed: int) -> Audit:
    import veridical

    return veridical.audit(benchmark, out=page, checks=course.audited, scheme=course.scheme, items=1500, seed=seed)


def _verdicts(audit: Audit) -> str:
    counts: dict[str, int] = {}
    for finding in audit.findings:
        counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _predictions(course: Course, benchmark: Path, folder: Path, seed: int) -> Iterator[tuple[str, Path]]:
    import veridical
    from veridical.options import SolverOptions

    rows: dict[str, tuple[str, SolverOptions]] = {"random": ("random", SolverOptions(seed=seed))}
    for row, (model, config) in course.trained.items():
        run = folder / "runs" / f"{course.kind}-{_slug(row)}"
        trained = veridical.train(model, benchmark, run, config=config, scheme=course.scheme, seed=seed)
        say(f"   trained {row}: {100 * trained.mean:.1f}% on a held-out slice of training")
        rows[row] = (str(run), SolverOptions())
    rows |= {row: (solver, SolverOptions(source=sees)) for row, (solver, sees) in course.solvers.items()}  # type: ignore[arg-type]
    for row, (solver, options) in rows.items():
        path = folder / "predictions" / f"{course.kind}-{_slug(row)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        veridical.solve(solver, benchmark, split=course.split, scheme=course.scheme, out=path, options=options)
        yield row, path


def _slug(row: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in row.lower()).strip("-").replace("--", "-")


def _rows(one: Finished) -> Iterator[Sequence[str]]:
    for row, score in one.scores.items():
        if score.staged:
            yield row, *(_interval(part.value, part.low, part.high) for part in score.staged.values())
        elif one.course.kind == "vprom":
            yield row, _interval(score.accuracy.value, score.accuracy.low, score.accuracy.high)
        else:
            both = (score.accuracy, score.consistency)
            yield row, *(_interval(part.value, part.low, part.high) for part in both)


def _columns(one: Finished) -> tuple[str, ...]:
    score = next(iter(one.scores.values()))
    if score.staged:
        return ("solver", *score.staged)
    return ("solver", "accuracy") if one.course.kind == "vprom" else ("solver", "accuracy", "consistency")


def _interval(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def run(
    out: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("demo"),
    scale: Annotated[float, typer.Option(help="Larger or smaller benchmarks; 1 takes a few minutes.")] = 1.0,
    seed: Annotated[int, typer.Option(help="What decides everything random.")] = 0,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this benchmark: nlvr, nlvr2, vprom or vcr; may be repeated.")
    ] = None,
) -> None:
    """Make all four benchmarks from a seed, check, audit, train, solve, evaluate, and write a report: minutes."""
    result = demo(out, scale=scale, seed=seed, only=only or ())
    for one in result.courses:
        say("")
        items = next(iter(one.scores.values())).items
        table(f"{one.course.title}\n{items:,} items of {one.course.split}, % [95%]", _columns(one), _rows(one))
        say(one.course.point)
    first = result.courses[0]
    say(
        f"\nReport:     {result.report.resolve().as_uri()}    (open it in a browser)\n"
        f"Audits:     {first.audit.with_suffix('.html')} and the others beside it\n"
        f"Benchmarks: {', '.join(str(one.benchmark) for one in result.courses)}\n"
        f"All of it took {result.seconds:.0f} s. Next: source .venv/bin/activate, and docs/tutorials/test-my-model.md"
    )
