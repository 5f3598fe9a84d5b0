"""Human sentences become the programs they mean: each construction, and the laws of reading."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.language.programs.terms import parse
from veridical.language.reading import grammar
from veridical.language.reading.grammar import Candidate, candidates, readings, template
from veridical.language.reading.lexicon import KNOWN, read_words
from veridical.language.reading.reader import MOST_STEPS, Budget, Reader, TooManySteps

BLUE = "(keep (is color blue) things)"


@pytest.mark.parametrize(
    ("sentence", "program"),
    [
        ("There are 2 blue blocks", f"(count (exactly 2) {BLUE})"),
        ("There are 2 blue blocks", f"(count (at-least 2) {BLUE})"),
        ("there is atleast one blue item", f"(count (at-least 1) {BLUE})"),
        ("there is no blue item", f"(count (exactly 0) {BLUE})"),
        (
            "There is a box with less than 3 blue items",
            f"(count (at-least 1) (where (count (fewer-than 3) {BLUE}) panels))",
        ),
        ("There is a box with 3 blue items at most", f"(count (at-least 1) (where (count (at-most 3) {BLUE}) panels))"),
        ("Each grey square contains a blue object", f"(every panels (count (at-least 1) {BLUE}))"),
        ("there is a blue item in every box", f"(every panels (count (at-least 1) {BLUE}))"),
        (
            "One of the grey box has exactly two objects",
            "(count (exactly 1) (where (count (exactly 2) things) panels))",
        ),
        (
            "there is a box with only blue items",
            f"(count (at-least 1) (where (and (count (at-least 1) {BLUE}) "
            f"(count (exactly 0) (others things {BLUE}))) panels))",
        ),
        (
            "there are two towers with a blue block at the top",
            "(count (exactly 2) (where (count (at-least 1) (keep (and (is color blue) (at top)) things)) towers))",
        ),
        (
            "there is a blue block as the base of a tower with at most three blocks",
            "(count (at-least 1) (keep (and (is color blue) (at bottom) "
            "(inside (count (at-most 3) things) towers)) things))",
        ),
        (
            "the second block from the base of a tower is blue",
            "(count (at-least 1) (where (and (count (at-least 1) (keep (nth 2 bottom) things)) "
            "(every (keep (nth 2 bottom) things) (is color blue))) towers))",
        ),
        (
            "there is a black block on a blue block",
            f"(count (at-least 1) (keep (and (is color black) (related on (at-least 1) {BLUE})) things))",
        ),
        (
            "none of the blue circles are touching any edge",
            "(count (exactly 0) (keep (and (is color blue) (is category circle) (touching wall)) things))",
        ),
        (
            "there are exactly 2 squares not touching the edge",
            "(count (exactly 2) (keep (and (is category square) (not (touching wall))) things))",
        ),
        (
            "all blue squares are touching the base",
            "(every (keep (and (is color blue) (is category square)) things) (touching bottom))",
        ),
        (
            "there is a box with 4 items of which 2 are blue",
            f"(count (at-least 1) (where (and (count (exactly 4) things) (count (exactly 2) {BLUE})) panels))",
        ),
        (
            "there is a box with a blue item touching the wall and a black item on top of it",
            "(count (at-least 1) (where (and (count (at-least 1) (keep (and (is color blue) (touching wall)) things)) "
            "(count (at-least 1) (keep (and (is color black) "
            "(related on (at-least 1) (keep (and (is color blue) (touching wall)) things))) things))) panels))",
        ),
        (
            "there is a tower with three blocks of all 3 different colors",
            "(count (at-least 1) (where (and (count (exactly 3) things) (values color (exactly 3) things)) towers))",
        ),
        (
            "there is a box with 3 items of the same shape",
            "(count (at-least 1) (where (and (count (exactly 3) things) (values category (exactly 1) things)) panels))",
        ),
        ("two towers have the same base color", "(agree (at-least 2) (value color (keep (at bottom) things)) towers)"),
        (
            "the grey box with the least number of objects has a circle",
            "(every (least things panels) (count (at-least 1) (keep (is category circle) things)))",
        ),
        ("each box contains an even number of items", "(every panels (count even things))"),
        (
            "there is a box with more circles than squares",
            "(count (at-least 1) (where (count (more-than (size (keep (is category square) things))) "
            "(keep (is category circle) things)) panels))",
        ),
        (
            "there is a blue or black circle touching the bottom right corner of a box",
            "(count (at-least 1) (keep (and (or (is color blue) (is color black)) (is category circle) "
            "(touching corner) (touching bottom) (touching right)) things))",
        ),
        ("There are between 2 and 4 blue items", f"(count (between 2 4) {BLUE})"),
        ("two or three items are blue", f"(count (between 2 3) {BLUE})"),
        ("not all boxes have a blue item", f"(not (every panels (count (at-least 1) {BLUE})))"),
        ("There isn't a blue item in any box", f"(not (count (at-least 1) {BLUE}))"),
        ("no two towers have the same height", "(not (agree (at-least 2) (tally things) towers))"),
        ("there is a tower that is 3 blocks tall", "(count (at-least 1) (where (count (exactly 3) things) towers))"),
        ("there is a tower of height 3", "(count (at-least 1) (where (count (exactly 3) things) towers))"),
        ("the shortest tower is blue", f"(every (least things towers) (count (exactly 0) (others things {BLUE})))"),
        (
            "of the three towers, two have a blue block",
            f"(count (exactly 2) (where (count (at-least 1) {BLUE}) towers))",
        ),
        (
            "there is a box with neither circles nor blue items",
            f"(count (at-least 1) (where (and (count (exactly 0) (keep (is category circle) things)) "
            f"(count (exactly 0) {BLUE})) panels))",
        ),
        (
            "the blue circle is to the left of the black square",
            "(count (at-least 1) (keep (and (is color blue) (is category circle) (related left (at-least 1) "
            "(keep (and (is color black) (is category square)) things))) things))",
        ),
        (
            "the number of circles is greater than the number of squares",
            "(count (more-than (size (keep (is category square) things))) (keep (is category circle) things))",
        ),
        (
            "a square and a circle touching the wall",
            "(and (count (at-least 1) (keep (and (is category square) (touching wall)) things)) "
            "(count (at-least 1) (keep (and (is category circle) (touching wall)) things)))",
        ),
        (
            "the base of the three towers are two blue and one yellow",
            "(and (count (exactly 2) (keep (and (at bottom) (is color blue)) things)) "
            "(count (exactly 1) (keep (and (at bottom) (is color yellow)) things)))",
        ),
        (
            "there is a tower with the same color at the top and bottom",
            "(count (at-least 1) (where (values color (exactly 1) (keep (or (at top) (at bottom)) things)) towers))",
        ),
        (
            "all circles are in the same box",
            "(count (exactly 1) (where (count (at-least 1) (keep (is category circle) things)) panels))",
        ),
        (
            "the base of a tower is blue and the top is black",
            "(count (at-least 1) (where (and "
            "(count (at-least 1) (keep (at bottom) things)) (every (keep (at bottom) things) (is color blue)) "
            "(count (at-least 1) (keep (at top) things)) (every (keep (at top) things) (is color black))) towers))",
        ),
    ],
)
def test_a_construction_is_read(sentence: str, program: str) -> None:
    assert str(parse(program)) in [str(c.program) for c in candidates(sentence)]


def marks(candidate: Candidate) -> list[str]:
    return [m for m in candidate.marks if m.startswith("drop.")]


def test_a_word_that_fits_nowhere_is_left_out_at_a_cost() -> None:
    plain = candidates("there is a blue item")
    odd = candidates("there is verily a blue item")
    assert not any(marks(c) for c in plain)
    assert {c.program for c in odd} >= {c.program for c in plain}
    assert all(marks(c) == ["drop.unknown"] for c in odd)


def test_marks_never_name_colours_shapes_or_numbers() -> None:
    one = candidates("there is a box with 2 blue circles and at least 3 yellow squares touching the wall")
    other = candidates("there is a box with 4 black triangles and at least 5 blue circles touching the wall")
    assert [c.marks for c in one] == [c.marks for c in other]
    assert len(one) > 3


@pytest.mark.parametrize(
    "pattern",
    [
        "There is a box with a {} {} and 2 {} items touching the {} {}",
        "there are two {} {}s and a square which is not {}",
        "only {} and {} items",
        "none of the {} {}s are touching any {} item",
    ],
)
def test_reading_does_not_depend_on_what_was_read_before(pattern: str) -> None:
    words = [("blue", "circle", "black", "blue", "triangle"), ("black", "triangle", "yellow", "black", "circle")]
    sentences = [pattern.format(*w) for w in words]
    alone = []
    for sentence in sentences:
        grammar.forget()
        alone.append(candidates(sentence))
    grammar.forget()
    assert [candidates(s) for s in sentences] == alone
    assert [candidates(s) for s in reversed(sentences)] == alone[::-1]
    assert len(grammar._READ) == 1
    assert alone[0] != alone[1]


def test_the_template_abstracts_what_evidence_is_shared_over() -> None:
    assert template(read_words("There are three big yellow circles")) == "there be N size color category"
    assert template(read_words("There is one circle")) == "there be 1 category"


def test_a_huge_number_makes_no_huge_program() -> None:
    found = candidates("there are 999999 blue items on top")
    assert found
    assert max(len(str(c.program)) for c in found) < 1000


def test_steps_are_counted_over_all_readers_of_a_sentence() -> None:
    budget = Budget(200)
    Reader(("a", "blue", "block"), budget=budget)("noun_phrase", 0, "image")
    spent = 200 - budget.left
    assert spent > 3
    Reader(("a", "blue", "block"), budget=budget)("noun_phrase", 0, "image")
    assert 200 - budget.left == 2 * spent
    with pytest.raises(TooManySteps):
        Reader(("a", "blue", "block"), budget=Budget(spent - 1))("noun_phrase", 0, "image")


@pytest.mark.parametrize("sentence", ["a blue block above " * 14, "blue and " * 29, "there is a block on " * 12])
def test_a_sentence_with_endless_readings_has_none(sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[int] = []

    class Counted(Budget):
        def spend(self, steps: int) -> None:
            spent.append(steps)
            super().spend(steps)

    monkeypatch.setattr(grammar, "Budget", Counted)
    assert readings(read_words(sentence)) == []
    assert sum(spent[:-1]) <= MOST_STEPS
    assert readings(read_words("there is a box with a blue block above a black block")) != []


def test_no_word_of_a_long_sentence_is_left_out() -> None:
    odd = "there is verily a blue item"
    assert candidates(odd)
    assert candidates(odd + " and a blue item" * 9) == []


def test_nonsense_and_endless_sentences_are_not_read() -> None:
    assert candidates("") == []
    assert candidates("what is the meaning of life") == []
    assert candidates("and " * 500 + "a blue item") == []
    assert readings(("blue",) * 61) == []


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(sorted(KNOWN)), max_size=12))
def test_any_words_are_read_or_refused_without_a_crash(chosen: list[str]) -> None:
    for candidate in candidates(" ".join(chosen)):
        assert candidate.program.type == "truth"
        assert parse(str(candidate.program)) is candidate.program


def test_nine_of_ten_training_sentences_parse(shared: Path) -> None:
    lines = (shared / "nlvr" / "train.json").read_text().splitlines()[::40]
    sentences = {line.split('"sentence":"')[1].split('"')[0] for line in lines}
    assert len(sentences) > 200
    read = [bool(candidates(s)) for s in sentences]
    assert sum(read) / len(read) > 0.95
