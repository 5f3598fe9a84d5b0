"""VCR's Table 1 and Table 2 on icon stories: R2C, its ablations and every baseline of the paper, in one command.

    python benchmarks/vcr_table.py [--work bench/vcr-table] [--photographs 7000] [--rows R2C MLB ...] [--jobs 2]

Builds a benchmark of at least 6,000 training questions, trains a small CNN on objects of other stories as the region
encoder of all models (icon_regions.py), and trains each row on answers and on rationales separately, as the paper does.
Accuracies are those of test, with 95% intervals over quartets; weights are chosen on a part of training that is held
out, and val is for whoever tries settings. Run again, it continues where it was stopped, and rows that are there are
not trained again; `report.html` shows them beside the paper's tables, and by kind of inference. Each row keeps the
seconds of processor that it took, over all times it was started.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import icon_regions
import veridical
from veridical.benchmark import Benchmark
from veridical.common.files import write_json
from veridical.matching.blind_readers import accuracy
from veridical.records import Prediction
from veridical.reporting.published import numbers
from veridical.solvers.solver import write_meta, write_predictions
from veridical.zoo.figures import Measured, record

SPLIT = "test"
METRICS = ("Q->A", "QA->R", "Q->AR")
ENCODER = {"photographs": 1200, "epochs": 8}  # of icon_regions


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    group: str
    name: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    sees: bool = False  # region features

    @property
    def slug(self) -> str:
        return re.sub("[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def beside(self) -> str:
        """What sets it apart from the model as it is."""
        return self.name.partition(",")[2].strip() or self.name.lower() if self.group in ("Table 2", "Beside") else ""


# all of BERT's weights on all of the items would take longer than everything else: two layers on a part of them
FINE_TUNED = {"frozen": 4, "limit": 1500, "epochs": 1, "rate": 1e-4, "batch": 16}
ROWS = (
    Row("", "R2C", "r2c", sees=True),
    Row("Text Only", "BERT", "bert", FINE_TUNED),
    Row("Text Only", "BERT (response only)", "bert-response-only", FINE_TUNED),
    Row("Text Only", "ESIM", "esim", {"epochs": 4}),
    Row("Text Only", "LSTM", "lstm", {"epochs": 4}),
    Row("VQA", "RevisitedVQA", "revisited-vqa", sees=True),
    Row("VQA", "BottomUpTopDown", "bottom-up-top-down", sees=True),
    Row("VQA", "MLB", "mlb", sees=True),
    Row("VQA", "MUTAN", "mutan", sees=True),
    Row("Table 2", "No query", "r2c", {"query": False}, True),
    Row("Table 2", "No reasoning module", "r2c", {"reasoning": False}, True),
    Row("Table 2", "No vision representation", "r2c", {"photograph": False}),
    Row("Table 2", "GloVe representations", "r2c", {"words": "glove"}, True),
    Row("Beside", "No region features but classes and places", "r2c", {"images": ""}),
    Row("Beside", "RevisitedVQA, shown the photograph alone", "revisited-vqa", {"pointed": False}, True),
    Row("Beside", "MLB, shown every region", "mlb", {"pointed": False}, True),
    Row("Beside", "MUTAN, shown every region", "mutan", {"pointed": False}, True),
    Row("Beside", "Without start", "r2c", {"start": False}, True),
    Row("Beside", "Without start and neighbours", "r2c", {"start": False, "around": 0}, True),
)
TICK = 5.0  # seconds between two notes of how long something took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("bench/vcr-table"), help="kept and continued")
    parser.add_argument("--photographs", type=int, default=7000)
    names = [row.name for row in ROWS]
    parser.add_argument(
        "--rows", nargs="*", default=names, choices=names, metavar="ROW", help="in this order; else all"
    )
    parser.add_argument("--jobs", type=int, default=2, help="rows at the same time, each on one core")
    parser.add_argument("--record", action="store_true", help="note them in the package: what `veridical models` shows")
    given = parser.parse_args()
    folder, encoder = prepare(given.work, given.photographs)
    chosen = [row for name in given.rows for row in ROWS if row.name == name]
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        list(pool.map(partial(run_row, given.work, folder, encoder), chosen))
    show(given.work, folder, given.record)


def prepare(work: Path, photographs: int) -> tuple[Path, str]:
    """The benchmark with its region features, and their encoder."""
    folder = work / "vcr"
    with timed(work / "rows" / "prepare.seconds"):
        if (folder / "benchmark.json").exists():
            there = Benchmark(folder).manifest["config"]["photographs"]
            if there != photographs:
                raise SystemExit(f"{folder} has {there} photographs: give --photographs {there}, or another --work.")
        else:
            veridical.build("vcr", folder, photographs=photographs, seed=0, hide=())
        encoder = str(icon_regions.make(work / "icon-regions", **ENCODER))
        veridical.features(encoder, folder, objects=True)
    return folder, encoder


@contextmanager
def timed(path: Path) -> Iterator[None]:
    """Adds the seconds of processor that something takes to a file, every few seconds: it may be killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before, begun, done = seconds(path), processor(), threading.Event()

    def note() -> None:
        path.write_text(f"{before + processor() - begun:.1f}")

    def tick() -> None:
        while not done.wait(TICK):
            note()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        note()


def seconds(path: Path) -> float:
    return float(path.read_text() or 0) if path.exists() else 0.0


def processor() -> float:
    """Seconds of processor of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def run_row(work: Path, folder: Path, encoder: str, row: Row) -> None:
    """Train both stages, predict test, and keep what came of it."""
    import torch

    kept = work / "rows" / f"{row.slug}.json"
    benchmark = Benchmark(folder)
    options = row.options | ({"images": encoder} if row.sees else {})
    of = {"benchmark": benchmark.hash, "model": row.model, "options": options}
    if kept.exists() and json.loads(kept.read_text()).get("of") == of:
        return
    torch.set_num_threads(1)
    took = kept.with_suffix(".seconds")
    with timed(took):
        for stage in ("answer", "rationale"):
            veridical.train(row.model, folder, work / "runs" / f"{row.slug}-{stage}", set={**options, "stage": stage})
        found, groups = predict(work, benchmark, row)  # (2, N)
    estimates = {
        metric: [one.value, one.low, one.high]
        for metric, marks in zip(METRICS, (*found, found.all(0)), strict=True)
        for one in (accuracy(marks, groups),)
    }
    about = {"name": row.name, "group": row.group, "seconds": seconds(took), "scores": estimates, "of": of}
    about["when"] = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    write_json(kept, about)
    print(line(about), flush=True)


def predict(work: Path, benchmark: Benchmark, row: Row) -> tuple[np.ndarray, list[str]]:
    """Which questions of test are right at each stage (2, N), and their quartets; predictions go to a file.

    A rationale is chosen for the right answer, as the published figures have it.
    """
    from veridical.training import load_trained
    from veridical.training.batches import examples_of

    predictions, right, groups = [], [], list[str]()
    for stage in ("answer", "rationale"):
        trained = load_trained(work / "runs" / f"{row.slug}-{stage}" / "trial-0")
        items = [
            i for i in benchmark.items(SPLIT) if i.answer is not None and (i.parent is None) == (stage == "answer")
        ]
        scores = trained.scores(trained.encode(examples_of(benchmark, items)), batch=64)
        predictions += [Prediction(item.id, tuple(found.tolist())) for item, found in zip(items, scores, strict=True)]
        marks = {item.parent or item.id: int(s.argmax()) == item.answer for item, s in zip(items, scores, strict=True)}
        right.append([marks[name] for name in sorted(marks)])
        groups = [item.origins[0] for item in sorted(items, key=lambda item: item.parent or item.id)]
    target = work / "predictions" / f"{row.slug}.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_predictions(target, predictions, benchmark)
    about = {"name": row.name, "model": row.model, "blind": trained.architecture.blind(trained.config)}
    write_meta(target, benchmark, SPLIT, "main", about)
    return np.array(right), groups


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['group']:10} {row['name']:28} " + " ".join(f"{c:>20}" for c in cells(row)) + f"{row['seconds']:>8.0f} s"
    )


def cells(row: dict[str, Any]) -> list[str]:
    """What it came to, in the order of METRICS; a file has its keys in another one."""
    return ["{:.1f} [{:.1f}, {:.1f}]".format(*(100 * one for one in row["scores"][metric])) for metric in METRICS]


def measured(row: Row, found: dict[str, Any]) -> Measured:
    """A row as `veridical models` shows it: Q->AR, of both trainings."""
    value, low, high = found["scores"]["Q->AR"]
    more: dict[str, Any] = {"script": "benchmarks/vcr_table.py", "when": found["when"], "row": row.beside}
    return Measured(row.model, "icon VCR Q->AR", value, low, high, found["seconds"] / 60, **more)


def published(name: str) -> str:
    """The paper's validation figures of a row, as printed."""
    for table in numbers().tables:
        for row in table.rows if table.id in ("vcr-table-1", "vcr-table-2") else ():
            if row.name.removesuffix("+ELMo") == name:
                return ", ".join(v for v, column in zip(row.values, table.columns, strict=True) if column.part == "val")
    return ""


def log_line(row: dict[str, Any]) -> str:
    """A row as docs/vcr-log.md has it."""
    return f"| {row['name']} | {' | '.join(cells(row))} | {row['seconds']:.0f} | {published(row['name'])} |"


def show(work: Path, folder: Path, recorded: bool) -> None:
    """Both tables, whether they are as they should be, and the report."""
    done = {row.name: work / "rows" / f"{row.slug}.json" for row in ROWS}
    rows = {name: json.loads(path.read_text()) for name, path in done.items() if path.exists()}
    print(f"\n| | {' | '.join(METRICS)} | seconds | the paper's |\n|---|---|---|---|---|---|")
    for row in rows.values():
        print(log_line(row))
    ready, taken = seconds(work / "rows" / "prepare.seconds"), sum(row["seconds"] for row in rows.values())
    print(f"processor: {ready:.0f} s for the benchmark and its region features, {taken:.0f} s for {len(rows)} rows")
    judge(rows)
    there = [row for row in ROWS if row.name in rows]
    for row in there if recorded else ():
        record(measured(row, rows[row.name]))
    files = [f"{row.name}={work / 'predictions' / f'{row.slug}.jsonl'}" for row in there]
    veridical.report(files, work / "report.html", benchmark=folder)


def judge(rows: dict[str, dict[str, Any]]) -> None:
    """Whether the paper's order holds, as far as the rows are there."""
    if "R2C" not in rows:
        return
    value = {name: row["scores"]["Q->AR"][0] for name, row in rows.items()}
    low = rows["R2C"]["scores"]["Q->AR"][1]
    above = [name for name in rows if rows[name]["group"] == "Text Only"]
    apart = [name for name in rows if rows[name]["group"] == "VQA"]
    less = [name for name in ("No query", "No vision representation") if name in rows]
    alone = [(name, metric) for name in ("BERT (response only)", "LSTM") if name in rows for metric in METRICS[:2]]
    first = value["R2C"] == max(value[name] for name in ("R2C", *above, *apart))
    said = [("R2C is first of Table 1 on Q->AR", first)]
    said += [(f"R2C is 15 points above {name}", value["R2C"] - value[name] >= 0.15) for name in above]
    said += [(f"R2C's interval is above {name}'s", low > rows[name]["scores"]["Q->AR"][2]) for name in apart]
    said += [(f"{name} loses 10 points", value["R2C"] - value[name] >= 0.1) for name in less]
    for name, metric in alone:
        _, lower, upper = rows[name]["scores"][metric]
        said.append((f"{name} is at chance on {metric}", lower <= 0.25 <= upper))
    print()
    for what, holds in said:
        print(f"{'yes' if holds else 'NO ':4} {what}")


if __name__ == "__main__":
    os.environ.setdefault("VERIDICAL_PROGRESS", "0")
    main()
