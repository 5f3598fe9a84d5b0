"""Sentences about two images: labels follow from programs, neither the images nor the words give them away."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.errors import UserError
from veridical.language.phenomena.tagger import PHENOMENA, tag_many
from veridical.language.programs.explanations import explain
from veridical.language.programs.terms import Program, parse
from veridical.language.writing.pairs.families import FAMILIES
from veridical.language.writing.pairs.statements import PairStatement, blindness, execute_pair, mirror, write
from veridical.records import Panel, SceneObject

from ...programs._programs import programs, scenes
from ._pairs import NOUNS, four_pairs, two_of_four

Case = tuple[list[tuple[Panel, Panel]], tuple[bool, ...], PairStatement | None]
MANY = 500


def _case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    pairs, truth = four_pairs(rng), two_of_four(rng)
    return pairs, truth, write(rng, pairs, truth, nouns=NOUNS)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [_case(seed) for seed in range(MANY)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_program_gives_the_labels_and_mirrored_those_of_the_pairs_turned_round(seed: int) -> None:
    pairs, truth, written = _case(seed)
    if written is None:
        return
    program = parse(written.program)
    assert str(program) == written.program
    for (left, right), value in zip(pairs, truth, strict=True):
        assert execute_pair(written.program, left, right) == value
        assert execute_pair(mirror(program), right, left) == value


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_what_can_be_written_for_some_pairs_can_be_written_for_the_others(seed: int) -> None:
    """The law behind blindness: no choice of true pairs is likelier to get a sentence than the opposite choice."""
    rng = np.random.default_rng(seed)
    pairs, truth = four_pairs(rng), two_of_four(rng)
    few = [(left, left) if seed % 3 == 0 else (left, right) for left, right in pairs]  # some can hardly be told apart
    opposite = tuple(not t for t in truth)
    found = [write(np.random.default_rng(seed), few, t, nouns=NOUNS, tries=1) for t in (truth, opposite)]
    assert (found[0] is None) == (found[1] is None)


@settings(max_examples=60, deadline=None)
@given(programs(ordered=True), scenes)
def test_mirroring_twice_changes_nothing(program: Program, scene: tuple[Panel, ...]) -> None:
    assert mirror(mirror(program)) is program
    if len(scene) == 2:
        assert execute_pair(program, *scene) == execute_pair(mirror(program), *scene[::-1])


def test_nearly_every_four_pairs_get_a_sentence_and_few_the_same(cases: list[Case]) -> None:
    written = [w for _, _, w in cases if w is not None]
    assert len(written) > 0.98 * MANY
    assert len({w.sentence for w in written}) > 0.97 * len(written)
    assert sum(w.sentence.startswith("It is not true") for w in written) < 0.02 * len(written)


def test_the_images_alone_do_not_tell(cases: list[Case]) -> None:
    judged = [
        (left, right, value)
        for pairs, truth, written in cases
        if written is not None
        for (left, right), value in zip(pairs, truth, strict=True)
    ]
    bound = 4 / len(judged) ** 0.5
    assert all(abs(r) < bound for r in blindness(judged).values())


def test_blindness_sees_a_bias() -> None:
    rng = np.random.default_rng(0)
    panels = [panel for _ in range(50) for pair in four_pairs(rng) for panel in pair]
    judged = [(x, y, len(x.objects) > len(y.objects)) for x, y in zip(panels[::2], panels[1::2], strict=True)]
    assert blindness(judged)["left minus right"] > 0.6
    assert abs(blindness(judged)["objects"]) < 0.3
    with pytest.raises(UserError, match="same truth value"):
        blindness([(panels[0], panels[1], True)])


def test_every_family_is_written_and_phenomena_come_in_realistic_shares(cases: list[Case]) -> None:
    written = [w for _, _, w in cases if w is not None]
    families = Counter(w.family for w in written)
    assert len(families) >= len(FAMILIES) - 2
    assert max(families.values()) < 0.3 * len(written)
    shares = Counter(name for w in written for name in w.phenomena)
    for name in PHENOMENA[:10]:
        assert 0.04 < shares[name] / len(written) < 0.55, name


def test_both_sides_and_both_directions_are_spoken_of_alike(cases: list[Case]) -> None:
    text = [w.sentence.lower() for _, _, w in cases if w is not None]

    def share(one: str, other: str) -> float:
        counts = [sum(bool(re.search(words, t)) for t in text) for words in (one, other)]
        return counts[0] / sum(counts)

    assert (
        0.4
        < share(
            r"^(only )?(in )?the (left (image|photo)|\w+ on the left)", r"^(only )?(in )?the (right|\w+ on the right)"
        )
        < 0.6
    )
    assert 0.35 < share(r"\bto the left of\b", r"\bto the right of\b") < 0.65


def test_the_tagger_finds_the_same_phenomena(cases: list[Case]) -> None:
    pytest.importorskip("spacy")
    written = [w for _, _, w in cases if w is not None][:200]
    tagged = tag_many([w.sentence for w in written])
    for name in (
        "hard cardinality",
        "soft cardinality",
        "existential quantifier",
        "negation",
        "coordination",
        "comparison",
    ):
        alike = sum((name in w.phenomena) == (name in found) for w, found in zip(written, tagged, strict=True))
        assert alike > 0.9 * len(written), name


def test_the_english_is_right(cases: list[Case]) -> None:
    for _, _, written in cases:
        if written is None:
            continue
        s = written.sentence
        assert re.fullmatch(r"[A-Z][^A-Z]*\.", s), s
        assert "  " not in s, s
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", s), s
        assert not re.search(
            r"\b(two|three|four|five|six|seven|eight|nine|\d+) (\w+ )?(dog|cat|car|bus|person|woman)\b", s
        ), s
        assert not re.search(
            r"\b(exactly|only|at least|at most|just) one (\w+ )?(dogs|cats|cars|buses|people|women)\b", s
        ), s
        assert not re.search(r"\bthere (is (no\b(?! more than one)|two|three|fewer)|are (one|a)\b)", s.lower()), s
        assert not re.search(r"zero|fewer than one\b|\bmore than zero|at most zero|\bno no\b|\b1\b", s), s


def test_a_synset_is_spoken_of() -> None:
    about, asked = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        pairs, truth = four_pairs(rng), two_of_four(rng)
        category = next(o.category for pair in pairs for panel in pair for o in panel.objects)
        written = write(rng, pairs, truth, nouns=NOUNS, synset=category)
        if written is not None:
            asked += 1
            about += category in written.program
    assert about > 0.6 * asked


def test_sentences_to_avoid_are_not_written_again() -> None:
    rng = np.random.default_rng(7)
    pairs, truth = four_pairs(rng), two_of_four(rng)
    first = write(np.random.default_rng(1), pairs, truth, nouns=NOUNS)
    assert first is not None
    again = write(np.random.default_rng(1), pairs, truth, nouns=NOUNS, avoid={first.sentence})
    assert again is not None
    assert again.sentence != first.sentence
    assert write(np.random.default_rng(1), pairs, truth, nouns=NOUNS) == first


def test_pairs_that_cannot_be_told_apart_get_no_sentence() -> None:
    panel = Panel("p", objects=(SceneObject("0", "dog"),))
    same = [(panel, panel)] * 4
    assert write(np.random.default_rng(0), same, (True, True, False, False), nouns=NOUNS) is None
    empty = [(Panel("e"), Panel("f"))] * 4
    assert write(np.random.default_rng(0), empty, (True, True, False, False), nouns=NOUNS) is None


@pytest.mark.parametrize("truth", [(True, True), (True,) * 4, (False,) * 4])
def test_a_truth_that_no_sentence_has_is_refused(truth: tuple[bool, ...]) -> None:
    with pytest.raises(UserError, match="cannot be told apart"):
        write(np.random.default_rng(0), four_pairs(np.random.default_rng(0)), truth, nouns=NOUNS)


DOGS = [Panel(str(n), objects=tuple(SceneObject(str(k), "dog") for k in range(n))) for n in range(6)]


@pytest.mark.parametrize(
    ("program", "left", "right", "answer"),
    [
        ("(count (exactly (times 2 (size (within things (panel 2))))) (within things (panel 1)))", 4, 2, True),
        ("(count (exactly (times 2 (size (within things (panel 2))))) (within things (panel 1)))", 2, 4, False),
        ("(count (exactly (plus 3 (size (within things (panel 1))))) (within things (panel 2)))", 1, 4, True),
        ("(count (more-than (size (within things (panel 2)))) (within things (panel 1)))", 3, 3, False),
        ("(every (panel 2) (count (exactly 3) things))", 1, 3, True),
        ("(every (panel 1) (count (exactly 3) things))", 1, 3, False),
        ("(count (exactly 1) (where (count (at-least 1) (keep (is category dog cat) things)) panels))", 0, 3, True),
    ],
)
def test_programs_that_tell_left_from_right(program: str, left: int, right: int, answer: bool) -> None:
    assert execute_pair(program, DOGS[left], DOGS[right]) is answer


def test_a_comparison_is_explained_by_the_objects_of_both_images() -> None:
    twice = parse("(count (exactly (times 2 (size (within things (panel 2))))) (within things (panel 1)))")
    found = explain(twice, (DOGS[2], DOGS[1]))
    assert found.answer
    assert found.objects == ((0, "0"), (0, "1"), (1, "0"))
    assert found.panels == (0, 1)
    side = explain(parse("(every (panel 2) (count (at-least 1) things))"), (DOGS[1], DOGS[3]))
    assert side.objects == ((1, "0"), (1, "1"), (1, "2"))


def test_near_misses_are_found_in_the_image_that_is_meant() -> None:
    red, blue = (Panel(c, objects=(SceneObject("0", "dog", (("color", c),)),)) for c in ("red", "blue"))
    none = parse("(count (at-least 1) (within (keep (and (is category dog) (is color red)) things) (panel 2)))")
    found = explain(none, (red, blue))
    assert not found.answer
    assert found.near == ((1, "0"),)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_every_sentence_is_explained_with_panels_of_the_pair(seed: int) -> None:
    pairs, truth, written = _case(seed)
    if written is None:
        return
    for pair, value in zip(pairs, truth, strict=True):
        found = explain(parse(written.program), pair)
        assert found.answer == value
        assert found.steps[0].answer == value
        assert set(found.panels) <= {0, 1}
        for at, name in (*found.objects, *found.near):
            assert name in {o.id for o in pair[at].objects}
