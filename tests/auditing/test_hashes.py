"""Near-duplicates: multi-index hashing misses no pair; copies look alike, other drawings do not."""

from __future__ import annotations

from io import BytesIO
from itertools import combinations
from types import ModuleType

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from veridical.auditing.hashes import MOST_BITS, difference_hash, distance, look_alike, near_pairs, thumbnail


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8), st.integers(0, 10_000))
def test_multi_index_hashing_finds_what_all_pairs_find(seeds: list[int], number: int) -> None:
    rng = np.random.default_rng(number)
    hashes = []
    for seed in seeds:
        for _ in range(4):
            flips = rng.choice(64, int(rng.integers(0, 8)), replace=False)
            hashes.append(seed ^ sum(1 << int(f) for f in flips))
    expected = {
        (a, b) for a, b in combinations(range(len(hashes)), 2) if (hashes[a] ^ hashes[b]).bit_count() <= MOST_BITS
    }
    assert set(near_pairs(np.array(hashes, np.uint64))) == expected


def test_only_wanted_pairs_are_compared() -> None:
    hashes = np.zeros(4, np.uint64)
    kind = np.array([0, 0, 1, 1])
    assert set(near_pairs(hashes, kind)) == {(0, 2), (0, 3), (1, 2), (1, 3)}
    assert set(near_pairs(hashes, kind, inside=1)) == {(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_distance_counts_bits() -> None:
    assert distance(np.array([0, 3], np.uint64), np.array([2**63, 0], np.uint64)).tolist() == [1, 2]


def drawing(*places: int) -> Image.Image:
    image = Image.new("RGB", (400, 100), (211, 211, 211))
    for x in places:
        ImageDraw.Draw(image).rectangle((x, 40, x + 10, 50), fill=(0, 0, 0))
    return image


def test_a_compressed_copy_looks_alike_and_another_drawing_does_not() -> None:
    file = BytesIO()
    drawing(20, 180, 330).resize((300, 75)).save(file, "JPEG", quality=80)
    copy = Image.open(file)
    assert look_alike(thumbnail(drawing(20, 180, 330)), thumbnail(copy))
    assert not look_alike(thumbnail(drawing(20, 180, 330)), thumbnail(drawing(20, 180)))
    assert not look_alike(thumbnail(drawing(20, 180, 330)), thumbnail(drawing(20, 180, 350)))


def test_difference_hash_survives_compression(benchmarks: ModuleType) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        image = benchmarks.picture(rng)
        again = Image.open(BytesIO(benchmarks.encoded(image, "JPEG")))
        assert (difference_hash(image) ^ difference_hash(again)).bit_count() <= MOST_BITS
