"""What each operator means, on small scenes; and the laws: order of boxes, determinism, logic."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.language.programs import execution
from veridical.language.programs.domain import Domain, Thing, domain_of, stacks
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import Program, parse, term
from veridical.records import Panel, SceneObject

from ._programs import box, programs, scenes, thing, tower

TOWERS = (
    tower("yellow", "black", "blue", name="a"),
    tower("black", "black", name="b"),
    tower("yellow", name="c"),
)
SCATTER = (
    box(
        thing("0", "circle", "blue", 0, 30, 20),  # touches the left wall
        thing("1", "square", "blue", 79, 80, 20),  # touches the bottom, one pixel from the corner
        thing("2", "square", "black", 58, 80, 20),  # one pixel left of it
    ),
    box(thing("0", "triangle", "yellow", 40, 40, 30)),
    box(),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(count (exactly 6) things)", True),
        ("(count (at-least 7) things)", False),
        ("(count (between 5 6) things)", True),
        ("(count even things)", True),
        ("(count odd things)", False),
        ("(count (more-than 2) (keep (is color black) things))", True),
        ("(count (fewer-than 3) (keep (is color black) things))", False),
        ("(count (at-most 3) (keep (is color black) things))", True),
        ("(count (exactly 1) (where (count (exactly 1) things) towers))", True),
        ("(every towers (count (at-least 1) (keep (is color black) things)))", False),
        (
            "(count (exactly 2) (where (count (exactly 1) (keep (and (at bottom) (is color yellow)) things)) towers))",
            True,
        ),
        ("(count (exactly 1) (keep (and (is color blue) (at top)) things))", True),
        ("(count (exactly 1) (keep (at middle) things))", True),
        ("(count (exactly 2) (keep (nth 2 bottom) things))", True),
        ("(count (exactly 1) (keep (nth 3 top) things))", True),
        (
            "(count (exactly 1) (keep (and (is color black) (related on (at-least 1) (keep"
            " (is color yellow) things))) things))",
            True,
        ),
        (
            "(count (exactly 0) (keep (and (is color blue) (related on (at-least 1) (keep"
            " (is color yellow) things))) things))",
            True,
        ),
        ("(count (exactly 1) (keep (and (is color blue) (related above (at-least 2) things)) things))", True),
        ("(count (exactly 1) (keep (related under (at-least 1) (keep (is color blue) things)) things))", True),
        ("(count (exactly 2) (keep (related below (exactly 0) things) (keep (is color yellow) things)))", False),
        ("(count (at-least 1) (where (values color (exactly 3) things) towers))", True),
        ("(count (exactly 2) (where (values color (exactly 1) things) towers))", True),
        ("(agree (exactly 2) (value color (keep (at bottom) things)) towers)", True),
        ("(agree (exactly 1) (tally things) towers)", True),
        ("(every (most things towers) (values color (exactly 3) things))", True),
        ("(every (least things panels) (count (exactly 1) (keep (is color yellow) things)))", True),
        ("(count (exactly 1) (keep (inside (count (exactly 3) things) towers) (keep (at top) things)))", True),
        (
            "(count (exactly 2) (keep (related touch (at-least 1) (keep"
            " (is color black) things)) (keep (is color black) things)))",
            True,
        ),
        ("(count (exactly 0) (others things (keep (or (is color black) (not (is color black))) things)))", True),
        ("(count (exactly 3) (either (keep (is color blue) things) (keep (is color yellow) things)))", True),
        ("(count (more-than (size (keep (is color yellow) things))) (keep (is color black) things))", True),
        ("(every things (touching wall))", False),
        ("(or (count (exactly 9) things) (not (count (exactly 9) things)))", True),
    ],
)
def test_towers(text: str, expected: bool) -> None:
    assert execute(parse(text), TOWERS) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(count (exactly 1) (keep (touching left) things))", True),
        ("(count (exactly 2) (keep (touching bottom) things))", True),
        ("(count (exactly 1) (keep (touching side) things))", True),
        ("(count (exactly 3) (keep (touching wall) things))", True),
        ("(count (exactly 1) (keep (touching corner) things))", True),
        ("(count (exactly 0) (keep (touching right) things))", True),
        ("(count (exactly 1) (keep (nearing right) things))", True),
        ("(count (exactly 2) (keep (related touch (at-least 1) things) things))", True),
        (
            "(count (exactly 1) (keep (related left (at-least 1) (keep"
            " (is category square) things)) (keep (is category circle) things)))",
            True,
        ),
        ("(count (exactly 1) (keep (is size large) things))", True),
        ("(count (exactly 2) (keep (alike color (exactly 2) things) things))", True),
        ("(count (exactly 1) (where (count (exactly 0) things) panels))", True),
        ("(count (exactly 2) towers)", True),
    ],
)
def test_scatter(text: str, expected: bool) -> None:
    assert execute(parse(text), SCATTER) is expected


def test_what_was_compiled_is_bounded_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    execution.forget()
    monkeypatch.setattr(execution, "MOST_COMPILED", 20)
    for n in range(50):
        assert execute(parse(f"(count (exactly {n}) things)"), TOWERS) is (n == 6)
        assert len(execution._COMPILED) <= 24
    execution.forget()
    assert not execution._COMPILED


def test_a_test_looks_at_its_domain_once_for_all_things(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def things(domain: Domain) -> tuple[Thing, ...]:
        looks.append(1)
        return domain.things

    execution.forget()
    monkeypatch.setitem(execution._COMPILED, term("things"), things)
    chain = "things"
    for _ in range(12):  # each thing on a thing on a thing ...
        chain = f"(keep (related on (at-least 1) {chain}) things)"
    for test in ("(alike color (exactly 1) things)", "(inside (count (exactly 3) things) panels)"):
        chain = f"(keep {test} {chain})"
    assert execute(parse(f"(count (exactly 0) (others things {chain}))"), TOWERS) is False
    assert len(looks) < 30
    execution.forget()


def test_a_tower_is_what_stands_on_the_floor_and_on_one_another() -> None:
    things = domain_of((box(thing("b", "square", "blue", 40, 80), thing("t", "square", "black", 42, 59)),)).things
    assert [[t.object.id for t in stack] for stack in stacks(things)] == [["b", "t"]]
    beside = domain_of((box(thing("b", "square", "blue", 0, 80), thing("t", "square", "black", 15, 59)),)).things
    assert [[t.object.id for t in stack] for stack in stacks(beside)] == [["b"]]


def test_two_photographs_with_other_categories() -> None:
    left = Panel("left", objects=(SceneObject("1", "dog"), SceneObject("2", "dog"), SceneObject("3", "beer bottle")))
    right = Panel("right", objects=(SceneObject("1", "dog", (("color", "white"),)),))
    assert execute(parse("(count (exactly 3) (keep (is category dog) things))"), (left, right))
    assert execute(parse("(every panels (count (at-least 1) (keep (is category dog) things)))"), (left, right))
    assert execute(
        parse("(count (exactly 1) (where (count even (keep (is category dog) things)) panels))"), (left, right)
    )
    assert execute(parse('(count (exactly 1) (keep (is category "beer bottle") things))'), (left, right))
    assert not execute(parse("(count (at-least 1) (keep (touching wall) things))"), (left, right))


@settings(deadline=None)
@given(programs(), scenes, st.randoms(use_true_random=False))
def test_the_order_of_boxes_never_matters(program: Program, scene: tuple[Panel, ...], rng: random.Random) -> None:
    shuffled = list(scene)
    rng.shuffle(shuffled)
    answer = execute(program, scene)
    assert execute(program, shuffled) is answer
    assert execute(program, scene) is answer


@settings(deadline=None)
@given(programs(), programs(), scenes)
def test_logic(one: Program, other: Program, scene: tuple[Panel, ...]) -> None:
    a, b = execute(one, scene), execute(other, scene)
    assert execute(term("not", one), scene) is (not a)
    assert execute(term("and", one, other), scene) is (a and b)
    assert execute(term("or", one, other), scene) is (a or b)


@settings(deadline=None)
@given(programs("objects", 3), st.integers(0, 4), scenes)
def test_amounts_agree_with_one_another(items: Program, n: int, scene: tuple[Panel, ...]) -> None:
    def holds(amount: str) -> bool:
        return execute(term("count", term(amount, n), items), scene)

    assert holds("exactly") is (holds("at-least") and holds("at-most"))
    assert holds("more-than") is (holds("at-least") and not holds("exactly"))
    assert holds("fewer-than") is (not holds("at-least"))
