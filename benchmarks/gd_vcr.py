"""GD-VCR without its photographs: the zoo's text models beside the audit's reader, in the audit's folds.

    python benchmarks/gd_vcr.py [--folds 3] [--models bert esim lstm] [--work DIR]

Its questions came with the original way of matching, so a text alone may tell much. BERT is MiniLM fine-tuned, its
first three layers frozen. Accuracies of answers in percent with 95% intervals over groups; the audit's reader is tested
on the same items. Run again with --work, finished folds are not trained again.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

import veridical
from veridical.auditing.data import AuditData, AuditItem, folds, sample
from veridical.auditing.harness import run
from veridical.auditing.reading import learn, strong_reader
from veridical.benchmark import Benchmark
from veridical.matching.blind_readers import accuracy
from veridical.training import configure, fit_trial, load_trained
from veridical.training.batches import examples_of
from veridical.zoo import load_model

DATA = Path(os.environ.get("VERIDICAL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
HELD = 12  # one in so many groups of training items chooses the weights
OPTIONS: dict[str, dict[str, object]] = {
    "bert": {"frozen": 3, "epochs": 3, "rate": 1e-4, "batch": 8},
    "bert-response-only": {"frozen": 3, "epochs": 3, "rate": 1e-4, "batch": 8},
    "esim": {"epochs": 12, "dropout": 0.4},
    "lstm": {"epochs": 12, "dropout": 0.4},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=3, help="of the audit's three")
    parser.add_argument("--models", nargs="*", default=["bert", "esim", "lstm"], choices=list(OPTIONS))
    parser.add_argument("--work", type=Path, help="kept and continued, where given")
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        compare(given.work or Path(temporary), given.folds, given.models)


def compare(work: Path, count: int, models: Sequence[str]) -> None:
    folder = work / "gd-vcr"
    if not (folder / "benchmark.json").exists():
        veridical.import_release("vcr", DATA / "vcr" / "gd_vcr_val.jsonl", folder)
    rows = AuditData(folder).labelled("answer")
    parted = folds(rows)[:count]
    print(f"{len(rows):,} questions, {sum(len(fold.test) for fold in parted):,} tested", flush=True)
    learn(text for row in rows for text in (row.query, *row.candidates))
    found = run(sample(rows, ["query", "candidates"]), parted, strong_reader, 0, "chance").accuracy
    print(f"{'audit':20} {100 * found.value:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]", flush=True)
    for name in models:
        start = time.process_time()
        right: list[bool] = []
        groups: list[str] = []
        for number, fold in enumerate(parted):
            tested = [rows[k] for k in fold.test.tolist()]
            right += reader(work / f"{name}-{number}", name, folder, [rows[k] for k in fold.train.tolist()])(tested)
            groups += [row.group for row in tested]
        own = accuracy(right, groups)
        took = time.process_time() - start
        print(f"{name:20} {100 * own.value:.1f} [{100 * own.low:.1f}, {100 * own.high:.1f}]  {took:.0f} s", flush=True)


def reader(
    place: Path, name: str, folder: Path, rows: Sequence[AuditItem]
) -> Callable[[Sequence[AuditItem]], list[bool]]:
    """A model of the zoo trained on some questions: which others does it answer?"""
    benchmark, architecture = Benchmark(folder), load_model(name)
    config, training = configure(architecture, OPTIONS[name])
    if not (place / "result.json").exists():
        chosen = set(sorted({row.group for row in rows})[::HELD])
        held, rest = ([row.item for row in rows if (row.group in chosen) == inside] for inside in (True, False))
        examples = examples_of(benchmark, rest), examples_of(benchmark, held)
        fit_trial(architecture, config, training, *examples, place, about={"seed": 0})
    trained = load_trained(place)

    def test(others: Sequence[AuditItem]) -> list[bool]:
        data = trained.encode(examples_of(benchmark, [row.item for row in others]))
        return [bool(np.argmax(s) == a) for s, a in zip(trained.scores(data), data.answers, strict=True)]

    return test


if __name__ == "__main__":
    os.environ.setdefault("VERIDICAL_PROGRESS", "0")
    main()
