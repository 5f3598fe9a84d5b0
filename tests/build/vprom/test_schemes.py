"""Schemes: photographs are dealt two to one, and what is held out is what the paper holds out."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.build.vprom.elements import CATEGORY, HUMAN, OBJECT, RELATIONS, Element
from veridical.build.vprom.lists import read_lists
from veridical.build.vprom.schemes import SCHEMES, held_pairs, make_scheme

from ._pools import random_pool

LISTS = read_lists().schemes


@pytest.mark.parametrize("name", SCHEMES)
def test_photographs_are_dealt_two_to_one_for_every_element(name: str) -> None:
    pool = random_pool()
    test = make_scheme(name, pool, LISTS, np.random.default_rng(0)).test
    assert test.sum() == pytest.approx(pool.photographs / 3, abs=1)
    for crops in (pool.by_element[k] for k in range(len(pool.elements))):
        assert 0.1 < test[pool.photograph[crops]].mean() < 0.6


def test_schemes_deal_anew() -> None:
    pool = random_pool()
    one, other = (make_scheme("neutral", pool, LISTS, np.random.default_rng(s)).test for s in (0, 1))
    assert 0.2 < (one & other).sum() / one.sum() < 0.5


def test_a_third_of_objects_is_held_out() -> None:
    pool = random_pool(categories=60)
    objects = np.array([e.kind == CATEGORY for e in pool.elements])
    held = make_scheme("obj.held", pool, LISTS, np.random.default_rng(0)).held
    assert held[RELATIONS.index("and"), objects].sum() == 20
    assert (held[RELATIONS.index("and")] == held[RELATIONS.index("or")]).all()
    pairs = make_scheme("obj.rel.held", pool, LISTS, np.random.default_rng(0)).held
    rows = [pairs[RELATIONS.index(r), objects] for r in ("and", "or", "union")]
    assert [int(row.sum()) for row in rows] == [20, 20, 20]
    assert (np.sum(rows, axis=0) == 1).all()  # different ones for each relation


def test_held_out_pairs_are_the_lists_or_what_the_source_has() -> None:
    def source(*groups: tuple[str, str, int]) -> list[Element]:
        return [Element(kind, group, f"{group} {n}") for kind, group, size in groups for n in range(size)]

    full = held_pairs(random_pool().elements, LISTS)
    assert full[OBJECT, "and"] == "color"
    assert full[OBJECT, "or"] == "material"
    icons = source((OBJECT, "color", 10), (OBJECT, "scene", 6), (OBJECT, "texture", 5), (HUMAN, "gender", 2))
    assert held_pairs(icons, LISTS) == {
        (OBJECT, "and"): "color",
        (OBJECT, "or"): "scene",  # there is no material
        (OBJECT, "union"): "texture",
    }
    assert held_pairs(source((OBJECT, "color", 10)), LISTS) == {}


def test_super_attributes_that_are_held_out() -> None:
    pool = random_pool()
    held = make_scheme("att.held", pool, LISTS, np.random.default_rng(0)).held[0]
    groups = {e.group for e, h in zip(pool.elements, held, strict=True) if h}
    assert groups == {"shape", "texture", "action"}
