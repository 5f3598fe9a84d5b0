"""`veridical sweep`: V-PROM's tables 2, 4 and 5 and figure 7 for any benchmark of matrices, by one command."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.experiments.sweep import TITLES, Settings, plan, run_sweep
from veridical.reporting.run import report

MODELS = ("mlp-sum-6", "mlp-cat-6", "gru", "gru-shared", "vqa", "relation-network-no-ids", "relation-network")
ALL = tuple(model for model in TITLES if model != "vqa-attention")  # every row of the paper's tables
SCHEMES = ("neutral", "interpolation", "extrapolation", "att.held", "att.rel.held", "obj.rel.held", "obj.held")
PAGE = "sweep.html"


@dataclass(frozen=True)
class Swept:
    """What a sweep made."""

    out: Path
    page: Path
    points: tuple[dict[str, Any], ...]  # scores of each run that was asked for; sweep.json has all of the folder
    seconds: float  # of this call
    failed: tuple[dict[str, Any], ...] = ()  # runs without scores, each with its problem

    def to_json(self) -> dict[str, Any]:
        return {
            "out": str(self.out),
            "page": str(self.page),
            "seconds": self.seconds,
            "points": list(self.points),
            "failed": list(self.failed),
        }


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
    bound: str | None = None,
    bounds: str = "first",
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
    first scheme. With `controls`, every model is also tested on contexts of other items and on shuffled ones, and one
    is also trained on contexts of other items, the paper's lower bound: `bound`, or else the relation network where it
    is swept, or else the last of `models`, on the first scheme or on all (`bounds`). `config` sets options of models
    and training by name. Finished runs are skipped: a call with other models or schemes adds them. A run that fails
    stops no other, and is tried again by the next call.
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
    if bounds not in ("first", "all"):
        raise UserError(f"The lower bound is wanted on {bounds!r} schemes.", "Choose one of: first, all.")
    chosen = bound or ("relation-network" if "relation-network" in models else models[-1])
    where = named if bounds == "all" else named[:1]
    points = plan(models, named, features, auxiliary, fractions, chosen if controls else None, where)
    done = run_sweep(points, settings, target, processes)
    page = target / PAGE
    report(target, page, benchmark=benchmark, markdown=True, latex=True, resamples=resamples)
    return Swept(target, page, tuple(done.points), done.seconds, tuple(done.failed))


def _schemes(bench: Benchmark, wanted: Sequence[str] | None) -> list[str]:
    """The schemes in the paper's order; those of the benchmark unless some are named."""
    if not wanted:
        known = [s for s in SCHEMES if s in bench.schemes]
        return [*known, *(s for s in bench.schemes if s not in known)]
    for scheme in wanted:
        bench.splits(scheme)  # an error where there is none
    return list(dict.fromkeys(wanted))
