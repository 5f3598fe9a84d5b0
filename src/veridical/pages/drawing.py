"""The pictures of an item inside the page: image bytes as data addresses, scenes as SVG, boxes laid over photographs.

Photographs are made small, and all pictures of a page share one budget of bytes, so that a page stays easy to send.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.benchmark.tables import panels_from
from veridical.errors import UserError
from veridical.language.programs.explanations import explain_svg
from veridical.language.programs.terms import parse
from veridical.pages.markup import Markup, element, join
from veridical.pages.plots import shorten
from veridical.records import Item, Panel, Ref, Text

SIDE = 360  # pixels of the longer side of an embedded photograph
SMALL_SIDE = 120  # of a matrix panel
AS_IT_IS = 16_384  # bytes up to which an image is embedded unchanged
BUDGET = 3_000_000  # bytes of all pictures of a page
_MAGIC = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FILLS = {"black": "#111111", "yellow": "#ffe600", "blue": "#0099ff"}
_BOXES = ("#e6194b", "#2f9e44", "#4363d8", "#e8590c", "#911eb4", "#00808a", "#9a6324", "#5c5cab")


class Pictures:
    """Draws items of one benchmark, within a budget."""

    def __init__(self, benchmark: Benchmark, budget: int = BUDGET) -> None:
        self._benchmark = benchmark
        self._left = budget
        self._panels: dict[str, Panel] = {}

    def load(self, items: Iterable[Item]) -> None:
        """Read the panels of the items that will be drawn: only those."""
        wanted: set[str] = set()
        for item in items:
            wanted.update(item.panels)
            wanted.update(c for c in item.candidates if isinstance(c, str))
        table = self._benchmark.panels_table()
        rows = pc.is_in(table["id"], value_set=pa.array(sorted(wanted), pa.string()))
        self._panels |= {panel.id: panel for panel in panels_from(table.filter(rows))}

    def panels(self, item: Item) -> list[Panel]:
        """The panels of an item that was loaded."""
        return [self._panels.get(name, Panel(name)) for name in item.panels]

    def item(self, item: Item, program: str | None = None) -> Markup:
        """What an item shows; with a program, a scene is drawn with the boxes and objects that decide it."""
        if item.task == "matrix":
            return self._matrix(item)
        panels = self.panels(item)
        if program and any(p.objects for p in panels):
            drawn = self._explained(program, panels)
            if drawn is not None:
                return drawn
        if item.views and item.views[0].image is not None:
            return element("div", self._image(item.views[0].image, None, SIDE, f"Drawing of {item.id}"), class_="scene")
        if item.views or (panels and all(p.image is None and p.objects for p in panels)):
            return element("div", scene(panels), class_="scene")
        named = referenced(item) if item.task == "choice" else ()
        names = ("Left", "Right") if len(panels) == 2 else [f"Panel {k + 1}" for k in range(len(panels))]
        shown = [self._panel(panel, SIDE, name, named) for panel, name in zip(panels, names, strict=True)]
        return element("div", *shown, class_="pair" if len(shown) > 1 else "single")

    def _explained(self, program: str, panels: list[Panel]) -> Markup | None:
        """The scene with the deciding boxes and objects marked; None where the program is in another language."""
        try:
            svg = explain_svg(parse(program), panels)
        except UserError:
            return None
        svg = svg.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1)
        why = "What is framed and ringed decides this reading: "
        note = element("p", why, element("code", shorten(program, 200)), class_="reading")
        return element("div", element("div", Markup(svg), class_="scene"), note, class_="explained")

    def _matrix(self, item: Item) -> Markup:
        context = [self._small(name, f"Panel {k + 1}") for k, name in enumerate(item.panels)]
        grid = element("div", *context, element("span", "?", class_="blank"), class_="grid3")
        options = [
            element("figure", self._small(str(name), f"Candidate {LETTERS[k]}"), element("figcaption", LETTERS[k]))
            for k, name in enumerate(item.candidates)
        ]
        return element("div", grid, element("div", *options, class_="grid4"), class_="matrix")

    def _small(self, name: str, what: str) -> Markup:
        return self._panel(self._panels.get(name, Panel(name)), SMALL_SIDE, what)

    def _panel(self, panel: Panel, side: int, what: str, named: tuple[str, ...] = ()) -> Markup:
        if panel.image is None:
            if panel.objects and panel.width and panel.height:
                return scene([panel])
            return _absent(panel, what)
        image = self._image(panel.image, panel.region, side, what)
        boxes = _overlay(panel, named)
        return element("div", image, boxes, class_="boxed") if boxes else image

    def _image(self, address: str, region: tuple[float, float, float, float] | None, side: int, what: str) -> Markup:
        data = bytes(self._benchmark.image(address))
        kind = next((mime for magic, mime in _MAGIC.items() if data.startswith(magic)), None)
        if region is not None or len(data) > AS_IT_IS or kind is None:
            small = _shrink(data, region, side)
            if small is None:
                return element("span", f"{what}: the image cannot be read", class_="absent")
            data, kind = small
        if len(data) > self._left:
            return element("span", f"{what}: left out to keep the page small", class_="absent")
        self._left -= len(data)
        return element("img", src=f"data:{kind};base64,{base64.b64encode(data).decode()}", alt=what, loading="lazy")


def _shrink(data: bytes, region: tuple[float, float, float, float] | None, side: int) -> tuple[bytes, str] | None:
    """The region of an image, made small; drawings stay PNG, photographs become JPEG."""
    from PIL import Image

    try:
        image: Image.Image = Image.open(io.BytesIO(data))
        drawing = image.format == "PNG"
        if region is not None:
            left, top, right, bottom = (round(v) for v in region)
            image = image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
        image = image.convert("RGB")
    except (OSError, SyntaxError, Image.DecompressionBombError):
        return None
    image.thumbnail((side, side))
    out = io.BytesIO()
    if drawing and image.width * image.height <= 200 * 200:
        image.save(out, "PNG", optimize=True)
        return out.getvalue(), "image/png"
    image.save(out, "JPEG", quality=82)
    return out.getvalue(), "image/jpeg"


def _absent(panel: Panel, what: str) -> Markup:
    """A photograph that is not in the benchmark: where it came from, as text (nothing is fetched)."""
    host = urlsplit(panel.uri).hostname if panel.uri else None
    lines = [element("b", what), "not stored here", *([f"from {host}"] if host else [])]
    return element("span", *(part for line in lines for part in (line, element("br"))), class_="absent")


def is_program(text: str) -> bool:
    """Whether a text is a program of our language."""
    try:
        parse(text)
    except UserError:
        return False
    return True


def scene(panels: list[Panel]) -> Markup:
    """Objects as shapes: what a scene looks like where its image is not stored."""
    gap = 50.0 if len(panels) > 1 else 0.0
    width = sum((p.width or 100) + gap for p in panels) - gap
    height = max((p.height or 100 for p in panels), default=100)
    parts: list[object] = [
        element("title", "Scene"),
        element("rect", width=f"{width:g}", height=height, fill="#808080"),
    ]
    left = 0.0
    for panel in panels:
        wide, tall = panel.width or 100, panel.height or 100
        parts.append(element("rect", x=f"{left:g}", y=0, width=wide, height=tall, fill="#d3d3d3"))
        parts += [
            _shape(one.category, one.attribute("color") or "", one.box, left)
            for one in panel.objects
            if one.box is not None
        ]
        left += wide + gap
    return element("svg", *parts, viewBox=f"0 0 {width:g} {height:g}", role="img", class_="drawing")


def _shape(category: str, hue: str, box: tuple[float, float, float, float], left: float) -> Markup:
    x0, y0, x1, y1 = box[0] + left, box[1], box[2] + left, box[3]
    fill = _FILLS.get(hue, "none")
    tip = element("title", f"{hue} {category}".strip())
    more = {"fill": fill, "stroke": "#444" if fill == "none" else None}
    if category == "circle":
        middle = {"cx": f"{(x0 + x1) / 2:g}", "cy": f"{(y0 + y1) / 2:g}", "r": f"{(x1 - x0) / 2:g}"}
        return element("circle", tip, **middle, **more)
    if category == "triangle":
        return element("polygon", tip, points=f"{x0:g},{y1:g} {(x0 + x1) / 2:g},{y0:g} {x1:g},{y1:g}", **more)
    place = {"x": f"{x0:g}", "y": f"{y0:g}", "width": f"{x1 - x0:g}", "height": f"{y1 - y0:g}"}
    return element("rect", tip, **place, **more)


def referenced(item: Item) -> tuple[str, ...]:
    """The objects that an item's texts point at, each once."""
    texts = [item.query, *(c for c in item.candidates if isinstance(c, Text))]
    refs = (token for text in texts if text for token in text.tokens if isinstance(token, Ref))
    return tuple(dict.fromkeys(name for ref in refs for name in ref.objects))


def object_names(panels: Iterable[Panel]) -> dict[str, str]:
    """What tagged objects are called in texts: their category and number, as in the paper (`person1`)."""
    counts: dict[str, int] = {}
    out = {}
    for panel in panels:
        for one in panel.objects:
            counts[one.category] = counts.get(one.category, 0) + 1
            out[one.id] = f"{one.category}{counts[one.category]}"
    return out


def _overlay(panel: Panel, named: tuple[str, ...]) -> Markup:
    """Boxes with names over a photograph."""
    names = object_names([panel])
    shown = [o for o in panel.objects if o.id in named and o.box is not None]
    if not shown or not panel.width or not panel.height:
        return Markup("")
    size = max(panel.width, panel.height) / 28
    parts: list[object] = []
    for place, one in enumerate(shown):
        left, top, right, bottom = one.box or (0.0, 0.0, 0.0, 0.0)
        line = _BOXES[place % len(_BOXES)]
        frame = {"x": f"{left:g}", "y": f"{top:g}", "width": f"{right - left:g}", "height": f"{bottom - top:g}"}
        parts.append(element("rect", **frame, fill="none", stroke=line, stroke_width=f"{size / 7:.2f}"))
        at = {"x": f"{left + size / 4:.2f}", "y": f"{top + size:.2f}", "font_size": f"{size:.2f}"}
        parts.append(element("text", names[one.id], **at, style=f"fill:{line}", class_="boxname"))
    return element("svg", join(parts), viewBox=f"0 0 {panel.width} {panel.height}", aria_hidden="true")
