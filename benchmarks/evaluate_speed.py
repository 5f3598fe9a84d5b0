"""Evaluation at NLVR2's full size against a plain script in the manner of the published one, side by side.

107,292 examples in NLVR2's official format (the development file enlarged, with new identifiers) are imported. The
plain script reads the labelled JSONL and a CSV of predictions line by line and computes accuracy and consistency alone.
Ours computes these with intervals, the breakdown by every tag, baselines and human performance, with 2,000 resamples
over groups; from the same CSV, and from JSONL predictions with raw text of about the size of the labelled file.

    python benchmarks/evaluate_speed.py [--rounds 5] [--work DIR]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from veridical.evaluation import evaluate
from veridical.formats.releases import import_release

EXAMPLES = 107_292
DEV = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr2" / "dev.json"


def enlarge(source: Path, target: Path) -> list[str]:
    """Write EXAMPLES examples: the source again and again, its image sets renumbered; returns the identifiers."""
    records = [json.loads(line) for line in source.open()]
    identifiers = []
    with target.open("w") as file:
        for number in range(EXAMPLES):
            again, place = divmod(number, len(records))
            split, photographs, pair, sentence = records[place]["identifier"].split("-")
            identifier = f"{split}-{again * 10_000 + int(photographs)}-{pair}-{sentence}"
            identifiers.append(identifier)
            file.write(json.dumps(records[place] | {"identifier": identifier}) + "\n")
    return identifiers


def write_predictions(identifiers: list[str], csv: Path, jsonl: Path) -> None:
    """The same choices as CSV and as JSONL with generated text."""
    rng = random.Random(0)
    words = ["the", "left", "image", "shows", "two", "dogs", "on", "a", "couch", "and", "right", "one", "single", "cat"]
    with csv.open("w") as table, jsonl.open("w") as lines:
        for identifier in identifiers:
            score = rng.random()
            table.write(f"{identifier},{score > 0.5}\n")
            raw = " ".join(rng.choices(words, k=105))
            lines.write(json.dumps({"item": identifier, "scores": [1 - score, score], "raw": raw}) + "\n")


def plain(predictions: Path, labelled: Path) -> tuple[float, float]:
    """Accuracy and consistency as a plain script computes them."""
    chosen = {}
    with predictions.open() as file:
        for line in file:
            identifier, label = line.strip().split(",")
            chosen[identifier] = label
    with labelled.open() as file:
        examples = [json.loads(line) for line in file]
    right, consistent = 0, {}
    for example in examples:
        split, photographs, _, sentence = example["identifier"].split("-")
        group = f"{split}-{photographs}-{sentence}"
        good = chosen[example["identifier"]].lower() == example["label"].lower()
        right += good
        consistent[group] = consistent.get(group, True) and good
    return right / len(examples), sum(consistent.values()) / len(consistent)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall clock and of CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path, help="keep the files here")
    arguments = parser.parse_args()
    if not DEV.exists():
        sys.exit(f"{DEV} is not here.")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        labelled, csv, jsonl = folder / "dev.json", folder / "predictions.csv", folder / "predictions.jsonl"
        write_predictions(enlarge(DEV, labelled), csv, jsonl)
        made = import_release("nlvr2", labelled, folder / "benchmark").benchmark
        sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in (labelled, csv, jsonl))
        print(f"{EXAMPLES:,} examples: {sizes}")
        scores = evaluate(made, csv)
        if (scores.accuracy.value, scores.consistency.value) != plain(csv, labelled):
            sys.exit("The two disagree.")
        print(f"tag values: {', '.join(f'{len(values):,} {tag}' for tag, values in scores.by.items())}")
        runs: dict[str, Callable[[], object]] = {
            "plain script": lambda: plain(csv, labelled),
            "evaluate, CSV": lambda: evaluate(made, csv),
            "evaluate, JSONL": lambda: evaluate(made, jsonl),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for _ in range(arguments.rounds):
            for name, work in runs.items():
                times[name].append(timed(work))
        best = {name: [min(column) for column in zip(*found, strict=True)] for name, found in times.items()}
        print(f"best of {arguments.rounds}, alternating        wall s  ratio   CPU s  ratio")
        for name, (wall, cpu) in best.items():
            ratios = wall / best["plain script"][0], cpu / best["plain script"][1]
            print(f"{name:30} {wall:8.3f} {ratios[0]:6.2f} {cpu:7.3f} {ratios[1]:6.2f}")


if __name__ == "__main__":
    main()
