"""Hidden answers stay hidden: what somebody tries who has the public folder and this code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.benchmark.place import hidden_dir
from veridical.benchmark.splits import SECRET
from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.mining import Mining
from veridical.errors import UserError
from veridical.records import Item, Panel, SceneObject
from veridical.sources import Photograph, Source
from veridical.sources.icons.worlds import IconPanels

from ._painted import Painted
from .conftest import ICONS, SMALL

WORD = "a long word that nobody knows"
FEW: dict[str, Any] = {"source": Painted(500), "schemes": ["neutral"], "hide": ["test"], "matrices": 12}


@pytest.fixture(scope="module")
def secretive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("vprom-secret") / "made"
    return build_vprom(out, processes=1, hide=["test"], secret=WORD, **ICONS).out


def public_source(folder: Path) -> IconPanels:
    """The source of a benchmark, by what its manifest says."""
    config = Benchmark(folder).manifest["config"]["source"]
    return IconPanels(**{name: value for name, value in config.items() if name not in {"source", "licence"}})


def shown(item: Item) -> tuple[str, ...]:
    return *item.panels, *item.candidates


def looks(panel: Panel) -> tuple[object, ...]:
    return panel.objects[0].category, panel.objects[0].attributes, len(panel.objects)


def share_told_by_ids(folder: Path) -> float:
    """Of the panels of the test split, how many show what their number says by the public config."""
    opened, source = Benchmark(folder), public_source(folder)
    names = {name for item in opened.items("test", "neutral") for name in shown(item)}
    told = {name: looks(source.at(int(name.rpartition("-")[2])).panel) for name in names}
    return sum(looks(opened.whole_panels[name]) == told[name] for name in names) / len(names)


def test_numbers_of_panels_tell_nothing_with_a_secret(icons: Path, secretive: Path) -> None:
    assert share_told_by_ids(icons) == 1
    assert share_told_by_ids(secretive) < 0.05


def test_building_again_from_what_is_public_gives_no_hidden_answer(icons: Path, secretive: Path) -> None:
    """`icons` is what the public seed and config give."""
    opened = Benchmark(secretive)
    assert opened.manifest["config"]["secret"] is True
    assert opened.manifest["seed"] == Benchmark(icons).manifest["seed"]
    assert public_source(secretive) == public_source(icons)
    known = {
        shown(item): item.answer for split in ("train", "test") for item in Benchmark(icons).items(split, "neutral")
    }
    hidden = list(opened.items("test", "neutral", answers=True))
    assert hidden
    assert not any(shown(item) in known for item in hidden)


def test_without_a_secret_building_again_gives_every_hidden_answer(small: Path, tmp_path: Path) -> None:
    """This is what the warning is about."""
    leaky = build_vprom(tmp_path / "leaky", **SMALL | {"schemes": ["neutral"], "hide": ["test"]})
    known = {shown(item): item.answer for item in Benchmark(small).items("test", "neutral")}
    found = [known.get(shown(item)) == item.answer for item in Benchmark(leaky.out).items("test", "neutral", True)]
    assert found
    assert all(found)
    assert any("Give --secret random" in note for note in leaky.notes)


def test_the_secret_is_not_public(secretive: Path) -> None:
    assert (hidden_dir(secretive) / SECRET).read_text().strip() == WORD
    assert not any(WORD.encode() in path.read_bytes() for path in secretive.iterdir())
    assert "salt" not in Benchmark(secretive).manifest["config"]["source"]


def test_the_manifest_counts_public_matrices_alone(secretive: Path) -> None:
    """Whole counts less what is public would tell how often each hidden answer is right."""
    opened = Benchmark(secretive)
    about = opened.manifest["config"]
    public = sum(1 for _ in opened.items("train", "neutral"))
    assert sum(kind.get("matrices", 0) for kind in about["mined"]["kinds"].values()) == public
    assert sum(sum(groups.values()) for groups in about["answers"]["neutral"].values()) == public
    assert about["rejected"]["neutral"].keys() == {"train"}


def test_a_random_secret_is_kept(tmp_path: Path) -> None:
    first, second = (build_vprom(tmp_path / name, secret="random", **FEW) for name in ("one", "two"))
    assert any("To build the same again" in note for note in first.notes)
    kept = [(hidden_dir(report.out) / SECRET).read_text().strip() for report in (first, second)]
    assert len(kept[0]) == 32
    assert kept[0] != kept[1]
    ids = [{shown(item) for item in Benchmark(report.out).items("test", "neutral")} for report in (first, second)]
    assert ids[0].isdisjoint(ids[1])
    again = build_vprom(tmp_path / "again", secret=kept[0], **FEW)
    assert not any("--secret" in note for note in again.notes)
    assert all(path.read_bytes() == (again.out / path.name).read_bytes() for path in first.out.iterdir())


def test_a_secret_needs_something_to_hide(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no split is hidden"):
        build_vprom(tmp_path / "made", secret="random", **SMALL)
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class InRows(Source):
    """Photographs of two kinds of things, some of each side by side: crops of either, and of single things."""

    name = "in rows"
    exact = False

    def photographs(self) -> Iterator[Photograph]:
        rng = np.random.default_rng(5)
        for number in range(400):
            kinds = np.repeat(rng.choice(24, 2, replace=False), rng.integers(1, 6, 2)).tolist()
            boxes = [(110.0 * k, 0.0, 110.0 * k + 100, 100.0) for k in range(len(kinds))]
            objects = (SceneObject(f"{k}", f"thing {kinds[k]}", (), box) for k, box in enumerate(boxes))
            yield Photograph(Panel(f"row-{number}", width=1100, height=100, objects=tuple(objects)))

    def picture(self, photograph: Photograph) -> bytes:
        number, out = int(photograph.panel.id.rpartition("-")[2]), BytesIO()
        Image.new("RGB", (1100, 100), (number % 256, number // 256, 9)).save(out, "PNG")
        return out.getvalue()

    def config(self) -> dict[str, Any]:
        return {"source": self.name}


def test_no_crop_tells_what_is_in_a_hidden_photograph(tmp_path: Path) -> None:
    """Another scheme may show another crop of it, with the same objects."""
    options = {"matrices": 45, "schemes": ["neutral", "obj.held"], "mining": Mining(least_images=3)}
    report = build_vprom(tmp_path / "made", source=InRows(), hide=["test"], secret=WORD, **options)
    assert any("annotations of these photographs" in note for note in report.notes)
    assert check(report.out).problems == ()
    opened = Benchmark(report.out)
    assert len(opened.schemes) == 2
    asked = {name for scheme in opened.schemes for item in opened.items("test", scheme) for name in shown(item)}
    pictures = {opened.panels[name].image for name in asked}
    siblings = [p for p in opened.panels.values() if p.image in pictures and p.id not in asked]
    assert len(siblings) > 10
    assert not any(p.objects for p in siblings)
    assert not any(opened.panels[name].objects for name in asked)
    assert all(opened.whole_panels[p.id].objects for p in siblings)
    assert any(p.objects for p in opened.panels.values())
