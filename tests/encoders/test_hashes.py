"""Hashes of pictures: multi-index hashing finds exactly what all pairs find; near-duplicates of a whole benchmark."""

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

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.encoders import hashes as module
from veridical.encoders.hashes import (
    NearDuplicate,
    difference_hash,
    distance,
    near_duplicates,
    near_pairs,
    panel_hashes,
    perceptual_hash,
    published_hash,
)
from veridical.errors import UserError
from veridical.records import TRUTH, Item, Panel, Text


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


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    file = BytesIO()
    image.save(file, kind)
    return file.getvalue()


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    wide = Image.new("RGB", (192, 64))
    wide.paste(photograph(1), (0, 0))
    wide.paste(photograph(3), (96, 0))
    published = f"{perceptual_hash(photograph(2)):016x}"
    with BenchmarkWriter(tmp_path / "b", name="b", task="statement") as writer:
        one = writer.add_image(encoded(photograph(1)))
        small = writer.add_image(encoded(photograph(1, (72, 48)), "JPEG"))
        two = writer.add_image(encoded(photograph(2)))
        both = writer.add_image(encoded(wide))
        panels = [
            Panel("one", one, width=96, height=64),
            Panel("small", small, width=72, height=48),
            Panel("two", two, width=96, height=64),
            Panel("left", both, (0, 0, 96, 64), 96, 64),
            Panel("right", both, (96, 0, 192, 64), 96, 64),
            Panel("published", uri="https://example.org/2.jpg", phash=published),
            Panel("unknown", uri="https://example.org/3.jpg"),
        ]
        writer.add_panels(panels)
        item = Item("i", "statement", tuple(p.id for p in panels), Text("Yes."), TRUTH, 1)
        writer.add_items("train", [item])
    return tmp_path / "b"


def test_near_duplicates_among_the_panels_of_a_benchmark(benchmark: Path) -> None:
    pytest.importorskip("imagehash")
    found = near_duplicates(benchmark)
    assert {(d.a, d.b) for d in found} == {("one", "small"), ("one", "left"), ("small", "left"), ("two", "published")}
    assert NearDuplicate("one", "left", 0) in found
    assert NearDuplicate("two", "published", 0) in found
    assert set(panel_hashes(Benchmark(benchmark))) == {"one", "small", "two", "left", "right", "published"}
    assert {(d.a, d.b) for d in near_duplicates(benchmark, hash="difference")} >= {("one", "left"), ("one", "small")}
    with pytest.raises(UserError, match="no hash 'wavelet'"):
        near_duplicates(benchmark, hash="wavelet")
