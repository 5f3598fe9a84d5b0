"""Pictures that cannot be used: a build leaves their photographs out and says so."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.commands import invoke

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders.vprom import build as room
from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.mining import Mining
from veridical.errors import UserError
from veridical.sources import Photograph
from veridical.sources.pictures import BadPhotograph
from veridical.statistics import stats

from ._painted import Painted

OPTIONS: dict[str, Any] = {
    "matrices": 60,
    "schemes": ["neutral"],
    "mining": Mining(least_images=3, most_others=30),
    "processes": 2,
}
TRUNCATED, MISSING, EMPTY = 0, 1, 2


@pytest.fixture(scope="module")
def damaged(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The COCO folder with three pictures of a build spoiled, and the ids of their photographs."""
    folder = tmp_path_factory.mktemp("damaged")
    whole = Benchmark(build_vprom(folder / "whole", source=f"coco:{shared / 'coco'}", **OPTIONS).out)
    used = sorted({origin for item in whole.items("train", "neutral") for origin in item.origins})[:3]
    for path in (path for path in (shared / "coco").rglob("*") if path.is_file()):
        copy = folder / "coco" / path.relative_to(shared / "coco")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)  # its content alone: ours may be written
    files = {str(image["id"]): image["file_name"] for image in instances(folder)["images"]}
    paths = [next(folder.rglob(f"coco/**/{files[name]}")) for name in used]
    paths[TRUNCATED].write_bytes(paths[TRUNCATED].read_bytes()[:2000])
    paths[MISSING].unlink()
    paths[EMPTY].write_bytes(b"")
    return folder / "coco", used


def instances(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "coco" / "instances_train2017.json").read_text())


@pytest.mark.parametrize("few", [1000, 40])
def test_bad_pictures_are_left_out_and_listed(
    damaged: tuple[Path, list[str]], few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they are looked at here or by other processes."""
    monkeypatch.setattr(room, "FEW", few)
    source, bad = damaged
    report = build_vprom(tmp_path / "made", source=f"coco:{source}", **OPTIONS)
    assert report.removed["photographs, cannot be used"] == 3
    assert [sum(note.startswith(f"Left out: {name}: ") for note in report.notes) for name in bad] == [1, 1, 1]
    assert check(report.out).problems == ()
    opened = Benchmark(report.out)
    pruned = opened.pruned_table().to_pylist()
    assert sorted(row["item"] for row in pruned) == sorted(bad)
    assert {(row["reason"], row["stage"]) for row in pruned} == {(room.NO_PICTURE, "pictures")}
    items = [item for split in ("train", "test") for item in opened.items(split, "neutral")]
    assert items
    assert not any(origin in bad for item in items for origin in item.origins)
    assert sum(stats(report.out).pruned.values()) == 3


def test_the_command_says_which(damaged: tuple[Path, list[str]], tmp_path: Path) -> None:
    source, bad = damaged
    options = ["--matrices", "12", "--least-images", "3", "--most-others", "30", "--schemes", "neutral"]
    out = ["--out", str(tmp_path / "made"), "--source", f"coco:{source}"]
    result = invoke("build", "vprom", *out, *options)
    assert result.exit_code == 0, result.stderr
    assert all(f"Left out: {name}" in " ".join(result.stderr.split()) for name in bad)


def test_only_some_are_named(damaged: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "NAMED", 1)
    report = build_vprom(tmp_path / "made", source=f"coco:{damaged[0]}", **OPTIONS)
    assert sum("Left out: " in note for note in report.notes) == 2
    assert any("2 more photographs" in note for note in report.notes)


def test_no_picture_at_all(shared: Path, tmp_path: Path) -> None:
    shutil.copy(shared / "coco" / "instances_train2017.json", tmp_path)
    with pytest.raises(UserError, match=r"photographs cannot be used.*it is not in") as error:
        build_vprom(tmp_path / "made", source=f"coco:{tmp_path}", **OPTIONS)
    assert "expects its pictures" in error.value.fix


@dataclass(frozen=True)
class Fading(Painted):
    """Its pictures can be read once."""

    read: set[str] = field(default_factory=set)

    def picture(self, photograph: Photograph) -> bytes:
        name = photograph.panel.id
        if name in self.read:
            raise BadPhotograph(name, "it is gone")
        self.read.add(name)
        return super().picture(photograph)


def test_a_picture_that_changes_during_the_build(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"changed during the build.*it is gone") as error:
        build_vprom(tmp_path / "made", source=Fading(), matrices=12, schemes=["neutral"])
    assert "Build again" in error.value.fix
    assert not list(tmp_path.iterdir())
