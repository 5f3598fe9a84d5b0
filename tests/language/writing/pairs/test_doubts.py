"""What may count or not: no label depends on it, in whatever way the images are seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.language.english import HOLDERS, Nouns, nouns_of
from veridical.language.programs.terms import parse
from veridical.language.writing.pairs.doubts import (
    CROWD,
    DOUBTFUL,
    MOST_WORLDS,
    PERHAPS,
    SEVERAL,
    sure,
    uncountable,
    ways,
    words_of,
    worlds,
)
from veridical.language.writing.pairs.phrases import Facts
from veridical.language.writing.pairs.statements import PairStatement, execute_pair, write
from veridical.records import Panel, SceneObject
from veridical.sources import Coverage

from ._pairs import NOUNS, four_pairs, two_of_four

OTHER = {"car": "bus", "bus": "car", "dog": "cat", "cat": "dog"}


def doubted(rng: np.random.Generator, panel: Panel, share: float = 0.15) -> Panel:
    """A panel some of whose things may count or not, be several, or be of another category."""
    things = []
    for one in panel.objects:
        marks = []
        if rng.random() < share:
            marks.append((DOUBTFUL, "small"))
        elif rng.random() < share:
            marks.append((SEVERAL, "a heap"))
        elif one.category in OTHER and rng.random() < share:
            marks.append((PERHAPS, OTHER[one.category]))
        things.append(replace(one, attributes=(*one.attributes, *marks)))
    return replace(panel, objects=tuple(things))


def every_world(panel: Panel) -> Iterator[Panel]:
    """All of them, whatever a sentence speaks of."""
    for choice in product(*map(ways, panel.objects)):
        yield replace(panel, objects=tuple(thing for way in choice for thing in way))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_written_sentence_has_its_labels_in_every_world(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(doubted(rng, left), doubted(rng, right)) for left, right in four_pairs(rng)]
    truth = two_of_four(rng)
    written = write(rng, pairs, truth, nouns=NOUNS, tries=1)
    if written is None:
        return
    for (left, right), value in zip(pairs, truth, strict=True):
        for number, (a, b) in enumerate(product(every_world(left), every_world(right))):
            if number > 300:
                break
            assert execute_pair(written.program, a, b) == value, written.sentence


def test_doubt_costs_sentences_and_does_not_end_them() -> None:
    written = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pairs = [(doubted(rng, left), doubted(rng, right)) for left, right in four_pairs(rng)]
        written += write(rng, pairs, two_of_four(rng), nouns=NOUNS) is not None
    assert written > 25


def dog(number: int, *marks: tuple[str, str], category: str = "dog") -> SceneObject:
    return SceneObject(str(number), category, marks, (10.0 * number, 0.0, 10.0 * number + 8, 8.0))


def test_worlds_go_through_every_number_of_things() -> None:
    small = (DOUBTFUL, "small")
    panel = Panel("p", objects=(dog(0), *(dog(k, small) for k in range(1, 8))))
    found = worlds([panel], frozenset(["dog"])) or []
    assert sorted({len(world[0].objects) for world in found}) == list(range(1, 9))
    few = Panel("p", objects=(dog(0), dog(1, small), dog(2, small)))
    shown = {tuple(o.id for o in world[0].objects) for world in worlds([few], frozenset(["dog"])) or []}
    assert shown == {("0",), ("0", "1"), ("0", "2"), ("0", "1", "2")}  # of few things, which ones matters too
    assert len(worlds([panel], frozenset(["cat"])) or []) == 1
    kinds = [dog(k, small, category=name) for k, name in enumerate("abcdefghij")]
    assert 2 ** len(kinds) > MOST_WORLDS
    assert worlds([Panel("p", objects=tuple(kinds))], frozenset("abcdefghij")) is None


def test_what_a_thing_may_be() -> None:
    merged = dog(0, (PERHAPS, "cat"))
    assert [[o.category for o in way] for way in ways(merged)] == [["dog"], ["cat"]]
    assert sorted({len(way) for way in ways(dog(0, (SEVERAL, "a heap")))}) == [1, 2, 5]
    assert sure(Panel("p", objects=(merged, dog(1, (DOUBTFUL, "small"))))).objects == (merged,)
    crowd, unseen = dog(0, CROWD), SceneObject("1", "cat", ((DOUBTFUL, "captions"),))
    assert uncountable([Panel("p", objects=(crowd, unseen, dog(2, category="cow")))]) == {"dog", "cat"}
    program = parse("(count (exactly 1) (keep (and (is category dog cat) (is color red)) things))")
    assert words_of(program) == {"dog", "cat", "red"}


def _vehicles(*sorts: str) -> Panel:
    """Cars and trucks in a row; one that may be either is a "car|truck"."""
    things = []
    for k, sort in enumerate(sorts):
        first, *rest = sort.split("|")
        marks = (("supercategory", "vehicle"), *((PERHAPS, other) for other in rest))
        things.append(dog(k, *marks, category=first))
    return Panel("p", width=100, height=100, objects=tuple(things))


def test_a_thing_of_two_categories_counts_under_what_is_above_them() -> None:
    empty = Panel("e", width=100, height=100)
    pairs = [
        (_vehicles("car|truck", "car|truck", "car|truck"), empty),
        (_vehicles("car|truck", "truck|car", "truck|car"), empty),
        (_vehicles("car|truck"), _vehicles("truck|car")),
        (_vehicles("truck|car"), empty),
    ]
    panels = [panel for pair in pairs for panel in pair]

    truth = (True, True, False, False)

    def said(*names: str) -> list[PairStatement]:
        nouns = nouns_of(panels, Coverage(False, frozenset(names)))
        found = (write(np.random.default_rng(seed), pairs, truth, nouns=nouns, tries=1) for seed in range(20))
        return [one for one in found if one is not None]

    assert any("vehicle" in one.sentence for one in said("vehicle"))
    for one in said("car", "truck"):  # nobody knows which is a car; "at most one car and at most one truck" can be told
        assert re.search("at most|fewer|more|least", one.sentence), one.sentence
        for (left, right), value in zip(pairs, truth, strict=True):
            for a, b in product(every_world(left), every_world(right)):
                assert execute_pair(one.program, a, b) == value, one.sentence


@pytest.mark.parametrize("nouns", [NOUNS, replace(NOUNS, holders=HOLDERS)])
def test_what_few_photographs_show_is_not_spoken_of(nouns: Nouns) -> None:
    small = (DOUBTFUL, "small")
    panels = [Panel(str(k), objects=(dog(0), dog(1, small, category="cat"))) for k in range(8)]
    panels[0] = replace(panels[0], objects=(dog(0), dog(1, category="horse")))
    facts = Facts(list(zip(panels[::2], panels[1::2], strict=True)), nouns)
    spoken = {key[0][1] for key in facts.counts}
    assert "cat" not in spoken  # nobody is sure to see one
    assert ("horse" in spoken) == (nouns.holders == 1)
    assert {"dog", "animal"} <= spoken


def test_only_what_a_source_covers_has_words() -> None:
    def seen(category: str, above: str) -> SceneObject:
        return SceneObject(category, category, (("supercategory", above),))

    panel = Panel("p", objects=(seen("dog", "animal"), seen("chair", "furniture"), seen("couch", "furniture")))
    nouns = nouns_of([panel], Coverage(False, frozenset(["dog", "animal", "chair"]), confused={"chair": ("couch",)}))
    assert set(nouns.categories) == {"dog", "chair"}
    assert set(nouns.hypernyms) == {"animal"}
    assert nouns.also == {"chair": ("couch",)}
    assert set(nouns_of([panel]).hypernyms) == {"animal", "furniture"}
