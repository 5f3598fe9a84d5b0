"""Explanations point at the boxes and objects that decide, and are drawn."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from veridical.language.programs.execution import execute
from veridical.language.programs.explanations import explain
from veridical.language.programs.terms import Program, parse
from veridical.records import Panel

from ._programs import box, programs, scenes, thing, tower

SCENE = (tower("yellow", "blue"), tower("black"), tower("blue", "blue"))


def test_the_box_and_objects_that_make_it_true() -> None:
    found = explain(
        parse("(count (at-least 1) (where (count (exactly 2) (keep (is color blue) things)) panels))"), SCENE
    )
    assert found.answer
    assert found.panels == (2,)
    assert found.objects == ((2, "0"), (2, "1"))
    assert str(found).startswith("true:\nyes (count (at-least 1)")


def test_objects_of_the_whole_image() -> None:
    found = explain(parse("(count (exactly 1) (keep (is color black) things))"), SCENE)
    assert (found.panels, found.objects) == ((1,), ((1, "0"),))


def test_a_false_statement_points_at_what_breaks_it() -> None:
    found = explain(parse("(every panels (count (at-least 1) (keep (is color blue) things)))"), SCENE)
    assert not found.answer
    wrong = [s for s in found.steps if s.depth == 1 and not s.answer]
    assert [s.panels for s in wrong] == [(1,)]
    none = explain(parse("(count (exactly 0) (keep (is color blue) things))"), SCENE)
    assert none.objects == ((0, "1"), (2, "0"), (2, "1"))


def test_where_nothing_is_found_the_near_misses_are_shown() -> None:
    program = parse("(count (at-least 1) (keep (and (is color black) (at bottom) (touching corner)) things))")
    found = explain(program, SCENE)
    assert not found.answer
    assert (found.objects, found.near) == ((), ((1, "0"),))
    nothing = explain(parse("(count (at-least 1) (keep (is category circle) things))"), SCENE)
    assert nothing.near == ()


MIXED = (
    box(
        thing("wall", "circle", "blue", 0, 0, 10),
        thing("mid", "circle", "blue", 40, 40, 10),
        thing("y", "circle", "yellow", 20, 20, 10),
    ),
    box(thing("k", "circle", "black", 40, 40, 10)),
    box(thing("k2", "circle", "black", 40, 40, 10)),
)
YELLOW, BLACK, BLUE = (f"(keep (is color {c}) things)" for c in ("yellow", "black", "blue"))
BLACKS, BLUES = ((1, "k"), (2, "k2")), ((0, "mid"), (0, "wall"))


@pytest.mark.parametrize(
    ("program", "panels", "objects"),
    [
        # a false `every`: the counterexamples, things or groups
        (f"(every {BLUE} (touching wall))", (0,), ((0, "mid"),)),
        (f"(every panels (count (exactly 0) {BLUE}))", (0,), BLUES),
        (f"(every panels (count (at-least 1) {BLUE}))", (1, 2), ()),
        # a true one: all
        ("(every things (is category circle))", (0, 1, 2), ((0, "mid"), (0, "wall"), (0, "y"), *BLACKS)),
        (f"(every (where (count (at-least 1) {BLACK}) panels) (count (exactly 1) things))", (1, 2), BLACKS),
        # of a false `and` the false parts, of a true `or` the true ones; `not` turns them round
        (f"(and (count (exactly 1) {YELLOW}) (count (at-least 3) {BLACK}))", (1, 2), BLACKS),
        (f"(not (and (count (exactly 1) {YELLOW}) (count (at-least 3) {BLACK})))", (1, 2), BLACKS),
        (f"(or (count (exactly 1) {YELLOW}) (count (at-least 3) {BLACK}))", (0,), ((0, "y"),)),
        (f"(or (count (exactly 2) {YELLOW}) (count (at-least 3) {BLACK}))", (0, 1, 2), ((0, "y"), *BLACKS)),
        (f"(not (count (at-least 1) (where (count (at-least 1) {BLUE}) panels)))", (0,), BLUES),
        # a comparison of two sets: both
        (f"(count (more-than (size {BLACK})) {YELLOW})", (0, 1, 2), ((0, "y"), *BLACKS)),
        # agreement: those that agree, or all that differ
        (f"(agree (at-least 2) (tally {BLACK}) panels)", (1, 2), BLACKS),
        (f"(agree (exactly 3) (tally {BLUE}) panels)", (0, 1, 2), BLUES),
        # groups chosen by size: what was counted in them
        (f"(count (exactly 1) (most {BLUE} panels))", (0,), BLUES),
        (f"(count (exactly 0) (others things {BLACK}))", (0,), (*BLUES, (0, "y"))),
    ],
)
def test_exactly_what_decides_is_shown(program: str, panels: tuple[int, ...], objects: tuple[object, ...]) -> None:
    found = explain(parse(program), MIXED)
    assert (found.panels, found.objects) == (panels, objects)


def test_near_misses_are_of_the_part_that_fails() -> None:
    items = "(keep (is color black) (keep (touching wall) things))"
    found = explain(parse(f"(and (not (count (exactly 5) {BLUE})) (count (at-least 1) {items}))"), MIXED)
    assert (found.answer, found.panels, found.objects) == (False, (0, 1, 2), ())
    assert found.near == ((0, "wall"), *BLACKS)


@settings(deadline=None)
@given(programs(), scenes)
def test_every_explanation_gives_the_answer(program: Program, scene: tuple[Panel, ...]) -> None:
    found = explain(program, scene)
    assert found.answer is execute(program, scene)
    assert found.steps[0].answer is found.answer
    ids = {(k, o.id) for k, panel in enumerate(scene) for o in panel.objects}
    assert set(found.objects) <= ids
    assert set(found.panels) <= set(range(len(scene)))
