"""What cannot be built is refused with the reason: options, and lists that contradict each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.elements import OURS, LabelReader, read_lists
from veridical.builders.vprom.mining import Mining, count_in
from veridical.errors import UserError
from veridical.records import SceneObject
from veridical.sources.icons.worlds import IconPanels

from ._painted import Painted


@pytest.mark.parametrize(
    ("options", "problem", "fix"),
    [
        ({"mining": Mining(least_images=-4)}, "--least-images is -4", "from 1"),
        ({"mining": Mining(least_images=0)}, "--least-images is 0", "from 1"),
        ({"mining": Mining(most_others=-1)}, "--most-others is -1", "from 0"),
        ({"mining": Mining(least_side=0)}, "--least-side is 0", "from 1"),
        ({"mining": Mining(least_side=200)}, "have 160 pixels a side", "160 or less"),
        (
            {"source": IconPanels(9, side=100), "mining": Mining(least_side=101)},
            "have 100 pixels a side",
            "100 or less",
        ),
        ({"images": 0}, "0 images of icons", "leave --images out"),
        ({"images": -5}, "-5 images of icons", "1 or more"),
        ({"categories": 0}, "0 categories of icons", "leave --categories out"),
        ({"categories": 1000}, "1000 categories of icons", "1 to 133"),
        ({"schemes": []}, "No scheme was asked for", "neutral"),
        ({"source": Painted(300), "mining": Mining(least_side=101)}, "Quality removed the most", "lower --least-side"),
        ({"source": Painted(300), "mining": Mining(least_images=301)}, "Richness removed", "lower --least-images"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, Any], problem: str, fix: str) -> None:
    with pytest.raises(UserError, match=problem) as error:
        build_vprom(tmp_path / "made", matrices=30, processes=1, **options)
    assert fix in error.value.fix
    assert not (tmp_path / "made").exists()


def changed(folder: Path, name: str, **changes: Any) -> Path:
    """A folder with one of our lists, changed: an object's keys are added, anything else replaces."""
    data = json.loads((OURS / name).read_text())
    for key, value in changes.items():
        key = key.replace("_", " ")
        data[key] = data[key] | value if isinstance(value, dict) else value
    (folder / name).write_text(json.dumps(data))
    return folder


def test_our_lists_agree() -> None:
    lists = read_lists()
    assert set(lists.hashes) == {path.name for path in OURS.iterdir() if path.suffix in {".json", ".txt"}}


def test_words_of_lists_are_read_in_lower_case(tmp_path: Path) -> None:
    changed(tmp_path, "superattributes.json", object_attribute={"Mood ": ["Merry", "very  SAD", "merry"]})
    changed(tmp_path, "same.json", object_attribute={"JOLLY": "Merry"}, object_category={"Pooch": "Dog"})
    changed(tmp_path, "schemes.json", held_out=["MOOD"])
    changed(tmp_path, "counts.json", openers=["Behold"])
    (tmp_path / "people.txt").write_text("Ice   Skater\n")
    lists = read_lists(tmp_path)
    assert lists.attributes.object["mood"] == ("merry", "very sad")
    assert lists.schemes.held_out == ("mood",)
    assert lists.people == {"ice skater"}
    assert count_in("Behold two dogs", lists.counts) == 2
    read = LabelReader(lists).read(SceneObject("1", "pooch", (("a", "jolly"), ("b", "Very sad"))))
    assert read.category is not None
    assert read.category.name == "dog"
    assert {(e.group, e.name) for e in read.attributes} == {("mood", "merry"), ("mood", "very sad")}


@pytest.mark.parametrize(
    ("name", "changes", "problem"),
    [
        ("superattributes.json", {"object_attribute": {"mood": ["Red"]}}, "'red' .object attribute. in 'color' and in"),
        ("superattributes.json", {"object_attribute": {"COLOR": ["mauve"]}}, "two things of 'color'"),
        ("same.json", {"object_attribute": {"Scarlet": "red", "scarlet": "pink"}}, "two things of 'scarlet'"),
        ("same.json", {"object_category": {"pup": "pooch", "pooch": "dog"}}, "'pup' as 'pooch', and 'pooch' as 'dog'"),
        ("schemes.json", {"held_out": ["shapes"]}, "holds out 'shapes'"),
        ("schemes.json", {"held-out pairs": {"object attribute": {"xor": "color"}}}, "the relation 'xor'"),
        ("schemes.json", {"held-out pairs": {"object attribute": {"progression": "color"}}}, "relation 'progression'"),
        ("schemes.json", {"held-out pairs": {"object attribute": {"and": "age"}}}, "pairs 'and' with 'age'"),
        ("schemes.json", {"held-out pairs": {"object count": {"and": "color"}}}, "pairs of 'object count'"),
        ("schemes.json", {"held-out pairs": {"object attribute": {"and": "color", "or": "Color"}}}, "two relations"),
        ("counts.json", {"openers": 3}, "expected a list"),
    ],
)
def test_lists_that_contradict_each_other(tmp_path: Path, name: str, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem) as error:
        read_lists(changed(tmp_path, name, **changes))
    assert name in error.value.problem


def test_relations_of_lists_are_read_in_lower_case(tmp_path: Path) -> None:
    folder = changed(tmp_path, "schemes.json", **{"held-out pairs": {"object attribute": {"And": "Material"}}})
    assert read_lists(folder).schemes.pairs["object attribute"] == {"and": "material"}
