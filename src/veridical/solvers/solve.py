"""`veridical solve`: one name for everything that answers items, from a guess to a vision-language model.

A solver is a name of `SOLVERS`, `majority` or `random`, a run folder made by `veridical train`, or `provider/model` as
Inspect has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal

from veridical.benchmark import Benchmark
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.records import Prediction, split_view
from veridical.solvers import SOLVERS
from veridical.solvers.predictions import write_meta, write_predictions

if TYPE_CHECKING:
    from veridical.solvers.vlm import Asking, Sending, Solved
    from veridical.training.config import Context

Source = Literal["structure", "pixels"]
BUILT_IN = ("majority", "random")


@dataclass(frozen=True)
class Options:
    """What single solvers can be told."""

    source: Source = "structure"  # programs: the stored scene, or the drawing alone
    every_view: bool = False  # programs: every drawing of an item too
    weights: Path | None = None  # programs: a saved solver instead of training on `train`
    save_weights: Path | None = None  # programs: where to keep the solver, for `weights`
    seed: int = 0  # random, and trained models whose context is not their own
    context: Context = "own"  # trained models of matrices: a control with contexts of other items, or shuffled ones
    asking: Asking | None = None  # models: prompts
    sending: Sending | None = None  # models: connections, retries, prices
    generating: Mapping[str, Any] = field(default_factory=dict)  # models: max_tokens, temperature, logprobs


@dataclass(frozen=True)
class Predicted:
    """What a solver of this machine wrote."""

    out: Path
    solver: str
    benchmark_hash: str
    split: str
    predictions: int
    reading: Mapping[str, Any] | None = None  # programs: how many sentences were read, see `Coverage`

    def to_json(self) -> dict[str, Any]:
        out = {
            "out": str(self.out),
            "solver": self.solver,
            "benchmark": self.benchmark_hash,
            "split": self.split,
            "items": self.predictions,
        }
        return out if self.reading is None else {**out, "reading": dict(self.reading)}


def solve(
    solver: str,
    benchmark: Path | str,
    *,
    split: str,
    out: Path | str,
    scheme: str = "main",
    limit: int | None = None,
    options: Options | None = None,
) -> Predicted | Solved:
    """Answer the items of a split and write one prediction per line.

    `solver` is `programs`, `majority`, `random`, a run folder of `veridical train`, or a model by provider
    (`openai/gpt-4o`, `hf/org/name`, ...). `limit` takes the first items only.
    """
    options = options or Options()
    if limit is not None and limit < 1:
        raise UserError(f"The limit {limit} leaves nothing to solve.", "Take 1 or more.")
    opened = Benchmark(benchmark)
    if split not in opened.splits(scheme):
        raise UserError(
            f"{opened.name} has no split {split!r} in scheme {scheme!r}.",
            f"It has: {', '.join(opened.splits(scheme))}.",
        )
    if solver not in SOLVERS and solver not in BUILT_IN and not Path(solver).is_dir():
        return _model(solver, opened, split, Path(out), scheme, limit, options)
    target = Path(os.path.abspath(out))
    if solver not in SOLVERS and solver not in BUILT_IN:
        return _trained(Path(solver), opened, split, target, scheme, limit, options)
    rows = opened.manifest["counts"]["items"][scheme][split]
    about: dict[str, Any] = {"name": solver, "limit": limit, "source": options.source, "seed": options.seed}
    with Progress(f"Solving with {solver}", rows if limit is None else min(rows, limit), "items") as progress:
        found = _first(_local(solver, opened, split, scheme, options, about), limit, progress)
        count = write_predictions(target, found, opened)
    reading = about["reading"].to_json() if "reading" in about else None
    write_meta(target, opened, split, scheme, {**about, "items": count, "reading": reading})
    return Predicted(target, solver, opened.hash, split, count, reading)


def _local(
    solver: str, benchmark: Benchmark, split: str, scheme: str, options: Options, about: dict[str, Any]
) -> Iterable[Prediction]:
    """The predictions of a solver that runs on this machine; it may add to what is said about it."""
    if solver in BUILT_IN:
        from veridical.solvers import baselines

        if solver == "majority":
            return baselines.majority(benchmark, split, scheme)
        return baselines.guess(benchmark, split, scheme, options.seed)
    if solver == "programs":
        return _programs(benchmark, split, scheme, options, about)
    found: Iterable[Prediction] = resolve_name(SOLVERS[solver])(benchmark, split, scheme=scheme)
    return found


def _programs(
    benchmark: Benchmark, split: str, scheme: str, options: Options, about: dict[str, Any]
) -> Iterator[Prediction]:
    from veridical.solvers.programs import Coverage, ProgramSolver, need_scenes, predict, train

    if scheme != "main":
        raise UserError("The program solver reads the scheme 'main' only.", "Leave out --scheme.")
    if options.source == "structure":
        need_scenes(benchmark)
    solver = train(benchmark, split) if options.weights is None else ProgramSolver.load(options.weights)
    if options.save_weights is not None:
        solver.save(options.save_weights)
    about["trained_on"] = solver.trained_on_
    coverage = about["reading"] = Coverage()
    viewed = {item.id for item in benchmark.items(split) if item.views} if options.every_view else set()
    for prediction, answer in predict(solver, benchmark, split, options.source, options.every_view):
        if prediction.item in viewed:
            continue  # its views follow, and a file is either about items or about views
        yield Prediction(prediction.item, prediction.scores, None if answer.program is None else str(answer.program))
        coverage.add(answer)  # after it was taken: a limit looks one prediction ahead


def _trained(
    run: Path, benchmark: Benchmark, split: str, out: Path, scheme: str, limit: int | None, options: Options
) -> Predicted:
    """A model that `veridical train` made."""
    from veridical.solvers import trained as zoo

    if limit is not None:
        raise UserError("Trained models solve whole splits.", "Leave out --limit.")
    done = zoo.solve(run, benchmark.directory, split, out, scheme=scheme, context=options.context, seed=options.seed)
    return Predicted(done.predictions, str(run), benchmark.hash, split, done.count)


def _model(
    solver: str, benchmark: Benchmark, split: str, out: Path, scheme: str, limit: int | None, options: Options
) -> Solved:
    if "/" not in solver or solver.startswith(("/", ".")):
        known = ", ".join(sorted({*SOLVERS, *BUILT_IN}))
        raise UserError(
            f"There is no solver {solver!r}, and no such run folder.",
            f"Give one of {known}, a folder made by `veridical train`, or provider/model such as openai/gpt-4o.",
        )
    from veridical.solvers.vlm import solve_vlm

    return solve_vlm(
        solver,
        benchmark.directory,
        split=split,
        out=out,
        scheme=scheme,
        limit=limit,
        asking=options.asking,
        sending=options.sending,
        **options.generating,
    )


def _first(predictions: Iterable[Prediction], limit: int | None, progress: Progress) -> Iterator[Prediction]:
    """The predictions of the first items, counted; an item may have one for each of its views."""
    seen: set[str] = set()
    for one in predictions:
        item = split_view(one.item)[0]
        if item not in seen:
            if limit is not None and len(seen) >= limit:
                return
            seen.add(item)
            progress.advance()
        yield one
