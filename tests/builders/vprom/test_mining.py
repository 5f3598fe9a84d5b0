"""Mining: each principle removes what it should and says so; counts from descriptions and from instances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veridical.builders.vprom.elements import (
    CATEGORY,
    COUNT,
    HUMAN,
    OBJECT,
    OURS,
    Element,
    LabelReader,
    count_element,
    read_lists,
)
from veridical.builders.vprom.mining import Crop, Mining, mine, pool_of
from veridical.builders.vprom.storing import crop_names, cut
from veridical.errors import UserError
from veridical.records import Pairs, Panel, SceneObject
from veridical.sources import Photograph, Region, open_source

LISTS = read_lists()
RED, DOG = Element(OBJECT, "color", "red"), Element(CATEGORY, CATEGORY, "dog")


def thing(
    category: str, box: tuple[float, float, float, float] = (0, 0, 200, 200), *attributes: str, pairs: Pairs = ()
) -> SceneObject:
    return SceneObject(f"{category}{box}", category, (*(("attribute", a) for a in attributes), *pairs), box)


def photograph(*things: SceneObject, regions: tuple[Region, ...] = (), name: str = "p") -> Photograph:
    return Photograph(Panel(name, width=400, height=300, objects=things), regions=regions)


def crops(
    *things: SceneObject, regions: tuple[Region, ...] = (), exact: bool = False, config: Mining | None = None
) -> tuple[tuple[Crop, ...], dict[tuple[str, str], int]]:
    found = mine([photograph(*things, regions=regions)], LISTS, config or Mining(), exact=exact)
    return found.crops[0], dict(found.lost)


DESCRIBED = (Region("a street", (0, 0, 400, 300)),)  # a photograph with descriptions counts by them


def test_super_attributes_are_the_papers() -> None:
    assert set(LISTS.attributes.object) == {
        "color", "material", "scene", "plant condition", "action", "shape", "texture"
    }  # fmt: skip
    assert set(LISTS.attributes.human) == {
        "age", "hair style", "clothing style", "gender", "action", "clothing color"
    }  # fmt: skip


def test_lists_agree_with_each_other() -> None:
    """Synonyms lead to attributes that are used; no attribute is both used and left out; none is in two groups."""
    for groups, same in ((LISTS.attributes.object, LISTS.same.object), (LISTS.attributes.human, LISTS.same.human)):
        names = [name for own in groups.values() for name in own]
        assert len(names) == len(set(names))
        assert set(same.values()) <= set(names)
        assert not set(same) & set(names)  # of two words for one look, one is used
    assert not {n for own in LISTS.attributes.object.values() for n in own} & LISTS.semantic


def test_words_for_one_look_are_one_element() -> None:
    reader = LabelReader(LISTS)

    def read(category: str, *words: str) -> set[str]:
        return {e.name for e in reader.read(thing(category, (0, 0, 9, 9), *words)).attributes}

    assert read("tree", "bare", "leafless") == {"leafless"}
    assert read("sky", "overcast", "cloudy") == {"cloudy"}
    assert read("pole", "steel", "metal", "beige", "tan") == {"metal", "tan"}
    assert read("man", "laying down", "in an orange shirt") == {"lying", "in orange"}
    assert reader.read(thing("Dogs")).category == DOG
    assert {reader.read(thing(word)).type for word in ("people", "men", "kids", "ladies", "old women")} == {HUMAN}
    categories = LISTS.same.category
    assert not set(categories) & set(categories.values())  # one step leads to the word that is used


def test_an_object_is_cropped_with_its_labels() -> None:
    (crop,), lost = crops(thing("Dog", (10, 20, 210, 220), "red", "grey"), regions=DESCRIBED)
    assert crop.region == (10, 20, 210, 220)
    assert crop.depicts == {DOG}  # red and gray exclude each other: neither is pure
    assert crop.shows == {DOG, RED, Element(OBJECT, "color", "gray")}
    assert lost == {("purity", OBJECT): 2}


def test_quality() -> None:
    found, lost = crops(thing("dog", (0, 0, 200, 99), "red"), regions=DESCRIBED)
    assert found == ()
    assert lost == {("quality", CATEGORY): 1, ("quality", OBJECT): 1}
    assert crops(thing("dog", (0, 0, 100, 100)), regions=DESCRIBED)[0]


def test_purity_by_what_else_is_inside() -> None:
    others = [thing("cat", (5.0 * k, 0, 5.0 * k + 4, 4)) for k in range(3)]
    found, lost = crops(thing("dog"), *others, regions=DESCRIBED, config=Mining(most_others=2))
    assert found == ()
    assert lost[("purity", CATEGORY)] == 1
    (crop,), _ = crops(thing("dog"), *others, regions=DESCRIBED, config=Mining(most_others=3))
    assert Element(CATEGORY, CATEGORY, "cat") in crop.shows - crop.depicts


def test_a_crop_shows_all_that_is_inside() -> None:
    """Attributes of other objects, and counts that descriptions of parts of it tell."""
    regions = (Region("two dogs", (0, 0, 140, 140)), Region("three men", (250, 0, 390, 140)))
    found, _ = crops(thing("dog"), thing("cat", (5, 5, 60, 60), "red", "open"), regions=regions)
    (dog,) = (crop for crop in found if DOG in crop.depicts)
    beside = {RED, Element(CATEGORY, CATEGORY, "cat"), Element(OBJECT, "attribute", "open"), count_element(2)}
    assert dog.depicts == {DOG}
    assert dog.shows == {DOG} | beside
    cats = [thing("cat", (10.0 + 60 * k, 20, 60.0 + 60 * k, 180)) for k in range(3)]
    found, _ = crops(thing("dog", (0, 0, 250, 200)), *cats)
    (dog,) = (crop for crop in found if DOG in crop.depicts)
    assert {count_element(1), count_element(3)} <= dog.shows
    assert count_element(3) not in dog.depicts


def test_relatedness_and_independence() -> None:
    (crop,), lost = crops(thing("dog", (0, 0, 200, 200), "open", "red"), thing("sky"), regions=DESCRIBED)
    assert crop.depicts == {DOG, RED}
    assert lost == {("relatedness", OBJECT): 1, ("independence", CATEGORY): 1}
    # no matrix is about them, and they may explain one
    assert crop.shows - crop.depicts == {Element(OBJECT, "attribute", "open"), Element(CATEGORY, CATEGORY, "sky")}


def test_people_have_human_attributes() -> None:
    (crop,), lost = crops(thing("man", (0, 0, 200, 200), "old", "Standing", "red"), regions=DESCRIBED)
    assert {e for e in crop.depicts if e.type == HUMAN} == {
        Element(HUMAN, "age", "elderly"),
        Element(HUMAN, "action", "standing"),
    }
    assert lost == {("unlisted", HUMAN): 1}  # a red man wears something red, or is angry
    assert RED in crop.shows  # and may be told by it all the same


def test_what_no_list_has_is_seen_by_the_name_of_its_source() -> None:
    pairs = (("scene", "on rugs"), ("color", "red"), ("mood", "Calm"))
    (crop,), lost = crops(thing("dog", pairs=pairs), exact=True)
    unlisted = {Element(OBJECT, "scene", "on rugs"), Element(OBJECT, "mood", "calm")}
    assert crop.depicts == {DOG, RED, count_element(1)}
    assert crop.shows == crop.depicts | unlisted
    assert lost == {("unlisted", OBJECT): 1, ("relatedness", OBJECT): 1}


def test_the_red_of_people_is_that_of_things() -> None:
    pairs = (("color", "red"), ("pattern", "striped"), ("action", "swimming"), ("scene", "on grass"))
    (man,), lost = crops(thing("man", pairs=pairs), exact=True)
    (dog,), _ = crops(thing("dog", pairs=pairs), exact=True)
    assert {e.name for e in man.depicts if e.type == HUMAN} == {"in red", "in stripes", "swimming"}
    assert not any(e.type == OBJECT for e in man.depicts)
    assert {e for e in dog.shows if e.type == OBJECT} == {e for e in man.shows if e.type == OBJECT}
    assert len({e for e in dog.shows if e.type == OBJECT}) == 4
    assert lost == {("unlisted", HUMAN): 1}  # a ground is no attribute of people
    (kneeling,), _ = crops(thing("dog", (0, 0, 200, 200), "kneeling", "old"), regions=DESCRIBED)
    assert Element(HUMAN, "action", "kneeling") in kneeling.shows
    assert Element(HUMAN, "age", "elderly") not in kneeling.shows


def test_richness_counts_photographs() -> None:
    rows = [photograph(thing("dog"), name=f"d{n}") for n in range(5)]
    rows += [photograph(thing("cat"), name="c0"), photograph(thing("dog"), thing("cat"), thing("cat"), name="c1")]
    found = mine(rows, LISTS, Mining(), exact=False)
    pool, names = pool_of([found], Mining(least_images=3))
    assert [e.name for e, ok in zip(pool.elements, pool.usable, strict=True) if ok and e.type == CATEGORY] == ["dog"]
    assert Element(CATEGORY, CATEGORY, "cat") in pool.elements  # still a label, which may explain a matrix
    assert pool.removed["richness"][CATEGORY] == 4  # the cats' crops: alone, as a pair, and each of the pair
    assert len(names) == 7


def test_counts_from_descriptions() -> None:
    regions = (Region("five bowls of oatmeal", (0, 0, 150, 150)), Region("five o'clock", (0, 0, 150, 150)))
    (crop,), _ = crops(regions=regions)
    assert (crop.region, crop.depicts) == ((0, 0, 150, 150), {count_element(5)})
    _, lost = crops(regions=(Region("two dogs", (0, 0, 150, 90)),))
    assert lost == {("quality", COUNT): 1}


def test_purity_of_described_counts() -> None:
    """Two dogs among forty other things are no pure two."""
    region = Region("two dogs", (0, 0, 250, 250))
    dogs = [thing("dog", (10.0 + 60 * k, 20, 60.0 + 60 * k, 80)) for k in range(2)]
    others = [thing("cat", (5.0 * k, 100, 5.0 * k + 4, 110)) for k in range(3)]
    for number, pure in ((0, True), (2, True), (3, False)):
        found, lost = crops(*dogs, *others[:number], regions=(region,), config=Mining(most_others=2))
        assert any(count_element(2) in crop.depicts for crop in found) == pure
        assert lost.get(("purity", COUNT), 0) == (not pure)


def test_counts_from_instances() -> None:
    dogs = [thing("dog", (10.0 + 60 * k, 20, 60.0 + 60 * k, 180)) for k in range(3)]
    found, _ = crops(*dogs, thing("cat", (300, 150, 390, 290)))
    group = next(c for c in found if count_element(3) in c.depicts)
    assert group.depicts == {DOG, count_element(3)}
    assert group.region == (1.5, 12, 188.5, 188)  # a little room around them
    assert not any(count_element(1) in c.depicts for c in found)  # the cat's crop is too narrow
    crowd = [*dogs, thing("dog", (0, 0, 300, 200), pairs=(("crowd", "true"),))]
    assert not any(e.type == COUNT for c in crops(*crowd)[0] for e in c.depicts | c.shows)


def test_exact_photographs_are_whole_panels() -> None:
    pairs = (("color", "red"), ("pattern", "striped"))
    two = [thing("dog", (60.0 * k, 0, 60.0 * k + 50, 50), pairs=pairs) for k in range(2)]
    (crop,), _ = crops(*two, exact=True)
    assert crop.region is None
    assert crop.depicts == {DOG, RED, Element(OBJECT, "texture", "striped"), count_element(2)}
    mixed, lost = crops(*two, thing("cat", (200, 0, 250, 50)), exact=True)
    assert mixed == ()  # three things of two kinds are no pure example of anything
    assert lost == {("purity", CATEGORY): 2}


def test_real_visual_genome(shared: Path) -> None:
    source = open_source(f"vg:{shared / 'visual_genome'}")
    found = mine(source.photographs(), LISTS, Mining(), exact=False)
    pool, names = pool_of([found], Mining(least_images=1))
    table = pool.table()
    assert len(names) == 5
    assert table[COUNT]["elements"] == 2  # two and three of something
    assert pool.removed["purity"][COUNT] > 5  # most regions that are counted in show much else
    everything, _ = pool_of(
        [mine(source.photographs(), LISTS, Mining(most_others=1000), exact=False)], Mining(least_images=1)
    )
    assert everything.table()[COUNT]["elements"] == 3  # one of something, too
    assert table[OBJECT]["elements"] > 5
    sides = pool.region[:, 2:] - pool.region[:, :2]
    assert sides.min() >= 100
    assert pool.removed["quality"][CATEGORY] > 50
    assert pool.removed["independence"][CATEGORY] > 10


def test_real_coco_has_categories_and_counts(shared: Path) -> None:
    source = open_source(f"coco:{shared / 'coco'}")
    pool, _ = pool_of([mine(source.photographs(), LISTS, Mining(), exact=False)], Mining(least_images=3))
    assert set(pool.table()) == {CATEGORY, COUNT}
    assert pool.removed["unlisted"] == {}


def test_a_panel_moves_its_objects() -> None:
    seen = photograph(thing("dog", (110, 120, 210, 240)), thing("cat", (0, 0, 50, 50)))
    panel = cut(seen, "p-c0", (100.4, 110.2, 249.6, 260.0))
    assert (panel.region, panel.width, panel.height) == ((100, 110, 250, 260), 150, 150)
    (dog,) = panel.objects
    assert (dog.category, dog.box) == ("dog", (10, 10, 110, 130))


def test_names_of_crops() -> None:
    region = np.array([[np.nan] * 4, [0, 0, 100, 100], [0, 0, 120, 100]])
    assert crop_names(["a", "b"], np.array([0, 1, 1]), region) == ["a", "b-c0", "b-c1"]


def test_lists_can_be_changed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="none of the lists"):
        read_lists(tmp_path)
    (tmp_path / "ambiguous_objects.txt").write_text("dog  # everywhere here\n")
    mine_ = mine([photograph(thing("dog"))], read_lists(tmp_path), Mining(), exact=False)
    assert mine_.lost["independence", CATEGORY] == 1
    (tmp_path / "superattributes.json").write_text('{"object attribute": 3}')
    with pytest.raises(UserError, match=r"superattributes\.json is not such a list"):
        read_lists(tmp_path)
    assert (OURS / "superattributes.json").exists()
