"""Sprites: the rule behind the published pixels."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.sources.boxes.scenes import LEFTS, SHAPES, SIZES
from veridical.sources.boxes.sprites import blend, coverage, sprites

# Where two edge pixels of a large circle differ from what they usually are: read off published images, x = 0 to 70.
LIGHTER = {0, 11, 21, 22, 23, 33, 42, 43, 44, 45, 46, 65, 66}  # row 23, column 2
DARKER = {3, 12, 13, 14, 15, 16, 35, 36, 53, 54, 55, 56, 58, 60, 62}  # row 24, column 26


def test_large_circles_depend_on_absolute_x_as_published() -> None:
    covers = {x: coverage("circle", 30, x, 0) for x in range(71)}
    assert {x for x, cover in covers.items() if cover[23, 2] == 80} == LIGHTER
    assert {x for x, cover in covers.items() if cover[24, 26] == 144} == DARKER
    assert {int(cover[23, 2]) for cover in covers.values()} == {80, 96}
    assert {int(cover[24, 26]) for cover in covers.values()} == {128, 144}
    rest = np.ones((30, 30), bool)
    rest[23, 2] = rest[24, 26] = False
    assert len({cover[rest].tobytes() for cover in covers.values()}) == 1


@pytest.mark.parametrize("size", SIZES.values())
def test_height_in_the_drawing_never_matters(size: int) -> None:
    for x in (0, 3, 11, 159, 302):
        assert len({coverage("circle", size, x, y).tobytes() for y in range(101 - size)}) == 1


@pytest.mark.parametrize("size", [10, 20])
def test_small_and_medium_circles_are_the_same_everywhere(size: int) -> None:
    xs = [left + step for left in LEFTS for step in range(101 - size)]
    assert len({coverage("circle", size, x, 0).tobytes() for x in xs}) == 1


def test_coverage_is_near_the_true_area() -> None:
    for size in SIZES.values():
        areas = {"square": size**2, "triangle": size**2 / 2, "circle": np.pi * size**2 / 4}
        for shape, area in areas.items():
            assert coverage(shape, size, 0, 0).sum() / 255 == pytest.approx(area, rel=0.02)


def test_a_triangle_points_up_and_fills_its_base() -> None:
    cover = coverage("triangle", 20, 0, 0)
    assert np.flatnonzero(cover[0]).tolist() == [9, 10]
    assert (cover[-1] > 128).all()


def test_blending_keeps_the_ends() -> None:
    assert blend(np.array([0, 255], np.uint8), (0, 153, 255)).tolist() == [[211, 211, 211], [0, 153, 255]]


def test_few_distinct_sprites_and_a_small_palette() -> None:
    table, palette = sprites()
    assert len({id(sprite) for sprite in table.values()}) == 36
    assert {thing.shape for thing, _ in table} == set(SHAPES)
    assert len(palette) < 144  # so that every pixel is eight bits in the fixed code
    assert len(set(map(tuple, palette.tolist()))) == len(palette)
