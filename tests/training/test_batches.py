"""Batches: every example once, little padding, the same order for the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from veridical.common.arrays import Ints
from veridical.training.batches import Dataset, epoch_batches, ordered_batches
from veridical.zoo.inputs import CandidateWords, Pixels, pad

from ..zoo import _small as small


@given(lengths=st.lists(st.integers(0, 30), min_size=1, max_size=300), size=st.integers(1, 40), seed=st.integers(0, 99))
def test_an_epoch_shows_every_example_once(lengths: list[int], size: int, seed: int) -> None:
    array = np.array(lengths)
    batches = epoch_batches(array, size, np.random.default_rng(seed))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert max(map(len, batches)) <= size
    again = epoch_batches(array, size, np.random.default_rng(seed))
    assert all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))
    assert sorted(np.concatenate(ordered_batches(array, size)).tolist()) == list(range(len(lengths)))


def padding_share(lengths: Ints, batches: list[Ints]) -> float:
    """Which part of the padded batches is padding."""
    padded = sum(int(lengths[rows].max()) * len(rows) for rows in batches)
    return 1 - sum(int(lengths[rows].sum()) for rows in batches) / padded


def test_examples_of_similar_length_share_a_batch() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.geometric(0.08, 12_000)
    at_random = np.array_split(rng.permutation(len(lengths)), len(lengths) // 64)
    assert padding_share(lengths, at_random) > 0.4
    assert padding_share(lengths, epoch_batches(lengths, 64, rng)) < 0.12


def test_pad_fills_every_axis() -> None:
    out = pad([np.ones((2, 1), np.int64), np.ones((1, 3), np.int64)])
    assert out.tolist() == [[[1, 0, 0], [1, 0, 0]], [[1, 1, 1], [0, 0, 0]]]


def test_missing_candidates_are_blank(choices: Path) -> None:
    data = Dataset.encode(small.examples(choices)[:4], {"responses": CandidateWords()})
    blank = data.blank(np.arange(4))
    assert blank is not None
    assert blank.tolist() == [[False] * 4, [False] * 3 + [True]] * 2
    assert data.blank(np.array([0, 2])) is None


def test_pictures_are_made_when_their_batch_comes(statements: Path) -> None:
    data = Dataset.encode(small.examples(statements)[:3], {"pixels": Pixels(40, 10)})
    assert data.kept == [{}, {}, {}]
    assert data.per_view
    assert data.views(0) == 6
    first, second = (data.batch(np.array([0]), np.array([view]))["pixels"] for view in (0, 5))
    assert first.shape == (1, 3, 10, 40)
    assert not bool((first == second).all())
