"""Splits never cut through an origin, and have the sizes asked for."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.benchmark import splits
from veridical.errors import UserError

origin_lists = st.lists(st.lists(st.integers(0, 12).map(str), max_size=2), min_size=1, max_size=30)


def crossing(origins: list[list[str]], names: list) -> set[str]:
    """Origins that are on more than one side."""
    seen = defaultdict(set)
    for own, name in zip(origins, names, strict=True):
        for origin in own:
            seen[origin].add(name)
    return {origin for origin, sides in seen.items() if len(sides) > 1}


@given(origin_lists, st.integers(0, 5))
def test_no_origin_crosses_and_sizes_are_the_nearest_possible(origins: list[list[str]], seed: int) -> None:
    sizes = np.bincount(splits.blocks(origins)).tolist()
    if len(sizes) < 2:
        return
    names = splits.split_by_origin(origins, {"a": 0.3, "b": 0.7}, np.random.default_rng(seed))
    assert crossing(origins, names) == set()
    if len(sizes) <= 10:
        target = round(0.3 * len(origins))
        possible = {sum(c) for r in range(len(sizes) + 1) for c in combinations(sizes, r)}
        possible -= {0, len(origins)}  # no split is left empty
        assert abs(names.count("a") - target) == min(abs(p - target) for p in possible)


@given(origin_lists)
def test_blocks_are_connected_components(origins: list[list[str]]) -> None:
    block = splits.blocks(origins).tolist()
    for (i, a), (j, b) in combinations(enumerate(origins), 2):
        if set(a) & set(b):
            assert block[i] == block[j]
    assert sorted(set(block)) == list(range(max(block) + 1))


def test_seed_decides() -> None:
    origins = [[str(n // 4)] for n in range(400)]
    draw = [splits.split_by_origin(origins, {"a": 1, "b": 1}, np.random.default_rng(s)) for s in (0, 0, 1)]
    assert draw[0] == draw[1] != draw[2]


def test_strata_keep_equal_proportions() -> None:
    rng = np.random.default_rng(0)
    image_sets = [str(n // 8) for n in range(24_000)]
    synsets = [f"synset-{int(s) // 8 % 10 % 7}" for s in range(24_000)]
    held_out = [i for i, held in enumerate(splits.nlvr2_held_out(image_sets, synsets, rng)) if held]
    names = ["train"] * len(image_sets)
    thirds = splits.nlvr2_thirds([image_sets[i] for i in held_out], [synsets[i] for i in held_out], rng)
    for i, name in zip(held_out, thirds, strict=True):
        names[i] = name
    counts = Counter(names)
    assert counts == {"train": 19_200, "dev": 1_600, "test-p": 1_600, "test-u": 1_600}
    assert crossing([[s] for s in image_sets], names) == set()
    whole = Counter(synsets)
    for name in counts:
        part = Counter(s for s, n in zip(synsets, names, strict=True) if n == name)
        for synset in whole:
            assert part[synset] / counts[name] == pytest.approx(whole[synset] / 24_000, abs=0.006)


def test_two_to_one() -> None:
    shares = {"train": 2.0, "test": 1.0}
    names = splits.split_by_origin([[str(n // 3)] for n in range(9_000)], shares, np.random.default_rng(0))
    assert Counter(names) == {"train": 6_000, "test": 3_000}


def test_vcr_folds_by_movie() -> None:
    rng = np.random.default_rng(0)
    movies = [f"movie-{m}" for m in rng.integers(0, 300, 12_000)]
    folds = splits.vcr_folds(movies, rng)
    sizes = Counter(folds)
    assert set(sizes) == set(range(11))
    assert max(sizes.values()) - min(sizes.values()) <= 40
    names = splits.vcr_splits(folds)
    assert crossing([[m] for m in movies], names) == set()
    assert Counter(names)["val"] == sizes[0]
    assert Counter(names)["test"] == sizes[1]
    with pytest.raises(UserError, match="3 movies cannot fill 11 folds"):
        splits.vcr_folds(["a", "b", "c"], rng)


def test_validation_slice_shares_no_sentence() -> None:
    sentences = ["A dog.", "a  dog", "Two dogs.", "Three dogs.", "Four dogs", "five"] * 5
    origins = [[str(n // 2)] for n in range(30)]
    held = splits.validation_slice(sentences[:6], origins[:6], 0.34, np.random.default_rng(0))
    assert held[0] == held[1]
    assert crossing([[" ".join(s.lower().split()).rstrip(".")] for s in sentences[:6]], held) == set()
    assert 1 <= sum(held) <= 3


def test_a_validation_slice_takes_case_spaces_and_full_stops_for_nothing() -> None:
    same = ["A dog is here.", "a  dog is HERE", "A dog is here !", "A dog is\there"]
    sentences = [*same, *(f"dog {n}" for n in range(12))]
    for seed in range(12):
        held = splits.validation_slice(sentences, [[str(n)] for n in range(16)], 0.4, np.random.default_rng(seed))
        assert len(set(held[:4])) == 1
        assert len(set(held)) == 2


@pytest.mark.parametrize("shares", [{"a": 0.99, "b": 0.01}, {"a": 0.01, "b": 0.99}, {"a": 1, "b": 1, "c": 998}])
@pytest.mark.parametrize("items", [3, 100])
def test_no_split_is_left_empty(shares: dict[str, float], items: int) -> None:
    names = splits.split_by_origin([[str(n)] for n in range(items)], shares, np.random.default_rng(0))
    assert set(names) == set(shares)


def test_wrong_wishes() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(UserError, match="positive"):
        splits.split_by_origin([["a"], ["b"]], {"a": 1, "b": 0}, rng)
    with pytest.raises(UserError, match="positive"):
        splits.split_by_origin([["a"], ["b"]], {"a": 1, "b": float("nan")}, rng)
    with pytest.raises(UserError, match="1 groups of items"):
        splits.split_by_origin([["a"], ["a"]], {"a": 1, "b": 1}, rng)


@pytest.mark.parametrize("weak", ["s", "4711", "12345678901234567890", "abababababababababababab"])
def test_a_secret_that_can_be_found_by_trying_is_refused(weak: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="found by trying"):
        splits.mix_secret(weak, tmp_path / "secret.txt", None)
    assert splits.mix_secret("nobody would guess this", tmp_path / "secret.txt", None).kept
    assert len(splits.mix_secret("random", tmp_path / "secret.txt", None).secret) >= splits.LEAST
