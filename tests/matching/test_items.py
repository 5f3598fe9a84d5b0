"""Choices as items: in what order, for whom to know, and what goes along; tags in borrowed responses: who fits whom."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.language.english import PEOPLE
from veridical.matching import items
from veridical.matching.items import items_of, lay_out, needs_and_have, plain, repoint, tag_class, tagged
from veridical.matching.questions import AnsweredQuestion
from veridical.records import Panel, Ref, SceneObject, Text

SIZE = 400


def row(k: int) -> AnsweredQuestion:
    """Every second photograph has two people, the others three: a tag of the third must move, by chance."""
    people = 2 if k % 4 < 2 else 3
    return AnsweredQuestion(
        str(k),
        Text(f"q{k}"),
        Text("", (Ref((str(people - 1),)), "sits", str(k))),
        Text(f"because {k}"),
        panel=Panel(f"p{k}", objects=tuple(SceneObject(str(i), "person") for i in range(people))),
        panels=(f"p{k}",),
    )


ROWS = [row(k) for k in range(SIZE)]
WRONG = np.stack([np.roll(np.arange(SIZE), k) for k in (1, 2, 3)])
HIDDEN = np.arange(SIZE) % 2 == 1


def test_the_seed_alone_does_not_find_hidden_answers() -> None:
    made = lay_out(WRONG, ROWS, "answer", 7, "s3cret", HIDDEN)
    guesses = [
        lay_out(WRONG, ROWS, "answer", 7),
        lay_out(WRONG, ROWS, "answer", 7, "", HIDDEN),
        lay_out(WRONG, ROWS, "answer", 7, "guess", HIDDEN),
        lay_out(WRONG[:, HIDDEN] // 2, [ROWS[i] for i in np.flatnonzero(HIDDEN)], "answer", 7),
    ]
    for guess in guesses:
        places = guess.answer if len(guess.answer) < SIZE else guess.answer[HIDDEN]
        assert (places == made.answer[HIDDEN]).mean() < 0.35  # chance is a quarter
    assert (lay_out(WRONG, ROWS, "answer", 7, "s3cret", HIDDEN).answer == made.answer).all()


def test_public_rows_do_not_depend_on_the_secret_and_rows_do_not_on_those_of_the_other_side() -> None:
    one, other = (lay_out(WRONG, ROWS, "answer", 7, secret, HIDDEN) for secret in ("a", "b"))
    assert (one.order[~HIDDEN] == other.order[~HIDDEN]).all()
    public = np.flatnonzero(~HIDDEN)
    assert [one.texts[i] for i in public] == [other.texts[i] for i in public]
    secretly = np.flatnonzero(HIDDEN)
    assert [one.texts[i] for i in secretly] != [other.texts[i] for i in secretly]


def test_every_place_is_right_as_often() -> None:
    made = lay_out(WRONG, ROWS, "answer", 7, "s3cret", HIDDEN)
    for side in (HIDDEN, ~HIDDEN):
        assert np.bincount(made.answer[side], minlength=4).min() > 30
    assert (made.order[np.arange(SIZE), made.answer] == np.arange(SIZE)).all()


def test_only_answer_items_say_whose_responses_they_borrow() -> None:
    laid = [lay_out(WRONG, ROWS, stage, 0) for stage in ("answer", "rationale")]
    items = list(items_of(ROWS, laid[0], laid[1]))
    answers = [item for item in items if item.parent is None]
    reasons = [item for item in items if item.parent is not None]
    assert len(reasons) == 4 * len(answers) == 4 * SIZE
    assert all(sum(name == "borrowed" for name, _ in item.tags) == 3 for item in answers)
    # the one rationale item with an answer would be found by it, and with it the right answer
    assert not any(name == "borrowed" for item in reasons for name, _ in item.tags)


# --- tags ----------------------------------------------------------------------------------------------------------

CATEGORIES = ("person", "woman", "cup", "dog")


def panel(name: str, categories: list[str]) -> Panel:
    return Panel(name, objects=tuple(SceneObject(str(k), c) for k, c in enumerate(categories)))


def text(*tokens: str | tuple[int, ...]) -> Text:
    made = tuple(t if isinstance(t, str) else Ref(tuple(map(str, t))) for t in tokens)
    return Text(json.dumps([t if isinstance(t, str) else list(t) for t in tokens]), made)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Panel, Text, Text]:
    """A panel, a question about it and a response."""
    names = draw(st.lists(st.sampled_from(CATEGORIES), min_size=1, max_size=7))
    index = st.integers(0, len(names) - 1)
    token = st.one_of(
        st.sampled_from(["is", "near", "."]), st.lists(index, min_size=1, max_size=3, unique=True).map(tuple)
    )
    texts = [text(*draw(st.lists(token, max_size=6))) for _ in range(2)]
    return panel("p", names), texts[0], texts[1]


@given(scenes(), scenes(), st.integers(0, 9))
def test_a_response_that_fits_is_repointed_one_to_one_within_classes(
    one: tuple[Panel, Text, Text], other: tuple[Panel, Text, Text], seed: int
) -> None:
    source, asked, response = one
    target, asks, own = other
    needs, have, _ = needs_and_have([response, own], [source, target])
    rng = np.random.default_rng(seed)
    if not (needs[0] <= have[1]).all():
        with pytest.raises(ValueError, match="objects of class"):
            repoint(response, source, target, rng, asked=asked, asks=asks)
        return
    moved = repoint(response, source, target, rng, asked=asked, asks=asks)
    before, after = tagged(response), tagged(moved)
    assert len(before) == len(after) == len(set(after))
    kinds = [[tag_class(p.objects[int(o)].category) for o in found] for p, found in ((source, before), (target, after))]
    assert Counter(kinds[0]) == Counter(kinds[1])
    assert [t for t in moved.tokens if isinstance(t, str)] == [t for t in response.tokens if isinstance(t, str)]
    assert plain(moved, target) == plain(response, source)
    if before:
        read = json.loads(moved.raw)
        assert [t if isinstance(t, str) else Ref(tuple(map(str, t))) for t in read] == list(moved.tokens)
    else:
        assert moved == response


@given(scenes())
def test_every_response_fits_its_own_photograph_and_stays_as_it_is_there(one: tuple[Panel, Text, Text]) -> None:
    source, asked, response = one
    needs, have, _ = needs_and_have([response], [source])
    assert (needs <= have).all()
    moved = repoint(response, source, source, np.random.default_rng(0), asked=asked, asks=asked)
    assert moved.tokens == tuple(
        t if isinstance(t, str) else Ref(tuple(sorted(t.objects, key=int)))
        if list(t.objects) == sorted(t.objects, key=int) else t
        for t in response.tokens
    )  # fmt: skip


def test_what_the_own_question_names_becomes_what_the_new_one_names() -> None:
    source, target = panel("a", ["person"] * 3), panel("b", ["person"] * 4)
    response, asked, asks = text((0,), "helps", (2,)), text("Why", (0,)), text("Who", "is", (3,))
    for seed in range(5):
        moved = repoint(response, source, target, np.random.default_rng(seed), asked=asked, asks=asks)
        shared, other = tagged(moved)
        assert shared == "3"  # the question's own
        assert other == "2"  # the third person is again the third


def test_people_take_each_others_places_but_nobody_elses() -> None:
    response = text((0,), "sleeps")
    needs, have, classes = needs_and_have([response, text((0,))], [panel("a", ["woman"]), panel("b", ["dog"])])
    assert classes == ("dog", "person")
    assert (needs[0] <= have[0]).all()
    assert not (needs[0] <= have[1]).all()
    assert tagged(repoint(response, panel("a", ["woman"]), panel("c", ["dog", "boy"]), np.random.default_rng(0))) == [
        "1"
    ]


def test_words_of_gender_agree_with_whom_a_tag_is_pointed_at() -> None:
    """Where classes tell women from men; in VCR all are of the class person, and nothing can be known."""
    hers, plain_one = text((0,), "lost", "her", "keys"), text((0,), "lost", "the", "keys")
    woman, men, both = panel("a", ["woman"]), panel("b", ["man", "boy"]), panel("c", ["man", "girl", "person"])
    texts, panels = [hers, plain_one, text((0,)), text((0,))], [woman, woman, men, both]
    needs, have, classes = needs_and_have(texts, panels)
    assert classes == ("person", "she")
    fits = [[bool((needs[j] <= have[i]).all()) for i in range(4)] for j in range(2)]
    assert fits == [[True, True, False, True], [True, True, True, True]]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert tagged(repoint(hers, woman, both, rng)) == ["1"]  # the girl
    assert {tuple(tagged(repoint(plain_one, woman, both, np.random.default_rng(s)))) for s in range(9)} == {("0",)}
    people = panel("d", ["person", "person"])
    assert needs_and_have([hers], [people])[2] == ("person",)


def test_a_tag_that_points_at_nothing_fits_nowhere() -> None:
    needs, have, classes = needs_and_have([text((4,), "runs")], [panel("a", ["person"])])
    assert classes == ("(unknown)",)
    assert needs[0, 0] == 1
    assert have[0, 0] == 0


def test_lists_stay_in_the_order_of_objects() -> None:
    source, target = panel("a", ["dog", "person", "person"]), panel("b", ["person", "person", "dog"])
    moved = repoint(text((0, 1, 2), "are here"), source, target, np.random.default_rng(1))
    assert moved.tokens[0] == Ref(("0", "1", "2"))


def test_plain_texts_pass_through() -> None:
    assert repoint(Text("yes"), panel("a", []), panel("b", []), np.random.default_rng(0)) == Text("yes")


def test_people_are_the_same_everywhere() -> None:
    assert all(tag_class(name.title()) == "person" for name in PEOPLE)
    assert items.PEOPLE is PEOPLE
