"""The quick bootstrap draws from the same distribution as drawing groups one by one; the sign test is exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.common.intervals import unanimous
from veridical.evaluation.bootstrap import _picks, collapse, intervals_of_parts, resample, sign_test, stream


def group_counts(groups: int, seed: int = 0, most: int = 4) -> np.ndarray:
    """(G, 3): examples, right ones, all right."""
    rng = np.random.default_rng(seed)
    n = rng.integers(1, most + 1, groups)
    right = rng.binomial(n, 0.7)
    return np.stack([n, right, n == right], 1)


def naive(counts: np.ndarray, resamples: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw whole groups one by one, with replacement."""
    accuracy, consistency = [], []
    for _ in range(resamples):
        sample = counts[rng.integers(0, len(counts), len(counts))]
        accuracy.append(sample[:, 1].sum() / sample[:, 0].sum())
        consistency.append(sample[:, 2].mean())
    return np.array(accuracy), np.array(consistency)


@pytest.mark.parametrize("groups", [1, 2, 3, 7, 40, 300, 3000])
def test_intervals_agree_with_drawing_groups(groups: int) -> None:
    counts, resamples = group_counts(groups), 20_000 if groups < 100 else 4000
    drawn = resample(counts, resamples, stream(1, "test"))
    many = intervals_of_parts(counts, np.array([0, groups]), [("tag", "value")], resamples, seed=1)[0]
    for column, (top, bottom, slow) in enumerate(
        zip((1, 2), (0, None), naive(counts, 4000, np.random.default_rng(2)), strict=True)
    ):
        quick = drawn.drawn[:, top] / (groups if bottom is None else drawn.drawn[:, bottom])
        spread = slow.std() if groups > 1 else 0.0
        assert quick.mean() == pytest.approx(slow.mean(), abs=5 * spread * math.sqrt(2 / 4000) + 1e-9)
        assert quick.std() == pytest.approx(spread, rel=0.12, abs=1e-9)
        # A quantile's Monte Carlo error is about 2.7 standard errors of the mean at 2.5%.
        near = 4 * 2.7 * spread * math.sqrt(2 / 4000) + 1e-9
        steps = 1.01 / groups if groups < 50 else 0.0  # small samples take few values: a quantile may be a step away
        for quantile, part in zip((0.025, 0.975), many[column], strict=True):
            assert np.quantile(quick, quantile) == pytest.approx(np.quantile(slow, quantile), abs=near + steps)
            if slow.mean() in (0, 1):  # the bootstrap knows of no spread there
                assert tuple(many[column]) == unanimous(slow.mean() == 1, groups)
                break
            assert part == pytest.approx(np.quantile(slow, quantile), abs=near + steps)


def test_small_groups_have_exactly_the_bootstrap_distribution() -> None:
    """Two groups: the sample is both, or one of them twice, with 1/2, 1/4, 1/4."""
    counts = np.array([[2, 2, 1], [2, 0, 0]])
    drawn = resample(counts, 40_000, stream(0, "x"))
    values, times = np.unique(drawn.drawn[:, 1], return_counts=True)
    assert values.tolist() == [0, 2, 4]
    assert times / 40_000 == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_both_ways_of_resampling_parts_are_used() -> None:
    assert _picks(group_counts(30)) == 10  # triples
    assert _picks(group_counts(250)) == 125  # pairs
    assert _picks(group_counts(31)) == 11  # ten triples and one
    assert _picks(group_counts(30_000)) == 0  # multinomial
    assert _picks(group_counts(500, most=100_000)) == 0  # too large to pack


def test_a_part_does_not_depend_on_the_others() -> None:
    """Its interval is the same whether it is alone or among other values of its tag, in whatever order."""
    parts = [group_counts(groups, seed=groups) for groups in (5, 700, 40, 0, 40, 1)]
    names = [("tag", str(number)) for number in range(len(parts))]
    ends = np.cumsum([0, *map(len, parts)])
    together = intervals_of_parts(np.concatenate(parts), ends, names, 500, seed=3)
    for number, part in enumerate(parts):
        alone = intervals_of_parts(part, np.array([0, len(part)]), [names[number]], 500, seed=3)
        assert together[number].tolist() == alone[0].tolist()
    assert together[3].tolist() == [[0, 0], [0, 0]]
    n, right, whole = parts[5][0]
    expected = [unanimous(top > 0, 1) if top in (0, of) else (top / of,) * 2 for top, of in ((right, n), (whole, 1))]
    assert together[5].tolist() == [list(pair) for pair in expected]  # one group: nothing to resample


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_collapse_keeps_every_row(rows: list[tuple[int, int]]) -> None:
    kinds, frequency = collapse(np.array(rows))
    again = sorted(
        tuple(kind) for kind, times in zip(kinds.tolist(), frequency.tolist(), strict=True) for _ in range(times)
    )
    assert again == sorted(rows)
    assert len({tuple(kind) for kind in kinds.tolist()}) == len(kinds)


def test_collapse_of_huge_counts() -> None:
    rows = np.array([[1 << 40, 3], [5, 1 << 40], [1 << 40, 3]])
    kinds, frequency = collapse(rows)
    assert sorted(zip(kinds.tolist(), frequency.tolist(), strict=True)) == [([5, 1 << 40], 1), ([1 << 40, 3], 2)]


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_test_is_the_binomial_tail(wins: int, losses: int) -> None:
    flips = wins + losses
    far = [k for k in range(flips + 1) if abs(2 * k - flips) >= abs(wins - losses)]
    assert sign_test(wins, losses) == pytest.approx(sum(math.comb(flips, k) for k in far) / 2**flips, rel=1e-12)
    assert sign_test(wins, losses) == sign_test(losses, wins)


@pytest.mark.parametrize(("wins", "losses"), [(1500, 1400), (1100, 1000), (30_000, 29_500)])
def test_sign_test_of_many(wins: int, losses: int) -> None:
    flips, few = wins + losses, min(wins, losses)
    ways = term = math.comb(flips, few)
    for k in range(few, 0, -1):
        term = term * k // (flips - k + 1)
        ways += term
        if term * 10**18 < ways:
            break
    assert sign_test(wins, losses) == pytest.approx(2 * ways / 2**flips, rel=1e-8)


def test_streams_differ_by_purpose() -> None:
    assert stream(0, "a").random() == stream(0, "a").random()
    assert len({stream(seed, word).random() for seed in (0, 1) for word in ("a", "b")}) == 4
