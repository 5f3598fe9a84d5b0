"""What can be seen of annotated things: merged, counted, or marked as doubtful."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import veridical.sources.coco as coco_module
from veridical.builders.nlvr2.pairs import COMMON, pair_all, write_for_set
from veridical.builders.nlvr2.photographs import category_vectors, describe
from veridical.builders.nlvr2.visible import MERGED, outlined_area, overlap, visible
from veridical.builders.nlvr2.work import ImageSet, Seen, Task
from veridical.language.english import nouns_of
from veridical.language.writing.pairs.doubts import CROWD, DOUBTFUL, PERHAPS, SEVERAL, sure, worlds
from veridical.options import Workers
from veridical.records import Box, Panel, SceneObject
from veridical.sources import Coverage, Photograph
from veridical.sources.coco import Coco

COVER = Coverage(
    False,
    frozenset(["car", "truck", "dog", "person", "banana", "vehicle", "cup", "wine glass"]),
    {"vehicle": frozenset(["car", "truck"])},
    {"cup": ("wine glass",)},
    frozenset(["banana"]),
    {"person": ("man", "people")},
)


def thing(name: str, category: str, box: Box | None, *marks: tuple[str, str], above: str = "") -> SceneObject:
    own = (("supercategory", above),) if above else ()
    return SceneObject(name, category, (*own, *marks), box)


def shown(*things: SceneObject, captions: tuple[str, ...] = (), margin: float = 1.0) -> dict[str, SceneObject]:
    panel = Panel("p", width=640, height=480, objects=things)
    return {one.id: one for one in visible(Photograph(panel, captions=captions), COVER, margin).panel.objects}


def test_two_boxes_of_one_thing_are_one_of_either_category() -> None:
    car = thing("1", "car", (100, 100, 300, 200), above="vehicle")
    truck = thing("2", "truck", (101, 100, 301, 202), above="vehicle")
    found = shown(car, truck)
    assert list(found) == ["1"]
    assert found["1"].attribute(PERHAPS) == "truck"
    assert found["1"].attribute(MERGED) == "2"
    glass = thing("3", "wine glass", (400, 100, 500, 220))
    assert shown(thing("4", "cup", (402, 100, 500, 218)), glass)["4"].attribute(PERHAPS) == "wine glass"
    rider = thing("5", "person", (100, 100, 300, 200))
    assert len(shown(car, rider)) == 2  # a person in a car is no car
    twice = shown(thing("6", "dog", (0, 100, 200, 300)), thing("7", "dog", (0, 100, 200, 302)))
    assert twice["6"].attributes == ((MERGED, "7"),)


@pytest.mark.parametrize(
    ("people", "caption", "numbers"),
    [
        (["large"], "a man on a horse", {1}),
        (["large"], "a man and some others in a street", {1, 2}),
        (["large", "large"], "two men on horses", {2}),
        (["large", "small"], "a man on a horse", {1, 2, 3}),
        (["large", "large", "large"], "men on horses", {3, 4}),
        ([], "an empty street", {0}),
    ],
)
def test_where_there_is_a_sign_of_it_another_person_may_stand_behind(
    people: list[str], caption: str, numbers: set[int]
) -> None:
    boxes: dict[str, Box] = {"large": (0, 100, 100, 400), "small": (0, 10, 15, 30)}
    things = [
        thing(str(k), "person", (x0 + 150 * k + 20, y0, x1 + 150 * k + 20, y1))
        for k, (x0, y0, x1, y1) in enumerate(boxes[size] for size in people)
    ]
    wary = replace(COVER, company={"person": ("others", "men")})
    panel = Panel("p", width=640, height=480, objects=tuple(things))
    seen = visible(Photograph(panel, captions=(caption,)), wary).panel
    assert {len(world.objects) for (world,) in worlds([seen], frozenset(["person"])) or []} == numbers


def test_two_halves_of_one_thing_may_be_one() -> None:
    """COCO has a refrigerator of two doors as two refrigerators, whose boxes meet."""
    wide, narrow = thing("1", "car", (30, 79, 140, 324)), thing("2", "car", (137, 79, 187, 304))
    found = shown(wide, narrow)
    assert found["1"].attribute(DOUBTFUL) is None
    assert found["2"].attribute(DOUBTFUL) is not None
    lower = replace(narrow, box=(137, 180, 187, 405))
    assert shown(wide, lower)["2"].attribute(DOUBTFUL) is None
    aside = replace(narrow, box=(167, 79, 217, 304))
    assert shown(wide, aside)["2"].attribute(DOUBTFUL) is None


def test_two_dogs_side_by_side_stay_two() -> None:
    near = shown(thing("1", "dog", (100, 100, 300, 300)), thing("2", "dog", (170, 100, 370, 300)))
    assert [one.attribute(DOUBTFUL) for one in near.values()] == [None, None]
    close = shown(thing("1", "dog", (100, 100, 300, 300)), thing("2", "dog", (120, 100, 315, 300)))
    assert [one.attribute(DOUBTFUL) for one in close.values()] == [None, "in the box of another"]


@pytest.mark.parametrize(
    ("box", "why"),
    [
        ((100, 100, 200, 200), None),
        ((100, 100, 125, 125), "small"),
        ((100, 100, 110, 400), "small"),  # thin
        ((0, 100, 85, 180), "cut off"),
        ((0, 100, 70, 400), "cut off"),  # an arm
        ((0, 0, 300, 300), None),
    ],
)
def test_what_is_too_small_or_cut_off_may_not_count(box: Box, why: str | None) -> None:
    assert shown(thing("1", "dog", box))["1"].attribute(DOUBTFUL) == why


def test_outlines_tell_what_is_covered() -> None:
    parts = (((100.0, 100.0), (130.0, 100.0), (130.0, 140.0), (100.0, 140.0)),) * 2
    whole = SceneObject("1", "dog", (), (100, 100, 190, 140), None, parts[:1])
    assert shown(whole)["1"].attribute(DOUBTFUL) == "small"
    parted = SceneObject("1", "dog", (), (100, 100, 190, 140), None, parts)
    assert shown(parted)["1"].attribute(DOUBTFUL) == "covered"
    assert outlined_area(parts) == 2400
    unsure = SceneObject("1", "dog", (), (100, 100, 300, 300), 0.6)
    assert shown(unsure)["1"].attribute(DOUBTFUL) is None
    assert shown(unsure, margin=2)["1"].attribute(DOUBTFUL) == "the detector is not sure"


def test_a_small_thing_in_front_of_another_may_not_be_made_out() -> None:
    person, board = thing("1", "person", (280, 70, 430, 330)), thing("2", "cup", (330, 290, 372, 340))
    assert shown(board)["2"].attribute(DOUBTFUL) is None
    assert shown(person, board)["2"].attribute(DOUBTFUL) == "covered"
    assert shown(person, board)["1"].attribute(DOUBTFUL) is None
    large = thing("2", "cup", (330, 200, 430, 330))
    assert shown(person, large)["2"].attribute(DOUBTFUL) is None


def test_captions_name_what_no_annotation_has() -> None:
    captions = ("A man and two dogs beside a table.",)
    found = shown(thing("1", "dog", (100, 100, 300, 300)), captions=captions)
    assert set(found) == {"1", "caption-person"}
    assert found["caption-person"].box is None
    assert set(shown(thing("1", "person", (100, 100, 300, 300)), captions=("A man.",))) == {"1"}


def test_heaps_and_many_things_have_no_number() -> None:
    assert shown(thing("1", "banana", (100, 100, 300, 300)))["1"].attribute(SEVERAL) is not None
    row = [thing(str(k), "dog", (60.0 * k + 10, 100, 60.0 * k + 60, 300.0 + k)) for k in range(10)]
    found = shown(*row)
    assert [name for name, one in found.items() if one.attribute(DOUBTFUL)] == ["0", "1"]  # the smallest
    crowd = thing("c", "dog", (0, 0, 9, 9), CROWD)
    assert shown(crowd)["c"].attributes == (CROWD,)


boxes = st.tuples(*[st.integers(0, 600)] * 2, *[st.integers(5, 300)] * 2).map(
    lambda v: (float(v[0]), float(v[1] % 440), float(min(v[0] + v[2], 640)), float(min(v[1] % 440 + v[3], 480)))
)


@example([("dog", (4.0, 4.0, 94.0, 35.0)), ("dog", (0.0, 4.0, 97.0, 33.0))])  # of one thing, but for a hair
@given(st.lists(st.tuples(st.sampled_from(["dog", "car", "truck", "cup"]), boxes), max_size=8))
def test_with_a_margin_no_more_is_certain(things: list[tuple[str, Box]]) -> None:
    objects = [thing(str(k), category, box) for k, (category, box) in enumerate(things)]
    panel = Panel("p", width=640, height=480, objects=tuple(objects))
    plain, wide = (visible(Photograph(panel), COVER, margin).panel for margin in (1.0, 2.0))
    certain = {one.id for one in sure(plain).objects}
    assert {one.id for one in sure(wide).objects} <= certain
    kept = {one.id for one in plain.objects}
    assert kept | {v for one in plain.objects for n, v in one.attributes if n == MERGED} == {o.id for o in objects}


@given(boxes, boxes)
def test_overlap_is_a_share_and_the_same_both_ways(one: Box, other: Box) -> None:
    assert overlap(one, other) == overlap(other, one)
    assert 0 <= overlap(one, other) <= 1
    assert overlap(one, one) == 1


def test_a_search_knows_only_what_is_certain() -> None:
    panel = Panel(
        "p",
        width=640,
        height=480,
        objects=(thing("1", "dog", (100, 100, 300, 300)), thing("2", "cup", (110, 110, 120, 120))),
    )
    seen = describe(visible(Photograph(panel), COVER))
    assert seen.objects == {"dog": 1}
    assert seen.touching == ()
    assert describe(Photograph(panel)).objects == {"cup": 1, "dog": 1}


def test_every_supercategory_of_coco_is_decided_with_a_reason(shared: Path) -> None:
    text = Path(coco_module.__file__).with_name("coco_coverage.json").read_text()
    known = json.loads(text)
    own = [name for one in known["supercategories"].values() for name in one["categories"]]
    assert len(own) == len(set(own)) == 80
    assert all(one["why"] for one in known["supercategories"].values())
    assert all(known["not_covered"].values())
    assert all(known["portions"].values())
    for part in ("not_covered", "portions", "confused", "spoken", "company"):
        assert set(known[part]) <= set(own), part
    coverage = Coco(shared / "coco").coverage
    assert coverage.covers("vehicle")
    assert coverage.covers("dog")
    for name in ("furniture", "appliance", "food", "book", "dining table", "unicorn"):
        assert not coverage.covers(name), name


def test_of_categories_that_are_not_its_own_a_coco_file_says_nothing(tmp_path: Path) -> None:
    categories = [{"id": 1, "name": "goat", "supercategory": "animal"}, {"id": 2, "name": "dog"}]
    (tmp_path / "instances_x.json").write_text(json.dumps({"images": [], "annotations": [], "categories": categories}))
    coverage = Coco(tmp_path).coverage
    assert coverage.covers("dog")
    assert not coverage.covers("goat")


def test_photographs_with_the_same_things_to_count_are_similar() -> None:
    seen = [Seen("a", objects={"dog": 2}), Seen("b", objects={"dog": 3}), Seen("c", objects={"cup": 2}), Seen("d")]
    vectors = category_vectors(seen)
    assert vectors.shape == (4, 2)
    assert vectors[0] @ vectors[1] == pytest.approx(1)
    assert vectors[0] @ vectors[2] == 0
    assert not vectors[3].any()


def test_pairs_are_drawn_until_sentences_tell_them_apart() -> None:
    """With two photographs of dogs, most pairings have no two pairs that a sentence can tell from the others."""
    dogs = Panel("", width=640, height=480, objects=(thing("1", "dog", (100, 100, 300, 300)),))
    panels = {str(k): dogs if k < 2 else Panel("", width=640, height=480) for k in range(8)}
    nouns = nouns_of(panels.values(), COVER)
    sets = [ImageSet(str(k), "dog", "two dogs", tuple(panels)) for k in range(6)]
    tasks = pair_all(sets, panels, nouns, lambda one: (int(one.set),), workers=Workers(1))
    assert [task.task for task in tasks] == [f"{k}-{n}" for k in range(6) for n in range(2)]
    for task in tasks:
        assert sorted(name for pair in task.pairs for name in pair) == sorted(panels)
        assert sum("0" in pair or "1" in pair for pair in task.pairs) == 2  # never both dogs in one pair


def test_where_much_is_doubtful_rarer_kinds_are_looked_for() -> None:
    """Of most pairs only the commonest kinds can be written: others are taken where there are some."""

    def dogs(name: str, certain: int, small: int = 0) -> Panel:
        marks = ((DOUBTFUL, "small"),)
        things = [thing(f"{name}-{k}", "dog", (100.0 * k, 100, 100.0 * k + 80, 300)) for k in range(certain + small)]
        things[certain:] = [replace(one, attributes=marks) for one in things[certain:]]
        return Panel(name, width=640, height=480, objects=tuple(things))

    panels = {str(k): dogs(str(k), certain, k % 2) for k, certain in enumerate((1, 4, 4, 1, 0, 3, 3, 0))}
    nouns = nouns_of(panels.values(), COVER)
    tasks = [Task(f"0-{n}", "0", "dog", "", (("0", "1"), ("2", "3"), ("4", "5"), ("6", "7"))) for n in range(2)]
    kinds = Counter[str]()
    for seed in range(6):
        kinds.update(one.kind for one in write_for_set(tasks, panels, nouns, np.random.default_rng(seed), 1))
    assert kinds.total() == 12
    assert len(kinds) >= 3
    assert sum(kinds[name] for name in COMMON) < 6
