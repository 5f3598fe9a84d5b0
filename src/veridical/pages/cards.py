"""Items as cards: what an item shows, what is asked, what is right, and what systems said.

Photographs are made small, and all pictures of a page share one budget of bytes, so that a page stays easy to send: an
item is drawn whole or not at all. Scenes of boxes are drawn as SVG, what decides a program marked; over a photograph
there are boxes around what decides, or around what texts point at, with names.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from veridical.benchmark import Benchmark
from veridical.benchmark.tables import panels_from
from veridical.common.pictures import BadPicture, decoded, within
from veridical.errors import UserError
from veridical.language.programs.explanations import Explanation, explain
from veridical.language.programs.terms import parse
from veridical.pages.drawing import shorten
from veridical.pages.markup import Block, element, join
from veridical.records import LETTERS, Box, Item, Panel, Ref, SceneObject, Text, object_names

SIDE, PAIR_SIDE, SMALL_SIDE = 360, 300, 120  # pixels of the longer side: of a photograph, one of two, a matrix panel
BUDGET = 3_000_000  # bytes of all pictures of a page
NOTHING = Markup("")
_MAGIC = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}


# --- what a card is made of ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PictureFrame(Block):
    """One picture: an image, with boxes drawn over it; or a drawing alone; or why there is none."""

    macro = "frame"
    what: str  # in words
    source: str = ""  # the image's address: it lies in the page itself, or where the page is served from
    drawing: Markup = NOTHING
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class ItemPicture(Block):
    """Everything that an item shows."""

    macro = "picture"
    layout: str  # scene, pair, single or matrix
    frames: tuple[PictureFrame, ...]
    candidates: tuple[tuple[str, PictureFrame], ...] = ()  # of a matrix, with their letters
    program: str = ""  # whose deciding boxes and objects are marked
    boxed: bool = False  # by boxes over photographs
    right: str = ""  # the letter of the right candidate of a matrix, where it may be seen


@dataclass(frozen=True)
class CandidateLine:
    """A candidate that is a text."""

    letter: str
    text: str  # markup where it has tags
    right: bool
    chosen_by: tuple[tuple[str, str], ...]  # systems with their colours


@dataclass(frozen=True)
class SystemAnswer:
    """What a system said about an item."""

    system: str
    colour: str
    said: str
    grade: str  # right, wrong, right in some views
    raw: str = ""  # in its own words
    program: bool = False  # what it wrote is a program


@dataclass(frozen=True)
class ItemCard(Block):
    """One item: its candidates where they are texts, else its label and what each system said."""

    macro = "card"
    id: str
    picture: ItemPicture
    query: str | None
    candidates: tuple[CandidateLine, ...] = ()
    rationales: tuple[CandidateLine, ...] = ()
    label: str = ""
    answers: tuple[SystemAnswer, ...] = ()
    people: str = ""  # what people said, in words
    tags: tuple[str, ...] = ()
    link: str = ""  # the address of its own page


@dataclass(frozen=True)
class Gallery(Block):
    """Cards of items that show one thing."""

    macro = "gallery"
    title: str
    lead: str  # what to see in them
    count: int  # how many such items there are
    cards: tuple[ItemCard, ...]
    keys: Sequence[tuple[str, str]] = ()  # whose colours the dots have
    folded: bool = False  # unfolded by who wants to see it


# --- pictures --------------------------------------------------------------------------------------------------------


# Where a page finds an image: by its content address, the region that is shown, and the pixels of the longer side.
Link = Callable[[str, Box | None, int], str]


class ItemPictures:
    """Draws items of one benchmark: images lie in the page itself, within a budget, unless it is told where to link."""

    def __init__(
        self,
        benchmark: Benchmark,
        budget: int = BUDGET,
        link: Link | None = None,
        read: Callable[[Sequence[str]], Iterable[Panel]] | None = None,
        sides: tuple[int, int, int] = (SIDE, PAIR_SIDE, SMALL_SIDE),
    ) -> None:
        """`read` finds panels by their ids, where there is a quicker way than through all of them."""
        self._benchmark = benchmark
        self._budget = self._left = budget
        self._link = link
        self._read = read or self._read_all
        self._side, self._pair_side, self._small_side = sides
        self._full = False  # something did not fit
        self._panels: dict[str, Panel] = {}

    def load(self, items: Iterable[Item]) -> None:
        """Read the panels of the items that will be drawn: only those."""
        wanted: set[str] = set()
        for item in items:
            wanted.update(item.panels)
            wanted.update(c for c in item.candidates if isinstance(c, str))
        self._panels |= {panel.id: panel for panel in self._read(sorted(wanted))}

    def _read_all(self, wanted: Sequence[str]) -> Iterable[Panel]:
        table = self._benchmark.panels_table()
        return panels_from(table.filter(pc.is_in(table["id"], value_set=pa.array(wanted, pa.string()))))

    def panels(self, item: Item) -> list[Panel]:
        """The panels of an item that was loaded."""
        return [self._panels.get(name, Panel(name)) for name in item.panels]

    @property
    def used(self) -> int:
        """How many bytes were taken."""
        return self._budget - self._left

    def item(self, item: Item, program: str | None = None, tagged: Sequence[str] = ()) -> ItemPicture:
        """What an item shows, with what decides its program marked; pictures that do not fit any more are left out.

        The boxes of `tagged` objects are drawn over a photograph.
        """
        return self._matrix(item) if item.task == "matrix" else self._shown(item, program, tagged)

    def whole(self, item: Item, program: str | None = None, tagged: Sequence[str] = ()) -> ItemPicture | None:
        """The same, or None where any of it does not fit."""
        left, self._full = self._left, False
        made = self.item(item, program, tagged)
        if self._full:
            self._left = left
            return None
        return made

    def _shown(self, item: Item, program: str | None, tagged: Sequence[str]) -> ItemPicture:
        panels = self.panels(item)
        known = program if program and any(p.objects for p in panels) and is_program(program) else ""
        found = explain(parse(known), panels) if known else None
        said = shorten(known, 200)
        drawn = item.views or (panels and all(p.image is None and p.objects for p in panels))
        if drawn and found is None and item.views and item.views[0].image is not None:
            return ItemPicture("scene", (self._image(item.views[0].image, None, self._side, f"Drawing of {item.id}"),))
        if drawn:
            return ItemPicture("scene", (PictureFrame("Scene", drawing=scene(panels, found)),), program=said)
        names = ("Left", "Right") if len(panels) == 2 else [f"Panel {k + 1}" for k in range(len(panels))]
        side = self._side if len(panels) == 1 else self._pair_side
        marked = tuple(name for _, name in found.objects) if found else ()
        shown = []
        for place, (panel, name) in enumerate(zip(panels, names, strict=True)):
            around = tagged or tuple(one for at, one in (found.objects if found else ()) if at == place)
            shown.append(self._panel(panel, side, name, around))
        layout = "pair" if len(shown) > 1 else "single"
        return ItemPicture(layout, tuple(shown), program=said, boxed=bool(marked))

    def boxed(self, panels: Sequence[Panel], marked: Sequence[Sequence[str]]) -> ItemPicture:
        """Two photographs with boxes around some objects of each."""
        sides = zip(panels, ("Left", "Right"), marked, strict=True)
        return ItemPicture(
            "pair", tuple(self._panel(panel, self._side, name, tuple(ids)) for panel, name, ids in sides)
        )

    def _matrix(self, item: Item) -> ItemPicture:
        context = tuple(self._small(name, f"Panel {k + 1}") for k, name in enumerate(item.panels))
        candidates = zip(LETTERS, item.candidates, strict=False)
        lettered = tuple((letter, self._small(str(name), f"Candidate {letter}")) for letter, name in candidates)
        return ItemPicture("matrix", context, lettered)

    def _small(self, name: str, what: str) -> PictureFrame:
        return self._panel(self._panels.get(name, Panel(name)), self._small_side, what)

    def _panel(self, panel: Panel, side: int, what: str, tagged: Sequence[str] = ()) -> PictureFrame:
        if panel.image is not None:
            return self._image(panel.image, panel.region, side, what, named_boxes(panel, tagged))
        if panel.objects and panel.width and panel.height:
            return PictureFrame(what, drawing=scene([panel]))
        host = urlsplit(panel.uri).hostname if panel.uri else None  # where it came from, as text: nothing is fetched
        return PictureFrame(what, absent=(what, "not stored here", *([f"from {host}"] if host else [])))

    def _image(self, address: str, region: Box | None, side: int, what: str, boxes: Markup = NOTHING) -> PictureFrame:
        if self._link is not None:
            return PictureFrame(what, self._link(address, region, side), boxes)
        small = thumbnail(bytes(self._benchmark.image(address)), region, side)
        if small is None:
            return PictureFrame(what, absent=(f"{what}: the image cannot be read",))
        address = f"data:{small.mime};base64,{base64.b64encode(small.data).decode()}"
        if len(address) > self._left:
            self._full = True
            return PictureFrame(what, absent=(f"{what}: left out to keep the page small",))
        self._left -= len(address)
        return PictureFrame(what, address, boxes)


@dataclass(frozen=True)
class Thumbnail:
    """A small image, encoded."""

    data: bytes
    mime: str


def thumbnail(data: bytes, region: Box | None, side: int) -> Thumbnail | None:
    """An image, or the region of it, made small, unless it is small already; None where it cannot be read."""
    mime = next((mime for magic, mime in _MAGIC.items() if data.startswith(magic)), None)
    small = _shrink(data, region, side)
    if small is None:
        return None
    if region is not None or mime is None or len(small) < len(data):
        return Thumbnail(small, "image/webp")
    return Thumbnail(data, mime)


def _shrink(data: bytes, region: Box | None, side: int) -> bytes | None:
    """The region of an image, made small, as WebP; None where it cannot be read."""
    try:
        image = decoded(data)
    except BadPicture:
        return None
    if region is not None:
        left, top, right, bottom = (round(v) for v in within(image.size, region))
        image = image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    image = image.convert("RGB")
    image.thumbnail((side, side))
    out = io.BytesIO()
    image.save(out, "WEBP", quality=80)
    return out.getvalue()


def is_program(text: str) -> bool:
    """Whether a text is a program of our language."""
    try:
        parse(text)
    except UserError:
        return False
    return True


# --- tags: a number and a colour for each object that texts point at -------------------------------------------------

_COLOURS = ("#d31542", "#237a35", "#4363d8", "#c2410c", "#911eb4", "#00808a", "#9a6324", "#5c5cab")
_CLOSE = frozenset([".", ",", "?", "!", ":", ";", "'s"])  # tokens that follow without a space
LIT = 24  # tags of one card that light up: `sheet.css` has a rule for each


def referenced(items: Iterable[Item]) -> tuple[str, ...]:
    """The objects that the texts of items point at, each once."""
    texts = (text for item in items for text in (item.query, *item.candidates) if isinstance(text, Text))
    refs = (token for text in texts for token in text.tokens if isinstance(token, Ref))
    return tuple(dict.fromkeys(name for ref in refs for name in ref.objects))


def tag_colour(number: int) -> str:
    """The colour of a tag and of its box."""
    return _COLOURS[number % len(_COLOURS)]


def tagged_text(text: Text, names: Mapping[str, str], tagged: Sequence[str]) -> str:
    """A text whose tags have the colours of their boxes; pointing at one lights up its box, without any script."""
    if not text.tokens:
        return text.raw
    parts: list[object] = []
    for token in text.tokens:
        if isinstance(token, str):
            parts += [token] if token in _CLOSE else [" ", token]
            continue
        for place, name in enumerate(token.objects):
            if name not in tagged:  # it has no box
                parts += [" and " if place else " ", f"[{names.get(name, name)}]"]
                continue
            number = tagged.index(name)
            look = {"class_": f"points t{number % LIT}", "style": f"--tag:{tag_colour(number)}", "tabindex": 0}
            parts += [" and " if place else " ", element("b", f"[{names.get(name, name)}]", **look)]
    return join(parts[1:] if parts[0] == " " else parts)


# --- drawings --------------------------------------------------------------------------------------------------------

FILLS = {"black": "#000000", "yellow": "#ffff00", "blue": "#0099ff"}
EDGE: dict[str, object] = {"stroke": "#e6007e", "stroke_width": 2}  # in a colour that no NLVR scene uses
GAP, MARGIN, BOX_SIDE = 50, 4, 100  # between boxes, around them, and of a box whose size is not known


def scene(panels: Sequence[Panel], found: Explanation | None = None) -> Markup:
    """Objects as shapes: what a scene looks like where its image is not stored.

    With an explanation the deciding boxes are framed and the deciding objects ringed, and the verdict is the title. A
    dashed ring is a near miss: where no object was found, those that pass most of the tests.
    """
    width = sum((p.width or BOX_SIDE) + GAP for p in panels) - GAP + 2 * MARGIN
    height = max((p.height or BOX_SIDE for p in panels), default=BOX_SIDE) + 2 * MARGIN
    said = "Scene" if found is None else f"{'true' if found.answer else 'false'}: {found.program}"
    ground = {"x": -MARGIN, "y": -MARGIN, "width": f"{width:g}", "height": f"{height:g}", "fill": "#808080"}
    parts = [element("title", said), element("rect", **ground)]
    left = 0
    for place, panel in enumerate(panels):
        edge = EDGE if found is not None and place in found.panels else {}
        wide, tall = panel.width or BOX_SIDE, panel.height or BOX_SIDE
        parts.append(element("rect", x=f"{left:g}", y=0, width=wide, height=tall, fill="#d3d3d3", **edge))
        for one in panel.objects:
            if one.box is not None:
                near = found is not None and (place, one.id) in found.near
                decides = near or (found is not None and (place, one.id) in found.objects)
                ring = EDGE | ({"stroke_dasharray": "3 2"} if near else {}) if decides else {}
                parts.append(_shape(one, one.box, left, ring))
        left += wide + GAP
    box = f"{-MARGIN} {-MARGIN} {width:g} {height:g}"
    return element("svg", *parts, viewBox=box, role="img", class_="drawing")


def _shape(one: SceneObject, box: Box, left: float, ring: dict[str, object]) -> Markup:
    x0, y0, x1, y1 = box[0] + left, box[1], box[2] + left, box[3]
    known = one.category in ("circle", "triangle", "square")
    look: dict[str, object] = {"fill": FILLS.get(one.attribute("color") or "", "#ffffff" if known else "none")}
    look |= ring or ({} if known else {"stroke": "#444"})
    tip = element("title", " ".join([*(value for _, value in one.attributes), one.category]))
    if one.category == "circle":
        middle = {"cx": f"{(x0 + x1) / 2:g}", "cy": f"{(y0 + y1) / 2:g}", "r": f"{(x1 - x0) / 2:g}"}
        return element("circle", tip, **middle, **look)
    if one.category == "triangle":
        return element("polygon", tip, points=f"{x0:g},{y1:g} {(x0 + x1) / 2:g},{y0:g} {x1:g},{y1:g}", **look)
    return element("rect", tip, **_place(x0, y0, x1, y1), **look)


def _place(x0: float, y0: float, x1: float, y1: float) -> dict[str, str]:
    return {"x": f"{x0:g}", "y": f"{y0:g}", "width": f"{x1 - x0:g}", "height": f"{y1 - y0:g}"}


def named_boxes(panel: Panel, tagged: Sequence[str]) -> Markup:
    """Boxes with names, to be laid over the panel's photograph; nothing where no object is tagged."""
    names, objects = object_names([panel]), {one.id: one for one in panel.objects}
    boxes = [(number, name, one.box) for number, name in enumerate(tagged) if (one := objects.get(name)) and one.box]
    if not boxes or not panel.width or not panel.height:
        return Markup("")
    size = max(panel.width, panel.height) / 28
    parts = []
    for number, name, box in boxes:
        line = tag_colour(number)
        look = {"fill": line, "fill_opacity": 0, "stroke": line, "stroke_width": f"{size / 7:.2f}"}
        late = box[0] > 0.8 * panel.width  # written from the right there, so that it does not leave the picture
        x, anchor = (box[2] - size / 4, "end") if late else (box[0] + size / 4, "start")
        at = {"x": f"{x:.2f}", "y": f"{box[1] + size:.2f}", "font_size": f"{size:.2f}", "text_anchor": anchor}
        label = element("text", names[name], **at, style=f"fill:{line}", class_="boxname")
        parts.append(element("g", element("rect", **_place(*box), **look), label, class_=f"b{number % LIT}"))
    return element("svg", *parts, viewBox=f"0 0 {panel.width} {panel.height}", aria_hidden="true")
