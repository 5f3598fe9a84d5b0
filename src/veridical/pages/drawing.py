"""Scenes and boxes as SVG: objects as shapes, what decides a program marked, names of objects over a photograph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from veridical.language.programs.explanations import Explanation
from veridical.pages.markup import element
from veridical.records import Box, Panel, SceneObject

FILLS = {"black": "#000000", "yellow": "#ffff00", "blue": "#0099ff"}
EDGE: dict[str, object] = {"stroke": "#e6007e", "stroke_width": 2}  # in a colour that no NLVR scene uses
GAP, MARGIN, SIDE = 50, 4, 100  # between boxes, around them, and of a box whose size is not known
_BOXES = ("#e6194b", "#2f9e44", "#4363d8", "#e8590c", "#911eb4", "#00808a", "#9a6324", "#5c5cab")


def scene(panels: Sequence[Panel], found: Explanation | None = None) -> Markup:
    """Objects as shapes: what a scene looks like where its image is not stored.

    With an explanation the deciding boxes are framed and the deciding objects ringed, and the verdict is the title. A
    dashed ring is a near miss: where no object was found, those that pass most of the tests.
    """
    width = sum((p.width or SIDE) + GAP for p in panels) - GAP + 2 * MARGIN
    height = max((p.height or SIDE for p in panels), default=SIDE) + 2 * MARGIN
    said = "Scene" if found is None else f"{'true' if found.answer else 'false'}: {found.program}"
    ground = {"x": -MARGIN, "y": -MARGIN, "width": f"{width:g}", "height": f"{height:g}", "fill": "#808080"}
    parts = [element("title", said), element("rect", **ground)]
    left = 0
    for place, panel in enumerate(panels):
        edge = EDGE if found is not None and place in found.panels else {}
        wide, tall = panel.width or SIDE, panel.height or SIDE
        parts.append(element("rect", x=f"{left:g}", y=0, width=wide, height=tall, fill="#d3d3d3", **edge))
        parts += [_shape(one, one.box, left, _ring(found, place, one)) for one in panel.objects if one.box is not None]
        left += wide + GAP
    box = f"{-MARGIN} {-MARGIN} {width:g} {height:g}"
    return element("svg", *parts, viewBox=box, role="img", class_="drawing")


def _ring(found: Explanation | None, place: int, one: SceneObject) -> dict[str, object]:
    """How an object is marked: not at all, or as one that decides, or as a near miss."""
    if found is None:
        return {}
    near = {"stroke_dasharray": "3 2"} if (place, one.id) in found.near else {}
    return {**EDGE, **near} if near or (place, one.id) in found.objects else {}


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


def object_names(panels: Iterable[Panel]) -> dict[str, str]:
    """What tagged objects are called in texts: their category and number, as in the paper (`person1`)."""
    counts: dict[str, int] = {}
    out = {}
    for panel in panels:
        for one in panel.objects:
            counts[one.category] = counts.get(one.category, 0) + 1
            out[one.id] = f"{one.category}{counts[one.category]}"
    return out


def named_boxes(panel: Panel, named: Sequence[str]) -> Markup:
    """Boxes with names, to be laid over the panel's photograph; nothing where no object is named."""
    names = object_names([panel])
    shown = [(one, one.box) for one in panel.objects if one.id in named and one.box is not None]
    if not shown or not panel.width or not panel.height:
        return Markup("")
    size = max(panel.width, panel.height) / 28
    parts = []
    for number, (one, box) in enumerate(shown):
        line = _BOXES[number % len(_BOXES)]
        parts.append(element("rect", **_place(*box), fill="none", stroke=line, stroke_width=f"{size / 7:.2f}"))
        at = {"x": f"{box[0] + size / 4:.2f}", "y": f"{box[1] + size:.2f}", "font_size": f"{size:.2f}"}
        parts.append(element("text", names[one.id], **at, style=f"fill:{line}", class_="boxname"))
    return element("svg", *parts, viewBox=f"0 0 {panel.width} {panel.height}", aria_hidden="true")
