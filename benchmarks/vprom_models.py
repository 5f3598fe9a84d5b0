"""V-PROM's models on matrices of icons: the paper's order of models and splits, from one command.

    python benchmarks/vprom_models.py --folder WORK [--matrices 36000] [--images 6000] [--epochs 10]

Builds a benchmark of icon matrices in WORK (unless it is there), encodes its panels with EfficientNet-Lite0 as ImageNet
made it (1,280 numbers, L2-normalised; no weight of it has seen an icon), and runs `veridical sweep`: seven models on
three schemes, with the controls. Prints the table and, line by line, whether the paper's order holds. Run again, it
continues where it was stopped.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import veridical
from veridical.build.vprom import build_vprom
from veridical.report.sweep import MODELS, Swept, sweep

CHANCE = 1 / 8
SCHEMES = ("neutral", "extrapolation", "att.held")


def prepare(folder: Path, given: argparse.Namespace) -> Path:
    """The benchmark and its features."""
    bench = folder / "icons"
    if not (bench / "benchmark.json").exists():
        start = time.perf_counter()
        build_vprom(bench, matrices=given.matrices, images=given.images, schemes=given.schemes, seed=given.seed)
        print(
            f"built {given.matrices:,} matrices for each of {len(given.schemes)} schemes: {_since(start)}", flush=True
        )
    start = time.perf_counter()
    found = veridical.features(given.features, bench, normalise=True)
    print(f"{len(found):,} vectors of {found.size:,} numbers by {given.features}: {_since(start)}", flush=True)
    return bench


def show(done: Swept, schemes: list[str]) -> None:
    """The table: a row for each model, a column for each scheme, then the controls."""
    by = {(p["model"], p["scheme"]): p for p in done.points if p["context"] == "own" and p["fraction"] == 1}
    models = list(dict.fromkeys(model for model, _ in by))
    print(f"\n{'':26}" + "".join(f"{s:>22}" for s in schemes) + f"{'other item':>20}{'shuffled':>12}  ({schemes[0]})")
    for model in models:
        cells = "".join(f"{_cell(by[model, s]['accuracy']):>22}" for s in schemes)
        controls = by[model, schemes[0]]["controls"]
        last = f"{_cell(controls['other']):>20}{100 * controls['shuffled']['value']:>12.1f}"
        print(f"{model:26}{cells}{last}")
    for point in done.points:
        if point["context"] != "own":
            print(f"{point['title']}: {_cell(point['accuracy'])}")
    print(f"\n{len(done.points)} runs in {done.seconds:.0f} s; {done.page}\n")
    judge(by, models, schemes)


def judge(by: dict[tuple[str, str], dict[str, Any]], models: list[str], schemes: list[str]) -> None:
    """Whether the paper's order holds."""
    neutral = {model: by[model, schemes[0]] for model in models}
    best, blind = neutral["relation-network"]["accuracy"], neutral["relation-network-no-ids"]["accuracy"]
    others = [m for m in models if m != "relation-network"]
    above = [m for m in models if neutral[m]["accuracy"]["low"] > CHANCE]
    guessing = [p for p in by.values() if p["controls"]["other"]["low"] <= CHANCE <= p["controls"]["other"]["high"]]
    value = {place: point["accuracy"]["value"] for place, point in by.items()}
    falls = [(m, s) for m in models for s in schemes[1:] if value[m, s] < value[m, schemes[0]]]
    lead = best["value"] - max(value[m, schemes[0]] for m in others)
    print(f"above chance by the interval: {', '.join(above)} ({len(above)} of {len(models)})")
    print(f"other item's context at chance by the interval: {len(guessing)} of {len(by)}")
    print(f"relation network before all others on {schemes[0]}: by {100 * lead:+.1f} points")
    print(f"relation network without ids: {100 * (blind['value'] - best['value']):+.1f} points")
    print(f"accuracy below {schemes[0]} on other schemes: {len(falls)} of {len(models) * (len(schemes) - 1)}")


def _cell(one: dict[str, float]) -> str:
    return f"{100 * one['value']:.1f} [{100 * one['low']:.1f}, {100 * one['high']:.1f}]"


def _since(start: float) -> str:
    return f"{time.perf_counter() - start:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--matrices", type=int, default=36_000)
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--features", default="efficientnet-lite0")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--schemes", nargs="+", default=list(SCHEMES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", default="sweep")
    given = parser.parse_args()
    bench = prepare(given.folder, given)
    config = {"epochs": given.epochs, **dict(text.split("=", 1) for text in given.set)}
    done = sweep(
        bench,
        given.folder / given.out,
        models=given.models,
        schemes=given.schemes,
        features=(given.features,),
        config=config,
        seed=given.seed,
    )
    show(done, given.schemes)


if __name__ == "__main__":
    main()
