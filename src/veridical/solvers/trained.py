"""A trained model of the zoo as a solver: a run folder and a split become a file of predictions.

A model that looks at pictures predicts each view of an item on its own (`item#k`), as NLVR's published evaluation
expects. Beside the predictions stands `<file>.meta.json`: which benchmark, which model, which seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.benchmark import Benchmark
from veridical.errors import UserError, missing_extra
from veridical.records import Prediction, view_id
from veridical.solvers.predictions import write_meta, write_predictions

if TYPE_CHECKING:
    from veridical.training.config import Context
    from veridical.training.trained import Trained


@dataclass(frozen=True)
class Solved:
    """What a solver wrote."""

    predictions: Path
    count: int


def solve(
    run: Path | str,
    benchmark: Path | str,
    split: str,
    out: Path | str,
    *,
    scheme: str = "main",
    trial: int = 0,
    device: str = "cpu",
    context: Context = "own",
    seed: int = 0,
) -> Solved:
    """Write the predictions of one trial of a run for a split, one line per item (or per view of it).

    `context` is a control for matrices: `other` gives every item the context of another one, `shuffled` its own in a
    random order (by `seed`).
    """
    bench, out = Benchmark(benchmark), Path(out)
    trained = _load(Path(run), trial)
    if bench.task not in trained.architecture.tasks:
        raise UserError(f"{trained.architecture.name} cannot solve {bench.task} items.", "Choose another run.")
    found = predict(trained, bench, split, scheme, device, context, seed)
    count = write_predictions(out, found, bench)
    about = {key: trained.about[key] for key in ("model", "config", "seed", "benchmark", "veridical")}
    control = {} if context == "own" else {"context": context, "context_seed": seed}
    write_meta(out, bench, split, scheme, {"name": str(run), "trial": trial, **about, **control})
    return Solved(out, count)


def predict(
    trained: Trained,
    bench: Benchmark,
    split: str,
    scheme: str = "main",
    device: str = "cpu",
    context: Context = "own",
    seed: int = 0,
) -> Iterator[Prediction]:
    """Predictions of a trained model, in the order of the items."""
    import numpy as np

    from veridical.engine.progress import Progress
    from veridical.training.batches import examples_of
    from veridical.training.config import of_stage
    from veridical.training.contexts import with_context

    name = trained.architecture.name
    stage = trained.about.get("training", {}).get("stage", "both")
    items = [item for item in bench.items(split, scheme) if of_stage(item, stage)]
    items = with_context(items, context, np.random.default_rng([seed, 5]))
    data = trained.encode(examples_of(bench, items), f"{name}: encoding {split}")
    views = max((data.views(row) for row in range(len(data))), default=0)
    if not views:
        for example, scores in zip(data.examples, trained.scores(data, device=device), strict=True):
            yield Prediction(example.item.id, tuple(scores.tolist()))
        return
    each = []
    with Progress(f"{name}: {split}", views * len(data), "views") as progress:
        for view in range(views):
            chosen = np.array([min(view, data.views(row) - 1) for row in range(len(data))], np.int64)
            each.append(trained.scores(data, chosen, device=device))
            progress.advance(len(data))
    for row, example in enumerate(data.examples):
        for view in range(data.views(row)):
            yield Prediction(view_id(example.item.id, view), tuple(each[view][row].tolist()))


def _load(run: Path, trial: int) -> Trained:
    try:
        from veridical.training.trained import load_trained
    except ImportError:
        raise missing_extra("torch", "models") from None
    folder = run / f"trial-{trial}"
    if not folder.is_dir():
        raise UserError(f"{run} has no trial {trial}.", "Give a run folder that `veridical train` wrote.")
    if not (folder / "result.json").exists():
        raise UserError(f"Trial {trial} of {run} is not finished.", "Run the same `veridical train` again.")
    return load_trained(folder)
