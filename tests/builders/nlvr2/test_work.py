"""The work folder of an NLVR2 build: an old one never gives another benchmark than a fresh one would."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veridical.benchmark import Benchmark
from veridical.builders import BuildReport
from veridical.builders.nlvr2.takedown import takedown
from veridical.builders.nlvr2.work import Work, hash_of_source
from veridical.errors import UserError
from veridical.language.writing.pairs.statements import execute_pair
from veridical.sources.folder import Folder

Build = Callable[..., BuildReport]


def change_labels(folder: Path) -> None:
    """What was a dog on some photographs is a car: sentences about them change, and what is true of them."""
    rows = list(csv.reader((folder / "labels.csv").open()))
    rows = [[r[0], "car", *r[2:]] if r[0] in {"dog-3.png", "dog-4.png"} else r for r in rows]
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def change_attribute(folder: Path) -> None:
    """Colours are no part of photographs.jsonl, and sentences are about them."""
    rows = list(csv.reader((folder / "labels.csv").open()))
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*r, "color" if k == 0 else ["red", "blue"][k % 2]] for k, r in enumerate(rows)])


def change_picture(folder: Path) -> None:
    shutil.copyfile(folder / "cup-7.png", folder / "dog-0.png")


@pytest.mark.parametrize("change", [change_labels, change_attribute, change_picture])
def test_a_changed_source_is_looked_at_again(
    drawn: Path, tmp_path: Path, build_folder: Build, change: Callable[[Path], None]
) -> None:
    folder = shutil.copytree(drawn, tmp_path / "photos")
    build_folder(folder, tmp_path / "out")
    before = Benchmark(tmp_path / "out").hash
    change(folder)
    build_folder(folder, tmp_path / "out")
    build_folder(folder, tmp_path / "fresh")
    opened = Benchmark(tmp_path / "out")
    assert opened.hash == Benchmark(tmp_path / "fresh").hash != before
    for item in opened.items("train"):
        left, right = (opened.panels[name] for name in item.panels)
        assert execute_pair(item.program or "", left, right) is bool(item.answer)


def test_a_source_is_known_by_its_files(drawn: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(drawn, tmp_path / "photos")
    before = hash_of_source(Folder(folder))
    assert hash_of_source(Folder(folder)) == before
    (folder / ".DS_Store").write_text("not a photograph")
    assert hash_of_source(Folder(folder)) == before
    (folder / "dog-0.png").unlink()
    assert hash_of_source(Folder(folder)) != before


@pytest.mark.parametrize(
    "changed",
    [
        {"encoder": "annotations"},
        {"least_similarity": None, "seed": 2},
        {"best": 2, "encoder": "annotations"},
    ],
)
def test_changed_options_give_what_a_fresh_build_gives(
    drawn: Path, tmp_path: Path, build_folder: Build, changed: dict[str, Any]
) -> None:
    stop = {"until": "sets"} if "best" in changed else {}
    first = {name: changed[name] for name in ("best", "least_similarity") if name in changed}
    build_folder(drawn, tmp_path / "out", **first, **stop)
    build_folder(drawn, tmp_path / "out", **changed, **stop)
    build_folder(drawn, tmp_path / "fresh", **changed, **stop)
    for name in ("found.jsonl", "sets.jsonl"):
        assert (tmp_path / "out.work" / name).read_bytes() == (tmp_path / "fresh.work" / name).read_bytes()
    if not stop:
        assert Benchmark(tmp_path / "out").hash == Benchmark(tmp_path / "fresh").hash


def test_labels_that_change_redo_the_sets(drawn: Path, tmp_path: Path, build_folder: Build) -> None:
    names = [f"{kind}-{n}.png" for kind in ("dog", "car", "cup") for n in range(10)]

    def labels(name: str, dull: int) -> Path:
        rows = [{"photograph": p, "interesting": k % 2 != dull} for k, p in enumerate(names)]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path / name

    options = {"until": "sets", "best": 2}
    build_folder(drawn, tmp_path / "out", labels=labels("a.jsonl", 0), **options)
    before = (tmp_path / "out.work" / "sets.jsonl").read_bytes()
    build_folder(drawn, tmp_path / "out", labels=labels("b.jsonl", 1), **options)
    build_folder(drawn, tmp_path / "fresh", labels=tmp_path / "b.jsonl", **options)
    after = (tmp_path / "out.work" / "sets.jsonl").read_bytes()
    assert after == (tmp_path / "fresh.work" / "sets.jsonl").read_bytes() != before


def test_what_people_wrote_outlives_an_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def step(seed: int = 0) -> list[dict[str, int]]:
        def make() -> list[dict[str, int]]:
            made.append("made")
            return [{"a": 1}]

        return Work(tmp_path).step("s.jsonl", dict[str, int], [], {"seed": seed}, make)

    step()
    monkeypatch.setattr("veridical.builders.nlvr2.work.__version__", "99")
    step()
    assert made == ["made"] * 2  # another version may make something else
    (tmp_path / "s.jsonl").write_text('{"a": 2}\n')
    monkeypatch.setattr("veridical.builders.nlvr2.work.__version__", "100")
    assert step() == [{"a": 2}]
    with pytest.raises(UserError, match="changed by hand"):
        step(seed=1)


def test_synsets_are_scored_by_the_rule_in_force(drawn: Path, tmp_path: Path, build_folder: Build) -> None:
    rows = [{"photograph": f"{k}-{n}.png", "interesting": k != "car"} for k in ("dog", "car", "cup") for n in range(10)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, options in (("car", {}), ("cup", {"labels": tmp_path / "labels.jsonl"})):
        build_folder(drawn, tmp_path / name, until="queries", best=2, **options)
        lines = (tmp_path / f"{name}.work" / "queries.jsonl").read_text().splitlines()
        assert {json.loads(line)["synset"] for line in lines} == {"dog", name}


def test_what_was_taken_down_stays_out_of_later_builds(small: Path, tmp_path: Path, build_small: Build) -> None:
    work = shutil.copytree(small.with_name("icons.work"), tmp_path / "out.work")
    build_small(tmp_path / "out")
    opened = Benchmark(tmp_path / "out")
    victim = next(iter(opened.items("train"))).panels[0]
    report = takedown(tmp_path / "out", [opened.panels[victim].image or "", "https://example.org/other.jpg"])
    assert report.kept_in == work / "takedown.txt"
    left = {item.id for item in Benchmark(tmp_path / "out").items("train")}
    again = build_small(tmp_path / "out")
    assert {item.id for item in Benchmark(tmp_path / "out").items("train")} == left
    assert victim not in Benchmark(tmp_path / "out").panels
    assert again.removed == {"photograph taken down": 2}
    assert any("taken down stay out" in note for note in again.notes)
    assert "Keep it to yourself" in (work / "README").read_text()
