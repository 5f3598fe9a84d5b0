"""Sprites of the icon world: the layers of one icon at one size, angle and side, as masks that are pasted in colour.

A glyph is taken from the font once, large; its sprites are scaled and turned from that and kept. Each icon stands on a
white border, like a sticker, with its holes filled white, so that its details show on any background.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from veridical.sources.icons_glyphs import Glyph, font_path

MASTER = 192  # font size of the large masks
PAD = 12  # room around a sprite's ink for its border and shadow
CELL = 4  # places are tested for overlap on a grid of this many pixels
VISIBLE = 48  # opacity from which a pixel counts as ink
CHILD_HEAD = 1.3  # a child's head against an adult's

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Look:
    """Everything that decides the shape of one drawn icon."""

    glyph: Glyph
    pixels: int  # side of the square of its ink's area
    angle: int = 0  # counter-clockwise, on top of the glyph's own turn
    mirrored: bool = False
    age: str | None = None  # people only
    gender: str | None = None


@dataclass(frozen=True, slots=True)
class Sprite:
    """The masks of one icon, each `PAD` pixels wider than its ink on every side."""

    width: int  # of the ink
    height: int
    ink: Image.Image  # the glyph; of a person, the clothes
    border: Image.Image  # the white sticker below
    shadow: Image.Image
    skin: Image.Image | None = None
    hair: Image.Image | None = None

    def solid(self) -> Mask:
        """Where the ink is, holes filled not: (height, width)."""
        return np.asarray(self._all())[PAD:-PAD, PAD:-PAD] >= VISIBLE

    def _all(self) -> Image.Image:
        return _union([layer for layer in (self.ink, self.skin, self.hair) if layer is not None])

    def covered(self) -> Mask:
        """Where ink or border is, with a cell's room on every side: (height + 2 CELL, width + 2 CELL)."""
        edge = PAD - CELL
        return np.asarray(self.border)[edge:-edge, edge:-edge] >= VISIBLE


def _union(layers: list[Image.Image]) -> Image.Image:
    out = layers[0]
    for layer in layers[1:]:
        out = ImageChops.lighter(out, layer)
    return out


@lru_cache(maxsize=4096)
def sprite(look: Look) -> Sprite:
    """The sprite of a look."""
    layers, fill = _master(look.glyph, look.age, look.gender)
    if look.mirrored:
        layers = tuple(layer.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for layer in layers)
        fill = fill.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    # a mirrored icon's own turn goes the other way
    angle = (-look.glyph.turn if look.mirrored else look.glyph.turn) + look.angle
    scale = look.pixels * _scale(look.glyph)
    size = (max(8, round(fill.width * scale)), max(8, round(fill.height * scale)))
    layers, fill = tuple(_turned(layer, size, angle) for layer in layers), _turned(fill, size, angle)
    box = _union(list(layers)).point(_AT_LEAST_VISIBLE).getbbox()
    if box is None:  # the font holds no empty glyph; a damaged one would
        raise ValueError(f"the glyph {look.glyph.name} has no ink")
    frame = (box[0] - PAD, box[1] - PAD, box[2] + PAD, box[3] + PAD)
    layers, fill = tuple(layer.crop(frame) for layer in layers), fill.crop(frame)
    border = fill.filter(ImageFilter.BoxBlur(2)).point(_GROWN)
    shadow = border.filter(ImageFilter.GaussianBlur(3)).point(_FADED)
    return Sprite(box[2] - box[0], box[3] - box[1], layers[0], border, shadow, *layers[1:])


_AT_LEAST_VISIBLE = [255 if value >= VISIBLE else 0 for value in range(256)]
_GROWN = [min(255, max(0, value - 20) * 6) for value in range(256)]  # of a blurred mask: 2 pixels wider, soft edge
_FADED = [value * 2 // 5 for value in range(256)]


def _turned(mask: Image.Image, size: tuple[int, int], angle: int) -> Image.Image:
    small = mask.resize(size, Image.Resampling.BOX if size[0] < mask.width // 2 else Image.Resampling.BILINEAR)
    return small.rotate(angle, Image.Resampling.BICUBIC, expand=True) if angle % 360 else small


@lru_cache(maxsize=1024)
def _scale(glyph: Glyph) -> float:
    """Factor from the large mask to an icon of size 1: by area, but no side much longer than that."""
    left, top, right, bottom = _ink(glyph)[1]
    width, height = right - left, bottom - top
    return min((width * height) ** -0.5, 1.15 / max(width, height))


@lru_cache(maxsize=512)
def _ink(glyph: Glyph) -> tuple[Image.Image, tuple[int, int, int, int]]:
    """A glyph's large mask with room around, and the box of its ink."""
    font = ImageFont.truetype(str(font_path()), MASTER)
    character = chr(int(glyph.codepoint, 16))
    left, top, right, bottom = (int(side) for side in font.getbbox(character))
    room = MASTER // 6
    mask = Image.new("L", (right - left + 2 * room, bottom - top + 2 * room))
    ImageDraw.Draw(mask).text((room - left, room - top), character, font=font, fill=255)
    box = mask.getbbox()
    if box is None:
        raise ValueError(f"the font has no glyph {glyph.name} ({glyph.codepoint})")
    return mask, box


@lru_cache(maxsize=512)
def _master(glyph: Glyph, age: str | None, gender: str | None) -> tuple[tuple[Image.Image, ...], Image.Image]:
    """The large layers of an icon (ink; of people also skin and hair), and all of them with holes filled."""
    mask, box = _ink(glyph)
    layers = (mask,) if glyph.head is None else _person(mask, box, glyph, age, gender)
    return layers, _filled(_union(list(layers)))


def _filled(mask: Image.Image) -> Image.Image:
    """The mask with its holes filled: all that cannot be reached from the corner.

    The reached area grows along whole rows and columns, so that a few sweeps do.
    """
    free = np.asarray(mask) < 128
    reached = np.zeros_like(free)
    reached[0, 0] = True
    while True:
        grown = reached
        for turn in range(4):
            grown = np.rot90(_swept(np.rot90(grown, turn), np.rot90(free, turn)), -turn)
        if (grown == reached).all():
            break
        reached = grown
    return ImageChops.lighter(mask, Image.fromarray(np.where(reached, 0, 255).astype(np.uint8)))


def _swept(reached: Mask, free: Mask) -> Mask:
    """The reached area grown to the right along the free cells of each row."""
    columns = np.arange(free.shape[1])
    wall = np.maximum.accumulate(np.where(free, -1, columns), axis=1)  # the last wall so far
    source = np.maximum.accumulate(np.where(reached, columns, -1), axis=1)  # the last reached cell so far
    return np.asarray(source > wall)


def _person(
    mask: Image.Image, box: tuple[int, int, int, int], glyph: Glyph, age: str | None, gender: str | None
) -> tuple[Image.Image, ...]:
    """Clothes, skin and hair: children have large heads, women long hair, and men short hair."""
    head_x, head_y, head_radius = glyph.head or (0.5, 0.1, 0.1)
    width, height = box[2] - box[0], box[3] - box[1]
    x, y, radius = box[0] + head_x * width, box[1] + head_y * height, head_radius * height
    clothes = mask.copy()
    ImageDraw.Draw(clothes).ellipse(_circle(x, y, radius + 1.5), fill=0)
    size = radius * glyph.head_scale * (CHILD_HEAD if age == "child" and len(set(_ages(glyph))) > 1 else 1.0)
    y += radius - size  # the chin stays where it was
    skin, hair = Image.new("L", mask.size), Image.new("L", mask.size)
    on_skin, on_hair = ImageDraw.Draw(skin), ImageDraw.Draw(hair)
    on_skin.ellipse(_circle(x, y, size), fill=255)
    if gender == "female":
        on_hair.ellipse(_circle(x, y - 0.08 * size, 1.18 * size), fill=255)
        on_hair.rounded_rectangle(
            (x - 1.18 * size, y - 0.1 * size, x + 1.18 * size, y + 1.35 * size), 0.45 * size, fill=255
        )
        face = _circle(x, y + 0.2 * size, 0.78 * size)
    else:
        on_hair.ellipse(_circle(x, y, size), fill=255)
        face = (x - 0.98 * size, y - 0.3 * size, x + 0.98 * size, y + 1.6 * size)
    on_hair.ellipse(face, fill=0)
    skin = ImageChops.subtract(skin, hair)
    if gender == "female":
        clothes = ImageChops.subtract(clothes, hair)
    return clothes, skin, hair


def _ages(glyph: Glyph) -> tuple[str, ...]:
    from veridical.sources.icons_glyphs import CATEGORIES, PERSON

    return tuple(age for pose in CATEGORIES[PERSON].poses if pose.glyph == glyph for age in pose.ages)


def _circle(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return (x - radius, y - radius, x + radius, y + radius)
