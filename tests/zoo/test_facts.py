"""Facts of scenes, and how they are crossed with sentences."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.records import Panel
from veridical.sources.boxes.scenes import Figure, Placed, panel, sample_scene
from veridical.zoo.facts import (
    Block,
    count_features,
    counts,
    ngrams,
    properties,
    property_features,
    things,
    tower,
    variables,
)


def box(*objects: tuple[int, int, str, str, int], index: int = 0) -> Panel:
    """A panel from (x, y, shape, colour, size)."""
    return panel([Placed(y, x, Figure(shape, color, size)) for x, y, shape, color, size in objects], index)


def pairs(blocks: Iterable[Block]) -> set[tuple[str, str]]:
    """Every feature of some blocks."""
    return {(fact, gram) for facts, grams in blocks for fact in facts for gram in grams}


TOWER = box((40, 80, "square", "black", 20), (40, 59, "square", "yellow", 20))
LOOSE = box((0, 0, "circle", "blue", 10), (50, 50, "triangle", "black", 30), index=1)
ROW = box((0, 0, "square", "blue", 20), (20, 0, "square", "blue", 20), index=2)


def test_towers_are_stacks_of_squares() -> None:
    assert [t.color for t in tower(things(TOWER))] == ["black", "yellow"]
    assert tower(things(LOOSE)) == []
    assert tower(things(ROW)) == []
    assert tower(things(box((13, 80, "square", "blue", 20)))) == []


@given(st.integers(0, 2**32))
def test_every_drawn_tower_is_seen_in_full(seed: int) -> None:
    for drawn in sample_scene(np.random.default_rng(seed), "tower"):
        assert len(tower(things(drawn))) == len(drawn.objects)


def test_properties() -> None:
    found = properties([TOWER, LOOSE])
    assert {
        "yellow on top",
        "black at base",
        "circle touches corner",
        "blue touches wall",
        "black touches wall",
    } <= found
    assert "triangle touches wall" not in found
    assert "yellow touches wall" not in found
    assert "black touches corner" not in found


def test_counts() -> None:
    found = counts([TOWER, LOOSE, ROW])
    assert {
        ("object in all", 6),
        ("black in all", 2),
        ("black square in all", 1),
        ("small blue circle in all", 1),
        ("blue in a box", 2),
        ("blue in a box", 0),
        ("boxes with blue", 2),
        ("boxes with only blue", 1),
        ("blue touching wall", 3),
        ("tower height", 2),
        ("height with yellow on top", 2),
        ("towers", 1),
        ("towers of 2", 1),
        ("colors in a box", 1),
    } <= found
    assert not any("yellow" in kind or "circle" in kind for kind, _ in counts([TOWER, LOOSE], ["black"]))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["scatter", "tower"]), order=st.permutations(range(3)))
def test_the_order_of_the_boxes_changes_no_fact(seed: int, kind: str, order: list[int]) -> None:
    scene = sample_scene(np.random.default_rng(seed), kind)  # type: ignore[arg-type]
    other = [scene[i] for i in order]
    assert properties(scene) == properties(other)
    assert counts(scene) == counts(other)


def test_ngrams_have_up_to_six_words() -> None:
    words = ["there", "is", "a", "box", "with", "two", "black", "squares"]
    found = ngrams(words)
    assert "<s> there is a box with" in found
    assert "there is a box with two" in found
    assert max(len(gram.split()) for gram in found) == 6
    assert len(found) == sum(10 - n + 1 for n in range(1, 7)) - 2


def test_property_features_cross_each_property_with_each_ngram() -> None:
    found = pairs(property_features(["a", "box"], [LOOSE], 2))
    assert ("blue touches wall", "a box") in found
    assert len(found) == len(properties([LOOSE])) * len(ngrams(["a", "box"], 2))


def test_count_features_compare_counts_with_the_numbers_said() -> None:
    scene = [TOWER, LOOSE, ROW]
    found = pairs(count_features(["exactly", "three", "blue", "items"], scene))
    assert ("as many color1 in all", "exactly # color1 object") in found
    assert ("fewer boxes with color1", "# color1") in found
    assert ("more object in all", "#") in found
    assert not any("black" in fact or "color2" in fact for fact, _ in found)
    assert not pairs(count_features(["some", "blue", "items"], scene))


def test_a_count_feature_is_the_same_for_another_colour() -> None:
    blue = {
        f for f in pairs(count_features(["exactly", "three", "blue", "items"], [ROW, LOOSE])) if "color1 in all" in f[0]
    }
    other = [box((0, 0, "square", "black", 20), (20, 0, "square", "black", 20)), box((50, 50, "circle", "black", 10))]
    black = {f for f in pairs(count_features(["exactly", "three", "black", "items"], other)) if "color1 in all" in f[0]}
    assert blue == black


def test_variables_are_numbered_by_appearance() -> None:
    words, named = variables(["a", "small", "yellow", "circle", "and", "a", "blue", "circle"])
    assert words == ["a", "size1", "color1", "shape1", "and", "a", "color2", "shape1"]
    assert named == {"small": "size1", "yellow": "color1", "circle": "shape1", "blue": "color2"}
