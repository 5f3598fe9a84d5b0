"""The pictures of an item as image files: panels cut out, stood side by side, laid out as a grid, or with boxes drawn.

A picture that is shown whole is passed on byte for byte as it lies in the benchmark; only what has to be cut, joined or
drawn on is decoded and encoded again (as PNG, without loss).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.records import Item, Panel

GAP = 12  # pixels between pictures that stand side by side
CELL = 224  # pixels of a panel in a grid
WHITE = (255, 255, 255)
BOX_COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#000075", "#808000")
_MIME = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


@dataclass(frozen=True)
class Picture:
    """An encoded image."""

    data: bytes
    mime: str  # image/png ...


class Pictures:
    """The pictures of one benchmark."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    def panel(self, name: str) -> Picture:
        """One panel: the image itself, or the region of it that the panel is."""
        panel = self._panel(name)
        return _as_it_is(self._bytes(panel)) if panel.region is None else _encode(self._image(name))

    def whole(self, item: Item, view: int | None) -> Picture:
        """All panels of an item as one picture: a view's drawing, the image they share, or all side by side."""
        if item.views:
            address = item.views[view or 0].image
            if address is None:
                raise _missing(f"view {view or 0} of item {item.id}")
            return _as_it_is(bytes(self._benchmark.image(address)))
        panels = [self._panel(name) for name in item.panels]
        if len({panel.image for panel in panels}) == 1 and all(panel.region for panel in panels):
            return _as_it_is(self._bytes(panels[0]))
        return _encode(side_by_side([self._image(name) for name in item.panels]))

    def matrix(self, item: Item, letters: Sequence[str], order: Sequence[int]) -> Picture:
        """A matrix and its candidates in one picture: three rows, the last panel empty; below, lettered candidates."""
        candidates = [str(item.candidates[k]) for k in order]
        context = [self._image(name) for name in item.panels]
        return _encode(matrix_grid(context, [self._image(name) for name in candidates], letters))

    def boxed(self, name: str, names: Mapping[str, str]) -> Picture:
        """A panel with a box and a name drawn on each of the given objects."""
        panel = self._panel(name)
        image = self._image(name)
        draw = ImageDraw.Draw(image)
        width = max(2, round(max(image.size) / 300))
        font = _font(max(12, round(max(image.size) / 45)))
        for number, one in enumerate(o for o in panel.objects if o.id in names and o.box is not None):
            colour = BOX_COLOURS[number % len(BOX_COLOURS)]
            left, top, right, bottom = one.box or (0, 0, 0, 0)
            draw.rectangle((left, top, max(left, right), max(top, bottom)), outline=colour, width=width)
            place = draw.textbbox((left + width, top + width), names[one.id], font=font)
            draw.rectangle((place[0] - 2, place[1] - 2, place[2] + 2, place[3] + 2), fill=colour)
            draw.text((left + width, top + width), names[one.id], fill="white", font=font)
        return _encode(image)

    def _panel(self, name: str) -> Panel:
        panel = self._benchmark.panels.get(name)
        if panel is None:
            raise UserError(f"{self._benchmark.directory} has no panel {name!r}.", "Run `veridical check` on it.")
        return panel

    def _image(self, name: str) -> Image.Image:
        panel = self._panel(name)
        image = _open(self._bytes(panel))
        if panel.region is None:
            return image
        left, top, right, bottom = (round(edge) for edge in panel.region)
        return image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))

    def _bytes(self, panel: Panel) -> bytes:
        if panel.image is None:
            raise _missing(f"panel {panel.id}")
        return bytes(self._benchmark.image(panel.image))


def side_by_side(images: Sequence[Image.Image]) -> Image.Image:
    """Pictures in one row at the height of the lowest, so that none is enlarged."""
    height = min(image.height for image in images)
    scaled = [i.resize((max(1, round(i.width * height / i.height)), height)) for i in images]
    out = Image.new("RGB", (sum(i.width for i in scaled) + GAP * (len(scaled) - 1), height), WHITE)
    left = 0
    for image in scaled:
        out.paste(image, (left, 0))
        left += image.width + GAP
    return out


def matrix_grid(
    context: Sequence[Image.Image], candidates: Sequence[Image.Image], letters: Sequence[str], cell: int = CELL
) -> Image.Image:
    """Three columns of context with a question mark in the last place, then rows of four lettered candidates."""
    step, font = cell + GAP, _font(cell // 6)
    rows = -(-(len(context) + 1) // 3)
    label = cell // 5
    below = -(-len(candidates) // 4)
    size = (4 * step + GAP, GAP + rows * step + 2 * GAP + below * (step + label))
    out = Image.new("RGB", size, WHITE)
    draw = ImageDraw.Draw(out)
    shift = (size[0] - 3 * step) // 2
    for number in range(len(context) + 1):
        place = (shift + number % 3 * step, GAP + number // 3 * step)
        if number < len(context):
            _paste(out, context[number], place, cell)
        draw.rectangle((*place, place[0] + cell, place[1] + cell), outline="black", width=2)
        if number == len(context):
            draw.text((place[0] + cell // 2, place[1] + cell // 2), "?", fill="black", font=font, anchor="mm")
    top = GAP + rows * step + 2 * GAP
    for number, (image, letter) in enumerate(zip(candidates, letters, strict=True)):
        place = (GAP + number % 4 * step, top + number // 4 * (step + label))
        draw.text((place[0] + cell // 2, place[1] + label // 2), letter, fill="black", font=font, anchor="mm")
        _paste(out, image, (place[0], place[1] + label), cell)
        draw.rectangle((place[0], place[1] + label, place[0] + cell, place[1] + label + cell), outline="black")
    return out


def _paste(out: Image.Image, image: Image.Image, place: tuple[int, int], cell: int) -> None:
    """Put a picture in the middle of a square cell, as large as fits."""
    scale = cell / max(image.size)
    image = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    out.paste(image, (place[0] + (cell - image.width) // 2, place[1] + (cell - image.height) // 2))


def _open(data: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except OSError as error:
        raise UserError(f"An image of the benchmark cannot be read: {error}.", "Run `veridical check` on it.") from None


def _as_it_is(data: bytes) -> Picture:
    """The bytes themselves where providers take their format, else the picture as PNG."""
    try:
        found = Image.open(io.BytesIO(data)).format or ""
    except OSError as error:
        raise UserError(f"An image of the benchmark cannot be read: {error}.", "Run `veridical check` on it.") from None
    return Picture(data, _MIME[found]) if found in _MIME else _encode(_open(data))


def _encode(image: Image.Image) -> Picture:
    out = io.BytesIO()
    image.save(out, "PNG")
    return Picture(out.getvalue(), "image/png")


@lru_cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _missing(what: str) -> UserError:
    return UserError(
        f"The picture of {what} is not in the benchmark: only its address is known.",
        "Import the release again with --images, or ask without pictures: --blind.",
    )
