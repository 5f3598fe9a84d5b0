"""Backgrounds of the icon world, painted once for each kind, tint and picture size; a scene takes a part of a tile."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MARGIN = 48  # a tile is this much larger than the picture
NOISE = 3.5  # standard deviation of the camera's noise, of 255
LIMIT = 12  # noise is no larger, and no colour nearer to 0 or 255: so it can be added without looking for overflow

Field = NDArray[np.float64]  # (height, width) or (height, width, 3)

TINTS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "plain": ((214, 226, 233), (236, 225, 204), (222, 214, 232), (212, 230, 214), (236, 214, 212)),
    "gradient": ((190, 212, 232), (240, 214, 180), (206, 196, 228), (196, 224, 200)),
    "paper": ((240, 232, 212), (232, 226, 218), (226, 232, 236)),
    "grass": ((146, 186, 104), (128, 172, 100), (166, 192, 112)),
    "sand": ((230, 208, 160), (222, 196, 150), (236, 216, 178)),
    "sky": ((150, 198, 236), (176, 208, 236), (196, 206, 232)),
    "tiles": ((208, 216, 220), (224, 212, 200), (200, 214, 206)),
    "wood": ((206, 168, 122), (190, 148, 104), (218, 186, 144)),
    "water": ((124, 186, 208), (112, 170, 204), (138, 200, 204)),
}


def background_tile(name: str, tint: int, width: int, height: int) -> Image.Image:
    """A background larger than the picture by `MARGIN`; `tint` is any number."""
    return _tile(name, tint % len(TINTS[name]), width, height)


@lru_cache(maxsize=64)
def _tile(name: str, tint: int, width: int, height: int) -> Image.Image:
    rng = np.random.default_rng([sorted(TINTS).index(name), tint])
    shape = (height + MARGIN, width + MARGIN)
    color = np.array(TINTS[name][tint], float)
    light = _PAINTERS[name](rng, shape)
    pixels = color + (light if light.ndim == 3 else light[..., None])
    return Image.fromarray(np.clip(pixels, LIMIT, 255 - LIMIT).astype(np.uint8))


@lru_cache(maxsize=8)
def noise_tile(width: int, height: int) -> Image.Image:
    """Noise within `LIMIT` around 0, modulo 256; partly the same in all three colours, as a camera's."""
    rng = np.random.default_rng(1)
    shape = (height + MARGIN, width + MARGIN)
    values = rng.normal(0, NOISE * 0.8, (*shape, 1)) + rng.normal(0, NOISE * 0.6, (*shape, 3))
    return Image.fromarray((np.clip(np.round(values), -LIMIT, LIMIT).astype(int) % 256).astype(np.uint8))


def _smooth(rng: np.random.Generator, shape: tuple[int, int], scale: float, across: float | None = None) -> Field:
    """Smooth noise of unit deviation whose blobs are about `scale` pixels wide and `across` high."""
    across = across or scale
    size = (max(2, round(shape[0] / across) + 2), max(2, round(shape[1] / scale) + 2))
    coarse = Image.fromarray(rng.standard_normal(size).astype(np.float32))
    field = np.asarray(coarse.resize((shape[1], shape[0]), Image.Resampling.BICUBIC), float)
    return field / max(float(field.std()), 1e-9)


def _plain(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    return 2.5 * _smooth(rng, shape, 120)


def _gradient(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    y, x = np.mgrid[: shape[0], : shape[1]]
    angle = rng.uniform(0, 2 * np.pi)
    along = (x / shape[1] - 0.5) * np.cos(angle) + (y / shape[0] - 0.5) * np.sin(angle)
    return along[..., None] * rng.uniform(20, 60, 3)


def _paper(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    return 3 * _smooth(rng, shape, 40) + 3 * _smooth(rng, shape, 2.5) + 2.5 * _smooth(rng, shape, 14, 1.5)


def _grass(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    light = 7 * _smooth(rng, shape, 70) + 8 * _smooth(rng, shape, 2, 9) + 5 * _smooth(rng, shape, 3, 6)
    return light[..., None] * np.array([0.9, 1.0, 0.7])


def _sand(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    y, x = np.mgrid[: shape[0], : shape[1]]
    ripples = np.sin(y / 9 + 2.2 * _smooth(rng, shape, 90) + x / 120)
    return 5 * ripples + 5 * _smooth(rng, shape, 1.6) + 4 * _smooth(rng, shape, 60)


def _sky(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    y = np.linspace(-1, 1, shape[0])[:, None]
    haze = 5 * _smooth(rng, shape, 200, 60)  # faint: a cloud is an object of this world
    return (22 * y + haze)[..., None] * np.array([1.3, 0.9, 0.45])


def _tiles(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    y, x = np.mgrid[: shape[0], : shape[1]]
    side = 44
    shade = rng.normal(0, 4, (shape[0] // side + 1, shape[1] // side + 1))
    joint = (x % side < 2) | (y % side < 2)
    edge = (x % side == 2) | (y % side == 2)
    return shade[y // side, x // side] - 26.0 * joint + 12.0 * edge + 1.5 * _smooth(rng, shape, 3)


def _wood(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    y = np.arange(shape[0])[:, None]
    plank = 58
    shade = rng.normal(0, 7, shape[0] // plank + 1)[y // plank]
    grain = np.sin((y + 7 * _smooth(rng, shape, 160, 30)) / 2.6)
    seam = np.where(y % plank < 2, -34.0, 0.0)
    return shade + seam + 4 * grain + 4 * _smooth(rng, shape, 60, 2)


def _water(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    y = np.mgrid[: shape[0], : shape[1]][0]
    waves = np.sin(y / 6 + 2.6 * _smooth(rng, shape, 50, 24)) + 0.6 * np.sin(y / 3.1 + 2 * _smooth(rng, shape, 34, 14))
    return 9 * np.clip(waves, -0.6, 1.6) + 4 * _smooth(rng, shape, 90)


_PAINTERS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Field]] = {
    "plain": _plain,
    "gradient": _gradient,
    "paper": _paper,
    "grass": _grass,
    "sand": _sand,
    "sky": _sky,
    "tiles": _tiles,
    "wood": _wood,
    "water": _water,
}
