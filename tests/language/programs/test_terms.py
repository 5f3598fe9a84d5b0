"""Terms: types are checked when a term is made, text and term are one."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given

from veridical.errors import UserError
from veridical.language.programs.execution import execute
from veridical.language.programs.explanations import explain
from veridical.language.programs.terms import _INTERNED, MOST_DEPTH, MOST_NUMBER, Program, parse, show, subterms, term

from ._programs import programs, tower


@given(programs())
def test_text_and_program_are_one(program: Program) -> None:
    assert parse(show(program)) is program


def test_equal_terms_are_the_same_object() -> None:
    one = term("keep", term("is", "color", "blue"), term("things"))
    assert term("keep", term("is", "color", "blue"), term("things")) is one


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(count (exactly 2) panels", "ends too early"),
        ("(count (exactly two) things)", "does not fit"),
        ("(count (exactly -1) things)", "does not fit"),
        ("(paint things)", "not an operator"),
        ("(keep (is color blue) things)", "not true or false"),
        ("(every things (count (exactly 1) things))", "does not fit"),
        ("(count (exactly 1) things) things", "follows the end"),
        ("(touching roof)", "does not fit"),
        ("(and (count even things))", "does not fit"),
        ("()", "without an operator"),
        (")", "should be"),
        ("", "ends too early"),
        ('(count "', "not a program"),
        ("(count (exactly ²) things)", "does not fit"),
        (f"(count (exactly {'9' * 5000}) things)", "a number larger than"),
        ("(count (exactly 1) (keep (nth 1 middle) things))", "does not fit"),
        ("(not " * 2000 + "(count even things)" + ")" * 2000, "more than 150 operators inside"),
        ("(" * 2000, "without an operator"),
    ],
)
def test_a_wrong_program_says_what_is_wrong(text: str, found: str) -> None:
    with pytest.raises(UserError, match=found):
        parse(text)


def test_terms_that_nobody_holds_are_forgotten() -> None:
    gc.collect()
    before = len(_INTERNED)
    made = [term("exactly", n) for n in range(10_000, 10_100)]
    assert len(_INTERNED) >= before + 100
    assert term("exactly", 10_000) is made[0]
    del made
    gc.collect()
    assert len(_INTERNED) <= before


def test_a_truth_value_is_no_number() -> None:
    for one, number in ((True, 1), (False, 0)):
        with pytest.raises(UserError, match="is not a number"):
            term("exactly", one)
        assert str(term("exactly", number)) == f"(exactly {number})"
        with pytest.raises(UserError, match="is not a number"):
            term("exactly", one)


def test_a_number_too_large_to_write_is_refused() -> None:
    with pytest.raises(UserError, match="a number larger than"):
        term("exactly", 10**5000)
    assert str(term("exactly", MOST_NUMBER)) == "(exactly 999999999)"


def deep(op: str, levels: int) -> Program:
    """A program so many terms deep."""
    node = term("things") if op == "related" else parse("(count even things)")
    while node.depth < levels - 3:
        if op == "related":
            node = term("keep", term("related", "on", term("at-least", 1), node), term("things"))
        else:
            node = term("where", node, term("panels"))
            node = term("count", term("even"), node)
    return term("count", term("odd"), node) if op == "related" else node


@pytest.mark.parametrize("op", ["related", "where"])
def test_the_deepest_program_can_still_be_run_and_explained(op: str) -> None:
    program = deep(op, MOST_DEPTH)
    assert MOST_DEPTH - 6 < program.depth <= MOST_DEPTH
    assert parse(show(program)) is program
    scene = (tower("blue", "black", "blue"), tower("black"))
    assert explain(program, scene).answer is execute(program, scene)
    while program.depth < MOST_DEPTH:
        program = term("not", program)
    with pytest.raises(UserError, match="more than 150"):
        term("not", program)


def test_words_of_other_scenes_are_welcome() -> None:
    program = parse('(count (at-least 2) (keep (is category "golden retriever") things))')
    assert parse(str(program)) is program
    assert program.args[1].args[0].args[1] == "golden retriever"
    assert [t.op for t in subterms(program)] == ["count", "at-least", "keep", "is", "things"]


def test_a_word_that_looks_like_an_operator_keeps_its_quotes() -> None:
    program = term("count", term("exactly", 1), term("keep", term("is", "category", "things"), term("things")))
    assert str(program) == '(count (exactly 1) (keep (is category "things") things))'
    assert parse(str(program)) is program
