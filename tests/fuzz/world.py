"""The whole files that the fuzzer makes wrong: small benchmarks of all four tasks, releases, what people write, runs.

Everything is made by the commands themselves, in one folder, once; `targets` says which of it a case needs.
"""

from __future__ import annotations

import csv
import itertools
import json
import shutil
from collections.abc import Iterable
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from tests.commands import invoke
from tests.formats import _releases, _tables
from tests.fuzz import more_world
from tests.zoo import _matrices, _pictures, _small

from veridical.options.running import TrainOptions

SECRET = "correct horse battery staple, 1729"
WORDS = "--relevance tfidf --similarity tfidf --no-learn"
NLVR2 = "--encoder thumbnail --least-similarity -1 --exhaustive all --vectors none --distance 0 --processes 1"


def make(folder: Path, quick: bool = False) -> None:
    """Make everything; quick: but for what slow targets alone need."""
    with chdir(folder):
        benchmarks()
        predictions()
        people()
        sources()
        tables()
        runs()
        web()
        more_world.make(quick)


def run(command: str, *more: object) -> None:
    done = invoke(*command.split(), *more)
    assert done.exit_code in (0, 1), f"{command}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def lines(path: str, rows: Iterable[object]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def benchmarks() -> None:
    """One of each task, and the releases that two of them come from."""
    run("build nlvr --presentations 10 --processes 1 --out nlvr --secret", SECRET)
    for name, write in _releases.RELEASES.items():
        Path(f"release-{name}").mkdir()
        write(Path(f"release-{name}"))
    run("import nlvr2 release-nlvr2 --out pairs")
    run("import vcr release-vcr --out vcr")
    _small.write_choices(Path("questions"), 24)
    _pictures.POOL = 6
    _matrices.write(Path("matrices"), {"train": 30, "test": 10}, ("neutral", "counting"))


def predictions() -> None:
    """In every format that can be read."""
    run("solve random nlvr --split dev --out nlvr.jsonl")
    run("solve random nlvr --split test-u --out hosted.jsonl")
    run("solve random pairs --split dev --out pairs.jsonl")
    run("solve random vcr --split val --out vcr.jsonl")
    run("solve random matrices --scheme neutral --split test --out matrices.jsonl")
    run("export submission nlvr --split dev --predictions nlvr.jsonl --out nlvr.csv")
    run("export submission pairs --split dev --predictions pairs.jsonl --out pairs.csv")
    run("export submission vcr --split val --predictions vcr.jsonl --out vcr.csv")
    scores = np.random.default_rng(0).random((3, 5, 4))
    np.save("vcr.npy", scores)
    np.savez("vcr.npz", answers=scores[:, 0], rationales=scores[:, 1:])
    run("solve programs nlvr --split dev --save-weights weights.json --out programs.jsonl")
    run("audit nlvr --items 40 --check label --check single-label --out audit.html --processes 1")


def people() -> None:
    """What people saw, wrote and judged of NLVR and VCR."""
    run("build nlvr --presentations 6 --seed 1 --until presentations --processes 1 --out shown")
    shown = [json.loads(line) for line in Path("shown/presentations.jsonl").read_text().splitlines()]
    names = [one["presentation"] for one in shown]
    lines("statements.jsonl", ({"presentation": n, "sentence": f"There is box {n}.", "writer": "w"} for n in names))
    judged = itertools.product(names, range(4), range(3))
    lines("judged.jsonl", ({"item": f"{n}-{k}", "worker": f"v{w}", "verdict": k < 2} for n, k, w in judged))
    Path("plan.json").write_text('{"pictures": 1000, "pairs": 10, "hours": 2.5, "machine": {"cores": 8}}')
    Path("plan.toml").write_text("matrices = 1000\nhours = 1\n[machine]\ndisk_gb = 10.5\n")
    collected(names)
    Path("sentences.txt").write_text("There is a dog.\nAt most two of the [cats] are not black.\nWhy is he sad?\n" * 3)


def collected(names: list[str]) -> None:
    """A collection: what it exported, and a project that is served, with what came back from Label Studio."""
    Path("collected").mkdir()
    for old, new in (("shown/presentations", "presentations"), ("statements", "sentences"), ("judged", "judgements")):
        shutil.copyfile(f"{old}.jsonl", f"collected/{new}.jsonl")
    about = {"format": "veridical collection export", "name": "drawn", "benchmark": "nlvr", "seed": 1, "about": {}}
    Path("collected/collection.json").write_text(json.dumps({**about, "statistics": {"sentences": len(names)}}))
    Path("collected/costs.json").write_text(json.dumps({"validation": {"cost": 1.5, "workers": 3}}))
    splits = ("train", "dev", "test-p", "test-u")
    Path("collected/splits.json").write_text(json.dumps({n: splits[k % 4] for k, n in enumerate(names)}))
    from veridical.web.collect.exporting.label_studio import tasks_json
    from veridical.web.collect.records import Answer, Project, Role, Task
    from veridical.web.collect.sql_store import SqlStore
    from veridical.web.database import DATABASE, Database, sqlite_address

    picture = {"name": "a.png", "width": 400, "height": 100, "alt": "", "order": []}
    payload = {"sentence": "There is a box.", "pictures": [picture]}
    tasks = [Task(f"validate:{n}-0", "validate", payload, 3, once=f"{n}-0") for n in names]
    project = Project("drawn", "nlvr", "Drawn", roles=(Role("validator", ("validate",)),), pay={"validate": 30})
    Path("project/source").mkdir(parents=True)
    shutil.copyfile("shown/presentations.jsonl", "project/source/presentations.jsonl")
    Path("served").mkdir()
    Path("project/project.json").write_bytes(msgspec.json.encode(project))
    lines("project/tasks.jsonl", msgspec.to_builtins(tasks))
    lines("project/pictures.jsonl", [{"name": "a.png", "photograph": "a", "width": 400, "height": 100}])
    database = Database(sqlite_address(Path("served", DATABASE)))
    database.upgrade()
    SqlStore(database).create(project, tasks, 0.0)
    database.close()
    said = [Answer(one.id, one.id, "w9", "validate", "work", {"verdict": True}, 0.0, 5.0) for one in tasks]
    Path("labelled.json").write_text(json.dumps(tasks_json(tasks, {one.task: [one] for one in said})))


def sources() -> None:
    """Photographs: a folder with labels, COCO's and Visual Genome's files; what people say of them."""
    rng = np.random.default_rng(0)
    for name in ("photographs", "coco/images/train2017", "vg/images"):
        Path(name).mkdir(parents=True)
    with Path("photographs/labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "category", "licence", "address"])
        for kind, number in itertools.product(("dog", "car", "cup"), range(9)):
            name = f"{kind}-{number}.png"
            Image.fromarray(rng.integers(0, 255, (48, 64, 3), np.uint8)).save(Path("photographs", name))
            rows.writerows([name, kind, "CC-BY-4.0", name] for _ in range(number % 4 + 1))
    coco(rng)
    visual_genome()
    Path("nlvr2.json").write_text(json.dumps({"split": {"train": 2, "dev": 1}, "vectors": "none", "seed": 3}))
    run(f"build nlvr2 --source folder:photographs {NLVR2} --config nlvr2.json --work work --out made")
    rows = [
        {
            "image": str(n), "id": f"q{n}-{k}", "writer": "w1", "movie": f"m{n}",
            "question": f"Why is [person1] near [dog1] number {n}{k}?",
            "answer": f"[person1] feeds it {n}{k} times.", "rationale": f"[person2] holds a bag with {n}{k} bones.",
        }
        for n, k in itertools.product(range(12), range(2))
    ]  # fmt: skip
    lines("written.jsonl", rows)
    lines("passed.jsonl", ({"item": row["id"], "worker": "w2", "verdict": True} for row in rows))
    lines("chosen.jsonl", ({"item": row["id"], "worker": "w3", "verdict": n % 4} for n, row in enumerate(rows)))
    lines("interest.jsonl", ({"image": str(n), "interesting": n % 3 > 0} for n in range(12)))


def coco(rng: np.random.Generator) -> None:
    images: list[dict[str, Any]] = []
    boxes: list[dict[str, Any]] = []
    categories = [{"id": k, "name": n, "supercategory": "thing"} for k, n in enumerate(("person", "dog", "cat", "cup"))]
    for n in range(12):
        name = f"{n:012d}.jpg"
        Image.fromarray(rng.integers(0, 255, (240, 320, 3), np.uint8)).save(Path("coco/images/train2017", name))
        images.append({"id": n, "file_name": name, "width": 320, "height": 240, "license": 1, "coco_url": f"u/{name}"})
        for k, category in enumerate((0, 1, 0, 2 + n % 2)):
            left, top = 10 + 70 * k, 20.5
            outline = [[left, top, left + 60, top, left + 60, top + 120]]
            boxes.append(
                {
                    "id": len(boxes), "image_id": n, "category_id": category, "bbox": [left, top, 60, 120],
                    "area": 3600, "iscrowd": 0, "segmentation": outline,
                }
            )  # fmt: skip
    licences = [{"id": 1, "name": "CC", "url": "http://creativecommons.org/licenses/by/2.0/"}]
    whole = {"images": images, "annotations": boxes, "categories": categories, "licenses": licences}
    Path("coco/instances_train2017.json").write_text(json.dumps(whole))
    captions = [{"id": n, "image_id": n, "caption": f"A dog {n}."} for n in range(12)]
    Path("coco/captions_train2017.json").write_text(json.dumps({"images": images, "annotations": captions}))


def visual_genome() -> None:
    files: dict[str, list[dict[str, Any]]] = {name: [] for name in ("image_data", "objects", "attributes")}
    files |= {"relationships": [], "region_descriptions": []}
    box = {"y": 5, "w": 120, "h": 110}
    for n in range(1, 7):
        things = [
            {"object_id": 10 * n + k, "names": [name], "synsets": [f"{name}.n.01"], "x": 40 * k} | box
            for k, name in enumerate(("dog", "cat", "man"))
        ]
        with_words = [thing | {"attributes": ["green", "tall"]} for thing in things]
        link = {"relationship_id": n, "predicate": "near", "synsets": [], "subject": things[0], "object": things[1]}
        region = {"region_id": n, "image_id": n, "phrase": "a green dog", "x": 1, "y": 2, "width": 50, "height": 40}
        Image.new("RGB", (320, 240), (40 * n, 90, 120)).save(Path("vg/images", f"{n}.jpg"))
        about = {"width": 320, "height": 240, "url": f"http://photographs.invalid/{n}.jpg", "coco_id": None}
        files["image_data"].append({"image_id": n, "flickr_id": None, **about})
        files["objects"].append({"image_id": n, "objects": things})
        files["attributes"].append({"image_id": n, "attributes": with_words})
        files["relationships"].append({"image_id": n, "relationships": [link]})
        files["region_descriptions"].append({"id": n, "regions": [region]})
    for name, rows in files.items():
        Path("vg", f"{name}.json").write_text(json.dumps(rows))


def tables() -> None:
    """Questions and answers to match."""
    rows = [
        {"id": f"q{n}", "video": f"v{n // 2}", "question": f"Why is the dog near {n}?", "answer": f"It saw {n} cats."}
        for n in range(24)
    ]
    with Path("table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    lines("table.jsonl", rows)
    pq.write_table(pa.Table.from_pylist(rows), "table.parquet")
    asked = _tables.questions(8)
    _tables.mmbench(Path("mmbench.tsv"), asked)
    choices = [{"question": one.question, "choices": one.choices, "answer": one.answer} for one in asked]
    Path("asked.json").write_text(json.dumps(choices))
    lines("asked.jsonl", choices)
    pq.write_table(pa.Table.from_pylist(choices), "asked.parquet")
    with Path("asked.csv").open("w", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(["question", *"ABCD", "answer"])
        sheet.writerows([one.question, *one.choices, one.answer] for one in asked)
    run("export hf pairs --out hub")
    _tables.saved(Path("saved"), asked, {"train": 5, "test": 3})
    run(f"match table.csv --group video --folds 2 {WORDS} --sweep 0.1,1 --out curve")


class Stop(Exception):
    """Training stops here, as if it were killed."""


def runs() -> None:
    """Trained models of three kinds, one that was stopped in the middle, and a sweep."""
    import torch

    from veridical.training import train

    torch.set_num_threads(1)
    run("train maxent nlvr --out run-maxent")
    run("train text nlvr --out run-text --set epochs=1")
    run("train mlp-sum-2 matrices --scheme neutral --out run-matrices --set epochs=1 --set images=thumbnail")

    def after_step(step: int) -> None:
        if step == 3:
            raise Stop

    options = TrainOptions(set={"epochs": 2, "batch": 4, "checkpoint_steps": 1})
    with suppress(Stop):
        train("text", "nlvr", "stopped", options, after_step=after_step)
    run("sweep matrices --models mlp-sum-2 --schemes neutral --features thumbnail --processes 1 --resamples 100 "
        "--no-controls --set epochs=1 --out sweep")  # fmt: skip


def web() -> None:
    """What `get` downloads; a board that `submit` talks to; the data of a board that `serve` was stopped with."""
    nlvr2, photographs = Path("site/nlvr2"), Path("site/photographs")
    for folder in (
        "site/nlvr/dev/images/0",
        nlvr2 / "data",
        nlvr2 / "util/hashes",
        photographs,
        "board/api/boards/one",
    ):
        Path(folder).mkdir(parents=True)
    shutil.copy("release-nlvr/dev/dev.json", "site/nlvr/dev/dev.json")
    for path in Path("release-nlvr/dev/images/0").iterdir():
        shutil.copy(path, "site/nlvr/dev/images/0")
    pairs = [f"dev-{n}-{k}" for n, k in itertools.product(range(2), range(2))]
    places = {pair: [f"{{url}}/photographs/{pair}-{side}.png" for side in range(2)] for pair in pairs}
    for n, path in enumerate(photographs / f"{pair}-{side}.png" for pair in pairs for side in range(2)):
        path.write_bytes(_releases.picture(40, 30, n))
    _releases.write_lines(
        nlvr2 / "data/dev.json",
        *(_releases.nlvr2_line(f"{p}-0", left_url=left, right_url=right) for p, (left, right) in places.items()),
    )
    hashes = {f"{p}-img{side}.png": "ffffffffffffffff" for p in pairs for side in range(2)}
    (nlvr2 / "util/hashes/dev_hashes.json").write_text(json.dumps(hashes))
    accuracy = {"value": 0.5, "low": 0.4, "high": 0.6}
    entry = {
        "id": "e",
        "board": "one",
        "name": "n",
        "status": "scored",
        "public": False,
        "said": "well",
        "address": "a",
    }
    entry |= {"tries_left": 4, "scores": {"metrics": {"accuracy": accuracy}, "by": {}}}
    Path("board/api/boards/index").write_text(json.dumps([{"id": "one", "items": 3}]))
    Path("board/api/boards/one/entries").write_text(json.dumps(entry))
    run("serve nlvr --data data --port 0")
