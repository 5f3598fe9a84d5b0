"""Schemes: photographs are dealt two to one, and what is held out is what the paper holds out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veridical.benchmark import Benchmark
from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.elements import (
    CATEGORY,
    CELLS,
    HUMAN,
    OBJECT,
    RELATIONS,
    SUBJECT_OF,
    Element,
    LabelReader,
    in_order,
    read_lists,
)
from veridical.builders.vprom.matrices import make_deck, make_matrices
from veridical.builders.vprom.mining import Mining, mine, pool_of
from veridical.builders.vprom.pool import SCHEMES, SIDES, Lists2D, Pool, deal, held_pairs, make_scheme
from veridical.records import SceneObject

from ._painted import PATTERNS, Painted
from ._pools import random_pool

LISTS = read_lists().schemes


@pytest.mark.parametrize("name", SCHEMES)
def test_photographs_are_dealt_two_to_one_for_every_element(name: str) -> None:
    pool = random_pool()
    test = make_scheme(name, pool, LISTS, np.random.default_rng(0)).test
    assert test.sum() == pytest.approx(pool.photographs / 3, abs=1)
    for crops in (pool.by_element[k] for k in range(len(pool.elements))):
        assert 0.1 < test[pool.photograph[crops]].mean() < 0.6


def test_rare_elements_divide_two_to_one_too() -> None:
    """Six photographs of each: four for training and two for test, which chance alone would seldom do."""
    objects = in_order({Element(CATEGORY, CATEGORY, f"object {n:02}") for n in range(40)})
    labels = Lists2D.of([(n // 6,) for n in range(240)])
    pool = Pool(objects, np.arange(240, dtype=np.int32), np.full((240, 4), np.nan), labels, labels, {}, 240)
    test = deal(pool, np.random.default_rng(0))
    assert (test.reshape(40, 6).sum(axis=1) == 2).all()
    assert len({tuple(row) for row in test.reshape(40, 6).tolist()}) > 10  # and not the same two of six


def test_schemes_deal_anew() -> None:
    pool = random_pool()
    one, other = (make_scheme("neutral", pool, LISTS, np.random.default_rng(s)).test for s in (0, 1))
    assert 0.2 < (one & other).sum() / one.sum() < 0.5


def test_a_third_of_objects_is_held_out() -> None:
    pool = random_pool(categories=60)
    objects = np.array([e.type == CATEGORY for e in pool.elements])
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
    assert all(e.name in LISTS.held_out for e in read_patterns())


def read_patterns() -> list[Element]:
    """What the clothes of people show that things show as texture."""
    reader = LabelReader(read_lists())
    found = []
    for pattern in PATTERNS:
        things, people = (reader.read(SceneObject("x", who, (("pattern", pattern),))) for who in ("dog", "man"))
        assert things.attributes == people.others
        found += people.attributes
    assert len(found) == len(PATTERNS)
    return found


def test_what_is_held_out_of_things_is_held_out_of_people() -> None:
    """A colour is a colour on clothes too: a relation that is held out for one is held out for the other."""
    pairs = LISTS.pairs
    same = {"color": "clothing color", "texture": "clothing style"}
    shared = {relation for relation, group in pairs[OBJECT].items() if group in same}
    assert len(shared) == 2
    assert all(pairs[HUMAN][relation] == same[pairs[OBJECT][relation]] for relation in shared)


@pytest.mark.parametrize("name", ["att.held", "att.rel.held"])
def test_training_on_icons_shows_nothing_that_is_held_out(name: str) -> None:
    """By the words of the source: no pair of relation and attribute is in both training and test."""
    pool, _ = pool_of([mine(Painted().photographs(), read_lists(), Mining(), exact=True)], Mining())
    scheme = make_scheme(name, pool, LISTS, np.random.default_rng(0))
    word = {"texture": "pattern", "clothing style": "pattern", "clothing color": "color"}
    seen = []
    for side in SIDES:
        deck = make_deck(pool, scheme.photographs(side), scheme.allowed(side))
        found = make_matrices(pool, deck, 600, np.random.default_rng(1))
        attributes = [n for n in range(len(found)) if SUBJECT_OF[CELLS[found.cell[n]][1]] == "attribute"]
        about = {(CELLS[found.cell[n]][0], pool.elements[found.label[n]].group) for n in attributes}
        seen.append({(relation, word.get(group, group)) for relation, group in about})
    train, test = seen
    assert len(train) > 4
    assert len(test) > 2
    assert not train & test


def test_nothing_is_tested_that_was_not_trained(tmp_path: Path) -> None:
    """Without colours people have only what is held out, and matrices about it would come from nowhere."""
    options = {"matrices": 90, "schemes": ["att.held"], "mining": Mining(least_images=6)}
    for dressed in (True, False):
        report = build_vprom(tmp_path / f"{dressed}", source=Painted(dressed=dressed), **options)
        out = report.out
        about = Benchmark(out).manifest["config"]["answers"]["att.held"]
        assert sum(number for own in about.values() for number in own.values()) == 90
        assert any("no matrix is about" in note and "gender (human attribute)" in note for note in report.notes)
        kinds = {split: {i.tag("kind")[0] for i in Benchmark(out).items(split, "att.held")} for split in SIDES}
        assert (HUMAN in kinds["test"]) == dressed
        assert kinds["test"] == kinds["train"]
