"""`veridical demo`: the whole path on one small benchmark made from a seed. `cli` joins the stages: it lives here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli.output import say, table

if TYPE_CHECKING:
    from veridical.evaluate import Scores

PRESENTATIONS = 400
SPLITS = {"train": 0.7, "dev": 0.25, "test-u": 0.05}  # a development split large enough for narrow intervals
TRAINED = {"text only (LSTM)": "text", "MaxEnt on the scene": "maxent"}  # row -> model of the zoo


@dataclass(frozen=True)
class DemoResult:
    """Where everything is, and how every solver did on the development split."""

    benchmark: Path
    predictions: dict[str, Path]  # by the name of the row
    scores: dict[str, Scores]
    report: Path


def demo(out: Path | str, *, presentations: int = PRESENTATIONS, seed: int = 0) -> DemoResult:
    """Build an NLVR benchmark from a seed, check it, train two models, solve it, evaluate, and write a report."""
    import veridical
    from veridical.errors import UserError
    from veridical.solvers.solve import Options

    folder = Path(out)
    benchmark = folder / "nlvr"
    steps = _steps(
        f"Building a benchmark of {presentations:,} sentences, each with four drawings, from seed {seed}",
        "Checking it: hashes, every image, no leak between splits, hidden answers hidden",
        "Training models that should fail (they see only the sentence) and a classic that sees the scene",
        "Solving the development split",
        "Evaluating, with 95% intervals over sentences",
        "Writing the report",
    )
    next(steps)
    veridical.build("nlvr", benchmark, presentations=presentations, seed=seed, splits=SPLITS)
    next(steps)
    checked = veridical.check(benchmark)
    if not checked.ok:
        raise UserError(f"{benchmark} is damaged: {checked.problems[0].message}", "Remove it and run the demo again.")
    say(f"   whole: {checked.items:,} items, {checked.images:,} images")
    next(steps)
    runs = {row: folder / "runs" / model for row, model in TRAINED.items()}
    for row, run in runs.items():
        trained = veridical.train(TRAINED[row], benchmark, run, seed=seed)
        say(f"   {row}: {100 * trained.mean:.1f}% on a held-out slice of training")
    next(steps)
    solvers: dict[str, tuple[str, Options]] = {
        "random": ("random", Options(seed=seed)),
        **{row: (str(run), Options()) for row, run in runs.items()},
        "programs, from the scene": ("programs", Options()),
        "programs, from the pixels": ("programs", Options(source="pixels")),
    }
    predictions: dict[str, Path] = {}
    for number, (row, (solver, options)) in enumerate(solvers.items()):
        predictions[row] = folder / "predictions" / f"{number}-{row.replace(', ', '-').replace(' ', '-')}.jsonl"
        predictions[row].parent.mkdir(exist_ok=True)
        veridical.solve(solver, benchmark, split="dev", out=predictions[row], options=options)
    next(steps)
    scores = {row: veridical.evaluate(benchmark, path, split="dev") for row, path in predictions.items()}
    next(steps)
    page = folder / "report.html"
    veridical.report([f"{row}={path}" for row, path in predictions.items()], page, benchmark=[benchmark], split="dev")
    return DemoResult(benchmark, predictions, scores, page)


def _steps(*titles: str) -> Iterator[None]:
    for number, title in enumerate(titles, start=1):
        say(f"\n{number}/{len(titles)}  {title}")
        yield


def _interval(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _rows(scores: dict[str, Scores]) -> Iterator[Sequence[str]]:
    for row, score in scores.items():
        both = (score.accuracy, score.consistency)
        yield row, *("" if part is None else _interval(part.value, part.low, part.high) for part in both)


def run(
    out: Annotated[Path, typer.Option(help="Where everything goes.")] = Path("demo"),
    presentations: Annotated[int, typer.Option(help="Sentences, each about four drawings.")] = PRESENTATIONS,
    seed: Annotated[int, typer.Option(help="What decides everything random.")] = 0,
) -> None:
    """Make a benchmark from a seed, check it, train, solve and evaluate, and write a report: a few minutes."""
    result = demo(out, presentations=presentations, seed=seed)
    items = next(iter(result.scores.values())).items
    say("")
    table(f"{items:,} development items", ("solver", "accuracy", "consistency"), _rows(result.scores))
    say(
        "\nA solver that reads only the sentence stays near 50%: every sentence is true of two of its drawings\n"
        "and false of the other two. Programs are read from the sentence and run on the scene.\n"
        f"\nReport:    {result.report.resolve().as_uri()}    (open it in a browser)\n"
        f"Benchmark: {result.benchmark}    (docs/benchmark-format.md says what is in it)"
    )
