"""Families of statements: what can be said of boxes and towers, and of the whole image.

A family is a way to write with the phenomena that it always shows. `FAMILIES` holds every frame with every condition
that goes with it, and the families of this file, which stand alone.
"""

from __future__ import annotations

from functools import partial

from veridical.language.english import NUMBER_WORDS, a
from veridical.language.programs.terms import Term, term
from veridical.language.writing.boxes.conditions import (
    ANY,
    CONDITIONS,
    NUMBERED,
    OF_QUANTITY,
    SCATTER,
    TOWER,
    above,
    shows,
    touching,
)
from veridical.language.writing.boxes.frames import Family, counts, framed_families
from veridical.language.writing.boxes.pen import (
    A_TOWER,
    COLORS,
    SHAPES,
    Noun,
    Pen,
    Quantity,
    Saying,
    both,
    count,
    every_way,
)
from veridical.language.writing.drafting import PANELS, THINGS, NoDraft, at_least, exactly, exists, keep

# --- the whole image --------------------------------------------------------------------------------------------------


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _there_are(pen: Pen, quantity: Quantity, noun: Noun, objects: list[Term]) -> Saying:
    """ "There are exactly two blue circles", counted over the whole image; the readings are of what is counted."""
    words, number, amounts = pen.amount(quantity, pen.size(objects[0], pen.scene))
    return Saying(f"there {_be(number)} {noun.counted(words, number)}", count(amounts, objects))


def _touches(quantity: Quantity, definite: bool, negated: bool, of_a_box: bool, pen: Pen) -> Saying:
    noun = pen.noun(pen.view(), plain=negated or quantity in ("hard", "soft"))
    words, tests = touching(pen, definite, negated)
    if of_a_box:
        place, words = pen.pick(
            ("bottom", "the bottom"), ("top", "the top"), ("corner", "a corner"), ("wall", "a wall")
        )
        tests = (term("touching", place), term("nearing", place))
        words = f"touching {words} of a box"
    part = _there_are(pen, quantity, noun, [keep((*noun.tests, test)) for test in tests])
    return Saying(f"{part.text} {words}", part.readings)


def _touches_in(quantity: Quantity, pen: Pen) -> Saying:
    """So many that touch a wall in a box with so many objects: counted in all such boxes, or in one."""
    view = pen.view()
    noun, (words, tests) = pen.noun(view), touching(pen, False)
    inside = pen.counted("hard", pen.noun_of(), (THINGS,), view)
    places = [term("inside", reading, PANELS) for reading in inside.readings]
    words_of, number, amounts = pen.amount(quantity, pen.size(keep((*noun.tests, tests[0], places[0])), pen.scene))
    in_all = [keep((*noun.tests, test, place)) for test in tests for place in places]
    in_one = [keep((*noun.tests, test)) for test in tests]
    meaning = count(amounts, in_all)
    apart = count(amounts, in_one)
    boxes = every_way(lambda *held: exists(term("where", term("and", *held), PANELS)), inside.readings, apart)
    phrase = noun.counted(words_of, number)
    return Saying(f"there {_be(number)} {phrase} {words} in a box with {inside.text}", (*meaning, *boxes))


def _stacked(quantity: Quantity, where: bool, pen: Pen) -> Saying:
    """A block on another, and perhaps in what tower."""
    view = pen.view()
    one, other = pen.noun(view, colored=True), pen.noun(view, colored=True)
    words, tests = pen.pick(*above(pen, one.tests, other.objects))
    text = ""
    inside: list[tuple[Term, ...]] = [()]
    if where:
        height = pen.counted(pen.pick("hard", "hard"), pen.noun_of(), (THINGS,), view)
        text = f" in a {pen.group.one} with {height.text}"
        inside = [(term("inside", reading, pen.group.groups),) for reading in height.readings]
    objects = [keep((*test, *more)) for test in tests for more in inside]
    part = _there_are(pen, quantity, one, objects)
    return Saying(f"{part.text} {words} {a(other.one)}{text}", part.readings)


def _end_of(quantity: Quantity, pen: Pen) -> Saying:
    """ "There is a blue block at the base of a tower with four blocks"."""
    pen.group = A_TOWER
    view = pen.view()
    end, noun = pen.pick("top", "bottom"), pen.noun(view, colored=True)
    height = pen.counted(quantity, pen.noun_of(), (THINGS,), view)
    objects = [keep((*noun.tests, term("at", end), term("inside", h, pen.group.groups))) for h in height.readings]
    words = f"{pen.pick('at', 'as')} the {'top' if end == 'top' else 'base'} of {a(pen.group.one)} with {height.text}"
    return Saying(f"there is {a(noun.one)} {words}", tuple(exists(one) for one in objects))


def _in_every(pen: Pen) -> Saying:
    noun = pen.noun(pen.view(), plain=False)
    has = exists(noun.objects)
    words = f"there is {a(noun.one)} in {pen.pick('every', 'each')} {pen.group.one}"
    return Saying(words, (term("every", pen.group.groups, has),))


def _spread(universal: bool, pen: Pen) -> Saying:
    """All of some objects in one box."""
    noun = pen.noun(pen.scene, plain=False)
    if pen.size(noun.objects, pen.scene) < 2:
        raise NoDraft
    holding = term("where", exists(noun.objects), PANELS)
    several = term("count", at_least(2), noun.objects)  # of one object it is said under one reading only
    if universal:
        words = f"all {noun.many} are in the same box"
        meaning = term("count", exactly(1), holding)
        return Saying(words, (meaning, term("and", several, meaning)))
    words, number, amounts = pen.amount("hard", pen.size(holding, pen.scene))
    several_in = term("where", several, PANELS)
    return Saying(
        f"there are {noun.many} in {words} {'box' if number == 1 else 'boxes'}", count(amounts, (holding, several_in))
    )


# --- pronouns and definite descriptions -------------------------------------------------------------------------------


def _it_is(pen: Pen) -> Saying:
    """ "There is a box with only one item and it is black"."""
    words = pen.pick("only one", "exactly one", "a single", "only 1", "exactly 1")
    values = pen.view().things[0].values
    name, value = ("color", values["color"])
    said = value
    if not pen.tower and pen.chance(0.4):
        name, value = "category", values["category"]
        said = a(value)
    objects = (term("count", exactly(1), THINGS), term("every", THINGS, term("is", name, value)))
    meaning = exists(term("where", term("and", *objects), pen.group.groups))
    return Saying(f"there is {a(pen.group.one)} with {words} {pen.item} and it is {said}", (meaning,))


def _its_end(quantity: Quantity, pen: Pen) -> Saying:
    """ "There is a tower with three blocks and its base is yellow"."""
    pen.group = A_TOWER
    height = pen.counted(quantity, pen.noun_of(), (THINGS,), pen.view())
    end, color = pen.pick("top", "bottom"), pen.pick(*COLORS)
    name = {"top": pen.pick("top", f"top {pen.item}"), "bottom": "base"}[end]
    ended = (exists(keep((term("is", "color", color), term("at", end)))),)
    meaning = counts((at_least(1),), pen.group, both(height.readings, ended))
    return Saying(f"there is {a(pen.group.one)} with {height.text} and its {name} is {color}", meaning)


def _of_them(pen: Pen) -> Saying:
    """ "There is a box with four items and two of them are circles"."""
    view = pen.view()
    whole = pen.counted("hard", pen.noun_of(), (THINGS,), view)
    total = pen.size(THINGS, view)
    noun = pen.noun_of(pen.pick(*COLORS)) if pen.tower or pen.chance(0.5) else pen.noun_of(None, pen.pick(*SHAPES))
    number = pen.size(noun.objects, view)
    if total < 2 or not 1 <= number < total:
        raise NoDraft
    words, _, amounts = pen.amount("hard", number)
    if words == "a single":
        raise NoDraft
    said = noun.tests[0].args[1]
    if noun.tests[0].args[0] == "category":
        said = a(noun.one) if number == 1 else noun.many
    inner = count(amounts, (noun.objects,))
    meaning = counts((at_least(1),), pen.group, both(whole.readings, inner))
    return Saying(f"there is {a(pen.group.one)} with {whole.text} and {words} of them {_be(number)} {said}", meaning)


def _the_items(pen: Pen) -> Saying:
    """ "There is a box with five items and the two black items are the same in shape"."""
    view = pen.view()
    whole = pen.counted("hard", pen.noun_of(), (THINGS,), view)
    color = pen.pick(*COLORS)
    noun = pen.noun_of(color)
    number = pen.size(noun.objects, view)
    if not 2 <= number < pen.size(THINGS, view):
        raise NoDraft
    name, word = pen.pick(("category", "shape"), ("size", "size"))
    same = term("values", name, exactly(1), noun.objects)
    inner = term("and", term("count", exactly(number), noun.objects), same)
    said = pen.pick(f"are the same in {word}", f"have the same {word}", f"are of the same {word}")
    meaning = counts((at_least(1),), pen.group, both(whole.readings, (inner,)))
    text = f"there is {a(pen.group.one)} with {whole.text} and the {pen.number(number)} {noun.many} {said}"
    return Saying(text, meaning)


_NAMED = {condition.name: condition for condition in CONDITIONS}


def _the_group(names: tuple[str, ...], pen: Pen) -> Saying:
    """ "The tower with four blocks has a black base": said only where such a tower is in each of the images.

    It is said of one such group, or of all such groups, and there may have to be one.
    """
    view = pen.view()
    height = pen.counted("hard", pen.noun_of(), (THINGS,), view)
    said, groups = _NAMED[pen.pick(*names)].say(pen, view), pen.group.groups
    some = every_way(lambda *held: exists(term("where", term("and", *held), groups)), height.readings, said.readings)
    whole = every_way(lambda h, s: term("every", term("where", h, groups), s), height.readings, said.readings)
    return Saying(f"the {pen.group.one} with {height.text} has {said.text}", (*some, *whole))


def _the_most(names: tuple[str, ...], pen: Pen) -> Saying:
    """ "The box with the most items has exactly two circles"; where boxes tie, of one as of all."""
    noun = pen.noun_of() if pen.chance(0.6) else pen.noun(pen.scene, plain=False)
    words, operator = "the most", "most"
    if not noun.tests:
        words, operator = pen.pick((words, operator), ("the fewest", "least"))
    groups = term(operator, noun.objects, pen.group.groups)
    ranked = sorted(pen.scene.by_panel, key=lambda view: pen.size(noun.objects, view))
    said = _NAMED[pen.pick(*names)].say(pen, ranked[-1 if operator == "most" else 0])
    some = every_way(lambda s: exists(term("where", s, groups)), said.readings)
    whole = every_way(lambda s: term("every", groups, s), said.readings)
    return Saying(f"the {pen.group.one} with {words} {noun.many} has {said.text}", (*some, *whole))


def _the_object(quantity: Quantity, pen: Pen) -> Saying:
    """ "The blue triangle is touching a wall": said only of images that have exactly one."""
    noun = pen.noun(pen.scene, plain=False)
    number = pen.size(noun.objects, pen.scene)
    if number > 2:
        raise NoDraft
    words, tests = touching(pen, False, negated=quantity == "no")
    one = term("count", exactly(number), noun.objects)
    every = [term("every", noun.objects, test) for test in tests]
    readings = [term("and", one, e) for e in every] + [term("or", term("not", one), e) for e in every]
    phrase = f"the {noun.one} is" if number == 1 else f"the {pen.number(2)} {noun.many} are both"
    return Saying(f"{phrase} {words}", tuple(readings))


# --- groups compared --------------------------------------------------------------------------------------------------


def _alike(there: bool, pen: Pen) -> Saying:
    """Groups of the same size, or towers with a base of the same color."""
    number = pen.pick(2, 2, 3)
    key, said = _measure(pen)
    readings = tuple(
        term("agree", n, key, pen.group.groups) for n in dict.fromkeys((at_least(number), exactly(number)))
    )
    if there:
        return Saying(f"there are {pen.number(number)} {pen.group.many} with the same {said}", readings)
    return Saying(f"{NUMBER_WORDS[number]} {pen.group.many} have the same {said}", readings)


def _measure(pen: Pen) -> tuple[Term, str]:
    if pen.tower:
        if pen.group.one == "tower" and pen.chance(0.4):
            return term("tally", THINGS), "height"
        end = pen.pick("top", "bottom")
        if pen.chance(0.4):
            key = term("value", "color", keep((term("at", end),)))
            return key, f"{'top' if end == 'top' else 'base'} color"
        return term("tally", THINGS), f"number of {pen.item}s"
    noun = pen.noun(pen.scene)
    return term("tally", noun.objects), f"number of {noun.many}"


def _all_differ(pen: Pen) -> Saying:
    key, said = _measure(pen)
    readings = tuple(term("agree", amount, key, pen.group.groups) for amount in (exactly(1), term("at-most", 1)))
    return Saying(f"no two {pen.group.many} have the same {said}", readings)


_QUANTITIES: tuple[Quantity, ...] = (*NUMBERED, "no")
_SAID_OF_TOWERS = ("end", "end adjective", "some above")
OWN: list[Family] = [
    *(
        Family(
            f"there {q} {'not ' * negated}touching {'the' if definite else 'a'}",
            SCATTER,
            6,
            partial(_touches, q, definite, negated, False),
            shows(f"existential spatial {OF_QUANTITY[q]}{' presupposition' * definite}{' negation' * negated}"),
        )
        for q in _QUANTITIES
        for definite in (False, True)
        for negated in ((False, True) if q == "hard" else (False,))
    ),
    *(
        Family(
            f"there {q} touching of a box",
            SCATTER,
            6,
            partial(_touches, q, False, False, True),
            shows(f"existential spatial {OF_QUANTITY[q]}"),
        )
        for q in _QUANTITIES
    ),
    *(
        Family(f"there {q} touching in", SCATTER, 4, partial(_touches_in, q), shows("existential spatial hard pp"))
        for q in ("some", "hard")
    ),
    *(
        Family(
            f"there {q} stacked", TOWER, 6, partial(_stacked, q, False), shows(f"existential spatial {OF_QUANTITY[q]}")
        )
        for q in NUMBERED
    ),
    Family("there some stacked in", TOWER, 6, partial(_stacked, "some", True), shows("existential spatial hard pp")),
    Family("end of hard", TOWER, 6, partial(_end_of, "hard"), shows("existential spatial hard pp")),
    Family("end of soft", TOWER, 3, partial(_end_of, "soft"), shows("existential spatial soft pp")),
    Family("in every", ANY, 4, _in_every, shows("existential universal spatial")),
    Family("spread", SCATTER, 1, partial(_spread, False), shows("existential hard spatial")),
    Family("all in one", SCATTER, 1, partial(_spread, True), shows("universal spatial comparison")),
    Family("it is", ANY, 1, _it_is, shows("existential hard coordination coreference")),
    Family(
        "its end hard", TOWER, 1, partial(_its_end, "hard"), shows("existential hard coordination coreference spatial")
    ),
    Family(
        "its end soft", TOWER, 1, partial(_its_end, "soft"), shows("existential soft coordination coreference spatial")
    ),
    Family("of them", ANY, 1, _of_them, shows("existential hard coordination coreference")),
    Family("the items", SCATTER, 2, _the_items, shows("existential hard coordination presupposition comparison")),
    Family("the tower some", TOWER, 2, partial(_the_group, _SAID_OF_TOWERS), shows("hard presupposition spatial")),
    Family("the box hard", SCATTER, 1, partial(_the_group, ("hard",)), shows("hard presupposition")),
    Family("the most", ANY, 1, partial(_the_most, ("hard",)), shows("hard presupposition comparison")),
    Family("the object", SCATTER, 1, partial(_the_object, "some"), shows("presupposition spatial")),
    Family("the object not", SCATTER, 1, partial(_the_object, "no"), shows("presupposition spatial negation")),
    Family("alike there", ANY, 1, partial(_alike, True), shows("existential hard comparison")),
    Family("alike", ANY, 1, partial(_alike, False), shows("hard comparison")),
    Family("all differ", ANY, 1, _all_differ, shows("hard comparison negation")),
]

FAMILIES: tuple[Family, ...] = (*framed_families(), *OWN)
