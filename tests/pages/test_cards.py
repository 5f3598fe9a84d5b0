"""Scenes as drawings: what decides a program is marked, and whatever a program is, the drawing is well formed."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings

from veridical.language.programs.explanations import explain
from veridical.language.programs.terms import Program, parse
from veridical.pages.cards import scene
from veridical.records import Panel

from ..language.programs._programs import box, programs, scenes, thing, tower


def drawn(program: Program, panels: tuple[Panel, ...]) -> ElementTree.Element:
    return ElementTree.fromstring(scene(panels, explain(program, panels)))


def test_the_drawing_marks_what_decides() -> None:
    panels = (box(thing("0", "circle", "blue", 0, 0), thing("1", "triangle", "yellow", 50, 50)), box())
    root = drawn(parse("(count (at-least 1) (keep (is category circle) things))"), panels)
    assert [e.tag for e in root.iter() if e.get("stroke")] == ["rect", "circle"]
    assert root.findtext("polygon/title") == "yellow medium triangle"
    assert root.findtext("title") == "true: (count (at-least 1) (keep (is category circle) things))"
    assert root.get("viewBox") == "-4 -4 258 108"
    plain_scene = ElementTree.fromstring(scene(panels))
    assert not [e for e in plain_scene.iter() if e.get("stroke")]


def test_near_misses_have_dashed_rings() -> None:
    program = parse("(count (at-least 1) (keep (and (is color black) (at bottom) (touching corner)) things))")
    root = drawn(program, (tower("yellow", "blue"), tower("black"), tower("blue", "blue")))
    assert sum(e.get("stroke-dasharray") is not None for e in root.iter()) == 1


@settings(deadline=None)
@given(programs(), scenes)
def test_every_explanation_is_drawn(program: Program, panels: tuple[Panel, ...]) -> None:
    assert drawn(program, panels).tag == "svg"
