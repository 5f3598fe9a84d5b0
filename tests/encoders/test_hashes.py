"""Hashes of pictures: multi-index hashing finds exactly what all pairs find; near-duplicates of pictures."""

from __future__ import annotations

import json
from io import BytesIO
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from veridical.encoders import hashes as module
from veridical.encoders.hashes import (
    difference_hash,
    distance,
    near_pairs,
    perceptual_hash,
    published_hash,
)
from veridical.errors import UserError


def clustered(seeds: list[int], number: int, most: int) -> np.ndarray:
    """Hashes around some seeds, copies among them."""
    rng = np.random.default_rng(number)
    found = []
    for seed in seeds:
        for _ in range(5):
            flips = rng.choice(64, int(rng.integers(0, min(64, most + 3))), replace=False)
            found.append(seed ^ sum(1 << int(f) for f in flips))
        found += [seed] * int(rng.integers(0, 3))
    return np.array(found, np.uint64)[rng.permutation(len(found))]


def brute(hashes: np.ndarray, most: int) -> list[list[int]]:
    values = hashes.tolist()
    return [[a, b] for a, b in combinations(range(len(values)), 2) if (values[a] ^ values[b]).bit_count() <= most]


numbers = st.integers(0, 2**64 - 1) | st.sampled_from([0, 2**64 - 1, 2**63])


@pytest.mark.parametrize("compiled", [True, False])
@settings(max_examples=60, deadline=None)
@given(st.lists(numbers, min_size=0, max_size=12), st.integers(0, 10_000), st.sampled_from([0, 1, 2, 4, 6, 9, 20, 64]))
def test_multi_index_hashing_finds_what_all_pairs_find(
    compiled: bool, seeds: list[int], number: int, most: int
) -> None:
    hashes = clustered(seeds, number, most)
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(module, "_kernel", lambda: None)  # as where numba is not installed
        assert near_pairs(hashes, most).tolist() == brute(hashes, most)


@pytest.mark.parametrize("most", [0, 3, 6, 8])
def test_many_hashes_are_cut_into_blocks_and_none_is_lost(most: int) -> None:
    rng = np.random.default_rng(most)
    hashes = np.concatenate([rng.integers(0, 2**64, 3000, np.uint64), clustered([1, 2**40, 77], 0, most)])
    assert module._plan(len(hashes), most)[1] > 0
    expected = []
    for a in range(len(hashes)):
        rest = hashes[a + 1 :]
        near = np.flatnonzero(distance(np.full(len(rest), hashes[a]), rest) <= most)
        expected += [[a, a + 1 + b] for b in near.tolist()]
    assert near_pairs(hashes, most).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=6), st.integers(0, 1000), st.integers(-1, 2))
def test_kinds_choose_among_the_pairs(seeds: list[int], number: int, inside: int) -> None:
    hashes = clustered(seeds, number, 4)
    kind = np.random.default_rng(number).integers(-1, 3, len(hashes))
    expected = [[a, b] for a, b in brute(hashes, 4) if kind[a] != kind[b] or kind[a] < 0 or kind[a] == inside]
    assert near_pairs(hashes, 4, split=kind, inside=inside).tolist() == expected


def test_a_quadratic_answer_is_refused_and_not_written_out() -> None:
    with pytest.raises(UserError, match="At least 4,999,950,000 pairs"):
        near_pairs(np.zeros(100_000, np.uint64), 6)
    near = np.arange(4096, dtype=np.uint64)
    with pytest.raises(UserError, match="at most 1,000 are listed"):
        near_pairs(near, 12, most_pairs=1000)
    kind = np.zeros(100_000, np.int64)
    assert len(near_pairs(np.zeros(100_000, np.uint64), 6, split=kind)) == 0
    with pytest.raises(UserError, match="between 0 and 64"):
        near_pairs(near, 65)


def test_published_hashes_are_read(shared: Path) -> None:
    texts = json.loads((shared / "nlvr2" / "dev_hashes.json").read_text()).values()
    hashes = np.array([published_hash(text) for text in texts], np.uint64)
    assert len(hashes) == 8102
    found = near_pairs(hashes[:2000], 6)
    assert found.tolist() == brute(hashes[:2000], 6)
    with pytest.raises(UserError, match="no hash"):
        published_hash("a photograph")


def photograph(seed: int, size: tuple[int, int] = (96, 64)) -> Image.Image:
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 255, (6, 8, 3), np.uint8)).resize(size, Image.Resampling.BICUBIC)


def test_the_perceptual_hash_is_the_one_of_imagehash_and_survives_compression() -> None:
    imagehash = pytest.importorskip("imagehash")
    for seed in range(5):
        image = photograph(seed)
        assert f"{perceptual_hash(image):016x}" == str(imagehash.phash(image))
        file = BytesIO()
        image.resize((72, 48)).save(file, "JPEG", quality=70)
        for made in (perceptual_hash, difference_hash):
            assert (made(image) ^ made(Image.open(file))).bit_count() <= 6
            assert (made(image) ^ made(photograph(seed + 100))).bit_count() > 6


def test_near_duplicates_among_pictures_and_published_hashes() -> None:
    pytest.importorskip("imagehash")
    wide = Image.new("RGB", (192, 64))
    wide.paste(photograph(1), (0, 0))
    wide.paste(photograph(3), (96, 0))
    file = BytesIO()
    photograph(1, (72, 48)).save(file, "JPEG")
    pictures = {
        "one": photograph(1),
        "small": Image.open(file).convert("RGB"),
        "two": photograph(2),
        "left": wide.crop((0, 0, 96, 64)),
        "right": wide.crop((96, 0, 192, 64)),
    }
    for made, exact in ((perceptual_hash, True), (difference_hash, False)):
        found = {name: made(picture) for name, picture in pictures.items()}
        found["published"] = published_hash(f"{made(photograph(2)):016x}")
        names, values = list(found), np.array(list(found.values()), np.uint64)
        near = {(names[a], names[b]) for a, b in near_pairs(values, 6).tolist()}
        assert near >= {("one", "small"), ("one", "left"), ("two", "published")}
        assert found["one"] == found["left"]
        if exact:
            assert near == {("one", "small"), ("one", "left"), ("small", "left"), ("two", "published")}
