"""The icon world: scenes hold what was asked for, and their truth is what the pixels show."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from veridical.builders.vprom import build_vprom
from veridical.errors import UserError
from veridical.records import SceneObject
from veridical.sources import open_source
from veridical.sources.icons import draw as icon_draw
from veridical.sources.icons import glyphs as icon_glyphs
from veridical.sources.icons import scene as icon_scene
from veridical.sources.icons import worlds as icon_worlds
from veridical.sources.icons.glyphs import PERSON, PERSON_NOUNS
from veridical.sources.icons.scene import Group, Interaction
from veridical.sources.icons.sprites import CELL, PAD, sprite
from veridical.sources.icons.worlds import THINGS, IconPanels

NAMES = sorted(icon_glyphs.CATEGORIES)
VIVID = ("red", "orange", "green", "blue", "purple")  # that no shadow on a plain background resembles
SEEDS = st.integers(0, 2**32)
GROUPS = st.lists(st.builds(Group, st.sampled_from(NAMES), st.integers(1, 4)), min_size=1, max_size=3)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def boxes(objects: tuple[SceneObject, ...]) -> list[tuple[float, float, float, float]]:
    return [one.box for one in objects if one.box is not None]


@settings(max_examples=40, deadline=None)
@given(groups=GROUPS, distractors=st.integers(0, 3), seed=SEEDS)
def test_scene_holds_what_was_asked_for_inside_the_picture(groups: list[Group], distractors: int, seed: int) -> None:
    scene = icon_scene.compose(rng(seed), groups, distractors=distractors)
    objects = icon_scene.panel(scene, "p").objects
    wanted = Counter(name for group in groups for name in [group.category] * group.count)
    found = Counter(one.category for one in objects)
    assert {name: found[name] for name in wanted} == wanted
    assert sum(found.values()) - sum(wanted.values()) == distractors
    assert [one.id for one in objects] == [str(k) for k in range(len(objects))]
    for one, (left, top, right, bottom) in zip(objects, boxes(objects), strict=True):
        assert 0 <= left < right <= scene.width
        assert 0 <= top < bottom <= scene.height
        kind = icon_glyphs.CATEGORIES[one.category]
        assert all(value in kind.allows(name) for name, value in one.attributes)


@settings(max_examples=25, deadline=None)
@given(groups=GROUPS, seed=SEEDS)
def test_no_two_objects_share_a_pixel(groups: list[Group], seed: int) -> None:
    scene = icon_scene.compose(rng(seed), groups, distractors=2)
    covered = np.zeros((scene.height, scene.width), int)
    for one in scene.objects:
        solid = sprite(one.look).solid()
        covered[one.y : one.y + solid.shape[0], one.x : one.x + solid.shape[1]] += solid
    assert covered.max() == 1


def without(scene: icon_scene.IconScene, index: int) -> icon_scene.IconScene:
    return replace(scene, objects=scene.objects[:index] + scene.objects[index + 1 :])


@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(NAMES), color=st.sampled_from(VIVID), rotation=st.integers(0, 2), seed=SEEDS)
def test_drawn_ink_fills_its_box_in_its_colour(name: str, color: str, rotation: int, seed: int) -> None:
    turns = icon_glyphs.CATEGORIES[name].rotations
    attributes = (("color", color), ("pattern", "solid"), ("rotation", turns[rotation % len(turns)]))
    scene = icon_scene.compose(rng(seed), [Group(name, 1, attributes)], distractors=2, background="plain")
    picture, rest = icon_draw.draw(scene).astype(int), icon_draw.draw(without(scene, 0)).astype(int)
    changed = np.abs(picture - rest).max(axis=2) > 12
    inked = changed & (np.abs(picture - icon_draw.RGB[color]).max(axis=2) < 45)
    left, top, right, bottom = (int(side) for side in scene.box(0))
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    # border and shadow reach a little further than the ink
    assert left - PAD <= columns[0] <= left + 1
    assert right - 1 <= columns[-1] + 1 <= right + PAD + 4
    assert top - PAD <= rows[0] <= top + 1
    assert bottom - 1 <= rows[-1] + 1 <= bottom + PAD + 4
    rows, columns = np.flatnonzero(inked.any(axis=1)), np.flatnonzero(inked.any(axis=0))
    assert columns[0] >= left - 1
    assert columns[-1] <= right
    assert rows[0] >= top - 1
    assert rows[-1] <= bottom
    solid = sprite(scene.objects[0].look)
    clothes = np.asarray(solid.ink)[PAD:-PAD, PAD:-PAD] == 255
    assert inked[top:bottom, left:right][clothes].mean() > 0.6  # the blur of the camera takes some of thin lines


def test_every_colour_is_nearest_to_its_own_pixels() -> None:
    names = list(icon_draw.RGB)
    palette = np.array([icon_draw.RGB[name] for name in names])
    assert tuple(names) == icon_glyphs.COLORS
    for color in icon_glyphs.COLORS:
        for pattern in ("solid", "striped", "dotted", "checked", "outlined"):
            scene = icon_scene.compose(rng(1), [Group("tree", 1, (("color", color), ("pattern", pattern)))])
            left, top, right, bottom = (int(side) for side in scene.box(0))
            ink = np.asarray(sprite(scene.objects[0].look).ink)[PAD:-PAD, PAD:-PAD] == 255
            pixels = icon_draw.draw(scene)[top:bottom, left:right][ink].astype(int)
            saturated = pixels[np.abs(pixels - palette[names.index(color)]).max(axis=1) < 50]
            assert len(saturated) > 0.1 * len(pixels), (color, pattern)


def test_noise_cannot_wrap_a_colour_around() -> None:
    from veridical.sources.icons.draw import LIMIT, TINTS, background_tile, noise_tile

    palettes = (
        icon_draw.RGB.values(),
        icon_draw.TINTED.values(),
        icon_draw._COLOURS.skin,
        icon_draw._COLOURS.hair,
        icon_draw._COLOURS.old_hair,
    )
    colours = np.array([color for palette in palettes for color in palette] + [icon_draw.PAPER, icon_draw.SHADE])
    tiles = [
        np.asarray(background_tile(name, k, 80, 60)) for name in icon_scene.BACKGROUNDS for k in range(len(TINTS[name]))
    ]
    for values in (colours, *tiles):
        assert values.min() >= LIMIT
        assert values.max() <= 255 - LIMIT
    noise = np.asarray(noise_tile(80, 60)).astype(np.int8)
    assert 1 < np.abs(noise).mean() < np.abs(noise).max() <= LIMIT


def test_patterns_differ_in_what_share_of_the_ink_they_colour() -> None:
    shares = {}
    for pattern in icon_glyphs.PATTERNS:
        attributes = (("color", "blue"), ("pattern", pattern), ("size", "large"), ("rotation", "upright"))
        scene = icon_scene.compose(rng(2), [Group("house", 1, attributes)])
        left, top, right, bottom = (int(side) for side in scene.box(0))
        part = icon_draw.draw(scene)[top:bottom, left:right].astype(int)
        shares[pattern] = float((np.abs(part - icon_draw.RGB["blue"]).max(axis=2) < 40).mean())
    assert shares["solid"] > shares["dotted"] > shares["striped"] > shares["outlined"] > 0.05


@pytest.mark.parametrize("name", NAMES)
def test_polygons_outline_the_ink(name: str) -> None:
    for seed in range(2):
        scene = icon_scene.compose(rng(seed), [Group(name, 1, (("size", "large"),))])
        one = icon_scene.panel(scene, "p").objects[0]
        canvas = Image.new("1", (scene.width, scene.height))
        for polygon in one.polygons:
            ImageDraw.Draw(canvas).polygon(polygon, fill=1)
        drawn = sprite(scene.objects[0].look)
        left, top, right, bottom = (int(side) for side in scene.box(0))
        solid = np.zeros((scene.height, scene.width), bool)
        solid[top:bottom, left:right] = drawn.solid()
        inside = np.asarray(canvas)
        assert inside[solid].mean() > 0.85  # the faint edge of the ink lies outside
        corners = np.array([corner for polygon in one.polygons for corner in polygon])
        assert np.abs(corners.min(axis=0) - (left, top)).max() <= 2
        assert np.abs(corners.max(axis=0) - (right, bottom)).max() <= 3


def test_sizes_never_mix() -> None:
    areas: dict[str, list[float]] = {size: [] for size in icon_glyphs.SIZES}
    for k, name in enumerate(NAMES):
        for size in icon_glyphs.SIZES:
            scene = icon_scene.compose(rng(k), [Group(name, 1, (("size", size), ("rotation", "upright")))])
            left, top, right, bottom = scene.box(0)
            areas[size].append(max(right - left, bottom - top))
    assert max(areas["small"]) < min(areas["medium"])
    assert max(areas["medium"]) < min(areas["large"])


def test_twelve_large_objects_fit_and_a_hundred_do_not() -> None:
    attributes = (("size", "large"),)
    for seed in range(5):
        assert (
            len(icon_scene.compose(rng(seed), [Group("apple", 7, attributes), Group("bus", 5, attributes)]).objects)
            == 12
        )
    with pytest.raises(icon_scene.NoRoom, match="100 objects do not fit into 400 x 300"):
        icon_scene.compose(rng(), [Group("apple", 100, attributes)])


@pytest.mark.parametrize(("width", "height"), [(64, 64), (160, 160), (224, 224), (640, 200), (200, 640), (800, 600)])
def test_other_picture_sizes(width: int, height: int) -> None:
    for seed in range(3):
        scene = icon_worlds.sample_scene(rng(seed), width=width, height=height)
        assert icon_draw.draw(scene).shape == (height, width, 3)
        assert all(
            right <= width and bottom <= height for _, _, right, bottom in map(scene.box, range(len(scene.objects)))
        )


def test_row_and_grid_and_facing_layouts() -> None:
    row = icon_scene.compose(rng(1), [Group("dog", 4, (("size", "small"), ("rotation", "upright")))], layout="row")
    feet = [row.box(k)[3] for k in range(4)]
    assert max(feet) - min(feet) <= 2 * CELL
    grid = icon_scene.compose(rng(1), [Group("dog", 12, (("size", "small"),))], layout="grid")
    centres = sorted((grid.box(k)[1] + grid.box(k)[3]) / 2 for k in range(12))
    assert centres[4] - centres[3] > 30
    assert centres[8] - centres[7] > 30
    pair = icon_scene.compose(rng(1), [Group("dog"), Group("frog")], layout="facing")
    assert pair.box(0)[2] < pair.box(1)[0]
    assert [dict(one.attributes)["facing"] for one in pair.objects] == ["right", "left"]
    assert pair.interactions == ((0, "looking at", 1), (1, "looking at", 0))


@pytest.mark.parametrize("seed", range(4))
def test_interactions_are_what_they_say(seed: int) -> None:
    man = Group("person", 1, (("action", "running"),))
    scene = icon_scene.compose(
        rng(seed), [man, Group("dog")], interactions=[Interaction(0, "chasing", 1)], distractors=2
    )
    facing = [dict(one.attributes).get("facing") for one in scene.objects]
    assert facing[0] == facing[1]
    (left, _, right, foot), (other_left, _, other_right, other_foot) = scene.box(0), scene.box(1)
    assert right < other_left if facing[0] == "right" else other_right < left
    assert foot == other_foot
    scene = icon_scene.compose(rng(seed), [Group("cat"), Group("bed")], interactions=[Interaction(0, "on", 1)])
    assert scene.box(0)[1] < scene.box(1)[1]
    assert touch(scene, 0, 1)
    scene = icon_scene.compose(rng(seed), [man, Group("key")], interactions=[Interaction(0, "holding", 1)])
    assert touch(scene, 0, 1)
    assert ("0", "holding", "1") in {(r.subject, r.predicate, r.object) for r in icon_scene.relationships(scene)}
    scene = icon_scene.compose(rng(seed), [man, Group("tree")], interactions=[Interaction(0, "looking at", 1)])
    looks_right = dict(scene.objects[0].attributes)["facing"] == "right"
    assert (scene.box(0)[2] < scene.box(1)[0]) is looks_right


def touch(scene: icon_scene.IconScene, a: int, b: int) -> bool:
    """Whether the inks of two objects are at most two pixels apart."""
    places = [
        np.argwhere(sprite(one.look).solid()) + np.array([one.y, one.x]) for one in (scene.objects[a], scene.objects[b])
    ]
    return bool(np.abs(places[0][:, None] - places[1][None]).max(axis=2).min() <= 2)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_relationships_agree_with_the_boxes_and_each_other(seed: int) -> None:
    scene = icon_worlds.sample_scene(rng(seed))
    found = {(one.subject, one.predicate, one.object) for one in icon_scene.relationships(scene)}
    inverse = {"left of": "right of", "right of": "left of", "above": "below", "below": "above", "near": "near"}
    for subject, predicate, other in found:
        assert subject != other
        if predicate in inverse:
            assert (other, inverse[predicate], subject) in found
        if predicate == "left of":
            assert scene.box(int(subject))[2] <= scene.box(int(other))[0]


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_people_are_drawn_as_asked(seed: int) -> None:
    draws = rng(seed)
    values = {
        "age": str(draws.choice(icon_glyphs.AGES)),
        "gender": str(draws.choice(icon_glyphs.GENDERS)),
        "action": str(draws.choice(icon_glyphs.ACTIONS)),
    }
    scene = icon_scene.compose(draws, [Group("person", 2, tuple(values.items()))])
    for one in scene.objects:
        assert values.items() <= dict(one.attributes).items()
        assert (one.look.age, one.look.gender) == (values["age"], values["gender"])
    assert (values["age"], values["gender"]) in icon_glyphs.PERSON_NOUNS


def test_same_rng_same_bytes_and_other_rng_other_bytes() -> None:
    groups = [Group("dog", 3), Group("person", 2)]
    files = [icon_draw.encode(icon_scene.compose(rng(seed), groups)) for seed in (1, 1, 2)]
    assert files[0] == files[1] != files[2]
    with Image.open(BytesIO(files[0])) as image:
        assert (image.format, image.mode, image.size) == ("JPEG", "RGB", (400, 300))


def test_photographs_are_the_same_in_another_process() -> None:
    code = (
        "from veridical.sources import open_source; from hashlib import sha256;"
        "s = open_source('icons', count=9, seed=5); print(sha256(s.picture(s.at(7))).hexdigest())"
    )
    source = open_source("icons", count=9, seed=5)
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    photographs = list(source.photographs())
    assert sha256(source.picture(photographs[7])).hexdigest() == there
    assert len({one.panel.id for one in photographs}) == 9
    assert photographs == list(source.photographs())


def test_source_tells_where_its_photographs_came_from() -> None:
    source = open_source("icons", count=2)
    assert source.exact
    assert "CC-BY-4.0" in source.config()["licence"]
    first = next(iter(source.photographs()))
    assert dict(first.tags)["background"] in icon_scene.BACKGROUNDS
    with pytest.raises(UserError, match="'icons-1-0' is no photograph of this source"):
        source.picture(next(iter(open_source("icons", seed=1).photographs())))


RUNNING = Group("person", 1, (("action", "running"),))


@pytest.mark.parametrize(
    ("groups", "options", "problem"),
    [
        ([Group("unicorn")], {}, "no category 'unicorn'"),
        ([Group("dog", -1)], {}, "group of -1 dogs"),
        ([Group("dog", 1, (("color", "mauve"),))], {}, "cannot have the color 'mauve'"),
        ([Group("basketball", 1, (("rotation", "tilted"),))], {}, "cannot have the rotation 'tilted'"),
        ([Group("apple", 1, (("facing", "left"),))], {}, "cannot have the facing"),
        ([Group("dog", 1, (("color", "red"), ("color", "blue")))], {}, "cannot have the color 'red'"),
        ([Group("person", 1, (("action", "falling"), ("facing", "left")))], {}, "No icon shows a person"),
        ([Group("dog")], {"background": "lava"}, "no background 'lava'"),
        ([Group("dog")], {"layout": "spiral"}, "no layout 'spiral'"),
        ([Group("dog")], {"layout": "facing"}, "asked for 1 objects"),
        ([Group("dog"), Group("apple")], {"layout": "facing"}, "Apples as asked for are not seen from the side"),
        ([Group("dog")], {"width": 10}, "10 x 300 pixels"),
        ([Group("dog")], {"distractors": -1}, "-1 distractors"),
        ([Group("dog"), Group("cat")], {"interactions": [Interaction(0, "eating", 1)]}, "no interaction 'eating'"),
        ([Group("dog"), Group("cat")], {"interactions": [Interaction(0, "on", 0)]}, "does not join two"),
        ([Group("dog"), Group("cat", 2)], {"interactions": [Interaction(0, "on", 1)]}, "differ in count"),
        ([Group("dog"), Group("cat")], {"interactions": [Interaction(0, "holding", 1)]}, "A dog holds nothing"),
        ([RUNNING, Group("tree")], {"interactions": [Interaction(0, "chasing", 1)]}, "Trees as asked for"),
    ],
)
def test_bad_wishes_are_refused(groups: list[Group], options: dict[str, object], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        icon_scene.compose(rng(), groups, **options)  # type: ignore[arg-type]


def test_missing_font_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from veridical.sources.icons import glyphs as icons_glyphs

    monkeypatch.setattr(icons_glyphs, "find_spec", lambda name: None)
    icons_glyphs.font_path.cache_clear()
    with pytest.raises(UserError, match="fontawesomefree") as error:
        icons_glyphs.font_path()
    assert "veridical[build]" in error.value.fix


# --- panels: what one shows is what its labels say, and how large its world is ----------------------------------------

PEOPLE = {noun for noun, _ in PERSON_NOUNS.values()}


def test_a_panel_shows_some_icons_of_one_kind() -> None:
    for photograph in IconPanels(40, seed=5).photographs():
        objects = photograph.panel.objects
        assert 1 <= len(objects) <= 10
        assert len({(thing.category, thing.attributes) for thing in objects}) == 1


def test_a_smaller_world_is_the_same_for_every_seed() -> None:
    assert IconPanels(categories=16).things == IconPanels(seed=9, categories=16).things
    assert len(set(IconPanels(categories=16).things)) == 16
    assert IconPanels().things == IconPanels(categories=len(THINGS)).things == THINGS
    assert PERSON not in THINGS


def test_a_smaller_world_shows_only_its_things() -> None:
    source = IconPanels(120, seed=2, categories=5)
    seen = {photograph.panel.objects[0].category for photograph in source.photographs()}
    assert seen - PEOPLE == set(source.things)
    assert source.config()["categories"] == 5


@pytest.mark.parametrize("categories", [-1, len(THINGS) + 1])
def test_a_world_that_is_too_large_is_refused(categories: int) -> None:
    with pytest.raises(UserError, match=f"{categories} categories"):
        IconPanels(categories=categories)


def test_categories_reach_the_build(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No matrix could be made"):  # six categories are too few for eight candidates
        build_vprom(tmp_path / "out", matrices=3, images=100, categories=1, schemes=["neutral"], processes=1)
    with pytest.raises(UserError, match="number of categories is that of the source"):
        build_vprom(tmp_path / "out", source="coco:nowhere", categories=3)
