"""Panels of the icon world: what a panel shows is what its labels say, and how large its world is."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.builders.vprom import build_vprom
from veridical.errors import UserError
from veridical.sources.icons.glyphs import PERSON, PERSON_NOUNS
from veridical.sources.icons.panels import THINGS, IconPanels

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
