"""Stories of the icon world, and questions about them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.builders.vcr.questions import draft_questions, text
from veridical.language.english import NUMBER_WORDS
from veridical.language.phenomena.tagger import inferences
from veridical.records import Ref
from veridical.sources.icons.glyphs import ACTIONS, CATEGORIES
from veridical.sources.icons.scene import BACKGROUNDS, panel, relationships
from veridical.sources.icons.stories import VERBS, Story, sample_story, tales


def story(seed: int) -> Story:
    return sample_story(np.random.default_rng(seed))


def test_the_facts_are_about_things_that_can_be_drawn() -> None:
    told = tales()
    assert {*told.held, *told.watched, *told.chasers, *told.counted} <= set(CATEGORIES)
    assert set(told.acts) <= set(ACTIONS)
    assert set(told.places) <= set(BACKGROUNDS)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_what_a_story_says_is_in_the_picture(seed: int) -> None:
    one = story(seed)
    scene = one.scene
    known = {(r.subject, r.predicate, r.object) for r in relationships(scene)}
    assert len(one.events) >= 2
    for event in one.events:
        person = dict(scene.objects[event.person].attributes)
        assert scene.objects[event.person].category == "person"
        if event.other is None:
            assert person["action"] in tales().acts
            continue
        pair = (str(event.person), str(event.other))
        if event.verb == "hold":
            assert (pair[0], "holding", pair[1]) in known
        elif event.verb == "watch":
            assert (pair[0], "looking at", pair[1]) in known
            ahead = scene.box(event.other)[0] - scene.box(event.person)[0]
            assert (ahead > 0) == (person["facing"] == "right")
        else:
            assert (pair[1], "chasing", pair[0]) in known
            behind = scene.box(event.person)[0] - scene.box(event.other)[0]
            assert (behind > 0) == (person["facing"] == "right")
            assert dict(scene.objects[event.other].attributes)["facing"] == person["facing"]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_questions_tag_what_is_there_and_cite_it(seed: int, most: int) -> None:
    one = story(seed)
    objects = {o.id: o.category for o in panel(one.scene, "p").objects}
    drafts = draft_questions(one, np.random.default_rng(seed + 1), most)
    assert 1 <= len(drafts) <= most
    for draft in drafts:
        for part in (draft.question, draft.answer, draft.rationale):
            tagged = [o for token in part.tokens if isinstance(token, Ref) for o in token.objects]
            assert set(tagged) <= set(objects)
            assert "{" not in part.raw
        assert any(isinstance(token, Ref) for token in draft.rationale.tokens)  # a reason cites what is tagged
        assert set(draft.about) <= set(objects)
        # a thing is tagged where it is spoken of: words would give away which pictures an answer fits
        things = {CATEGORIES[c].name for c in objects.values()} - {"person"}
        if draft.asks != "how many":
            assert not things & {t for t in draft.answer.tokens if isinstance(t, str)}


def test_counts_are_counted() -> None:
    for seed in range(40):
        one = story(seed)
        number = sum(o.category == one.counted for o in one.scene.objects)
        for draft in draft_questions(one, np.random.default_rng(seed), 5):
            if draft.asks == "how many":
                kind = CATEGORIES[one.counted]
                noun = kind.name if number == 1 else kind.plural
                assert f"{NUMBER_WORDS[number]} {noun}" in draft.answer.words()
                words = [w for w in draft.rationale.tokens if isinstance(w, str) and w in NUMBER_WORDS]
                if number > 1:
                    assert sum(NUMBER_WORDS.index(w) for w in words) == number


def test_many_kinds_of_questions_and_of_events() -> None:
    kinds: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for seed in range(150):
        one = story(seed)
        kinds.update(event.verb for event in one.events)
        for draft in draft_questions(one, np.random.default_rng(seed)):
            asked[draft.asks] += 1
            expected = {"why": "explanation", "where": "scene", "next": "temporal", "what if": "hypothetical"}
            if draft.asks in expected:
                assert expected[draft.asks] in inferences(draft.question.words({str(k): "Casey" for k in range(20)}))
    assert set(kinds) == set(VERBS)
    assert set(asked) == {"why", "what", "how many", "who", "where", "next", "feeling", "role", "what if"}


def test_answers_of_one_fact_are_known_as_such() -> None:
    """Swimming and being a swimmer, whatever the wording; and no wording stands for two facts."""
    facts: dict[str, set[str]] = {}
    names = dict.fromkeys(map(str, range(30)), "X")
    for seed in range(300):
        for draft in draft_questions(story(seed), np.random.default_rng(seed), 5):
            if not any(isinstance(t, Ref) and len(draft.about) for t in draft.answer.tokens[1:]):
                facts.setdefault(draft.says, set()).add(draft.answer.words(names))
    assert {"X is swimming .", "X is a swimmer ."} <= facts["act swimming"]
    wordings = [one for each in facts.values() for one in each]
    assert max(Counter(wordings).values()) == 1


def test_the_number_of_an_object_does_not_tell_its_part() -> None:
    places = Counter()
    for seed in range(200):
        for event in story(seed).events:
            if event.other is not None:
                places[event.other - event.person == 1] += 1
    assert places[True] < 0.3 * sum(places.values())


def test_templates_become_token_lists() -> None:
    made = text("{p} sees {a} .", {"p": Ref(("3",)), "a": "a red key"})
    assert made.raw == '[[3], "sees", "a", "red", "key", "."]'
    assert text("{a} is here .", {"a": "a red key"}).raw.startswith('["A", "red"')
    with pytest.raises(KeyError):
        text("{unknown}", {})
