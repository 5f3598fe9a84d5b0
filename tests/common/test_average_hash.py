"""The average hash, by its definition and beside the package that NLVR2's authors used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from veridical.common.average_hash import average_hash


@given(st.lists(st.integers(0, 255), min_size=64, max_size=64))
def test_a_bit_is_set_where_a_pixel_is_lighter_than_the_mean(grey: list[int]) -> None:
    image = Image.fromarray(np.array(grey, np.uint8).reshape(8, 8))
    bits = "".join(str(int(64 * value > sum(grey))) for value in grey)
    assert average_hash(image) == f"{int(bits, 2):016x}"


def test_known_values() -> None:
    left = Image.new("RGB", (640, 480))
    left.paste((255, 255, 255), (0, 0, 320, 480))
    assert average_hash(left) == "f0" * 8
    assert average_hash(Image.new("RGB", (30, 20), (9, 9, 9))) == "0" * 16


@pytest.mark.parametrize("size", [(8, 8), (33, 20), (200, 300)])
def test_it_is_the_one_of_imagehash(size: tuple[int, int]) -> None:
    imagehash = pytest.importorskip("imagehash")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        image = Image.fromarray(rng.integers(0, 255, (6, 8, 3), np.uint8)).resize(size, Image.Resampling.BICUBIC)
        assert average_hash(image) == str(imagehash.average_hash(image))
