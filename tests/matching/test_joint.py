"""Reading jointly: every question has one answer, no response more than its part, and what is shown decides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.matching.blind_readers import graded
from veridical.matching.joint import balanced


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_every_question_has_one_answer_and_every_response_its_part(seed: int, blocks: int) -> None:
    rng = np.random.default_rng(seed)
    response = np.concatenate([rng.permuted(np.tile(4 * b + np.arange(4), (4, 1)), axis=1) for b in range(blocks)])
    share = np.exp(balanced(rng.normal(size=response.shape) * 2, response))
    assert share.sum(1) == pytest.approx(np.ones(len(response)), abs=1e-6)
    assert np.bincount(response.ravel(), weights=share.ravel()) == pytest.approx(np.ones(len(response)), abs=0.05)


def test_a_response_that_belongs_elsewhere_is_no_answer() -> None:
    scores, both = np.array([[3.0, 0.0], [1.0, 0.0]]), np.array([[0, 1], [0, 1]])
    assert scores.argmax(1).tolist() == [0, 0]
    assert balanced(scores, both).argmax(1).tolist() == [0, 1]
    assert balanced(scores, np.array([[0, 1], [2, 3]])).argmax(1).tolist() == [0, 0]  # nothing is shared


def test_who_reads_jointly_takes_every_response_once() -> None:
    """Two questions like the same response best; only together do they show whose it is."""
    scores = np.array([[2.0, 1.0, 0.0], [2.0, -3.0, 0.0], [0.0, 0.0, 0.1]])
    order = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    assert graded(balanced(scores, order), np.array([1, 0, 2])).tolist() == [1.0, 1.0, 1.0]
    shuffled = np.array([[0, 1, 2], [2, 0, 1], [0, 1, 2]])
    assert graded(balanced(scores, shuffled), np.array([1, 0, 2])).sum() < 3


def test_equals_say_nothing_and_what_is_sure_is_kept() -> None:
    blocks, answer = np.repeat(np.arange(900).reshape(-1, 4), 4, axis=0), np.arange(900) % 4
    assert graded(balanced(np.zeros((900, 4)), blocks), answer).mean() == 0.25
    sure = np.where(np.arange(4) == answer[:, None], 1e6, 0.0)
    assert graded(balanced(sure, blocks), answer).all()


def test_places_that_are_not_shown_have_no_share() -> None:
    shown = np.array([[True, True, False], [True, True, True]])
    found = balanced(np.zeros((2, 3)), np.array([[0, 1, -1], [0, 1, 2]]), shown)
    assert np.isneginf(found[0, 2])
    assert np.exp(found).sum(1) == pytest.approx([1, 1])
