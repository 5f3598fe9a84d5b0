"""Sprites of the icon world: the layers of one icon at one size, angle and side, as masks that are pasted in colour.

A glyph is taken from the font once, large; its sprites are scaled and turned from that and kept. Each icon stands on a
white border, like a sticker, with its holes filled white, so that its details show on any background.

An icon's outline is the border between covered and free cells of its glyph's mask, straightened: traced once for each
glyph, age and gender at a quarter of the large mask's size, then moved with the icon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from veridical.common.arrays import Doubles, Mask
from veridical.sources.coco import edges
from veridical.sources.icons.glyphs import Glyph, font_path

MASTER = 192  # font size of the large masks
PAD = 12  # room around a sprite's ink for its border and shadow
CELL = 4  # places are tested for overlap on a grid of this many pixels
VISIBLE = 48  # opacity from which a pixel counts as ink
LEVEL = 2  # for its outline, a mask is halved this often
TOLERANCE = 0.8  # of an outline's straightening, in cells
SMALLEST = 6  # outlines with fewer edges are specks

Points = Doubles  # (n, 2): x, y
Polygon = tuple[tuple[float, float], ...]


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
    cells: Mask  # what `covered` covers of the grid: (height / CELL, width / CELL), rounded up
    skin: Image.Image | None = None
    hair: Image.Image | None = None

    def solid(self) -> Mask:
        """Where the ink is, without its holes: (height, width)."""
        return np.asarray(self._all())[PAD:-PAD, PAD:-PAD] >= VISIBLE

    def _all(self) -> Image.Image:
        return _union([layer for layer in (self.ink, self.skin, self.hair) if layer is not None])

    def covered(self) -> Mask:
        """Where ink or border is, with a cell's room on every side: (height + 2 CELL, width + 2 CELL)."""
        edge = PAD - CELL
        return np.asarray(self.border)[edge:-edge, edge:-edge] >= VISIBLE


def cells_of(covered: Mask) -> Mask:
    """Which cells of the grid hold anything of a mask that starts at a cell's corner."""
    height, width = covered.shape
    padded = np.pad(covered, ((0, -height % CELL), (0, -width % CELL)))
    return np.asarray(padded.reshape(-(-height // CELL), CELL, -(-width // CELL), CELL).any(axis=(1, 3)))


def _union(layers: list[Image.Image]) -> Image.Image:
    out = layers[0]
    for layer in layers[1:]:
        out = ImageChops.lighter(out, layer)
    return out


@lru_cache(maxsize=4096)
def sprite(look: Look) -> Sprite:
    """The sprite of a look."""
    scale = scale_of(look)
    level = min(3, max(0, round(-math.log2(scale))))
    layers = tuple(_turned(layer, look, scale * 2**level) for layer in masks(look.glyph, look.age, look.gender, level))
    # (height, width): where any ink is
    ink = np.asarray(_union(list(layers[1:]))) >= VISIBLE
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    left, top, right, bottom = int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
    fill, *inks = (layer.crop((left - PAD, top - PAD, right + PAD, bottom + PAD)) for layer in layers)
    border = Image.fromarray(_GROWN[np.asarray(fill.filter(ImageFilter.BoxBlur(2)))])
    shadow = Image.fromarray(_FADED[np.asarray(border.filter(ImageFilter.BoxBlur(4)))])
    edge = PAD - CELL
    cells = cells_of(np.asarray(border)[edge:-edge, edge:-edge] >= VISIBLE)
    return Sprite(right - left, bottom - top, inks[0], border, shadow, cells, *inks[1:])


_GROWN = np.clip((np.arange(256) - 20) * 6, 0, 255).astype(np.uint8)  # of a blurred mask: 2 pixels wider, soft edge
_FADED = (np.arange(256) * 2 // 5).astype(np.uint8)


def scale_of(look: Look) -> float:
    """Factor from the large mask to the picture."""
    return look.pixels * _scale(look.glyph)


def affine(look: Look, scale: float) -> tuple[float, float, float, float]:
    """The matrix (a, b; d, e) from places in the picture back to places in the mask."""
    # a mirrored icon's own turn goes the other way
    angle = math.radians((-look.glyph.turn if look.mirrored else look.glyph.turn) + look.angle)
    cosine, sine = math.cos(angle) / scale, math.sin(angle) / scale
    return (-cosine, sine, sine, cosine) if look.mirrored else (cosine, -sine, sine, cosine)


def _turned(mask: Image.Image, look: Look, scale: float) -> Image.Image:
    """A mask scaled, mirrored and turned about its centre, in a frame that holds all of it."""
    a, b, d, e = affine(look, scale)
    cosine, sine = scale * abs(a) * scale, scale * abs(d) * scale
    width, height = (
        math.ceil(mask.width * cosine + mask.height * sine),
        math.ceil(mask.width * sine + mask.height * cosine),
    )
    c = mask.width / 2 - a * width / 2 - b * height / 2
    f = mask.height / 2 - d * width / 2 - e * height / 2
    return mask.transform((width, height), Image.Transform.AFFINE, (a, b, c, d, e, f), Image.Resampling.BILINEAR)


@lru_cache(maxsize=1024)
def _scale(glyph: Glyph) -> float:
    """Factor from the large mask to an icon of size 1: by area, but no side much longer than that."""
    mask, box = _ink(glyph)
    if glyph.turn:
        box = mask.rotate(glyph.turn, expand=True).getbbox() or box
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    return min(float((width * height) ** -0.5), 1.1 / max(width, height))


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


@lru_cache(maxsize=2048)
def masks(glyph: Glyph, age: str | None, gender: str | None, level: int = 0) -> tuple[Image.Image, ...]:
    """The large layers of an icon, halved `level` times: all with holes filled; ink; of people also skin and hair."""
    if level:
        return tuple(layer.reduce(2**level) for layer in masks(glyph, age, gender))
    mask, box = _ink(glyph)
    layers = (mask,) if glyph.head is None else _person(mask, box, glyph, age, gender)
    return _filled(_union(list(layers))), *layers


def _filled(mask: Image.Image) -> Image.Image:
    """The mask with its holes filled: all that cannot be reached from the corner.

    The reached area grows along whole rows and columns, so that a few sweeps do; at half the size, for the borders of
    holes are under ink anyway.
    """
    free = np.asarray(mask.reduce(2)) < 128
    reached = np.zeros_like(free)
    reached[0, 0] = True
    while True:
        grown = reached
        for turn in range(4):
            grown = np.rot90(_swept(np.rot90(grown, turn), np.rot90(free, turn)), -turn)
        if (grown == reached).all():
            break
        reached = grown
    inside = Image.fromarray(np.where(reached, 0, 255).astype(np.uint8)).resize(mask.size, Image.Resampling.BILINEAR)
    return ImageChops.lighter(mask, inside)


def _swept(reached: Mask, free: Mask) -> Mask:
    """The reached area grown to the right along the free cells of each row."""
    columns = np.arange(free.shape[1], dtype=np.int16)
    wall = np.maximum.accumulate(np.where(free, np.int16(-1), columns), axis=1)  # the last wall so far
    source = np.maximum.accumulate(np.where(reached, columns, np.int16(-1)), axis=1)  # the last reached cell so far
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
    size = radius * glyph.head_scale * (glyph.child_head if age == "child" else 1.0)
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


def _circle(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return (x - radius, y - radius, x + radius, y + radius)


# --- outlines ---------------------------------------------------------------------------------------------------------


def outline(look: Look, x: int, y: int) -> tuple[Polygon, ...]:
    """The outlines of an icon whose ink's left top is at (x, y), in pixels of the picture; holes are not cut out."""
    a, b, d, e = affine(look, scale_of(look) * 2**LEVEL)
    back = np.linalg.inv(np.array([[a, b], [d, e]])).T  # scaled, mirrored and turned as the sprite is
    turned = [points @ back for points in _traced(look.glyph, look.age, look.gender)]
    corner = np.min([points.min(axis=0) for points in turned], axis=0)
    at = np.array([x, y]) - corner
    return tuple(tuple((px, py) for px, py in np.round(points + at, 1).tolist()) for points in turned)


@lru_cache(maxsize=512)
def _traced(glyph: Glyph, age: str | None, gender: str | None) -> tuple[Points, ...]:
    fill = np.asarray(masks(glyph, age, gender, LEVEL)[0]) >= 128
    return tuple(straightened(loop, TOLERANCE) for loop in loops(fill) if len(loop) >= SMALLEST)


def loops(mask: Mask) -> list[Points]:
    """The closed outlines of a mask along the edges of its cells, the mask always to the right of the way.

    >>> [len(loop) for loop in loops(np.array([[True, True], [True, False]]))]
    [8]
    """
    after = edges(mask)
    found = []
    while after:
        first = here = next(iter(after))
        loop = []
        while True:
            loop.append(here)
            following = after[here].pop()
            if not after[here]:
                del after[here]
            here = following
            if here == first:
                break
        found.append(np.array(loop, float))
    return found


def straightened(loop: Points, tolerance: float) -> Points:
    """A loop with fewer corners, none of the old ones further from it than the tolerance (Douglas and Peucker)."""
    far = int(np.argmax(((loop - loop[0]) ** 2).sum(axis=1)))
    closed = np.vstack([loop, loop[:1]])
    keep = np.zeros(len(closed), bool)
    keep[[0, far, len(loop)]] = True
    spans = [(0, far), (far, len(loop))]
    while spans:
        low, high = spans.pop()
        if high - low < 2:
            continue
        start, way = closed[low], closed[high] - closed[low]
        offsets = closed[low + 1 : high] - start
        length = float(np.hypot(*way))
        distance = np.abs(offsets[:, 0] * way[1] - offsets[:, 1] * way[0]) / length if length else np.hypot(*offsets.T)
        worst = int(np.argmax(distance))
        if distance[worst] > tolerance:
            middle = low + 1 + worst
            keep[middle] = True
            spans += [(low, middle), (middle, high)]
    return closed[:-1][keep[:-1]]
