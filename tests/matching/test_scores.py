"""Relevance and similarity: words, embeddings, what is learned, and probabilities that mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.matching.scores.fit import fit_relevance, fit_similarity, learn, mapped, parts_of, reworded
from veridical.matching.scores.models import (
    Calibration,
    Lexicon,
    SparseScores,
    calibrate,
    calibration_error,
    platt,
    terms,
    word_vectors,
)

ANSWERS = ["a red ball", "red balls", "the kitchen", "to sleep in the kitchen", "two dogs", "yes"]
QUESTIONS = ["what is red?", "what balls?", "where is it?", "why go there?", "how many dogs?", "is it?"]


def unit(table: np.ndarray) -> np.ndarray:
    return (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)


def world(size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Questions and answers that belong together by a rotation, not by nearness."""
    rng = np.random.default_rng(seed)
    left = unit(rng.standard_normal((size, 16)))
    turn = np.linalg.qr(np.random.default_rng(99).standard_normal((16, 16)))[0]
    return left, unit(left @ turn + 0.1 * rng.standard_normal((size, 16))), np.arange(size)


def test_platt_finds_the_line_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(20_000)
    labels = rng.random(20_000) < 1 / (1 + np.exp(-(3 * scores)))
    slope, intercept = platt(scores[labels], scores[~labels])
    assert slope == pytest.approx(3, rel=0.1)
    assert intercept == pytest.approx(0, abs=0.1)


def test_a_score_that_runs_the_wrong_way_says_nothing() -> None:
    assert platt([0.0, 0.1], [0.9, 1.0]) == (0.0, 0.0)
    assert platt([1.0, 1.0], [1.0]) == (0.0, 0.0)


def test_calibration_is_measured_on_pairs_it_was_not_fitted_on() -> None:
    rng = np.random.default_rng(1)
    found = calibrate(rng.normal(1, 1, 4000), rng.normal(-1, 1, 4000), rng)
    assert found.error < 0.02
    assert found.auc == pytest.approx(0.921, abs=0.01)  # of two normals two deviations apart
    assert found.pairs == 8000
    overconfident = Calibration(20.0, 0.0).probability(rng.normal(0.2, 1, 1000))
    assert calibration_error(overconfident, np.ones(1000)) > 0.2


@given(st.text(max_size=40), st.integers(0, 3))
def test_rewording_keeps_a_text_with_words(text: str, seed: int) -> None:
    assert bool(reworded(text, np.random.default_rng(seed)).strip()) == any(c.isalnum() for c in text) or not any(
        c.isalnum() for c in text
    )


def test_sparse_blocks_and_pairs_agree_and_are_never_positive() -> None:
    for weighting in ("tfidf", "bm25"):
        left, right = word_vectors(QUESTIONS, ANSWERS, weighting)  # type: ignore[arg-type]
        for positive in (True, False):
            scores = SparseScores(left, right, Calibration(2.0, -1.0), positive)
            block = np.concatenate([scores.block(0, 2), scores.block(2, 6)])
            rows, columns = np.divmod(np.arange(36), 6)
            np.testing.assert_allclose(scores.pairs(rows, columns), block.ravel(), atol=1e-6)
            assert (block <= 0).all()
            assert scores.size == 6


def test_bm25_by_hand() -> None:
    documents = ["red ball", "blue ball ball"]
    lexicon = Lexicon(documents)
    left, right = lexicon.bm25(["ball"], documents)
    idf = np.log1p((2 - 2 + 0.5) / (2 + 0.5))
    length = 1.2 * (0.25 + 0.75 * np.array([2, 3]) / 2.5)
    expected = idf * np.array([1, 2]) * 2.2 / (np.array([1, 2]) + length)
    np.testing.assert_allclose((left @ right.T).toarray()[0], expected, rtol=1e-5)


def test_tfidf_is_a_cosine_and_sees_endings() -> None:
    table = Lexicon(ANSWERS).tfidf(ANSWERS)
    near = (table @ table.T).toarray()
    np.testing.assert_allclose(np.diag(near), 1, atol=1e-6)
    assert near[0, 1] > near[0, 2]
    assert terms("Playing played plays") == ["play"] * 3


def test_what_is_learned_finds_held_out_answers_that_nearness_does_not() -> None:
    left, right, texts = world(1500)
    matrix = learn(left[:1200], right[:1200], texts[:1200], np.random.default_rng(0))

    def found(mapped_left: np.ndarray) -> float:
        return float(((mapped_left @ right[1200:].T).argmax(1) == np.arange(300)).mean())

    assert found(left[1200:]) < 0.02
    assert found(left[1200:] @ matrix) > 0.1


def test_rows_are_mapped_by_a_matrix_that_did_not_see_their_part() -> None:
    left, right, texts = world(600)
    folds = [str(k % 3) for k in range(600)]
    out, helped = mapped(left, right, texts, folds, np.random.default_rng(0))
    assert helped
    # answers of fold 0 exchanged: rows of fold 0 are mapped as before, since their own answers teach them nothing
    other = right.copy()
    mine = np.flatnonzero(np.array(folds) == "0")
    other[mine] = right[np.roll(mine, 1)]
    again, _ = mapped(left, other, texts, folds, np.random.default_rng(0))
    np.testing.assert_array_equal(out[mine], again[mine])
    assert not np.array_equal(out, again)


def test_noise_teaches_nothing_and_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    left, right = unit(rng.standard_normal((400, 8))), unit(rng.standard_normal((400, 8)))
    texts = np.zeros(400, np.int64) + np.arange(400)
    out, helped = mapped(left, left.copy(), texts, ["0"] * 200 + ["1"] * 200, rng)
    assert not helped  # nearness is perfect already
    assert out is left
    assert right.shape == left.shape


def test_parts_are_whole_folds_or_texts() -> None:
    folds = [str(k % 5) for k in range(50)]
    part = parts_of(folds, np.arange(50), np.random.default_rng(0))
    assert len({(f, p) for f, p in zip(folds, part.tolist(), strict=True)}) == 5
    one = parts_of(["x"] * 10, np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]), np.random.default_rng(0))
    assert all(one[k] == one[k + 1] for k in range(0, 10, 2))
    assert set(one.tolist()) == {0, 1}


def test_models_by_name() -> None:
    texts = np.arange(6)
    for name in ("tfidf", "bm25", "hashed-words"):
        fitted = fit_relevance(name, QUESTIONS, ANSWERS, texts, ["0"] * 3 + ["1"] * 3, np.random.default_rng(0))
        scores = fitted.scores(np.array([1, 2, 4]))
        assert scores.size == 3
        assert (scores.block(0, 3) <= 0).all()
        assert fitted.row_vectors(texts).shape[0] == 6
    similar = fit_similarity("tfidf", ANSWERS, np.random.default_rng(0))
    near = similar.calibration.probability(similar.of_pairs(np.array([0, 0]), np.array([1, 4])))
    assert near[0] > near[1]


def test_a_response_that_ties_with_others_is_not_found() -> None:
    """Words in common with every response of a topic find none of them; what is learned does."""
    rng = np.random.default_rng(0)
    verb = rng.integers(6, size=600)
    queries, responses = [f"ask{v} it" for v in verb], [f"say{v} it thing{k % 9}" for k, v in enumerate(verb)]
    texts = np.unique(responses, return_inverse=True)[1]
    folds = [str(k % 3) for k in range(600)]
    assert fit_relevance("hashed-words", queries, responses, texts, folds, np.random.default_rng(0)).learned
