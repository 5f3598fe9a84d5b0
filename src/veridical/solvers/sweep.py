"""Many models on many schemes of one benchmark of matrices: trained, solved, scored and controlled, run by run.

A point of the sweep is one run folder of `veridical train` with its predictions and `point.json`, its scores. Points
are independent: they go to as many processes as there are, a finished one is skipped and a killed one continues.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.benchmark import Benchmark
from veridical.engine import run
from veridical.errors import UserError
from veridical.evaluate import evaluate_trials
from veridical.solvers import zoo

if TYPE_CHECKING:
    from veridical.training.config import Context

SWEEP, POINT, RUNS = "sweep.json", "point.json", "runs"
TYPES = ("relation", "element")  # tags that accuracies are broken down by
# As the paper's tables call them.
TITLES = {
    **{f"mlp-{join}-{k}": f"MLP-{join}-{k}" for join in ("sum", "cat") for k in (2, 4, 6)},
    "gru": "GRU",
    "gru-shared": "GRU-shared",
    "vqa": "VQA-like",
    "vqa-attention": "VQA-like with attention",
    "relation-network-no-ids": "RN without panel IDs",
    "relation-network": "RN",
}


@dataclass(frozen=True)
class Point:
    """One model, trained in one way on one scheme."""

    model: str
    scheme: str
    features: str
    auxiliary: bool = False  # with the auxiliary loss
    fraction: float = 1.0  # of the training data
    context: Context = "own"  # "other": the paper's lower bound, trained and tested on contexts of other items

    @property
    def folder(self) -> str:
        """The name of its run folder."""
        parts = [self.model, self.scheme, self.features.strip("/").replace("/", "--")]
        parts += ["aux"] * self.auxiliary + [f"{self.fraction:g}"] * (self.fraction != 1)
        return "_".join([*parts, *([f"{self.context}-contexts"] if self.context != "own" else [])])

    @property
    def title(self) -> str:
        """What it is called in tables: `RN, efficientnet-lite0 + aux. loss`."""
        out = f"{TITLES.get(self.model, self.model)}, {Path(self.features).name}"
        out += " + aux. loss" if self.auxiliary else ""
        out += f", {100 * self.fraction:g}% of training" if self.fraction != 1 else ""
        return out + {"own": "", "other": ", contexts of other items", "shuffled": ", shuffled contexts"}[self.context]


@dataclass(frozen=True)
class Settings:
    """What all points share."""

    benchmark: str  # its folder
    split: str = "train"
    test: str = "test"
    seed: int = 0
    trials: int = 1
    controls: bool = True  # also test on contexts of other items and on shuffled ones
    resamples: int = 2000
    device: str = "cpu"
    options: Mapping[str, Any] = field(default_factory=dict)  # of models and training, by name


def plan(
    models: Sequence[str],
    schemes: Sequence[str],
    features: Sequence[str],
    auxiliary: Sequence[bool],
    fractions: Sequence[float],
    lower_bound: str | None,
) -> list[Point]:
    """All points: every combination on all training data; fractions (figure 7) on the first scheme, plain, only.

    `lower_bound` names a model that is also trained on contexts of other items, on the first scheme.
    """
    whole = [Point(m, s, f, a) for s in schemes for f in features for a in auxiliary for m in models]
    parts = [Point(m, schemes[0], features[0], fraction=x) for x in sorted(set(fractions) - {1.0}) for m in models]
    bound = [Point(lower_bound, schemes[0], features[0], context="other")] if lower_bound else []
    return list(dict.fromkeys([*whole, *parts, *bound]))


def run_sweep(points: Sequence[Point], settings: Settings, out: Path, processes: int | None = None) -> dict[str, Any]:
    """Run every point that is not finished; OUT/sweep.json holds the scores of all."""
    _check(points, settings, out)
    start = time.monotonic()
    here = replace(settings, benchmark=os.path.abspath(settings.benchmark))
    bench = Benchmark(settings.benchmark)
    made = _plain(asdict(here) | {"hash": bench.hash})
    found = {point: _finished(out / RUNS / point.folder, made) for point in points}
    left = [point for point, result in found.items() if result is None]
    if left:
        function = partial(run_point, here, made, out.absolute())
        found |= dict(zip(left, run(function, left, processes=processes, label="sweep"), strict=True))
    record = {
        "benchmark": {"name": bench.name, "hash": bench.hash, "folder": here.benchmark},
        "settings": {k: v for k, v in asdict(settings).items() if k != "benchmark"},
        "seconds": round(time.monotonic() - start, 1),
        "points": list(found.values()),
    }
    _write(out / SWEEP, record)
    return record


def _finished(folder: Path, made: dict[str, Any]) -> dict[str, Any] | None:
    """The scores of a run that was finished with the same settings."""
    path = folder / POINT
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found if found is not None and found["made"] == made else None


def run_point(settings: Settings, made: dict[str, Any], out: Path, point: Point) -> dict[str, Any]:
    """Train, solve and score one point; training that was stopped continues, and other settings are refused."""
    os.environ["VERIDICAL_PROGRESS"] = "0"  # this is a worker: the sweep shows how far it is
    from veridical.training import train

    start = time.monotonic()
    folder = out / RUNS / point.folder
    done = train(
        point.model,
        settings.benchmark,
        folder,
        config=_options(point, settings.options),
        split=settings.split,
        scheme=point.scheme,
        seed=settings.seed,
        trials=settings.trials,
        device=settings.device,
    )
    contexts: tuple[Context, ...] = (point.context,)
    if settings.controls and point.context == "own" and point.fraction == 1:
        contexts = ("own", "other", "shuffled")
    scores = {context: _scores(folder, point, settings, context) for context in contexts}
    own = scores[point.context]
    result = {
        **asdict(point),
        "folder": f"{RUNS}/{point.folder}",
        "title": point.title,
        "accuracy": own["accuracy"],
        "by": {tag: own["by"].get(tag, {}) for tag in TYPES},
        "controls": {c: scores[c]["accuracy"] for c in contexts if c != point.context},
        "validation": done.mean,
        "epochs": [t["epochs"] for t in done.trials],
        "training_items": done.trials[0]["training_items"],
        "seconds": round(time.monotonic() - start, 1),
        "made": made,
    }
    _write(folder / POINT, result)
    return result


def _scores(folder: Path, point: Point, settings: Settings, context: Context) -> dict[str, Any]:
    """Predictions of all trials for the test split, and their scores. Controls are called otherwise: no report mixes
    them up with the real ones."""
    name = f"predictions-{settings.test}" if context == point.context else f"control-{context}-{settings.test}"
    files = []
    for trial in range(settings.trials):
        file = folder / (f"{name}.jsonl" if not trial else f"{name}-{trial}.jsonl")
        zoo.solve(
            folder,
            settings.benchmark,
            settings.test,
            file,
            scheme=point.scheme,
            trial=trial,
            device=settings.device,
            context=context,
            seed=settings.seed,
        )
        files.append(file)
    found = evaluate_trials(
        settings.benchmark, files, split=settings.test, scheme=point.scheme, resamples=settings.resamples
    )
    by = {tag: {value: _part(one) for value, one in found.by.get(tag, {}).items()} for tag in TYPES}
    return {"accuracy": _part(found.accuracy) | {"items": found.each[0].items}, "by": by}


def _part(one: Any) -> dict[str, float]:
    return {"value": one.mean, "low": one.low, "high": one.high}


def _options(point: Point, given: Mapping[str, Any]) -> dict[str, Any]:
    """A point's own options, and those of all that this model has."""
    from dataclasses import fields

    from veridical.models import load_model
    from veridical.training import TrainingConfig

    known = {f.name for kind in (load_model(point.model).config, TrainingConfig) for f in fields(kind)}
    own: dict[str, Any] = {"images": point.features, "fraction": point.fraction, "context": point.context}
    if point.auxiliary:
        own["auxiliary"] = "two"
    return {**own, **{name: value for name, value in given.items() if name in known}}


def _check(points: Sequence[Point], settings: Settings, out: Path) -> None:
    """Everything that can be wrong is found before the first model is trained."""
    from veridical.features import load
    from veridical.models import load_model
    from veridical.training import configure

    bench = Benchmark(settings.benchmark)
    if bench.task != "matrix":
        raise UserError(f"{bench.name} has {bench.task} items.", "A sweep is about matrices: see `veridical train`.")
    if (
        out.exists()
        and not (out / SWEEP).exists()
        and not (out / RUNS).is_dir()
        and (out.is_file() or any(out.iterdir()))
    ):
        raise UserError(f"{out} exists and is not a sweep.", "Choose another folder.")
    used: set[str] = set()
    for point in points:
        architecture = load_model(point.model)
        if "matrix" not in architecture.tasks:
            raise UserError(f"{point.model} is no model of matrices.", f"Take some of: {', '.join(TITLES)}.")
        options = _options(point, settings.options)
        used |= set(options)
        configure(architecture, options)
        for split in (settings.split, settings.test):
            if split not in bench.splits(point.scheme):
                raise UserError(
                    f"{bench.name} has no split {split!r} in scheme {point.scheme!r}.",
                    f"It has: {', '.join(bench.splits(point.scheme))}.",
                )
    if unknown := sorted(set(settings.options) - used):
        raise UserError(f"No model of the sweep has an option {unknown[0]!r}.", "See `veridical models`.")
    for features in {point.features for point in points}:
        load(bench, features)
    (out / RUNS).mkdir(parents=True, exist_ok=True)


def _plain(value: Any) -> Any:
    """As it looks after JSON."""
    return json.loads(json.dumps(value))


def _write(path: Path, value: Any) -> None:
    """JSON, whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("w") as file:
        file.write(json.dumps(value, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
