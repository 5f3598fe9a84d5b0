"""Agreement against krippendorff and statsmodels, and the laws it obeys."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from veridical.errors import UserError
from veridical.statistics import agreement
from veridical.statistics.agreement import (
    bootstrap_alpha,
    count_ratings,
    count_values,
    distinct_rows,
    fleiss_kappa,
    krippendorff_alpha,
    measure,
    random_rater_kappa,
    rater_kappa,
)

# (raters, items) with -1 for missing
RATINGS = hnp.arrays(np.int64, st.tuples(st.integers(2, 6), st.integers(1, 40)), elements=st.integers(-1, 3))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def defined(ratings: np.ndarray) -> bool:
    """Some item has two judgements, and the pairable judgements have two values."""
    counts = count_ratings(ratings, 4)
    return bool((counts[counts.sum(axis=1) >= 2].sum(axis=0) > 0).sum() >= 2)


@given(RATINGS)
def test_alpha_is_that_of_krippendorff_with_missing_ratings(ratings):
    assume(defined(ratings))
    oracle = krippendorff.alpha(np.where(ratings < 0, np.nan, ratings), level_of_measurement="nominal")
    assert krippendorff_alpha(count_ratings(ratings)) == pytest.approx(oracle, abs=1e-12)


@given(RATINGS, st.randoms(use_true_random=False))
def test_alpha_and_kappa_do_not_see_the_order_of_raters_or_items(ratings, random):
    assume(defined(ratings))
    raters, items = (random.sample(range(n), n) for n in ratings.shape)
    for number in (krippendorff_alpha, fleiss_kappa):
        assert number(count_ratings(ratings[raters][:, items], 4)) == number(count_ratings(ratings, 4))


@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(2, 6))
def test_unanimous_raters_with_two_values_agree_fully(values, raters):
    assume(len(set(values)) > 1)
    counts = count_ratings(np.tile(values, (raters, 1)))
    assert krippendorff_alpha(counts) == 1
    assert fleiss_kappa(counts) == pytest.approx(1, abs=1e-12)
    alphas = bootstrap_alpha(counts, rng(), 20)
    assert (alphas[~np.isnan(alphas)] == 1).all()
    assert random_rater_kappa(counts, rng(), 3) == pytest.approx(1, abs=1e-12)


@given(hnp.arrays(np.int64, st.tuples(st.integers(2, 6), st.integers(2, 40)), elements=st.integers(0, 2)))
def test_kappa_is_that_of_statsmodels_with_complete_ratings(ratings):
    assume(len(np.unique(ratings)) > 1)
    counts = count_ratings(ratings, 3)
    assert fleiss_kappa(counts) == pytest.approx(statsmodels_fleiss(counts), abs=1e-12)


@given(hnp.arrays(np.int16, st.tuples(st.just(2), st.integers(2, 40)), elements=st.integers(0, 2)))
def test_rater_kappa_of_two_raters_is_cohens(ratings):
    table = np.zeros((3, 3))
    np.add.at(table, tuple(ratings), 1)
    assume((ratings[0] != ratings[0][0]).any() or (ratings[1] != ratings[0][0]).any())
    assert rater_kappa(ratings, 3) == pytest.approx(cohens_kappa(table, return_results=False), abs=1e-12)


def noisy(items: int, values: int = 3, raters: int = 5, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)
    truth, noise = random.integers(values, size=items), random.integers(values, size=(raters, items))
    return np.where(random.random((raters, items)) < 0.85, truth, noise)


def test_random_raters_give_the_papers_kappa_near_fleiss():
    """Dealing at random makes the raters' shares equal up to chance, so that the mean kappa nears Fleiss'."""
    counts = count_ratings(noisy(2000))
    assert random_rater_kappa(counts, rng()) == pytest.approx(fleiss_kappa(counts), abs=1e-3)
    assert random_rater_kappa(counts, rng(), 5) == random_rater_kappa(counts, rng(), 5)


def test_random_raters_need_items_with_all_judgements():
    counts = np.array([[5, 0], [0, 5], [4, 1], [1, 0], [2, 2]])
    assert random_rater_kappa(counts, rng(), 4) == random_rater_kappa(counts[:3], rng(), 4)


def test_bootstrap_is_the_plain_resampling_of_items():
    """The multinomial over distinct rows has the spread of drawing items one by one."""
    counts = count_ratings(noisy(300))
    random = np.random.default_rng(2)
    plain = [krippendorff_alpha(counts[random.integers(300, size=300)]) for _ in range(600)]
    fast = bootstrap_alpha(counts, np.random.default_rng(3), 4000)
    assert fast.mean() == pytest.approx(np.mean(plain), abs=0.004)
    assert fast.std() == pytest.approx(np.std(plain), rel=0.1)


def test_bootstrap_in_pieces_is_the_bootstrap_in_one(monkeypatch):
    counts = count_ratings(noisy(300))
    whole = bootstrap_alpha(counts, rng(), 50)
    monkeypatch.setattr(agreement, "_ROWS_AT_ONCE", 100)
    np.testing.assert_array_equal(bootstrap_alpha(counts, rng(), 50), whole)


@settings(max_examples=30)
@given(hnp.arrays(np.int64, st.tuples(st.integers(0, 30), st.integers(1, 4)), elements=st.integers(0, 60)))
def test_distinct_rows_keep_every_pairable_item(counts):
    """Small and large counts take different ways to the same rows."""
    found = distinct_rows(counts)
    pairable = counts[counts.sum(axis=1) >= 2]
    rows = sorted(map(tuple, np.repeat(found.rows, found.times, axis=0)))
    assert rows == sorted(map(tuple, pairable))
    assert len(set(map(tuple, found.rows))) == len(found.rows)


def test_counts():
    np.testing.assert_array_equal(count_values([0, 2, 2], [1, 0, 0], (3, 2)), [[0, 1], [0, 0], [2, 0]])
    np.testing.assert_array_equal(count_ratings([[0.0, np.nan], [1.0, 1.0]]), [[1, 1], [0, 1]])


@pytest.mark.parametrize("counts", [np.empty((0, 2)), [[1, 0], [0, 1]], [[3, 0], [2, 0]]])
def test_what_has_no_agreement_is_none(counts):
    found = measure(counts, rng(), 10)
    assert (found.alpha, found.low, found.kappa, found.random_rater_kappa) == (None, None, None, None)


def test_interval_holds_alpha_and_shrinks_with_items():
    few, many = (measure(count_ratings(noisy(n)), rng()) for n in (200, 5000))
    for found in (few, many):
        assert found.low < found.alpha < found.high
    assert many.high - many.low < few.high - few.low
    assert (many.items, many.judgements) == (5000, 25000)


@pytest.mark.parametrize("bad", [[1, 2, 3], [[1, -1]]])
def test_counts_that_are_none(bad):
    with pytest.raises(UserError, match="matrix of counts"):
        krippendorff_alpha(bad)


def test_cost_does_not_grow_with_items():
    """The bootstrap sees six rows for five raters and two values, however many items there are."""
    assert len(distinct_rows(count_ratings(noisy(20_000, values=2))).times) == 6
