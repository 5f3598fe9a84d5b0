"""NLVR's Table 3 (Suhr et al. 2017) and what came after it, by our models: row by row, continued where it stopped.

    python benchmarks/nlvr_table.py --work FOLDER                          show the rows that are done, and what is left
    python benchmarks/nlvr_table.py --work FOLDER --rows text film ...     measure these rows
    python benchmarks/nlvr_table.py --work FOLDER --generated --rows film-objects  the same on generated statements

A row trains on train (early stopping on a part of it that shares no sentence with the rest), some after a run on
augmented statements (`veridical augment`: train's own sentences on other scenes; nothing of dev), solves dev with every
trial and evaluates. FOLDER keeps the benchmarks, the runs and a file for each row, so that a call again costs nothing
and a killed one continues. Rows of real NLVR look at dev: each look is printed as a line for docs/nlvr-log.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import veridical
from veridical.benchmark import Benchmark
from veridical.formats.releases import import_release
from veridical.records import split_view
from veridical.training.pretrained import best_trial
from veridical.zoo.figures import Measured, record

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr"
PRESENTATIONS = 8000
HELD: dict[str, Any] = {"validation": 0.1}  # of train: what `augment` leaves out, too


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    title: str
    model: str
    published: str = ""  # accuracy on dev
    options: dict[str, Any] | None = field(default_factory=dict)  # on train; None: the first run answers
    first: dict[str, Any] | None = None  # options of a run on augmented statements that it continues from
    after: str = ""  # or a run of another row that it continues from, by its name in FOLDER/runs
    trials: int = 1
    generated: dict[str, Any] = field(default_factory=dict)  # more options on generated statements

    @property
    def beside(self) -> str:
        """What sets it apart from other rows of the model."""
        told = self.title.partition(" ")[2] if self.first or self.after or "," in self.title else ""
        return told.removeprefix("(ours)").removeprefix("reasoner (ours)").strip(" ,")


LONG: dict[str, Any] = {"epoch_items": 51_200, "patience": 100.0, "checkpoint_steps": 400}
LIST: dict[str, Any] = {
    "maps": "object-list", "batch": 64, "epoch_items": 25_600, "schedule": "linear", "warmup": 100, "patience": 100.0,
    "limit": 100_000, "hidden": 96,
}  # fmt: skip
SLOTS = {name: value for name, value in LIST.items() if name not in ("maps", "hidden")} | {"slots": 8, "epochs": 7}
CELLS = {name: value for name, value in LIST.items() if name != "maps"} | {
    "rate": 1e-3, "epochs": 10, "strides": (2, 2, 2),
}  # fmt: skip
PARSE, SEARCH = {"learning": "parse"}, {"learning": "search"}  # what N2NMN's layouts are learned from
FINE: dict[str, Any] = {"epochs": 5, "rate": 5e-4, "schedule": "linear", "warmup": 20, "patience": 4.0}
ROWS = {
    "majority": Row("Majority", "majority", "55.3"),
    "text": Row("TEXT", "text", "56.6 ± 0.5", trials=3),
    "image": Row("IMAGE", "image", "55.4 ± 0.1", generated={"limit": 6000, "epochs": 10}),
    "cnn-rnn": Row("CNN+RNN", "cnn-rnn", "56.6 ± 0.3"),
    "maxent": Row("MaxEnt, on the structure", "maxent", "68.0"),
    "maxent-no-counts": Row("MaxEnt without counts, on the structure", "maxent", "57.7", {"counts": False}),
    "structure-mlp": Row("MLP, on the structure", "structure-mlp", "67.5 ± 0.5", trials=3),
    "structure-rnn": Row("RNN over image features, on the structure", "structure-rnn", "57.7 ± 1.4", trials=3),
    "film": Row("FiLM on cells of pixels, of generated statements", "film", "60.1", None, CELLS),
    "mac": Row("MAC on cells of pixels, of generated statements", "mac", "55.4", None, CELLS),
    "film-objects": Row(
        "FiLM over seen objects",
        "film",
        "60.1",
        None,
        LIST | {"rate": 2e-3, "epochs": 8, "blocks": 3},
        generated={"epochs": 30},
    ),
    "film-sentence": Row(
        "FiLM over seen objects, told by a frozen sentence encoder",
        "film-sentence",
        "",
        None,
        {name: value for name, value in LIST.items() if name != "hidden"}
        | {"rate": 2e-3, "epochs": 8, "blocks": 3, "limit": 50_000},
    ),
    "film-generated": Row(
        "FiLM over seen objects, of generated statements, then of train",
        "film",
        "60.1",
        FINE,
        after="generated-film-objects-first",
    ),
    "mac-objects": Row(
        "MAC over seen objects", "mac", "55.4", None, LIST | {"rate": 1.5e-3, "epochs": 7}, generated={"epochs": 28}
    ),
    "nmn": Row("NMN over seen objects", "nmn", "63.1", FINE, SLOTS),
    "n2nmn": Row("N2NMN over seen objects, cloned from programs", "n2nmn", "", FINE, SLOTS),
    "n2nmn-parse": Row(
        "N2NMN over seen objects, cloned from a parse", "n2nmn", "57.9 ± 1.1", FINE | PARSE, SLOTS | PARSE
    ),
    "n2nmn-tune": Row(
        "N2NMN over seen objects, tuned by search", "n2nmn", "58.7 ± 1.4", FINE | SEARCH, after="nlvr-n2nmn-parse"
    ),
    "n2nmn-rl": Row("N2NMN over seen objects, searched from scratch", "n2nmn", "65.3", FINE | SEARCH, SLOTS | SEARCH),
    "cnn-biatt": Row("CNN-BiATT over seen objects", "cnn-biatt", "66.9", None, LIST | {"rate": 1.5e-3, "epochs": 4}),
    "w-memnn": Row("W-MemNN over seen objects", "w-memnn", "65.6", None, LIST | {"rate": 1.5e-3, "epochs": 6}),
    "cmm": Row("CMM over seen objects", "cmm", "68.0", None, LIST | {"rate": 1.5e-3, "epochs": 5}),
    "slot-reasoner": Row(
        "Slot reasoner (ours)", "slot-reasoner", "", None, LONG | {"slots": 8, "width": 96, "epochs": 15}
    ),
}
ALONE: dict[str, Any] = {"epochs": 15, "patience": 4.0, "schedule": "constant", "epoch_items": 0, "limit": 0}
TWINS = ("film-objects", "mac-objects", "nmn", "cnn-biatt", "w-memnn", "cmm")


def twins() -> dict[str, Row]:
    """Beside rows on augmented statements: the same models on train alone, and on both, one after the other."""
    out = {}
    for name in TWINS:
        row, model = ROWS[name], name.removesuffix("-objects")
        plain = replace(row, title=f"{row.title}, of train's statements alone", first=None, generated={})
        out[f"{model}-train"] = replace(plain, options={**(row.first or {}), **ALONE})
        if row.options is None:
            tuned = replace(plain, title=f"{row.title}, fine-tuned on train", options=FINE)
            out[f"{model}-then-train"] = replace(tuned, after=f"nlvr-{name}-first")
    return out


ROWS |= twins()
GENERATED = ("text", "image", "film-objects", "mac-objects", "nmn", "n2nmn", "slot-reasoner")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", nargs="*", default=[], choices=list(ROWS))
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--data", type=Path, default=DATA)
    options.add_argument("--generated", action="store_true", help="generated statements, dev: held-out presentations")
    options.add_argument("--presentations", type=int, default=PRESENTATIONS, help="of the generated statements")
    options.add_argument("--record", action="store_true", help="put the rows into the list of `veridical models`")
    options.add_argument("--trials", type=int, help="instead of each row's own")
    given = options.parse_args()
    if not given.generated and not given.data.is_dir():
        print(f"NLVR is not here ({given.data}); nothing was measured.")
        sys.exit(0)
    kind = "generated" if given.generated else "nlvr"
    for name in given.rows:
        if given.generated and name not in GENERATED:
            print(f"{name}: a row of real NLVR alone. Of generated statements: {', '.join(GENERATED)}.")
            continue
        path = given.work / "rows" / f"{kind}-{name}.json"
        if not path.exists():
            folders = statements(given.work, kind, given.data, given.presentations)
            found = measure(name, given.work, kind, *folders, given.trials or ROWS[name].trials)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found, indent=1) + "\n")
        print(log_line(json.loads(path.read_text())), flush=True)
    show(given.work, kind, given.record)


def statements(work: Path, kind: str, data: Path, presentations: int) -> tuple[Path, Path]:
    """The benchmark to train and test on, and augmented statements to pretrain on."""
    plain, more = work / kind, work / f"{kind}-augmented"
    if not plain.exists():
        if kind == "nlvr":
            import_release("nlvr", data, plain)
        else:
            veridical.build("nlvr", plain, presentations=presentations, split={"train": 5, "dev": 1})
    if not more.exists():
        own: dict[str, Any] = {} if kind == "nlvr" else {"variants": 0, "own": False, "items": 40}
        veridical.augment(plain, more, **(HELD | own))
    return plain, more


def measure(name: str, work: Path, kind: str, plain: Path, more: Path, trials: int) -> dict[str, Any]:
    """Train (perhaps twice), solve and evaluate one row."""
    row, started = ROWS[name], time.time()
    longer = row.generated if kind == "generated" else {}
    run = work / "runs" / f"{kind}-{name}"
    first, before = None, 0.0
    if row.first is not None:
        first = run.with_name(f"{run.name}-first")
        options = row.first | looking(row.first, work, kind, more) | longer
        done = veridical.train(row.model, more, first, set=options, validate="validation")
    if row.after:
        first, sooner = work / "runs" / row.after, work / "rows" / f"{row.after.removesuffix('-first')}.json"
        if not sooner.exists():
            raise SystemExit(f"{name} continues from {row.after}: measure the row of {sooner.stem} first.")
        before = json.loads(sooner.read_text())["minutes"]
    if row.options is not None:
        own = {**row.options, **looking(row.options, work, kind, more), **HELD, **({} if row.first else longer)}
        done = veridical.train(row.model, plain, run, set=own, trials=trials, pretrained=first)
    elif first is not None:
        run, trials = first, 1
    files = [work / "predictions" / f"{kind}-{name}-{trial}.jsonl" for trial in range(trials)]
    for trial, file in enumerate(files):
        veridical.solve(str(run), plain, split="dev", out=file, trial=trial)
    each = [veridical.evaluate(plain, file, split="dev").to_json() for file in files]
    return {
        "when": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "title": row.title,
        "published": row.published,
        "trials": trials,
        "best": best_trial(run).name,
        "validation": done.mean,
        "first": pretraining(first),
        "accuracy": [one["accuracy"] for one in each],
        "consistency": [one["consistency"] for one in each],
        "unseen": [accuracy_of(plain, file) for file in files] if kind == "nlvr" else [],
        "by": each[0].get("by", {}),
        "minutes": before + (time.time() - started) / 60,
    }


def measured(name: str, kind: str, found: dict[str, Any]) -> Measured:
    """A row as `veridical models` shows it."""
    accuracy, consistency = found["accuracy"], found["consistency"]
    return Measured(
        model=ROWS[name].model,
        benchmark="NLVR dev" if kind == "nlvr" else "generated NLVR",
        accuracy=sum(one["value"] for one in accuracy) / len(accuracy),
        low=accuracy[0]["low"],
        high=accuracy[0]["high"],
        minutes=found["minutes"],
        script="benchmarks/nlvr_table.py",
        when=found["when"],
        row=ROWS[name].beside,
        consistency=sum(one["value"] for one in consistency) / len(consistency),
        trials=found["trials"],
    )


def looking(options: dict[str, Any], work: Path, kind: str, more: Path) -> dict[str, Any]:
    """Which CNN a row over seen objects looks with."""
    return {"seen_by": str(eyes(work, kind, more))} if options.keys() & {"maps", "slots"} else {}


def eyes(work: Path, kind: str, more: Path) -> Path:
    """A trial whose CNN learned to see drawn objects, of training alone; all rows over seen objects look with it."""
    run = work / "runs" / f"{kind}-eyes"
    few = {"limit": 8000, "epochs": 1, "epoch_items": 64, "seeing": 1200}
    if not (run / "trial-0" / "result.json").exists():
        veridical.train("slot-reasoner", more, run, set=few, validate="validation")
    return run / "trial-0"


def pretraining(run: Path | None) -> dict[str, Any] | None:
    """What a row continued from: how much it saw, and how well it did on sentences nobody trained on."""
    if run is None:
        return None
    result = json.loads((best_trial(run) / "result.json").read_text())
    return {"statements": result["training_items"], "validation": result["best"]}


def accuracy_of(benchmark: Path, predictions: Path) -> float:
    """Accuracy over the dev items whose sentence does not occur in train."""
    bench = Benchmark(benchmark)
    seen = {i.query.raw for i in bench.items("train") if i.query}
    answers = {i.id: i.answer for i in bench.items("dev") if i.query and i.query.raw not in seen}
    lines = [json.loads(line) for line in predictions.read_text().splitlines()]
    own = [(split_view(line["item"])[0], line["scores"]) for line in lines]
    right = [bool(scores.index(max(scores)) == answers[item]) for item, scores in own if item in answers]
    return sum(right) / max(len(right), 1)


def log_line(row: dict[str, Any]) -> str:
    """A row as a line of the log."""
    accuracy = [100 * one["value"] for one in row["accuracy"]]
    same = sum(one["value"] for one in row["consistency"]) / len(accuracy)
    spread, trials = "", ""
    if len(accuracy) > 1:
        spread, trials = f" ± {pstdev(accuracy):.2f}, the first", f", {len(accuracy)} trials"
    low, high = (100 * row["accuracy"][0][end] for end in ("low", "high"))
    unseen = f"{100 * sum(row['unseen']) / len(row['unseen']):.1f}" if row["unseen"] else ""
    first = row["first"]
    told = f" after {first['statements']:,} statements" if first else ""
    published = f" {row['published']}" if row["unseen"] else ""  # of NLVR's own dev
    return (
        f"| {row['when']} | {row['title']}{told}{trials} |{published} "
        f"| {mean(accuracy):.2f}{spread} [{low:.1f}, {high:.1f}] | {100 * same:.2f} | {unseen} "
        f"| {100 * row['validation']:.2f} | {row['minutes']:.0f} |"
    )


def show(work: Path, kind: str, recorded: bool) -> None:
    """Every row that is done, and the names of the others."""
    print("\n| when (UTC) | row | published, dev | accuracy | consistency | unseen | validation | minutes |")
    print("|---|---|---|---|---|---|---|---|")
    left = []
    for name in ROWS if kind == "nlvr" else GENERATED:
        path = work / "rows" / f"{kind}-{name}.json"
        if path.exists():
            found = json.loads(path.read_text())
            print(log_line(found))
            if recorded:
                record(measured(name, kind, found))
        else:
            left.append(name)
    print(f"\nNot measured here: {', '.join(left) or 'none'}.")


if __name__ == "__main__":
    print(f"veridical {veridical.__version__}")
    main()
