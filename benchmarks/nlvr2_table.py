"""NLVR2's Table 6 (Suhr et al. 2019) by our models, on pairs of icons or of COCO's photographs, generated sentences.

    python benchmarks/nlvr2_table.py --work FOLDER                                show the rows that are done
    python benchmarks/nlvr2_table.py --work FOLDER --sets 600 --rows text maxent-objects film-seen
    python benchmarks/nlvr2_table.py --work FOLDER --source coco:PATH --sets 60 --rows text n2nmn film mac

The benchmark is built once (sets of eight items; no picture of train is in dev), rows train on train and are evaluated
on dev. Of icons the exact objects are known, so that MAXENT counts right, and new sentences can be written about the
pictures of train (`veridical augment`): some rows learn from those. Of photographs, models see the maps of an encoder
of the `[offline]` extra; there are few of them, so that half are for dev. FOLDER keeps everything, so that a call again
costs nothing and a killed one continues; `--record` puts the rows into the list of `veridical models`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import veridical
from veridical import encoders
from veridical.zoo.figures import Measured, record

SPLITS = {"icons": {"train": 0.8, "dev": 0.2}}
HELD = {True: 0.1, False: 0.34}  # of train; of few photographs a whole set
HALVES = {"train": 0.5, "dev": 0.5}
# Sentences written again about train's pictures: plain ones, which are learned first, and such as train's own.
AGAIN = {"plain": {"variants": 0, "plain": 20_000}, "again": {"variants": 20, "plain": 0}}
MAP, VECTOR = "efficientnet-lite0-map", "efficientnet-lite0"
SEEN = {"width": 100, "height": 75, "strides": (2, 2, 2), "epochs": 15, "patience": 5.0}
MAPS = {"maps": MAP, "channels": 64, "epochs": 10, "patience": 4.0}
LISTED: dict[str, Any] = {
    "rate": 1.5e-3, "epochs": 40, "epoch_items": 25_600, "schedule": "linear", "warmup": 100, "patience": 100.0,
    "channels": 96, "hidden": 160, "blocks": 3,
}  # fmt: skip
SEEING: dict[str, Any] = {"maps": "seen-objects", "seeing": 8000, "rate": 1e-3, "epochs": 8}  # after exact ones
FIRST = {"epochs": 24, "rate": 2e-3, "keep": "last"}  # on plain sentences, which validation goes beyond


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    title: str
    model: str
    icons: dict[str, Any] = field(default_factory=dict)  # options on icons
    photographs: dict[str, Any] = field(default_factory=dict)
    needs: str = ""  # an encoder whose vectors or maps it sees, of photographs
    again: dict[str, Any] | None = None  # options of runs on sentences written again about train's icons
    after: str = ""  # the row whose run it continues from; otherwise from one on plain sentences

    @property
    def beside(self) -> str:
        """What sets it apart from other rows of the model."""
        return self.title.partition(" ")[2]


ROWS = {
    "text": Row("TEXT", "text"),
    "image": Row("IMAGE", "image", {"width": 100, "height": 75}, {"width": 100, "height": 75}),
    "cnn-rnn": Row("CNN+RNN", "cnn-rnn", {"width": 100, "height": 75}, {"width": 100, "height": 75}),
    "maxent-objects": Row("MAXENT", "maxent-objects"),
    "pair-text": Row("TEXT over word vectors", "pair-text"),
    "pair-image": Row("IMAGE over a backbone", "pair-image", needs=VECTOR),
    "pair-cnn-rnn": Row("CNN+RNN over a backbone", "pair-cnn-rnn", needs=VECTOR),
    "film": Row("FiLM", "film", SEEN, MAPS, MAP),
    "film-objects": Row("FiLM over exact objects", "film", again={**LISTED, "maps": "given-objects"}),
    "film-seen": Row("FiLM over seen objects", "film", again=LISTED | SEEING, after="film-objects"),
    "mac": Row("MAC", "mac", SEEN, MAPS, MAP),
    "n2nmn": Row("N2NMN-CLONING, of programs", "n2nmn", SEEN, MAPS, MAP),
    "n2nmn-parse": Row("N2NMN-CLONING, of a parse", "n2nmn", {**SEEN, "learning": "parse"},
                       {**MAPS, "learning": "parse"}, MAP),
    "n2nmn-rl": Row("N2NMN-RL", "n2nmn", {**SEEN, "learning": "search"}, {**MAPS, "learning": "search"}, MAP),
}  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "veridical-nlvr2-table")
    options.add_argument("--source", default="icons")
    options.add_argument("--sets", type=int, default=250)
    options.add_argument("--rows", nargs="*", default=[], choices=list(ROWS))
    options.add_argument("--record", action="store_true")
    given = options.parse_args()
    kind = given.source.partition(":")[0]
    for name in given.rows:
        path = given.work / "rows" / f"{kind}-{name}.json"
        if not path.exists():
            found = measure(name, kind, built(given.work / kind, given.source, given.sets), given.work)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found, indent=1) + "\n")
    show(given.work, kind, given.record)


def built(folder: Path, source: str, sets: int) -> Path:
    """The benchmark, made where it is not there yet."""
    if not (folder / "benchmark.json").exists():
        split = SPLITS.get(source, HALVES)
        veridical.build("nlvr2", folder, source=source, sets=sets, split=split, hide=[])  # type: ignore[operator]
    return folder


def written_again(benchmark: Path, kind: str) -> Path:
    """New sentences about the pictures of train."""
    folder = benchmark.with_name(f"{benchmark.name}-{kind}")
    if not (folder / "benchmark.json").exists():
        veridical.augment(benchmark, folder, **AGAIN[kind], validation=HELD[True])
    return folder


def measure(name: str, kind: str, benchmark: Path, work: Path) -> dict[str, Any]:
    """Train, solve and evaluate one row."""
    row, started = ROWS[name], time.time()
    if row.needs and (kind != "icons" or row.needs == VECTOR):
        encoders.extract(benchmark, row.needs)
    run = work / "runs" / f"{kind}-{name}"
    if row.again is not None:
        first = run.with_name(f"{kind}-{row.after}" if row.after else f"{run.name}-plain")
        if not row.after:
            plain = written_again(benchmark, "plain")
            veridical.train(row.model, plain, first, set=row.again | FIRST, validate="validation")
        more = written_again(benchmark, "again")
        done = veridical.train(row.model, more, run, set=row.again, validate="validation", pretrained=first)
    else:
        chosen = row.icons if kind == "icons" else row.photographs
        done = veridical.train(row.model, benchmark, run, set={**chosen, "validation": HELD[kind == "icons"]})
    file = work / "predictions" / f"{kind}-{name}.jsonl"
    veridical.solve(str(run), benchmark, split="dev", out=file)
    found = veridical.evaluate(benchmark, file, split="dev").to_json()
    trial = json.loads((run / "trial-0" / "result.json").read_text())
    return {
        "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "row": name,
        "items": found["items"],
        "accuracy": found["accuracy"],
        "consistency": found["consistency"]["value"],
        "training_items": trial["training_items"],
        "epochs": trial["epochs"],
        "validation": done.mean,
        "minutes": (time.time() - started) / 60,
    }


def show(work: Path, kind: str, keep: bool) -> None:
    """Every row that is done, as a table."""
    print("| when (UTC) | row | trained on | accuracy | consistency | items | validation | minutes |")
    print("|---|---|---|---|---|---|---|---|")
    for name, row in ROWS.items():
        path = work / "rows" / f"{kind}-{name}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text())
        low, value, high = (found["accuracy"][end] for end in ("low", "value", "high"))
        print(
            f"| {found['when']} | {row.title} | {found['training_items']:,} "
            f"| {100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}] | {100 * found['consistency']:.1f} "
            f"| {found['items']:,} | {100 * found['validation']:.1f} | {found['minutes']:.1f} |"
        )
        if keep:
            where = "icon pairs" if kind == "icons" else f"{kind.upper()} pairs"
            measured = Measured(
                model=row.model,
                benchmark=where,
                accuracy=value,
                low=low,
                high=high,
                minutes=found["minutes"],
                script="benchmarks/nlvr2_table.py",
                when=found["when"],
                row=row.beside,
                consistency=found["consistency"],
            )
            record(measured)


if __name__ == "__main__":
    main()
