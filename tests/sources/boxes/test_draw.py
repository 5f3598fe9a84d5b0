"""Drawing: equal to the published images, deterministic, and clear about scenes that cannot be drawn."""

from __future__ import annotations

import hashlib
import io
import re
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from veridical.errors import UserError
from veridical.records import Panel, SceneObject
from veridical.sources.boxes import png as boxes_png
from veridical.sources.boxes.drawings import draw, draw_png, draw_views, see
from veridical.sources.boxes.scenes import (
    ARRANGEMENTS,
    COLORS,
    ORDERS,
    SHAPES,
    Figure,
    Placed,
    Scene,
    panel,
    presentations,
    sample_scene,
)


def square(x: float, y: float, side: float = 10, color: str = "black", size: str = "small") -> SceneObject:
    return SceneObject("0", "square", (("color", color), ("size", size)), (x, y, x + side, y + side))


def scene_with(*objects: SceneObject) -> Scene:
    return (Panel("0", objects=objects), Panel("1"), Panel("2"))


def decoded(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGBA"))


def test_every_published_image_is_drawn_and_seen_exactly(shared: Path, published: dict[str, dict[str, Scene]]) -> None:
    paths = [*(shared / "nlvr" / "dev" / "images").rglob("*.png"), *(shared / "nlvr" / "train-images").rglob("*.png")]
    assert len(paths) == 6934
    for path in paths:
        split, number, image, view = path.stem.split("-")
        scene, order = published[split][f"{number}-{image}"], ORDERS[int(view)]
        with Image.open(path) as file:
            pixels = np.asarray(file)
        assert np.array_equal(draw(scene, order), pixels), path
        assert [panel.objects for panel in see(pixels)] == [scene[index].objects for index in order], path


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), arrangement=st.sampled_from(ARRANGEMENTS), order=st.sampled_from(ORDERS))
def test_a_png_decodes_to_the_drawing(seed: int, arrangement: str, order: tuple[int, ...]) -> None:
    scene = sample_scene(np.random.default_rng(seed), arrangement)  # type: ignore[arg-type]
    assert np.array_equal(decoded(draw_png(scene, order)), draw(scene, order))


def test_views_are_the_six_orders() -> None:
    scene = sample_scene(np.random.default_rng(0), "scatter")
    views = draw_views(scene)
    assert views == [draw_png(scene, order) for order in ORDERS]
    assert len(set(views)) == 6


def test_bytes_never_change() -> None:
    """Benchmarks are named by these bytes: they may depend on no machine, library version or encoder."""
    digest = hashlib.sha256()
    for shift, color in enumerate(COLORS):
        boxes = [
            [
                Placed(31 * row + shift, 31 * row + 2 * shift, Figure(shape, color, size))
                for row, size in enumerate(sizes)
            ]
            for shape, sizes in zip(SHAPES, ((10, 20, 30), (30, 20, 10), (20, 10, 30)), strict=True)
        ]
        for png in draw_views([panel(box, index) for index, box in enumerate(boxes)]):
            digest.update(png)
    assert digest.hexdigest() == "a5ad59b3fd23c747b7bd6d3b47999a11d3b560ac0bd8460ecb97b685e6699949"


def test_without_numba_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = [scene for one in presentations(2, seed=3) for scene in one.scenes]
    compiled = [draw_png(scene) for scene in scenes]
    monkeypatch.setattr(boxes_png, "_kernels", lambda: [boxes_png._scan, boxes_png._pack])
    assert [draw_png(scene) for scene in scenes] == compiled


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), longest=st.sampled_from([1, 2, 3, 5, 50, 3000]), repeat=st.floats(0, 1))
def test_the_encoder_is_right_for_any_picture(seed: int, longest: int, repeat: float) -> None:
    """Not only drawings: runs of any length, rows repeated in part."""
    rng = np.random.default_rng(seed)
    runs = rng.integers(1, longest + 1, 40_000)
    canvas = boxes_png.canvas()
    canvas[:, boxes_png.PAD :] = np.repeat(rng.integers(0, 63, 40_000), runs)[:40_000].reshape(100, 400)
    for row in (np.flatnonzero(rng.random(99) < repeat) + 1).tolist():
        first, last = sorted(rng.integers(boxes_png.PAD, boxes_png.STRIDE + 1, 2).tolist())
        canvas[row, first:last] = canvas[row - 1, first:last]
    with Image.open(io.BytesIO(boxes_png.encode(canvas))) as image:
        assert np.array_equal(np.asarray(image), canvas[:, boxes_png.PAD :])


def test_smaller_than_zlib_level_1() -> None:
    ours = theirs = 0
    for presentation in presentations(10, seed=0):
        for scene in presentation.scenes:
            png = draw_png(scene)
            with Image.open(io.BytesIO(png)) as image:
                rows = np.asarray(image)
            raw = np.concatenate([np.zeros((100, 1), np.uint8), rows], axis=1).tobytes()
            ours += len(png)
            theirs += len(boxes_png.wrap(zlib.compress(raw, 1)))
    assert ours < theirs


def test_touching_objects_can_be_drawn() -> None:
    scene = scene_with(square(0, 0), replace(square(10, 0, color="blue"), id="1"), replace(square(0, 10), id="2"))
    assert (draw(scene)[:10, :10, :3] == 0).all()
    assert np.array_equal(decoded(draw_png(scene)), draw(scene))


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ([square(0, 0, color="red")], "red square cannot be drawn"),
        ([square(0, 0, size="huge")], "huge black square cannot be drawn"),
        ([replace(square(0, 0), category="star")], "black star cannot be drawn"),
        ([replace(square(0, 0), box=None)], "has no position"),
        ([square(91, 0)], "inside its panel"),
        ([square(0, -1)], "inside its panel"),
        ([square(0, 0, side=20)], "not that of a small object"),
        ([square(0.5, 0)], "between pixels"),
        ([square(0, 0), replace(square(9, 9), id="1")], "overlap"),
    ],
)
def test_scenes_that_cannot_be_drawn(objects: list[SceneObject], problem: str) -> None:
    with pytest.raises(UserError, match=re.escape(problem)):
        draw_png(scene_with(*objects))


def test_wrong_numbers_of_panels_and_wrong_orders() -> None:
    with pytest.raises(UserError, match="three boxes"):
        draw(scene_with()[:2])
    with pytest.raises(UserError, match="not an order"):
        draw(scene_with(), (0, 1, 1))
