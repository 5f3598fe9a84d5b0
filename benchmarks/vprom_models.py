"""V-PROM's models on matrices of icons: the paper's order of models and splits, from one command.

    python benchmarks/vprom_models.py [--folder WORK]
    python benchmarks/vprom_models.py --folder WORK --source coco:PATH --matrices 9000 --schemes neutral interpolation

Builds a benchmark of icon matrices in WORK (unless it is there), trains a small CNN on other icon panels and encodes
the panels with it (icon_encoder.py; or takes any encoder by name with --features), and runs `veridical sweep`: six
models on three schemes, with the controls. Prints the table and, line by line, whether the paper's order holds. Run
again, it continues where it was stopped; `--models`, `--schemes` and `--epochs` make the full sweep of it.

Otherwise than in the paper (`--paper` has its AdaDelta, 128 hidden units and f2 of one layer), for all models alike:
AdamW whose rate falls from 0.003 to zero, 64 hidden units, vectors less their mean (`centre`), and two layers in f2 of
the relation networks. These were chosen by the accuracies of the relation network, GRU-shared and VQA on benchmarks of
seeds 0 and 1; the table is of seed 2.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import icon_encoder
import veridical
from veridical.benchmark import Benchmark
from veridical.builders.vprom import build_vprom
from veridical.experiments.sweep import Swept
from veridical.options.building import Mining

CHANCE = 1 / 8
FEW_PHOTOGRAPHS = Mining(least_images=3, most_others=30)  # COCO's 128 need it
SCHEMES = ("neutral", "obj.held", "att.held")
SMALL_CNN = "icon-cnn"
MODELS = ("mlp-cat-6", "gru", "gru-shared", "vqa", "relation-network-no-ids", "relation-network")
OPTIONS = {
    "centre": True,
    "optimizer": "adamw",
    "rate": 0.003,
    "schedule": "cosine",
    "warmup": 600,
    "batch": 128,
    "hidden": 64,
    "layers": 2,  # of f2 of the relation networks
    "validation": 0.05,
    "patience": 6,
}


def prepare(given: argparse.Namespace) -> tuple[Path, str]:
    """The benchmark and the encoder of its features, in folders named after what made them."""
    start = time.perf_counter()
    icons = given.source == "icons"
    size = f"icons-{given.categories}-{given.images}" if icons else given.source.partition(":")[0]
    bench = given.folder / f"{size}-{given.matrices}-{given.seed}-{'-'.join(given.schemes)}"
    if not (bench / "benchmark.json").exists():
        world: dict[str, Any] = {"images": given.images, "categories": given.categories or None}
        made = build_vprom(
            bench,
            source=given.source,
            matrices=given.matrices,
            schemes=given.schemes,
            seed=given.seed,
            **(world if icons else {"mining": FEW_PHOTOGRAPHS}),
        )
        for note in made.notes:
            print(note)
        print(f"built {given.matrices:,} matrices of each scheme: {_since(start)}", flush=True)
    start = time.perf_counter()
    encoder = given.features or (SMALL_CNN if icons else "efficientnet-lite0")
    if encoder == SMALL_CNN:
        place = given.folder / f"{SMALL_CNN}-{given.categories}-{given.cnn_images}-{given.cnn_epochs}"
        encoder = str(icon_encoder.make(place, given.cnn_images, given.cnn_epochs, given.categories))
        print(f"{encoder}: {_since(start)}", flush=True)
    start = time.perf_counter()
    found = veridical.features(encoder, bench, normalise=True)
    print(f"{len(found):,} vectors of {found.size:,} numbers by {encoder}: {_since(start)}", flush=True)
    return bench, encoder


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
    first, best, blind = schemes[0], "relation-network", "relation-network-no-ids"
    value = {place: 100 * point["accuracy"]["value"] for place, point in by.items()}
    above = [m for m in models if by[m, first]["accuracy"]["low"] > CHANCE]
    guessing = [p for p in by.values() if p["controls"]["other"]["low"] <= CHANCE <= p["controls"]["other"]["high"]]
    falls = [(m, s) for m in models for s in schemes[1:] if value[m, s] < value[m, first]]
    print(f"above chance by the interval: {', '.join(above)} ({len(above)} of {len(models)})")
    print(f"other item's context at chance by the interval: {len(guessing)} of {len(by)}")
    if best in models and len(models) > 1:
        for scheme in schemes:
            lead = value[best, scheme] - max(value[m, scheme] for m in models if m != best)
            print(f"relation network before all others on {scheme}: by {lead:+.1f} points")
    if best in models and blind in models:
        print(f"relation network without ids: {value[blind, first] - value[best, first]:+.1f} points")
    print(f"accuracy below {first} on other schemes: {len(falls)} of {len(models) * (len(schemes) - 1)}")


def _cell(one: dict[str, float]) -> str:
    return f"{100 * one['value']:.1f} [{100 * one['low']:.1f}, {100 * one['high']:.1f}]"


def _since(start: float) -> str:
    return f"{time.perf_counter() - start:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("bench/vprom-models"))
    parser.add_argument("--source", default="icons", help="icons, coco:PATH or vg:PATH")
    parser.add_argument("--matrices", type=int, default=120_000)
    parser.add_argument("--categories", type=int, default=16, help="kinds of things beside people; 0: all")
    parser.add_argument("--images", type=int, default=12_000)
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--features", help="an encoder; else icon-cnn (trained here), or efficientnet-lite0")
    parser.add_argument("--cnn-images", type=int, default=16_000)
    parser.add_argument("--cnn-epochs", type=int, default=12)
    parser.add_argument("--paper", action="store_true", help="AdaDelta, hidden layers of 128, as they are")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--schemes", nargs="+", default=list(SCHEMES))
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", help="the folder of the sweep in WORK; else named after the benchmark")
    given = parser.parse_args()
    bench, encoder = prepare(given)
    schemes = [scheme for scheme in given.schemes if scheme in Benchmark(bench).schemes]
    config = {"epochs": given.epochs, **({} if given.paper else OPTIONS)}
    config |= dict(text.split("=", 1) for text in given.set)
    done = veridical.sweep(
        bench,
        given.folder / (given.out or f"{bench.name}-sweep"),
        models=given.models,
        schemes=schemes,
        features=(encoder,),
        set=config,
        seed=given.seed,
    )
    show(done, schemes)


if __name__ == "__main__":
    main()
