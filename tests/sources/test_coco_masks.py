"""Run-length masks: decoded as COCO's own tools write them; outlines drawn again give the mask without its holes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from scipy import ndimage

from veridical.sources.coco import decode_mask, outlines


def runs(mask: np.ndarray) -> list[int]:
    flat = mask.T.ravel()
    edges = np.flatnonzero(np.diff(flat)) + 1
    lengths = np.diff([0, *edges, len(flat)]).tolist()
    return [0, *lengths] if flat[0] else lengths


def compressed(numbers: list[int]) -> str:
    """As rleToString of cocoapi's maskApi.c."""
    text = ""
    for k, number in enumerate(numbers):
        left = number - numbers[k - 2] if k > 2 else number
        more = True
        while more:
            code = left & 31
            left >>= 5
            more = left != -1 if code & 16 else left != 0
            text += chr((code | 32 if more else code) + 48)
    return text


masks = st.tuples(st.integers(1, 9), st.integers(1, 9)).flatmap(
    lambda size: st.lists(st.booleans(), min_size=size[0] * size[1], max_size=size[0] * size[1]).map(
        lambda bits: np.array(bits).reshape(size)
    )
)


@settings(max_examples=200, deadline=None)
@given(masks)
def test_runs_give_their_mask(mask: np.ndarray) -> None:
    for counts in (runs(mask), compressed(runs(mask))):
        assert (decode_mask(counts, *mask.shape) == mask).all()


def test_texts_that_pycocotools_wrote() -> None:
    """The texts are what `pycocotools.mask.encode` (2.0.11) gave for these masks."""
    small = np.zeros((5, 7), bool)
    small[1:4, 2:5] = True
    large = np.zeros((600, 900), bool)  # runs of several characters, and of less than the one two before
    large[20:580, 400:403] = True
    large[300:310, 401] = False
    large[599, 899] = True
    for mask, text in ((small, ";320009"), (large, "d\\Z7`a0X1XGROFn0R9SVS9a^O")):
        assert compressed(runs(mask)) == text
        assert (decode_mask(text, *mask.shape) == mask).all()


@settings(max_examples=300, deadline=None)
@given(masks)
def test_outlines_drawn_again_give_the_mask_without_holes(mask: np.ndarray) -> None:
    around = np.pad(mask, 1)
    outside, _ = ndimage.label(~around, structure=np.ones((3, 3)))  # parts touch by sides only, holes by corners too
    filled = (outside != outside[0, 0])[1:-1, 1:-1]
    found = outlines(mask)
    drawn = np.zeros(mask.shape, bool)
    for corners in found:
        image = Image.new("1", (mask.shape[1] * 4, mask.shape[0] * 4))
        ImageDraw.Draw(image).polygon([(x * 4, y * 4) for x, y in corners], fill=1)
        drawn |= np.asarray(image)[2::4, 2::4]  # whether the middle of each pixel is inside
    assert (drawn == filled).all()
    assert len(found) >= ndimage.label(filled)[1]
    assert all(len(corners) >= 4 for corners in found)


def test_the_real_masks_are_decoded(shared: Path) -> None:
    published = json.loads((shared / "coco" / "instances_train2017.json").read_text())
    found = [a for a in published["annotations"] if isinstance(a["segmentation"], dict)]
    assert found
    for annotation in found:  # crowds: the published area is not that of the mask, and the box ends a pixel early
        mask = decode_mask(annotation["segmentation"]["counts"], *annotation["segmentation"]["size"])
        corners = np.concatenate([np.array(part) for part in outlines(mask)])
        left, top, width, height = annotation["bbox"]
        assert (*corners.min(0), *corners.max(0)) == pytest.approx((left, top, left + width, top + height), abs=1.01)
