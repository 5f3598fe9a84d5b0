"""Drawings of icon scenes: a textured background, then each icon's shadow, border and coloured layers pasted in turn.

Everything that costs time is kept: backgrounds, noise and patterns as tiles of which a scene takes a part, icons as
sprites. The same scene always gives the same bytes.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image, ImageChops, ImageFilter

from veridical.common.arrays import Doubles, Pixels
from veridical.sources.icons.scene import IconScene, PlacedIcon
from veridical.sources.icons.sprites import PAD, Sprite, sprite

Colour = tuple[int, int, int]


class _Colours(msgspec.Struct, forbid_unknown_fields=True):
    """What `colours.json` holds."""

    rgb: dict[str, Colour]  # of each colour's name
    tints: dict[str, tuple[Colour, ...]]  # that a background may have, by its name
    skin: tuple[Colour, ...]
    hair: tuple[Colour, ...]
    old_hair: tuple[Colour, ...]


QUALITY = 88  # of the JPEG files
PAPER = (242, 241, 238)  # the border
_COLOURS = msgspec.json.decode(Path(__file__).with_name("colours.json").read_bytes(), type=_Colours)
RGB, TINTS = _COLOURS.rgb, _COLOURS.tints
TINTED = {name: (r * 3 // 10 + 165, g * 3 // 10 + 165, b * 3 // 10 + 165) for name, (r, g, b) in RGB.items()}
BLURS = (0.0, 0.0, 0.45)  # radius of the camera's blur
SHADE = (20, 18, 30)
SHADOW = (3, 4)  # to the right and down

MARGIN = 48  # a tile is this much larger than the picture
NOISE = 3.5  # standard deviation of the camera's noise, of 255
LIMIT = 12  # noise is no larger, and no colour nearer to 0 or 255: so it can be added without looking for overflow

Field = Doubles  # (height, width) or (height, width, 3)
Shape = tuple[int, int]


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


def _paste(picture: Image.Image, one: PlacedIcon, drawn: Sprite) -> None:
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
        skin, hair = _COLOURS.skin, _COLOURS.old_hair if one.look.age == "elderly" else _COLOURS.hair
        picture.paste(skin[one.tone % len(skin)], at, drawn.skin)
        picture.paste(hair[one.tone // len(skin) % len(hair)], at, drawn.hair)


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


# --- backgrounds: painted once for each name, tint and size; a scene takes a part of a tile ---------------------------


def background_tile(name: str, tint: int, width: int, height: int) -> Image.Image:
    """A background larger than the picture by `MARGIN`; `tint` is any number."""
    return _tile(name, tint % len(TINTS[name]), width, height)


@lru_cache(maxsize=64)
def _tile(name: str, tint: int, width: int, height: int) -> Image.Image:
    rng = np.random.default_rng([sorted(TINTS).index(name), tint])
    shape = (height + MARGIN, width + MARGIN)
    color = np.array(TINTS[name][tint], float)
    light = _light(name, rng, shape)
    pixels = color + (light if light.ndim == 3 else light[..., None])
    return Image.fromarray(np.clip(pixels, LIMIT, 255 - LIMIT).astype(np.uint8))


@lru_cache(maxsize=8)
def noise_tile(width: int, height: int) -> Image.Image:
    """Noise within `LIMIT` around 0, modulo 256; partly the same in all three colours, as a camera's."""
    rng = np.random.default_rng(1)
    shape = (height + MARGIN, width + MARGIN)
    values = rng.normal(0, NOISE * 0.8, (*shape, 1)) + rng.normal(0, NOISE * 0.6, (*shape, 3))
    return Image.fromarray((np.clip(np.round(values), -LIMIT, LIMIT).astype(int) % 256).astype(np.uint8))


def _smooth(rng: np.random.Generator, shape: Shape, scale: float, across: float | None = None) -> Field:
    """Smooth noise of unit deviation whose blobs are about `scale` pixels wide and `across` high."""
    across = across or scale
    size = (max(2, round(shape[0] / across) + 2), max(2, round(shape[1] / scale) + 2))
    coarse = Image.fromarray(rng.standard_normal(size).astype(np.float32))
    field = np.asarray(coarse.resize((shape[1], shape[0]), Image.Resampling.BICUBIC), float)
    return field / max(float(field.std()), 1e-9)


def _light(name: str, rng: np.random.Generator, shape: Shape) -> Field:
    """How a background is lighter and darker than its tint."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    match name:
        case "plain":
            return 2.5 * _smooth(rng, shape, 120)
        case "gradient":
            angle = rng.uniform(0, 2 * np.pi)
            along = (x / shape[1] - 0.5) * np.cos(angle) + (y / shape[0] - 0.5) * np.sin(angle)
            return np.asarray(along[..., None] * rng.uniform(20, 60, 3))
        case "paper":
            return 3 * _smooth(rng, shape, 40) + 3 * _smooth(rng, shape, 2.5) + 2.5 * _smooth(rng, shape, 14, 1.5)
        case "grass":
            light = 7 * _smooth(rng, shape, 70) + 8 * _smooth(rng, shape, 2, 9) + 5 * _smooth(rng, shape, 3, 6)
            return np.asarray(light[..., None] * np.array([0.9, 1.0, 0.7]))
        case "sand":
            ripples = np.sin(y / 9 + 2.2 * _smooth(rng, shape, 90) + x / 120)
            return np.asarray(5 * ripples + 5 * _smooth(rng, shape, 1.6) + 4 * _smooth(rng, shape, 60))
        case "sky":
            fade = np.linspace(-1, 1, shape[0])[:, None]
            haze = 5 * _smooth(rng, shape, 200, 60)  # faint: a cloud is an object of this world
            return np.asarray((22 * fade + haze)[..., None] * np.array([1.3, 0.9, 0.45]))
        case "tiles":
            side = 44
            shade = rng.normal(0, 4, (shape[0] // side + 1, shape[1] // side + 1))
            joint = (x % side < 2) | (y % side < 2)
            edge = (x % side == 2) | (y % side == 2)
            return np.asarray(shade[y // side, x // side] - 26.0 * joint + 12.0 * edge + 1.5 * _smooth(rng, shape, 3))
        case "wood":
            plank = 58
            shade = rng.normal(0, 7, shape[0] // plank + 1)[y // plank]
            grain = np.sin((y + 7 * _smooth(rng, shape, 160, 30)) / 2.6)
            seam = np.where(y % plank < 2, -34.0, 0.0)
            return np.asarray(shade + seam + 4 * grain + 4 * _smooth(rng, shape, 60, 2))
        case "water":
            waves = np.sin(y / 6 + 2.6 * _smooth(rng, shape, 50, 24))
            waves += 0.6 * np.sin(y / 3.1 + 2 * _smooth(rng, shape, 34, 14))
            return np.asarray(9 * np.clip(waves, -0.6, 1.6) + 4 * _smooth(rng, shape, 90))
    raise ValueError(f"there is no background {name}")
