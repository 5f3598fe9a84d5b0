"""The verb `sweep`: which points there are, all of them run, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from veridical.benchmark import Benchmark
from veridical.common.files import Json
from veridical.common.intervals import Estimate
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.experiments.sweep import TITLES, plan, run_sweep
from veridical.options.running import SweepOptions

ALL = tuple(model for model in TITLES if model != "vqa-attention")  # every row of the paper's tables
SCHEMES = ("neutral", "interpolation", "extrapolation", "att.held", "att.rel.held", "obj.rel.held", "obj.held")
AUXILIARY = {"no": [False], "yes": [True], "both": [False, True]}
PAGE = "sweep.html"


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


def sweep(benchmark: Path | str, out: Path | str, options: SweepOptions, processes: int | None = None) -> Swept:
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
    done, failed, seconds = run_sweep(points, os.path.abspath(benchmark), options, target, processes)
    return Swept(target, target / PAGE, tuple(done), seconds, tuple(failed))


def _schemes(bench: Benchmark, wanted: Sequence[str] | None) -> list[str]:
    """The schemes in the paper's order; those of the benchmark unless some are named."""
    if not wanted:
        known = [s for s in SCHEMES if s in bench.schemes]
        return [*known, *(s for s in bench.schemes if s not in known)]
    for scheme in wanted:
        bench.splits(scheme)  # an error where there is none
    return list(dict.fromkeys(wanted))
