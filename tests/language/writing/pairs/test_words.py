"""Words for what photographs show: hypernyms, attributes; the icon world's and COCO's words in sentences."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from veridical.language.english import Nouns, Spoken, Word, icon_nouns, nouns_of, plural, word
from veridical.language.writing.pairs.phrases import Facts
from veridical.language.writing.pairs.statements import execute_pair, write
from veridical.records import Panel, SceneObject
from veridical.sources import open_source
from veridical.sources.icons.glyphs import CATEGORIES
from veridical.sources.icons.scene import Group, compose, panel

from ._pairs import two_of_four


def test_plurals_of_the_icon_world_agree_with_its_own() -> None:
    for name, category in CATEGORIES.items():
        if name not in ("bread", "scissors", "cheese"):  # counted by the piece
            assert plural(name) == category.plural, name


def test_nouns_of_panels_with_supercategories() -> None:
    def seen(name: str, above: str) -> SceneObject:
        return SceneObject(name, name, (("supercategory", above),))

    nouns = nouns_of([Panel("p", objects=(seen("dog", "animal"), seen("cup", "kitchen"), seen("person", "person")))])
    assert nouns.hypernyms == {"animal": Word("animal", "animals")}
    assert nouns.above == {"dog": "animal"}
    assert nouns.hypernym_attribute == "supercategory"
    assert pickle.loads(pickle.dumps(nouns)) == nouns


def test_attributes_are_said_in_each_categorys_own_way() -> None:
    nouns = Nouns(
        {"person": word("person"), "dog": word("dog")},
        attributes=(
            Spoken("color", "{noun} in {value}", "wearing {value}", of=frozenset(["person"])),
            Spoken("color"),
        ),
    )
    red = (("color", "red"),)
    one = Panel("a", objects=(SceneObject("0", "person", red), SceneObject("1", "dog", red)))
    facts = Facts([(one, Panel("b"))], nouns)
    person, dog = (facts.phrase((("category", c), ("color", "red"))) for c in ("person", "dog"))
    assert (person.many, dog.many) == ("people in red", "red dogs")
    assert facts.unlike(person).one == "person that is not wearing red"
    assert facts.unlike(dog).counts == ((0, 0),)


def test_a_word_that_some_take_wider_is_used_where_that_makes_no_difference() -> None:
    nouns = Nouns({"car": word("car"), "taxi": word("taxi")}, also={"car": ("taxi",)})

    def street(cars: int, taxis: int) -> Panel:
        names = ["car"] * cars + ["taxi"] * taxis
        return Panel("s", objects=tuple(SceneObject(str(k), c) for k, c in enumerate(names)))

    pairs = [
        (street(2, 0), street(0, 0)),
        (street(3, 0), street(0, 0)),
        (street(1, 1), street(0, 0)),
        (street(0, 1), street(0, 0)),
    ]
    said = set()
    for seed in range(60):
        found = write(np.random.default_rng(seed), pairs, (True, True, False, False), nouns=nouns)
        if found is not None:
            said.add(found.sentence)
    assert said
    assert not any("two cars" in s or "more than one car" in s for s in said)  # one car and a taxi: two cars?


def test_what_is_too_crowded_to_count_is_not_spoken_of() -> None:
    crowd = SceneObject("c", "dog", (("crowd", "true"),))
    panels = [Panel(str(k), objects=(crowd, *(SceneObject(str(n), "dog") for n in range(k)))) for k in range(4)]
    pairs = [(p, Panel("e")) for p in panels]
    assert write(np.random.default_rng(0), pairs, (True, False, True, False), nouns=nouns_of(panels)) is None


def test_icon_scenes_get_sentences_in_their_own_words() -> None:
    nouns, said = icon_nouns(), ""
    assert set(nouns.categories) == set(CATEGORIES)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        scenes = [
            panel(
                compose(rng, [Group("person", int(rng.integers(1, 4))), Group("dog", int(rng.integers(0, 4)))]), str(k)
            )
            for k in range(8)
        ]
        pairs, truth = list(zip(scenes[::2], scenes[1::2], strict=True)), two_of_four(rng)
        written = write(rng, pairs, truth, nouns=nouns)
        assert written is not None
        assert all(execute_pair(written.program, *pair) == t for pair, t in zip(pairs, truth, strict=True))
        said += written.sentence
    assert any(word in said for word in (" boy", " girl", " woman", " women", " man ", " men "))
    assert "striped pe" not in said
    assert "facing" in said


def test_patterns_are_spoken_of_where_they_can_be_seen() -> None:
    """Not of icons that have dots or bars of their own, nor where one of the things is too small to tell."""
    nouns = icon_nouns()

    def kinds(category: str, side: float) -> set[str]:
        def thing(name: str, side: float) -> SceneObject:
            return SceneObject(name, category, (("color", "red"), ("pattern", "dotted")), (0, 0, side, 90))

        facts = Facts([(Panel("a", objects=(thing("0", 60), thing("1", side))), Panel("b"))], nouns)
        return {facts.phrase(key).many for key in facts.counts}

    assert "dotted dogs" in kinds("dog", 24)
    assert "dotted dogs" not in kinds("dog", 23)
    assert "red dogs" in kinds("dog", 23)
    for category in ("calculator", "hamburger", "die", "keyboard", "trash can"):
        many = CATEGORIES[category].plural
        assert {many, f"red {many}"} <= kinds(category, 60)
        assert not any("dotted" in kind for kind in kinds(category, 60))
    spoken = next(way.of for way in nouns.attributes if way.name == "pattern")
    assert spoken is not None
    assert len(spoken) > 70


def test_photographs_of_coco_get_sentences(shared: Path) -> None:
    panels = [p.panel for p in open_source(f"coco:{shared / 'coco'}").photographs()]
    nouns = nouns_of(panels)
    people = [p for p in panels if sum(o.category == "person" for o in p.objects) > 0]
    written = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        chosen = [people[int(k)] for k in rng.permutation(len(people))[:8]]
        pairs, truth = list(zip(chosen[::2], chosen[1::2], strict=True)), two_of_four(rng)
        found = write(rng, pairs, truth, nouns=nouns, synset="person")
        if found is not None:
            written += 1
            assert all(execute_pair(found.program, *pair) == t for pair, t in zip(pairs, truth, strict=True))
    assert written > 20
