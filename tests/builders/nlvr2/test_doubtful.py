"""The page of labels that hang on something close to a threshold, and what a person's decisions do."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from veridical.benchmark import Benchmark
from veridical.builders import BuildReport
from veridical.builders.nlvr2 import doubtful
from veridical.builders.nlvr2.doubtful import FILE, PAGE, find_doubtful
from veridical.builders.nlvr2.people import Kept
from veridical.builders.nlvr2.visible import visible
from veridical.builders.nlvr2.work import Sentence, Task
from veridical.records import Item, Panel, SceneObject
from veridical.sources import EVERYTHING, Photograph
from veridical.sources.icons.draw import encode
from veridical.sources.icons.scene import Group, compose, panel

Build = Callable[..., BuildReport]
PROGRAM = "(count (exactly 2) (keep (is category dog) things))"


def test_a_label_that_hangs_on_a_smallish_thing_is_shown() -> None:
    def dogs(*sides: float) -> Panel:
        boxes = [(150.0 * k + 20, 100.0, 150.0 * k + 20 + side, 100.0 + side) for k, side in enumerate(sides)]
        things = (SceneObject(str(k), "dog", (), box) for k, box in enumerate(boxes))
        return Panel("", width=640, height=480, objects=tuple(things))

    raw = {"a": dogs(100, 100), "b": dogs(100, 42), "none": dogs()}
    panels = {name: visible(Photograph(one), EVERYTHING, 2.0).panel for name, one in raw.items()}
    task = Task("0-0", "0", "dog", "q", (("a", "none"), ("b", "none"), ("none", "none"), ("a", "a")))
    sentence = Sentence("0-0", "There are two dogs.", (0, 1), "program", PROGRAM)
    items = [Kept(f"set-0-{k}-0", task, k, sentence, label) for k, label in enumerate((1, 1, 0, 0))]
    (found,) = find_doubtful(items, panels)
    assert found.kept.id == "set-0-1-0"
    assert [one.id for side in found.things for one in side] == ["1"]
    assert found.why == ("dog: small",)


@pytest.fixture(scope="module")
def boxed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of drawn photographs whose labels have boxes."""
    pytest.importorskip("fontawesomefree", reason="icons come with the build extra")
    folder = tmp_path_factory.mktemp("boxed")
    rng = np.random.default_rng(0)
    with (folder / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "category", "box"])
        for kind in ("dog", "car"):
            for number in range(9):
                name = f"{kind}-{number}.png"
                scene = compose(rng, [Group(kind, number % 4 + 1)], width=320, height=240, distractors=1)
                (folder / name).write_bytes(encode(scene))
                for one in panel(scene, "").objects:
                    rows.writerow([name, one.category, " ".join(f"{v:g}" for v in one.box or ())])
    return folder


def items_of(benchmark: Path) -> dict[str, Item]:
    opened = Benchmark(benchmark)
    return {item.id: item for split in opened.splits for item in opened.items(split)}


def test_what_a_person_removes_is_gone(
    boxed: Path, tmp_path: Path, build_folder: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doubtful, "MARGIN", 100.0)  # so that most items are doubtful
    out, work = tmp_path / "out", tmp_path / "out.work"
    report = build_folder(boxed, out, split={"train": 1})
    assert any("hang on something hard to see" in note for note in report.notes)
    page, lines = (work / PAGE).read_text(), (work / FILE).read_text().splitlines()
    items = items_of(out)
    assert {json.loads(line)["item"] for line in lines} == items.keys()
    shown = [item for name, item in items.items() if f"<code>{name}</code>" in page]
    assert shown
    assert page.count("data:image") == 2 * len(shown)
    assert all(item.query is not None and item.query.raw in page for item in shown)
    first, second, *rest = (json.loads(line) for line in lines)
    assert first["item"] in {item.id for item in shown}  # those to look at come first
    second |= {"verdict": not second["verdict"], "worker": "me"}
    (tmp_path / "kept.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (second, *rest)))
    build_folder(boxed, out, split={"train": 1}, judgements=tmp_path / "kept.jsonl")
    assert items_of(out).keys() == items.keys() - {first["item"], second["item"]}
    assert "people's on 1 items, each sentence's program on the others" in (out / "README.md").read_text()
