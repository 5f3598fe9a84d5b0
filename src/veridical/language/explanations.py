"""Why a program is true or false: the boxes and objects that decide it, in words and drawn on the scene.

Every truth inside the program is a step with its own verdict and what it found. A step inside `where` is evaluated in
each group that passes, or in all groups where none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from veridical.language.execution import Domain, Thing, compiled, domain_of
from veridical.language.terms import Term
from veridical.records import Panel

FILLS = {"black": "#000000", "yellow": "#ffff00", "blue": "#0099ff"}
MARK = "#e6007e"  # a colour that no NLVR scene uses


@dataclass(frozen=True, slots=True)
class Step:
    """One truth inside a program, where it was asked, and what it found there."""

    program: str  # the text of this part
    answer: bool
    panels: tuple[int, ...]  # where it was asked, or which groups it found
    objects: tuple[tuple[int, str], ...]  # (panel, object id) it is about
    near: tuple[tuple[int, str], ...]  # where it found none: the objects that pass most of its tests
    depth: int  # 0 for the whole program


@dataclass(frozen=True, slots=True)
class Explanation:
    """What makes a program true or false of a scene."""

    program: str
    answer: bool
    panels: tuple[int, ...]  # the boxes that decide it
    objects: tuple[tuple[int, str], ...]  # the objects that decide it, as (panel, object id)
    near: tuple[tuple[int, str], ...]  # where no object was found: those that come closest
    steps: tuple[Step, ...]  # every truth on the way, outermost first

    def __str__(self) -> str:
        lines = [
            f"{'  ' * s.depth}{'yes' if s.answer else 'no '} {s.program}"
            + (f"  boxes {', '.join(str(p + 1) for p in s.panels)}" if s.panels else "")
            for s in self.steps
        ]
        return "\n".join([f"{'true' if self.answer else 'false'}:", *lines])


def explain(program: Term, panels: Sequence[Panel]) -> Explanation:
    """Which boxes and objects make a program true or false."""
    domain = domain_of(panels)
    steps: list[Step] = []
    answer = _explain(program, domain, 0, steps)
    deciding = [s for s in steps if s.objects and s.answer == answer] or [s for s in steps if s.objects] or steps
    depth = max(s.depth for s in deciding)
    boxes = {p for s in deciding for p in s.panels if s.depth in (0, depth)} | {
        p for s in deciding for p, _ in s.objects
    }
    if not boxes:
        boxes = {p for p, _ in domain.panels}
    objects = tuple(sorted({o for s in deciding for o in s.objects}))
    near = () if objects else tuple(sorted({o for s in steps for o in s.near}))
    return Explanation(str(program), answer, tuple(sorted(boxes)), objects, near, tuple(steps))


def _explain(node: Term, domain: Domain, depth: int, steps: list[Step]) -> bool:
    """The truth of a node in a domain; its steps are appended, outermost first."""
    answer = bool(compiled(node)(domain))
    at = len(steps)
    inner = [a for a in node.args if isinstance(a, Term)]
    things: tuple[Thing, ...] = ()
    near: tuple[Thing, ...] = ()
    groups: tuple[Domain, ...] = ()
    for arg in inner:
        if arg.type == "objects":
            things += compiled(arg)(domain)
            near += () if things else _nearest(arg, domain)
        elif arg.type == "groups":
            groups = compiled(arg)(domain)
    if groups or any(a.type == "groups" for a in inner):
        _explain_groups(node, inner, domain, groups, depth, steps)
        boxes = tuple(sorted({p for g in groups for p, _ in g.panels}))
    else:
        for arg in inner:
            if arg.type == "truth":
                _explain(arg, domain, depth + 1, steps)
        boxes = tuple(p for p, _ in domain.panels) if len(domain.panels) == 1 else ()
    steps.insert(at, Step(str(node), answer, boxes, _names(things), _names(near), depth))
    return answer


def _names(things: tuple[Thing, ...]) -> tuple[tuple[int, str], ...]:
    return tuple(dict.fromkeys((t.panel, t.object.id) for t in things))


def _nearest(items: Term, domain: Domain) -> tuple[Thing, ...]:
    """Of a filter that nothing passes: the things that pass most of its tests, at least one."""
    if items.op != "keep" or not isinstance(items.args[0], Term) or not isinstance(items.args[1], Term):
        return ()
    test, source = items.args[0], items.args[1]
    checks = [compiled(t) for t in (test.args if test.op == "and" else (test,)) if isinstance(t, Term)]
    passed = [(sum(check(t, domain) for check in checks), t) for t in compiled(source)(domain)]
    most = max((n for n, _ in passed), default=0)
    return tuple(t for n, t in passed if n == most > 0)


def _explain_groups(
    node: Term, inner: list[Term], domain: Domain, groups: tuple[Domain, ...], depth: int, steps: list[Step]
) -> None:
    """The conditions on groups, asked in the groups that meet them, or in all where none does."""
    for arg in inner:
        if arg.type == "truth":  # (every groups truth)
            for group in groups:
                _explain(arg, group, depth + 1, steps)
        while arg.type == "groups" and arg.op == "where":
            condition, source = arg.args
            if not isinstance(condition, Term) or not isinstance(source, Term):
                break
            for group in groups or compiled(source)(domain):
                _explain(condition, group, depth + 1, steps)
            arg = source


def explain_svg(program: Term, panels: Sequence[Panel], scale: float = 1.0) -> str:
    """The scene as an SVG picture, the verdict as its title: deciding boxes framed, deciding objects ringed.

    A dashed ring is a near miss: where no object was found, those that pass most of the tests.
    """
    found = explain(program, panels)
    gap = 50.0
    width = sum((p.width or 100) + gap for p in panels) - gap
    height = max((p.height or 100 for p in panels), default=100)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -4 {width + 8:g} {height + 8:g}" '
        f'width="{(width + 8) * scale:g}" height="{(height + 8) * scale:g}" role="img">',
        f"<title>{'true' if found.answer else 'false'}: {escape(found.program)}</title>",
        f'<rect x="-4" y="-4" width="{width + 8:g}" height="{height + 8:g}" fill="#808080"/>',
    ]
    left = 0.0
    for index, panel in enumerate(panels):
        rings = {o: "" for p, o in found.objects if p == index}
        rings |= {o: ' stroke-dasharray="3 2"' for p, o in found.near if p == index}
        parts += _draw_panel(panel, left, index in found.panels, rings)
        left += (panel.width or 100) + gap
    return "\n".join([*parts, "</svg>"])


def _draw_panel(panel: Panel, left: float, framed: bool, rings: dict[str, str]) -> list[str]:
    edge = f' stroke="{MARK}" stroke-width="2"' if framed else ""
    out = [
        f'<rect x="{left:g}" y="0" width="{panel.width or 100}" height="{panel.height or 100}" fill="#d3d3d3"{edge}/>'
    ]
    for obj in panel.objects:
        if obj.box is None:
            continue
        x0, y0, x1, y1 = obj.box[0] + left, obj.box[1], obj.box[2] + left, obj.box[3]
        fill = FILLS.get(obj.attribute("color") or "", "none" if obj.category not in SHAPES else "#ffffff")
        ring = f' stroke="{MARK}" stroke-width="2"{rings[obj.id]}' if obj.id in rings else ""
        shape = SHAPES.get(obj.category, SHAPES["square"])(x0, y0, x1, y1)
        name = escape(" ".join([*(v for _, v in obj.attributes), obj.category]))
        out.append(f'<{shape} fill="{fill}"{ring}><title>{name}</title></{shape.split(" ")[0]}>')
    return out


SHAPES = {
    "square": lambda x0, y0, x1, y1: f'rect x="{x0:g}" y="{y0:g}" width="{x1 - x0:g}" height="{y1 - y0:g}"',
    "circle": lambda x0, y0, x1, y1: f'circle cx="{(x0 + x1) / 2:g}" cy="{(y0 + y1) / 2:g}" r="{(x1 - x0) / 2:g}"',
    "triangle": lambda x0, y0, x1, y1: f'polygon points="{x0:g},{y1:g} {(x0 + x1) / 2:g},{y0:g} {x1:g},{y1:g}"',
}
