"""Seeing: drawing a scene and seeing it gives it back; other images are refused with a reason."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from veridical.errors import UserError
from veridical.sources.boxes.drawings import draw, draw_png, see
from veridical.sources.boxes.scenes import ARRANGEMENTS, COLORS, ORDERS, SHAPES, Figure, Placed, panel, sample_scene


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), arrangement=st.sampled_from(ARRANGEMENTS))
def test_seeing_inverts_drawing(seed: int, arrangement: str) -> None:
    scene = sample_scene(np.random.default_rng(seed), arrangement)  # type: ignore[arg-type]
    assert see(draw(scene)) == scene
    assert see(draw_png(scene)) == scene
    assert see(memoryview(draw_png(scene))) == scene
    assert see(draw(scene)[..., :3]) == scene


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), order=st.sampled_from(ORDERS))
def test_boxes_are_seen_where_they_stand(seed: int, order: tuple[int, ...]) -> None:
    scene = sample_scene(np.random.default_rng(seed), "scatter")
    seen = see(draw(scene, order))
    assert [one.objects for one in seen] == [scene[index].objects for index in order]
    assert [one.region for one in seen] == [one.region for one in scene]


@settings(max_examples=200, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    color=st.sampled_from(sorted(COLORS)),
    size=st.sampled_from([10, 20, 30]),
    x=st.integers(0, 90),
    y=st.integers(0, 90),
    box=st.integers(0, 2),
)
def test_one_object_anywhere(shape: str, color: str, size: int, x: int, y: int, box: int) -> None:
    one = Placed(min(y, 100 - size), min(x, 100 - size), Figure(shape, color, size))
    scene = tuple(panel([one] if index == box else [], index) for index in range(3))
    assert see(draw(scene)) == scene


def test_a_large_circle_at_every_x() -> None:
    for x in range(71):
        scene = tuple(panel([Placed(x, x, Figure("circle", color, 30))], index) for index, color in enumerate(COLORS))
        assert see(draw(scene)) == scene


def test_objects_come_in_raster_order() -> None:
    things = [Placed(5, 50, Figure("circle", "black", 30)), Placed(5, 2, Figure("triangle", "black", 30))]
    seen = see(draw((panel(things, 0), panel([], 1), panel([], 2))))
    assert [(one.id, one.category) for one in seen[0].objects] == [("0", "triangle"), ("1", "circle")]


def file_of(pixels: np.ndarray, suffix: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, suffix)
    return buffer.getvalue()


def changed(change: Callable[[np.ndarray], None]) -> np.ndarray:
    things = [Placed(40, 40, Figure("circle", "black", 30)), Placed(5, 5, Figure("square", "blue", 20))]
    pixels = draw((panel(things, 0), panel([], 1), panel([], 2)))
    change(pixels)
    return pixels


def paint(rows: slice, columns: slice, color: tuple[int, ...]) -> np.ndarray:
    def change(pixels: np.ndarray) -> None:
        pixels[rows, columns] = color

    return changed(change)


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        (b"", "cannot be read as an image"),
        (b"not an image", "cannot be read as an image"),
        (file_of(paint(slice(0), slice(0), (0, 0, 0, 0)))[:150], "cannot be read as an image"),
        (file_of(np.zeros((100, 100, 3), np.uint8)), "100 x 100 pixels is not an NLVR drawing"),
        (np.zeros((100, 400), np.uint8), "Pixels of shape (100, 400)"),
        (np.zeros((100, 400, 4), np.float64), "type float64"),
        (np.zeros((100, 400, 4), np.uint8), "(0, 0) has the colour (0, 0, 0, 0)"),
        (paint(slice(3, 4), slice(7, 8), (255, 0, 0, 255)), "(7, 3) has the colour (255, 0, 0, 255)"),
        (paint(slice(3, 4), slice(7, 8), (211, 211, 211, 254)), "(7, 3) has the colour (211, 211, 211, 254)"),
        (paint(slice(3, 4), slice(120, 121), (0, 0, 0, 255)), "(120, 3) is no part of an NLVR drawing"),
        (paint(slice(3, 4), slice(120, 121), (211, 211, 211, 255)), "(120, 3) is no part of an NLVR drawing"),
        (paint(slice(90, 91), slice(7, 8), (0, 0, 0, 255)), "(7, 90) is no part of any object"),
        (paint(slice(55, 56), slice(55, 56), (211, 211, 211, 255)), "is no part of any object"),
        (paint(slice(5, 30), slice(5, 30), (0, 153, 255, 255)), "(25, 5) is no part of any object"),
        (paint(slice(70, 100), slice(280, 310), (0, 0, 0, 255)), "no part of an"),
        (file_of(paint(slice(0), slice(0), (0, 0, 0, 0))[..., :3], "JPEG"), "which no NLVR drawing has"),
    ],
)
def test_other_images_are_refused(image: bytes | np.ndarray, problem: str) -> None:
    with pytest.raises(UserError, match=re.escape(problem)) as caught:
        see(image)
    assert "400 x 100" in caught.value.fix


def test_a_file_is_seen(tmp_path: Path) -> None:
    scene = sample_scene(np.random.default_rng(2), "tower")
    (tmp_path / "x.png").write_bytes(draw_png(scene))
    assert see(tmp_path / "x.png") == scene
    with pytest.raises(UserError, match=r"y\.png cannot be read: No such file"):
        see(tmp_path / "y.png")


@pytest.mark.parametrize("image", [None, "x.png", 3])
def test_what_is_no_image_is_refused(image: Any) -> None:
    with pytest.raises(UserError, match=f"^{image!r} is no drawing"):
        see(image)


def test_an_array_given_is_left_alone() -> None:
    pixels = draw(sample_scene(np.random.default_rng(1), "scatter"))
    before = pixels.copy()
    see(pixels)
    assert np.array_equal(pixels, before)
