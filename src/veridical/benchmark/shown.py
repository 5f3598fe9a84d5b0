"""An item as it is shown to whoever answers: its pictures, and its texts with the names of what is in them.

Panels are cut out, stood side by side, laid out as a grid, or have boxes drawn on them. A picture that is shown whole
is passed on byte for byte as it lies in the benchmark; only what has to be cut, joined or drawn on is decoded and
encoded again (as PNG, without loss).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from PIL import Image, ImageDraw, ImageFont

from veridical.benchmark.pictures import decode, drawing_bytes, panel_bytes, panel_of, panel_picture
from veridical.benchmark.store import Benchmark
from veridical.common.pictures import stored_picture
from veridical.records import Item, Panel, Ref, Text

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
        self._image = partial(panel_picture, benchmark)

    def panel(self, name: str) -> Picture:
        """One panel: the image itself, or the region of it that the panel is."""
        panel = panel_of(self._benchmark, name)
        return _as_it_is(panel_bytes(self._benchmark, panel)) if panel.region is None else _encode(self._image(name))

    def whole(self, item: Item, view: int | None) -> Picture:
        """All panels of an item as one picture: a view's drawing, the image they share, or all side by side."""
        if item.views:
            return _as_it_is(drawing_bytes(self._benchmark, item, view or 0))
        panels = [panel_of(self._benchmark, name) for name in item.panels]
        if len({panel.image for panel in panels}) == 1 and all(panel.region for panel in panels):
            return _as_it_is(panel_bytes(self._benchmark, panels[0]))
        return _encode(side_by_side([self._image(name) for name in item.panels]))

    def matrix(self, item: Item, letters: Sequence[str], order: Sequence[int]) -> Picture:
        """A matrix and its candidates in one picture: three rows, the last panel empty; below, lettered candidates."""
        candidates = [str(item.candidates[k]) for k in order]
        context = [self._image(name) for name in item.panels]
        return _encode(matrix_grid(context, [self._image(name) for name in candidates], letters))

    def boxed(self, name: str, names: Mapping[str, str]) -> Picture:
        """A panel with a box and a name drawn on each of the given objects."""
        panel = panel_of(self._benchmark, name)
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


def _as_it_is(data: bytes) -> Picture:
    """The bytes themselves where providers take their format, else the picture as PNG."""
    found = stored_picture(data, "of an item").format or ""
    return Picture(data, _MIME[found]) if found in _MIME else _encode(decode(data))


def _encode(image: Image.Image) -> Picture:
    out = io.BytesIO()
    image.save(out, "PNG")
    return Picture(out.getvalue(), "image/png")


@lru_cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


# --- words -----------------------------------------------------------------------------------------------------------


def object_names(item: Item, panels: Mapping[str, Panel]) -> dict[str, str]:
    """What the objects of an item's pictures are called, numbered from 1 over all of them as VCR's pages do."""
    each = (enumerate(panels[name].objects if name in panels else (), 1) for name in item.panels)
    return {one.id: f"[{one.category}{number}]" for objects in each for number, one in objects}


def mentioned_in(item: Item, parent: Item | None, names: dict[str, str]) -> dict[str, str]:
    """The objects that the texts refer to: only these are drawn, since a scene can have dozens."""
    texts = [item.query, *item.candidates]
    if parent is not None:
        texts += [parent.query, *parent.candidates]
    tokens = (token for text in texts if isinstance(text, Text) for token in text.tokens)
    used = {one for token in tokens if isinstance(token, Ref) for one in token.objects}
    return {one: names[one] for one in names if one in used}
