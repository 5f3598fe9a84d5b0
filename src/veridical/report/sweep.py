"""`veridical sweep`: V-PROM's tables 2, 4 and 5 and figure 7 for any benchmark of matrices, by one command."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.report.run import report
from veridical.solvers.sweep import Settings, plan, run_sweep

MODELS = ("mlp-sum-6", "mlp-cat-6", "gru", "gru-shared", "vqa", "relation-network-no-ids", "relation-network")
SCHEMES = ("neutral", "interpolation", "extrapolation", "att.held", "att.rel.held", "obj.rel.held", "obj.held")
PAGE = "sweep.html"


@dataclass(frozen=True)
class Swept:
    """What a sweep made."""

    out: Path
    page: Path
    points: tuple[dict[str, Any], ...]  # scores of each run, as in sweep.json
    seconds: float  # of this call

    def to_json(self) -> dict[str, Any]:
        return {"out": str(self.out), "page": str(self.page), "seconds": self.seconds, "points": list(self.points)}


def sweep(
    benchmark: Path | str,
    out: Path | str,
    *,
    models: Sequence[str] = MODELS,
    schemes: Sequence[str] | None = None,
    features: Sequence[str] = ("efficientnet-lite0",),
    auxiliary: Sequence[bool] = (False,),
    fractions: Sequence[float] = (),
    controls: bool = True,
    split: str = "train",
    test: str = "test",
    config: Mapping[str, Any] | None = None,
    seed: int = 0,
    trials: int = 1,
    device: str = "cpu",
    processes: int | None = None,
    resamples: int = 2000,
) -> Swept:
    """Train, solve and score every model on every scheme with every kind of features, and draw the paper's tables.

    `auxiliary` has True for runs with the auxiliary loss. `fractions` of the training data are for figure 7, on the
    first scheme. With `controls`, every model is also tested on contexts of other items and on shuffled ones, and the
    last model also trained on contexts of other items. `config` sets options of models and training by name. Finished
    runs are skipped: the same call with more models or schemes adds them.
    """
    bench, target = Benchmark(benchmark), Path(os.path.abspath(out))
    named = _schemes(bench, schemes)
    for name, given in (("models", models), ("features", features), ("auxiliary", auxiliary)):
        if not given:
            raise UserError(f"A sweep over no {name} has nothing to do.", "Give at least one.")
    bad = [x for x in fractions if not 0 < x <= 1]
    if bad:
        raise UserError(f"{bad[0]:g} is no fraction of the training data.", "Give numbers above 0, at most 1.")
    settings = Settings(str(benchmark), split, test, seed, trials, controls, resamples, device, dict(config or {}))
    points = plan(models, named, features, auxiliary, fractions, models[-1] if controls else None)
    record = run_sweep(points, settings, target, processes)
    page = target / PAGE
    report(target, page, benchmark=benchmark, markdown=True, latex=True, resamples=resamples)
    return Swept(target, page, tuple(record["points"]), record["seconds"])


def _schemes(bench: Benchmark, wanted: Sequence[str] | None) -> list[str]:
    """The schemes in the paper's order; those of the benchmark unless some are named."""
    if not wanted:
        known = [s for s in SCHEMES if s in bench.schemes]
        return [*known, *(s for s in bench.schemes if s not in known)]
    for scheme in wanted:
        bench.splits(scheme)  # an error where there is none
    return list(dict.fromkeys(wanted))
