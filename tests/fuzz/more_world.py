"""More of the fuzzer's world: what people did for a collection, lists that options name, what was published."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

from tests.commands import invoke

from veridical.benchmark import Benchmark
from veridical.builders.vprom.elements import OURS

ALIKE = "--encoder thumbnail --least-similarity -1 --exhaustive all --vectors none --distance 0 --processes 1"
COUNTED = "--images 60 --matrices 6 --least-images 1 --most-others 30 --schemes neutral --processes 1"


def make(quick: bool) -> None:
    """Everything of this file, in the folder of the world, where the rest is; quick: but for what slow targets need."""
    if not quick:
        collections()
        counted()
    lists()
    published()


def run(command: str) -> None:
    done = invoke(*command.split())
    assert done.exit_code in (0, 1), f"{command}\n{done.stderr}"


def read(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def write(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def collections() -> None:
    """Small projects as `collect init` makes them, and what simulated people did for two of them."""
    for name, command in {
        "pairs": "nlvr2 begun-pairs --sets 4 --held-out 0.5 --begin write",
        "asked": "vcr begun-asked --source coco:coco",
    }.items():
        run(f"collect init {command}")
        run(f"collect rehearse begun-{name} --workers 8 --out rehearsed-{name}")
        shutil.move(f"rehearsed-{name}/export", f"collected-{name}")
        shutil.rmtree(f"rehearsed-{name}")


def lists() -> None:
    """What people marked and said of the photographs of `world.sources`, and other files that options name."""
    found, tasks = read("work/found.jsonl"), read("work/tasks.jsonl")
    marks = [{"set": one["set"], "photograph": one["photographs"][-1], "reason": "blurred"} for one in found[:2]]
    write("removals.jsonl", marks)
    write("dull.jsonl", marks[:1])
    seen = read("work/photographs.jsonl")
    write("labels.jsonl", [{"photograph": one["id"], "interesting": n % 3 > 0} for n, one in enumerate(seen)])
    sentence = {"sentence": "There is one dog.", "selected": [0, 1], "writer": "w1"}
    write("sentences.jsonl", [{"task": one["task"], **sentence} for one in tasks])
    items = [f"set-{one['task']}-{n}" for one in tasks for n in range(4)]
    write("judgements.jsonl", [{"item": one, "worker": "w2", "verdict": True, "kind": "validation"} for one in items])
    Path("costs.json").write_text(json.dumps({"sentence writing": {"cost": 12.5, "workers": 3}}))
    Path("synsets.txt").write_text("dog\nn02958343 car, auto\ncup\n")
    pictures = [f"http://photographs.invalid/{n}.jpg" for n in range(9)]
    write("searched.jsonl", [{"query": "two dogs", "rank": n, "address": one, "similar": pictures[:n]}
                             for n, one in enumerate(pictures, 1)])  # fmt: skip
    Path("taken.txt").write_text(f"{seen[0]['id']}\n{seen[1]['id']}\n")
    with Path("curve/key.csv").open(newline="") as file, Path("people.csv").open("w", newline="") as out:
        sheet = csv.writer(out)
        sheet.writerow(["lambda", "id", "choice"])
        sheet.writerows([row["lambda"], row["id"], "ABCD".find(row["answer_label"])] for row in csv.DictReader(file))


def counted() -> None:
    """V-PROM's lists, and what people answered in a test of them."""
    shutil.copytree(OURS, "lists")
    run(f"build vprom {COUNTED} --out counted")
    opened = Benchmark("counted")
    some = [item.id for split in opened.splits for item in opened.items(split)]
    write("answered.jsonl", [{"item": one, "worker": f"w{n % 2}", "verdict": n % 8} for n, one in enumerate(some)])


def published() -> None:
    """A store that is a folder, with a benchmark, a run and predictions in it."""
    for name in ("pairs", "run-maxent", "pairs.jsonl"):
        run(f"copy {name} --out file://{Path.cwd()}/store/{name}")
