"""Drawings of icon scenes: a textured background, then each icon's shadow, border and coloured layers pasted in turn.

Everything that costs time is kept: backgrounds, noise and patterns as tiles of which a scene takes a part, icons as
sprites. The same scene always gives the same bytes.
"""

from __future__ import annotations

import io
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageFilter

from veridical.sources.icons.backgrounds import MARGIN, background_tile, noise_tile
from veridical.sources.icons.scene import IconScene, Placed
from veridical.sources.icons.sprites import PAD, Sprite, sprite

QUALITY = 88  # of the JPEG files
PAPER = (242, 241, 238)  # the border
RGB: dict[str, tuple[int, int, int]] = {
    "red": (211, 34, 40),
    "orange": (240, 128, 20),
    "yellow": (241, 196, 18),
    "green": (36, 142, 62),
    "blue": (34, 96, 204),
    "purple": (124, 50, 168),
    "pink": (241, 116, 174),
    "brown": (122, 74, 38),
    "gray": (138, 142, 148),
    "black": (26, 26, 30),
}
TINTED = {name: (r * 3 // 10 + 165, g * 3 // 10 + 165, b * 3 // 10 + 165) for name, (r, g, b) in RGB.items()}
SKIN = ((241, 204, 170), (224, 172, 126), (176, 122, 80), (118, 78, 54))
HAIR = ((58, 38, 26), (28, 24, 24), (112, 66, 30))
OLD_HAIR = ((176, 178, 184), (200, 200, 204))
BLURS = (0.0, 0.0, 0.45)  # radius of the camera's blur
SHADE = (20, 18, 30)
SHADOW = (3, 4)  # to the right and down

Pixels = NDArray[np.uint8]


def draw(scene: IconScene) -> Pixels:
    """The picture, (height, width, 3)."""
    return np.array(_picture(scene))


def encode(scene: IconScene) -> bytes:
    """The picture as a JPEG file."""
    out = io.BytesIO()
    _picture(scene).save(out, "JPEG", quality=QUALITY, subsampling=0)
    return out.getvalue()


def _picture(scene: IconScene) -> Image.Image:
    rng = np.random.default_rng(scene.texture)
    tint, x, y, noise_x, noise_y, blur = (int(value) for value in rng.integers(0, 2**16, 6))
    x, y, noise_x, noise_y = (value % MARGIN for value in (x, y, noise_x, noise_y))
    tile = background_tile(scene.background, tint, scene.width, scene.height)
    picture = tile.crop((x, y, x + scene.width, y + scene.height))
    for one in scene.objects:
        _paste(picture, one, sprite(one.look))
    radius = BLURS[blur % len(BLURS)]
    if radius:
        picture = picture.filter(ImageFilter.BoxBlur(radius))
    noise = noise_tile(scene.width, scene.height)
    noise = noise.crop((noise_x, noise_y, noise_x + scene.width, noise_y + scene.height))
    # no value is so near to 0 or 255 that noise would wrap it around
    return ImageChops.add_modulo(picture, noise)


def _paste(picture: Image.Image, one: Placed, drawn: Sprite) -> None:
    """One icon onto the picture."""
    values = dict(one.attributes)
    at = (one.x - PAD, one.y - PAD)
    picture.paste(SHADE, (at[0] + SHADOW[0], at[1] + SHADOW[1]), drawn.shadow)
    picture.paste(PAPER, at, drawn.border)
    color, pattern = RGB[values["color"]], values["pattern"]
    if pattern in ("striped", "dotted", "checked"):
        # a lighter colour, not white, so that the icon's holes stay visible
        picture.paste(TINTED[values["color"]], at, drawn.ink)
    picture.paste(color, at, patterned(drawn.ink, pattern, one.look.pixels))
    if drawn.skin is not None and drawn.hair is not None:
        hair = OLD_HAIR if one.look.age == "elderly" else HAIR
        picture.paste(SKIN[one.tone % len(SKIN)], at, drawn.skin)
        picture.paste(hair[one.tone // len(SKIN) % len(hair)], at, drawn.hair)


def patterned(ink: Image.Image, pattern: str, pixels: int) -> Image.Image:
    """The part of the ink that has the icon's colour."""
    if pattern == "solid":
        return ink
    if pattern == "outlined":
        inside = ink.filter(ImageFilter.BoxBlur(max(1.2, pixels / 24))).point(_INSIDE)
        return ImageChops.subtract(ink, inside)
    return ImageChops.multiply(ink, _pattern(pattern, max(4, pixels // 10)).crop((0, 0, *ink.size)))


_INSIDE = [max(0, min(255, (value - 235) * 16)) for value in range(256)]


@lru_cache(maxsize=256)
def _pattern(pattern: str, period: int) -> Image.Image:
    """A large mask of a pattern: 255 where the icon's colour is."""
    side = 64 * period
    y, x = np.mgrid[:side, :side] / period
    if pattern == "striped":
        wave = np.sin(np.pi * (x + y))
    elif pattern == "dotted":
        # white dots, set off from row to row
        wave = np.hypot((x + np.floor(y / 1.5) % 2 * 0.75) % 1.5 - 0.75, y % 1.5 - 0.75) * 4 - 1.6
    else:
        wave = np.sign(np.sin(np.pi * x / 1.2) * np.sin(np.pi * y / 1.2)) * 1.0
    return Image.fromarray((np.clip(wave * period / 2.5, -1, 1) * 127 + 128).astype(np.uint8))
