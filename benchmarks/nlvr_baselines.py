"""NLVR's Table 3 (Suhr et al. 2017): our baselines on the development split, beside the published ones.

    python benchmarks/nlvr_baselines.py [--models maxent text ...] [--trials 3] [--work FOLDER]

Trains on train (early stopping on a part of it that shares no sentence with the rest), then evaluates on dev. Runs in
the work folder are continued and reused. Every use of this script looks at dev: log it in docs/nlvr-baselines-log.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import veridical
from veridical import evaluate, solve, train
from veridical.benchmark import Benchmark
from veridical.formats.releases import import_release

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr"


@dataclass(frozen=True)
class Row:
    """A row of Table 3."""

    name: str
    model: str
    published: str  # accuracy on dev, as published
    config: dict[str, Any] = field(default_factory=dict)
    random: bool = True  # has random initial weights, so that several trials make sense


ROWS = {
    "majority": Row("Majority", "majority", "55.31", random=False),
    "text": Row("Text only", "text", "56.61 ± 0.5"),
    "image": Row("Image only", "image", "55.35 ± 0.1"),
    "maxent": Row("MaxEnt", "maxent", "68.04", random=False),
    "maxent-no-counts": Row("MaxEnt, no counts", "maxent", "57.7", {"counts": False}, random=False),
    "structure-mlp": Row("MLP", "structure-mlp", "67.50 ± 0.5"),
    "structure-rnn": Row("Image features+RNN", "structure-rnn", "57.72 ± 1.4"),
    "cnn-rnn": Row("CNN+RNN", "cnn-rnn", "56.59 ± 0.3"),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--models", nargs="*", default=list(ROWS), choices=list(ROWS))
    options.add_argument("--trials", type=int, default=3)
    options.add_argument("--work", type=Path)
    options.add_argument("--data", type=Path, default=DATA)
    given = options.parse_args()
    if not given.data.is_dir():
        print(f"NLVR is not here ({given.data}); nothing was measured.")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as temporary:
        work = given.work or Path(temporary)
        benchmark = work / "nlvr"
        if not benchmark.exists():
            import_release("nlvr", given.data, benchmark)
        seen = {i.query.raw for i in Benchmark(benchmark).items("train") if i.query}
        unseen = {i.id for i in Benchmark(benchmark).items("dev") if i.query and i.query.raw not in seen}
        print(
            f"{'':20} {'published':>12} {'ours, dev':>14} {'consistency':>12} {'unseen':>8} {'validation':>11} trials"
        )
        for name in given.models:
            print(measure(ROWS[name], name, work, benchmark, given.trials, unseen), flush=True)


def measure(row: Row, name: str, work: Path, benchmark: Path, trials: int, unseen: set[str]) -> str:
    """Train, solve and evaluate one row; `unseen` are the dev items whose sentence does not occur in train."""
    trials = trials if row.random else 1
    run = work / "runs" / name
    trained = train(row.model, benchmark, run, set=row.config, trials=trials)
    files = [work / "predictions" / f"{name}-{trial}.jsonl" for trial in range(trials)]
    for trial, path in enumerate(files):
        solve(str(run), benchmark, split="dev", out=path, trial=trial)
    found = evaluate(benchmark, files, split="dev", resamples=100)
    fresh = sum(accuracy_of(benchmark, path, unseen) for path in files) / trials
    ours = f"{100 * found.accuracy.mean:.2f} ± {100 * found.accuracy.std:.2f}"
    return (
        f"{row.name:20} {row.published:>12} {ours:>14} {100 * found.consistency.mean:12.2f} {100 * fresh:8.2f} "
        f"{100 * trained.mean:11.2f} {trials:6}"
    )


def accuracy_of(benchmark: Path, predictions: Path, items: set[str]) -> float:
    """Accuracy over some items only."""
    import json

    from veridical.records import split_view

    answers = {item.id: item.answer for item in Benchmark(benchmark).items("dev")}
    right = []
    for line in predictions.read_text().splitlines():
        record = json.loads(line)
        item = split_view(record["item"])[0]
        if item in items:
            right.append(record["scores"].index(max(record["scores"])) == answers[item])
    return sum(right) / len(right)


if __name__ == "__main__":
    print(f"veridical {veridical.__version__}")
    main()
