"""Scenes as drawings: what decides a program is marked, and whatever a program is, the drawing is well formed."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings

from veridical.language.programs.terms import Program, parse
from veridical.pages.drawing import explain_svg
from veridical.records import Panel

from ..language.programs._programs import box, programs, scenes, thing, tower


def test_the_drawing_marks_what_decides() -> None:
    scene = (box(thing("0", "circle", "blue", 0, 0), thing("1", "triangle", "yellow", 50, 50)), box())
    picture = explain_svg(parse("(count (at-least 1) (keep (is category circle) things))"), scene, scale=2)
    root = ElementTree.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    marked = [e.tag for e in root.iter() if e.get("stroke")]
    assert marked == [f"{space}rect", f"{space}circle"]
    assert root.find(f"{space}polygon/{space}title").text == "yellow medium triangle"
    assert root.get("width") == "516"


def test_near_misses_have_dashed_rings() -> None:
    program = parse("(count (at-least 1) (keep (and (is color black) (at bottom) (touching corner)) things))")
    scene = (tower("yellow", "blue"), tower("black"), tower("blue", "blue"))
    assert explain_svg(program, scene).count("stroke-dasharray") == 1


@settings(deadline=None)
@given(programs(), scenes)
def test_every_explanation_is_drawn(program: Program, scene: tuple[Panel, ...]) -> None:
    assert ElementTree.fromstring(explain_svg(program, scene)).tag.endswith("svg")
