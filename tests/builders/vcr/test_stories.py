"""Quartets of the icon world, and questions about them: what is said holds, and no text tells which choice is right."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.builders.vcr.questions import ask, says, text, writing
from veridical.builders.vcr.questions import block as block_of
from veridical.builders.vcr.written import Written
from veridical.language.english import NUMBER_WORDS
from veridical.language.phenomena.tagger import INFERENCES, inferences
from veridical.matching.items import plain
from veridical.records import Panel, Ref
from veridical.sources.icons.glyphs import ACTIONS, CATEGORIES
from veridical.sources.icons.scene import BACKGROUNDS, panel, relationships
from veridical.sources.icons.stories import (
    WHERE,
    Facts,
    IconStories,
    Story,
    detected,
    plane,
    sample_quartet,
    seen_as,
    tales,
)


@lru_cache(maxsize=48)
def quartet(seed: int) -> tuple[Story, ...]:
    return sample_quartet(np.random.default_rng(seed))


def asked(seed: int, most: int = 4) -> tuple[list[Panel], list[list[Written]]]:
    four = quartet(seed)
    panels = [detected(panel(story.scene, f"p{k}")) for k, story in enumerate(four)]
    return panels, ask(four, np.random.default_rng(seed + 1), most, [p.id for p in panels], "q")


def test_the_facts_are_about_things_that_can_be_drawn() -> None:
    told = tales()
    parts = (told.known("held"), told.visited, told.counted, told.beside, told.landmarks)
    assert set().union(*parts) <= set(CATEGORIES)
    assert set(told.acts) <= set(ACTIONS)
    assert set(told.places) <= set(BACKGROUNDS)
    assert sum(map(len, parts)) == len(set().union(*parts))  # what is counted is nowhere else in a picture


@pytest.mark.parametrize("facts", [tales().known("held"), tales().acts, tales().visited, tales().places])
def test_no_two_things_are_known_for_the_same(facts: Facts) -> None:
    """Otherwise two choices of one question could be right."""
    fields = {field for fact in facts.values() for field in fact}
    assert all(fact.keys() == fields for fact in facts.values())
    for field in fields:
        assert len({fact[field] for fact in facts.values()}) == len(facts)


def test_a_class_tells_nothing_that_is_asked_about() -> None:
    """A detector calls everything that is held in a quartet the same, and so all buildings."""
    assert {seen_as(name) for name in tales().visited} == {"building"}
    for name, facts in tales().held.items():
        assert {seen_as(one) for one in facts} == {name}
        assert len(facts) >= 4
    shown = detected(panel(quartet(0)[0].scene, "p"))
    assert all(not one.attributes and one.box for one in shown.objects)


@given(st.integers(0, 10**6))
def test_every_two_values_of_two_properties_are_those_of_one_person(seed: int) -> None:
    dealt = plane(np.random.default_rng(seed))
    for one, other in combinations(dealt.reshape(4, 16), 2):
        assert len(set(zip(one.tolist(), other.tolist(), strict=True))) == 16
    assert all(sorted(row) == [0, 1, 2, 3] for square in dealt.tolist() for row in square)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 39))
def test_photographs_of_a_quartet_differ_in_who_has_what(seed: int) -> None:
    four = quartet(seed)
    casts = [Counter(o.category for o in story.scene.objects if o.category != story.counted) for story in four]
    assert len({tuple(sorted(cast.items())) for cast in casts}) == 1
    for one, other in combinations(("topic", "wears", "hue", "where"), 2):
        everybody = [p for story in four for p in story.people]
        assert len({(getattr(p, one), getattr(p, other)) for p in everybody}) == 16
    assert all(len({p.topic for p in story.people}) == 4 for story in four)  # each is true of somebody in each
    assert len({(p.wears, p.noun) for story in four for p in story.people}) == 4
    assert len({story.count for story in four}) == len({story.scene.background for story in four}) == 4
    assert len({story.hue for story in four}) == (1 if four[0].mixed else 4)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 39))
def test_what_a_story_says_is_in_the_picture(seed: int) -> None:
    for story in quartet(seed):
        scene = story.scene
        known = {(r.subject, r.predicate, r.object) for r in relationships(scene)}
        does = "holding" if story.style == "held" else "next to"
        boxes = [scene.box(k) for k in range(len(scene.objects))]
        equal = [dict(o.attributes)["color"] for o in scene.objects if o.category == story.counted]
        assert equal.count(story.hue) == story.count
        assert len(equal) == (5 if story.mixed else story.count)
        for one in story.people:
            looks, thing = dict(scene.objects[one.person].attributes), scene.objects[one.other]
            assert (str(one.person), does, str(one.other)) in known
            assert (looks["color"], (looks["age"], looks["gender"])) == (one.wears, one.looks)
            assert dict(thing.attributes)["color"] == one.hue
            assert one.topic == (looks["action"] if story.style == "acts" else thing.category)
            left, top, right, bottom = boxes[one.person]
            upper, half = ("upper", "lower")[(top + bottom) / 2 > 150], ("left", "right")[(left + right) / 2 > 200]
            assert one.where == f"{upper} {half}"
            gaps = [max(b[0] - right, left - b[2], b[1] - bottom, top - b[3]) for b in boxes]
            assert min((gap, k) for k, gap in enumerate(gaps) if k != one.person)[1] == one.other


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 39))
def test_a_block_asks_one_thing_and_has_four_answers(seed: int) -> None:
    panels, blocks = asked(seed)
    assert len(blocks) == 4
    for block in blocks:
        assert len({one.kin for one in block}) == 1
        assert len({one.asks for one in block}) == 1
        assert [one.image for one in block] == [p.id for p in panels]
        for part in ("question", "answer", "rationale"):
            texts = [getattr(one, part) for one in block]
            for found, shown in zip(texts, panels, strict=True):
                pointed = {o for token in found.tokens if isinstance(token, Ref) for o in token.objects}
                assert pointed <= {o.id for o in shown.objects}
                assert "{" not in found.raw
            if part != "question":
                assert len({plain(t, p) for t, p in zip(texts, panels, strict=True)}) == 4
        free = not any(isinstance(t, Ref) for one in block for t in (*one.answer.tokens, *one.rationale.tokens))
        together = len({plain(one.question, p) for one, p in zip(block, panels, strict=True)}) == 1
        assert free or together  # whatever is said of somebody without a tag holds of somebody in each photograph


def test_every_inference_is_asked_about_and_recognised() -> None:
    names = {"{P}": "Casey", "{p}": "Casey", "{o}": "key", "{b}": "dog", "{thing}": "the red key", "{kind}": "tool"}
    for template in writing().templates:
        for wording in (*template.question, *template.of_children):
            for name, word in names.items():
                wording = wording.replace(name, word)
            if template.asks in INFERENCES:
                assert template.asks in inferences(wording), wording
    assert {t.asks for t in writing().templates} == {*INFERENCES, "count", "relation", "attribute"}


@pytest.mark.parametrize("together", [True, False])
def test_question_answer_and_reason_say_different_things(together: bool) -> None:
    """Whatever two of them said would tell the right choice to whoever reads both."""
    done = set()
    for seed in range(40):
        four, rng = quartet(seed), np.random.default_rng(seed)
        fitting = (four[0].style, "any", *(["mixed" if four[0].mixed else "alike"] if together else []))
        for template in writing().templates:
            if template.about in fitting:
                made = block_of(template, four, rng, together)
                asks, answers, reasons = (
                    frozenset().union(*map(says, some)) for some in (made.questions, made.answers, made.reasons)
                )
                assert not asks & answers
                assert not (asks | answers) & reasons
                assert all(map(says, (*made.answers, *made.reasons)))
                for name in {"topic", "wears", "where", "hue"} & (answers | reasons):
                    assert len({getattr(one, name) for one in made.people}) == 4
                done.add(template)
    wanted = {t for t in writing().templates if together or t.about not in ("alike", "mixed")}
    assert done == wanted


def test_in_half_of_the_blocks_every_choice_is_true() -> None:
    """They have no tags, and say what each photograph shows of somebody."""
    free = total = 0
    for seed in range(40):
        panels, blocks = asked(seed)
        for made in blocks:
            total += 1
            free += len({plain(one.question, p) for one, p in zip(made, panels, strict=True)}) > 1
    assert 0.35 < free / total < 0.65  # of 160


def test_counts_are_counted_in_good_english() -> None:
    found = 0
    for seed in range(30):
        for block in asked(seed)[1]:
            for story, one in zip(quartet(seed), block, strict=True):
                if one.asks == "count":
                    found += 1
                    noun = CATEGORIES[story.counted]
                    said = one.answer.words().lower()
                    assert NUMBER_WORDS[story.count] in said.split()
                    assert "there is t" not in said
                    if story.count == 1 and noun.plural != noun.name:
                        assert noun.plural not in said
                        assert "there are" not in said
    assert found > 10


SLIPS = re.compile(
    r"\b(they|you) (was|is|has|does)\b|\b(\w+) \3\b|\ba [aeio]|\ban [^aeiou ]"
    r"|\bprobably\b.*\bprobably\b|\? (i think that )?somebody\b"
)


def test_nobody_would_stumble_over_the_english() -> None:
    """Verbs agree, articles too, no word comes twice, and who was asked about is not "somebody" in the answer."""
    for seed in range(40):
        panels, blocks = asked(seed)
        for block in blocks:
            for one, shown in zip(block, panels, strict=True):
                question, answer, reason = (plain(t, shown) for t in (one.question, one.answer, one.rationale))
                for said in (f"{question} {answer}", reason):
                    assert not SLIPS.search(said.lower()), said
                    assert said[-1] == "."


def test_a_blind_reader_learns_nothing() -> None:
    """Naive Bayes over words, and over pairs of a word of the question with one of a response."""
    rows: list[tuple[bool, int, list[set[str]], list[set[str]]]] = []
    for seed in range(40):
        panels, blocks = asked(seed, 3)
        for block in blocks:
            texts = [
                [plain(t, p).lower() for t in (one.question, one.answer, one.rationale)]
                for one, p in zip(block, panels, strict=True)
            ]
            for k, (question, answer, _) in enumerate(texts):
                answers = [_features(question, other[1]) for other in texts]
                reasons = [_features(f"{question} {answer}", other[2]) for other in texts]
                rows.append((seed < 28, k, answers, reasons))
    for stage in (2, 3):
        right, wrong = Counter[str](), Counter[str]()
        for train, k, *choices in rows:
            for place, features in enumerate(choices[stage - 2]):
                if train:
                    (right if place == k else wrong).update(features)
        good = []
        for train, k, *choices in rows:
            scores = [sum(math.log((right[f] + 1) / (wrong[f] + 3)) for f in one) for one in choices[stage - 2]]
            good += [] if train else [int(np.argmax(scores)) == k]
        assert np.mean(good) < 0.4  # of 144 questions, chance 0.25


def _features(question: str, response: str) -> set[str]:
    return {*response.split(), *(f"{a} {b}" for a in set(question.split()) for b in set(response.split()))}


def test_questions_are_many() -> None:
    texts = {
        plain(one.question, p)
        for s in range(30)
        for ps, bs in [asked(s, 3)]
        for b in bs
        for one, p in zip(b, ps, strict=True)
    }
    assert len(texts) > 170  # of 360
    assert set(WHERE) == {one.where for one in quartet(0)[0].people}


def test_a_secret_changes_its_quartets_alone() -> None:
    known, hidden = IconStories(8, 3), IconStories(8, 3, salt=(1, 2), salted=frozenset({1}))
    assert [known.scene(k) == hidden.scene(k) for k in (0, 3, 4, 7)] == [True, True, False, False]


def test_templates_take_tags_and_words() -> None:
    made = text("Why is {p} near {a} ?", {"p": Ref(("0",)), "a": "the red key"})
    assert made.raw == '["Why", "is", [0], "near", "the", "red", "key", "?"]'
