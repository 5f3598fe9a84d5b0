"""Scores from replies: the text decides, log-probabilities refine."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.solvers.vlm.prompts import Prompt, rotation
from veridical.solvers.vlm.reading import Token, score

TRUTH = Prompt(("x",), ("true", "false"), (1, 0), ("true", "false"))


def letters(order: tuple[int, ...]) -> Prompt:
    return Prompt(("x",), tuple("ABCDEFGH"[: len(order)]), order, ("",) * len(order))


def token(text: str, **top: float) -> Token:
    return Token(text, tuple((name.replace("_", " "), math.log(p)) for name, p in top.items()))


def test_without_log_probabilities_the_choice_is_the_score() -> None:
    assert score(TRUTH, "True.").scores == (0.0, 1.0), "in the benchmark's order: false, true"
    assert score(TRUTH, "False.").scores == (1.0, 0.0)
    unread = score(TRUTH, "I notice a dog.")
    assert unread.scores == ()
    assert unread.reason == "no answer"


def test_probabilities_become_scores() -> None:
    likely = {"True": 0.6, "_true": 0.1, "False": 0.2, "Maybe": 0.1}
    found = score(TRUTH, "True", [token("True", **likely)])
    assert found.probable
    assert found.scores == pytest.approx((0.2 / 0.9, 0.7 / 0.9))


def test_probabilities_go_to_the_candidates_that_the_letters_stood_for() -> None:
    found = score(letters((2, 3, 0, 1)), "A", [token("A", A=0.7, B=0.2, C=0.05, D=0.05)])
    assert found.scores == pytest.approx((0.05, 0.05, 0.7, 0.2))


def test_an_answer_after_reasoning_is_found_at_its_token() -> None:
    tokens = [token("A", A=0.9, The=0.1), token(" dog", _dog=1.0), token(".\n\n", x=1.0)]
    tokens += [token("Answer", Answer=1.0), token(":", x=1.0), token(" A", _A=0.5, _B=0.4)]
    found = score(letters((0, 1)), "A dog.\n\nAnswer: A", tokens)
    assert found.scores == pytest.approx((0.5 / 0.9, 0.4 / 0.9))


def test_a_word_in_several_tokens() -> None:
    found = score(TRUTH, "False", [token("F", F=0.8, T=0.2), token("alse", alse=1.0)])
    assert found.scores == pytest.approx((0.8, 0.2))


def test_yes_and_no_count_as_true_and_false() -> None:
    found = score(TRUTH, "Yes", [token("Yes", Yes=0.6, No=0.3)])
    assert found.scores == pytest.approx((0.3 / 0.9, 0.6 / 0.9), abs=1e-3)


def test_the_text_decides_where_probabilities_say_otherwise() -> None:
    found = score(TRUTH, "True", [token("True", **{"True": 0.3, "False": 0.6})])
    assert found.scores == (0.0, 1.0)
    assert not found.probable


def test_tokens_that_do_not_hold_the_answer_are_not_used() -> None:
    assert not score(TRUTH, "True", [token("xyz", xyz=1.0)]).probable


@given(st.integers(2, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1), st.integers(0, n - 1))))
def test_whatever_the_order_the_score_is_of_the_candidate_meant(case: tuple[int, int, int]) -> None:
    count, order, place = case
    prompt = letters(rotation(count, order))
    found = score(prompt, prompt.labels[place]).scores
    assert found.index(1.0) == prompt.order[place]
    assert sum(found) == 1.0


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), st.integers(0, 3))
def test_the_highest_score_is_always_what_was_said(shares: list[float], place: int) -> None:
    top = tuple(("ABCD"[k], math.log(p)) for k, p in enumerate(shares))
    found = score(letters((0, 1, 2, 3)), "ABCD"[place], [Token("ABCD"[place], top)])
    assert max(found.scores) == found.scores[place]
    assert sum(found.scores) == pytest.approx(1.0)
