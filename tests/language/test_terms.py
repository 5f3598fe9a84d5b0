"""Terms: types are checked when a term is made, text and term are one."""

from __future__ import annotations

import pytest
from hypothesis import given

from veridical.errors import UserError
from veridical.language.programs import Program, parse, show, subterms, term

from ._programs import programs


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
    ],
)
def test_a_wrong_program_says_what_is_wrong(text: str, found: str) -> None:
    with pytest.raises(UserError, match=found):
        parse(text)


def test_words_of_other_scenes_are_welcome() -> None:
    program = parse('(count (at-least 2) (keep (is category "golden retriever") things))')
    assert parse(str(program)) is program
    assert program.args[1].args[0].args[1] == "golden retriever"
    assert [t.op for t in subterms(program)] == ["count", "at-least", "keep", "is", "things"]


def test_a_word_that_looks_like_an_operator_keeps_its_quotes() -> None:
    program = term("count", term("exactly", 1), term("keep", term("is", "category", "things"), term("things")))
    assert str(program) == '(count (exactly 1) (keep (is category "things") things))'
    assert parse(str(program)) is program
