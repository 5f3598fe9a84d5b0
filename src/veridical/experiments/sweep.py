"""Many models on many schemes of one benchmark of matrices: trained, solved, scored and controlled, run by run.

A point of the sweep is one run folder of `veridical train` with its predictions and `point.json`, its scores and what
they were made from. Points are independent: they go to as many processes as there are, a finished one is skipped, a
killed one continues, and one that fails (its loss diverges, say) is told about and stops no other.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from veridical.benchmark import Benchmark
from veridical.common.files import Json, read_json, write_json
from veridical.common.intervals import Estimate
from veridical.common.result import Result, Table
from veridical.encoders import load
from veridical.engine import run
from veridical.errors import UserError
from veridical.evaluation import evaluate, trials_of
from veridical.evaluation.grade import read_key
from veridical.evaluation.scores import Spread
from veridical.experiments import SWEEP, TYPES
from veridical.experiments.points import AGAIN, Part, PointScores, Tested, kept
from veridical.options.running import Context, SolverOptions, SweepOptions, TrainOptions, Workers
from veridical.solvers.solver import solve
from veridical.training import TrainingConfig, configure, train
from veridical.training.batches import examples_of
from veridical.training.run import check_run, settings_of
from veridical.zoo import load_model

POINT, RUNS, VECTORS = "point.json", "runs", "vectors.json"
_OWN = {"images": "features", "fraction": "fractions", "context": "controls"}  # what points differ in -> what sets it
_SHARED = ("split", "test", "seed", "trials", "controls", "resamples", "device")  # what all points share
_PROBED = 16  # items of each split that are encoded before any training
TITLES = {  # as the paper's tables call them
    **{f"mlp-{join}-{k}": f"MLP-{join}-{k}" for join in ("sum", "cat") for k in (2, 4, 6)},
    "gru": "GRU",
    "gru-shared": "GRU-shared",
    "vqa": "VQA-like",
    "vqa-attention": "VQA-like with attention",
    "relation-network-no-ids": "RN without panel IDs",
    "relation-network": "RN",
}
ALL = tuple(model for model in TITLES if model != "vqa-attention")  # every row of the paper's tables
SCHEMES = ("neutral", "interpolation", "extrapolation", "att.held", "att.rel.held", "obj.rel.held", "obj.held")
AUXILIARY = {"no": [False], "yes": [True], "both": [False, True]}
PAGE = "sweep.html"


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

    def title(self, features: str) -> str:
        """What it is called in tables, where its features are called so: `RN, efficientnet-lite0 + aux. loss`."""
        out = f"{TITLES.get(self.model, self.model)}, {features}"
        out += " + aux. loss" if self.auxiliary else ""
        out += f", {100 * self.fraction:g}% of training" if self.fraction != 1 else ""
        return out + {"own": "", "other": ", contexts of other items", "shuffled": ", shuffled contexts"}[self.context]


def titles(points: Iterable[Point]) -> dict[Point, str]:
    """What points are called in tables: encoders by the last part of their name, in full where two share that part."""
    points = list(points)
    times = Counter(Path(name).name for name in {point.features for point in points})
    return {p: p.title(p.features if times[Path(p.features).name] > 1 else Path(p.features).name) for p in points}


def plan(
    models: Sequence[str],
    schemes: Sequence[str],
    features: Sequence[str],
    auxiliary: Sequence[bool],
    fractions: Sequence[float],
    bound: str | None,
    bounds: Sequence[str],
) -> list[Point]:
    """All points: every combination on all training data; fractions (figure 7) on the first scheme, plain, only.

    `bound` names a model that is also trained on contexts of other items (the paper's lower bound), on the schemes
    `bounds`.
    """
    whole = [Point(m, s, f, a) for s in schemes for f in features for a in auxiliary for m in models]
    parts = [Point(m, schemes[0], features[0], fraction=x) for x in sorted(set(fractions) - {1.0}) for m in models]
    lower = [Point(bound, s, features[0], context="other") for s in bounds] if bound else []
    return list(dict.fromkeys([*whole, *parts, *lower]))


def run_sweep(
    points: Sequence[Point], benchmark: str, options: SweepOptions, out: Path, workers: Workers = Workers()
) -> tuple[list[Json], list[Json], float]:
    """Run every point that is not finished; OUT/sweep.json holds their scores and those of earlier calls.

    Returned are the points that have scores, those without and why, and the seconds that this call took.
    """
    start, bench = time.monotonic(), Benchmark(benchmark)
    made = _check(points, options, out, bench)
    found: dict[Point, Json] = {}
    for point in points:
        path = out / RUNS / point.folder / POINT
        if path.exists() and (result := kept(path))["made"] == made[point]:
            found[point] = result
    left = [point for point in made if point not in found]
    if left:
        function = partial(run_point, benchmark, options, out.absolute())
        work = [(point, made[point]) for point in left]
        found |= dict(zip(left, run(function, work, workers=workers, label="sweep"), strict=True))
    results = {point: found[point] for point in made}
    done = {point: result for point, result in results.items() if "problem" not in result}
    earlier = _earlier(out, options, bench, set(points))
    if not done and not earlier:
        first = next(iter(results.values()))
        raise UserError(first["problem"], first["fix"])
    names = titles([*results, *earlier])
    scores = [{**result, "title": names[point]} for point, result in done.items()]
    failed = [{**result, "title": names[point]} for point, result in results.items() if point not in done]
    seconds = round(time.monotonic() - start, 1)
    record = {
        "benchmark": {"name": bench.name, "hash": bench.hash, "folder": benchmark},
        "settings": {**{name: getattr(options, name) for name in _SHARED}, "options": dict(options.set or {})},
        "seconds": seconds,
        "points": [*scores, *({**result, "title": names[point]} for point, result in earlier.items())],
        "failed": failed,
    }
    write_json(out / SWEEP, record)
    return scores, failed, seconds


def _earlier(out: Path, options: SweepOptions, bench: Benchmark, known: set[Point]) -> dict[Point, Json]:
    """Points of earlier calls that this one did not ask for, and that would come out the same today."""
    found: dict[Point, Json] = {}
    vectors: dict[str, str] = {}
    for path in sorted((out / RUNS).glob(f"*/{POINT}")):
        result = kept(path)
        point = Point(**{f.name: result[f.name] for f in fields(Point)})
        if point in known:
            continue
        try:
            vectors |= {} if point.features in vectors else _vectors(bench, [point])
            wanted = _made(point, options, bench, vectors)
        except UserError:  # its vectors or its model are not here any more
            continue
        if result["made"] == wanted:
            found[point] = result
    return found


def run_point(benchmark: str, options: SweepOptions, out: Path, work: tuple[Point, Json]) -> Json:
    """Train, solve and score one point; training that was stopped continues. Of one that fails, the reason."""
    os.environ["VERIDICAL_PROGRESS"] = "0"  # this is a worker: the sweep shows how far it is
    point, made = work
    about, folder = {**asdict(point), "folder": f"{RUNS}/{point.folder}"}, out / RUNS / point.folder
    try:
        result = {**about, **_train_and_score(benchmark, options, folder, point), "made": made}
    except UserError as error:
        return about | {"problem": error.problem, "fix": error.fix}
    write_json(folder / POINT, result)
    return result


def _train_and_score(benchmark: str, options: SweepOptions, folder: Path, point: Point) -> PointScores:
    start = time.monotonic()
    done = train(point.model, benchmark, folder, _training(point, options))
    contexts: tuple[Context, ...] = (point.context,)
    if options.controls and point.context == "own" and point.fraction == 1:
        contexts = ("own", "other", "shuffled")
    scores = {context: _scores(benchmark, options, folder, point, context) for context in contexts}
    own = scores[point.context]
    return {
        **own,
        "controls": {c: scores[c]["accuracy"] for c in contexts if c != point.context},
        "validation": done.mean,
        "epochs": [t["epochs"] for t in done.trials],
        "training_items": done.trials[0]["training_items"],
        "seconds": round(time.monotonic() - start, 1),
    }


def _scores(benchmark: str, options: SweepOptions, folder: Path, point: Point, context: Context) -> Tested:
    """Predictions of all trials for the test split, and their scores. Controls are called otherwise: no report mixes
    them up with the real ones."""
    split, scheme = options.test, point.scheme
    name = f"predictions-{split}" if context == point.context else f"control-{context}-{split}"
    each = []
    for trial in range(options.trials):
        file = folder / (f"{name}.jsonl" if not trial else f"{name}-{trial}.jsonl")
        how = SolverOptions(scheme, trial=trial, device=options.device, context=context, seed=options.seed)
        solve(str(folder), benchmark, how, split=split, out=file)
        each.append(evaluate(benchmark, file, split=split, scheme=scheme, resamples=options.resamples))
    found = trials_of(each)
    by = {tag: {value: _part(one) for value, one in found.by.get(tag, {}).items()} for tag in TYPES}
    return {"accuracy": _part(found.accuracy) | {"items": found.each[0].items}, "by": by}


def _part(one: Spread) -> Part:
    return {"value": one.mean, "low": one.low, "high": one.high}


def _options(point: Point, given: Mapping[str, Any]) -> Json:
    """A point's own options, and those of all that this model has; `auxiliary` says which loss, where there is one."""
    known = {f.name for kind in (load_model(point.model).config, TrainingConfig) for f in fields(kind)}
    if not point.auxiliary:
        known -= {"auxiliary", "auxiliary_weight"}
    own: Json = {"images": point.features, "fraction": point.fraction, "context": point.context}
    if point.auxiliary:
        own["auxiliary"] = "two"
    return {**own, **{name: value for name, value in given.items() if name in known}}


def _made(point: Point, options: SweepOptions, bench: Benchmark, vectors: Mapping[str, str]) -> dict[str, object]:
    """Everything that a point's scores depend on."""
    scored = {name: getattr(options, name) for name in ("test", "trials", "controls", "resamples")}
    trained = settings_of(point.model, bench, _training(point, options))  # what its run folder is tied to
    return trained | scored | {"vectors": vectors[point.features]}


def _training(point: Point, options: SweepOptions) -> TrainOptions:
    """How a point is trained."""
    shared = {name: getattr(options, name) for name in ("split", "seed", "trials", "device")}
    return TrainOptions(set=_options(point, options.set or {}), scheme=point.scheme, **shared)


def _vectors(bench: Benchmark, points: Iterable[Point]) -> dict[str, str]:
    """Encoder -> a hash over its vectors."""
    return {name: load(bench, name).about.vectors for name in dict.fromkeys(point.features for point in points)}


def _check(points: Sequence[Point], options: SweepOptions, out: Path, bench: Benchmark) -> dict[Point, Json]:
    """What each point would be made from; all that can be known to be wrong is found before any model is trained."""
    if bench.task != "matrix":
        raise UserError(f"{bench.name} has {bench.task} items.", "A sweep is about matrices: see `veridical train`.")
    is_sweep = (out / SWEEP).exists() or (out / RUNS).is_dir()
    if out.exists() and not is_sweep and (out.is_file() or any(out.iterdir())):
        raise UserError(f"{out} exists and is not a sweep.", "Choose another folder.")
    _check_options(points, options.set or {})
    vectors = _vectors(bench, points)
    made = {point: _made(point, options, bench, vectors) for point in points}
    for point in points:
        check_run(out / RUNS / point.folder, settings_of(point.model, bench, _training(point, options)))
    _probe(points, options, bench)
    _claim(out, vectors)
    return made


def _check_options(points: Sequence[Point], given: Mapping[str, Any]) -> None:
    for name in _OWN.keys() & given.keys():
        raise UserError(f"The option {name} is what the runs of a sweep differ in.", f"Say it with --{_OWN[name]}.")
    if given.get("auxiliary") == "none":
        raise UserError("The option auxiliary=none would undo --auxiliary.", "Say --auxiliary no, or leave both out.")
    used: set[str] = set()
    for point in points:
        if "matrix" not in load_model(point.model).tasks:
            raise UserError(f"{point.model} is no model of matrices.", f"Take some of: {', '.join(TITLES)}.")
        used |= set(_options(point, given))
    for model in TITLES:  # not of this call perhaps, but of the folder
        used |= set(_options(replace(points[0], model=model), given))
    if unused := sorted(set(given) - used):
        if unused[0].startswith("auxiliary"):
            raise UserError(f"No run of the sweep has the loss of {unused[0]}.", "Add --auxiliary yes, or both.")
        raise UserError(f"No model of matrices has an option {unused[0]!r}.", "See `veridical models --json`.")


def _probe(points: Sequence[Point], options: SweepOptions, bench: Benchmark) -> None:
    """Encode some items as every model would, and look for the answers that scores need."""
    some = {}
    for scheme in dict.fromkeys(point.scheme for point in points):
        for split in (options.split, options.test):
            some[scheme, split] = examples_of(bench, list(islice(bench.items(split, scheme), _PROBED)))
        read_key(bench, options.test, scheme)
    for point in {(p.model, p.features, p.auxiliary): p for p in points}.values():
        architecture = load_model(point.model)
        config, _ = configure(architecture, _options(point, options.set or {}))
        sources, targets = architecture.inputs(config), architecture.targets(config)
        for (_, split), examples in some.items():
            for example in examples:
                for source in sources.values():
                    source.encode(example)
                for target in targets.values() if split == options.split else ():
                    target.encode(example)


def _claim(out: Path, vectors: Mapping[str, str]) -> None:
    """OUT/vectors.json: what its runs are trained on. Runs that were stopped cannot go on with other vectors."""
    path = out / VECTORS
    before = read_json(path, dict[str, str], "the list of a sweep's vectors", AGAIN) if path.exists() else {}
    for name, digest in vectors.items():
        if before.get(name, digest) != digest:
            raise UserError(
                f"{out} has runs on other vectors of {name}: those of the benchmark have changed.",
                "Choose another folder, or delete it to start again.",
            )
    (out / RUNS).mkdir(parents=True, exist_ok=True)
    write_json(path, {**before, **vectors})


@dataclass(frozen=True)
class Swept(Result):
    """What a sweep made."""

    out: Path
    page: Path
    points: tuple[Json, ...]  # scores of each run that was asked for; sweep.json has all of the folder
    seconds: float  # of this call
    failed: tuple[Json, ...] = ()  # runs without scores, each with its problem

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def parts(self) -> Iterator[Table | str]:
        rows = []
        for point in self.points:
            measured = [point["accuracy"], *(point["controls"].get(name) for name in ("other", "shuffled"))]
            shown = (str(Estimate(one["value"], one["low"], one["high"])) if one else "" for one in measured)
            rows.append((point["title"], point["scheme"], *shown))
        rows += [(point["title"], point["scheme"], "failed", "", "") for point in self.failed]
        columns = ("system", "scheme", "accuracy, %", "other item's context", "shuffled")
        yield Table("", columns, rows)
        yield f"{len(self.points)} runs in {self.seconds:,.0f} s. Tables and figures: {self.page.as_uri()}"
        for point in self.failed:
            yield f"{point['title']}, {point['scheme']} failed: {point['problem']} {point['fix']}"


def sweep(benchmark: Path | str, out: Path | str, options: SweepOptions, workers: Workers = Workers()) -> Swept:
    """Train, solve and score every model on every scheme with all features: see `veridical.api.sweep`.

    With `controls`, every model is also tested on contexts of other items and on shuffled ones, and one is also trained
    on contexts of other items, the paper's lower bound. Finished runs are skipped, failed ones are tried again.
    """
    bench, target = Benchmark(benchmark), Path(os.path.abspath(out))
    models = ALL if list(options.models) == ["all"] else options.models
    named = _schemes(bench, options.schemes)
    for name, given in (("models", models), ("features", options.features)):
        if not given:
            raise UserError(f"A sweep over no {name} has nothing to do.", "Give at least one.")
    bad = [x for x in options.fractions if not 0 < x <= 1]
    if bad:
        raise UserError(f"{bad[0]:g} is no fraction of the training data.", "Give numbers above 0, at most 1.")
    chosen = options.bound or ("relation-network" if "relation-network" in models else models[-1])
    where = named if options.bounds == "all" else named[:1]
    bound = chosen if options.controls else None
    points = plan(models, named, options.features, AUXILIARY[options.auxiliary], options.fractions, bound, where)
    done, failed, seconds = run_sweep(points, bench.address, options, target, workers)
    return Swept(target, target / PAGE, tuple(done), seconds, tuple(failed))


def _schemes(bench: Benchmark, wanted: Sequence[str] | None) -> list[str]:
    """The schemes in the paper's order; those of the benchmark unless some are named."""
    if not wanted:
        known = [s for s in SCHEMES if s in bench.schemes]
        return [*known, *(s for s in bench.schemes if s not in known)]
    for scheme in wanted:
        bench.splits_of(scheme)  # an error where there is none
    return list(dict.fromkeys(wanted))
