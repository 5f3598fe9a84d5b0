"""What can be said of one box or tower: noun phrases for "with ..." or "has ...", and clauses for "where ...".

Each entry of the two lists names the phenomena that its wording always shows, so that a mixture of phenomena can be
asked for before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from veridical.language.english import a
from veridical.language.phenomena.tagger import PHENOMENA
from veridical.language.programs.domain import Domain
from veridical.language.programs.terms import Term, term
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
from veridical.language.writing.drafting import THINGS, NoDraft, Readings, at_least, exactly, exists, keep

OF_QUANTITY: dict[Quantity, str] = {"some": "", "hard": "hard", "soft": "soft", "no": "negation"}
_PHENOMENA = {name.split()[0]: name for name in PHENOMENA}
SCATTER, TOWER, ANY = ("scatter",), ("tower",), ("scatter", "tower")

Say = Callable[[Pen, Domain], Saying]
# what an object can touch, as it is said with an indefinite and with a definite article
INDEFINITE = (("a wall", "wall"), ("an edge", "wall"), ("a wall", "wall"), ("a corner", "corner"))
DEFINITE = (
    ("the wall", "wall"),
    ("the edge", "wall"),
    ("the base", "bottom"),
    ("the bottom edge", "bottom"),
    ("the top edge", "top"),
    ("the left wall", "left"),
    ("the right wall", "right"),
)


def shows(words: str) -> frozenset[str]:
    """Phenomena, named by the first word of each."""
    return frozenset(_PHENOMENA[word] for word in words.split())


@dataclass(frozen=True, slots=True)
class Condition:
    """Something to say of a group, and what its words always show."""

    name: str
    arrangements: tuple[str, ...]  # of scenes
    weight: float
    say: Say
    shown: str = ""  # phenomena, as `shows` takes them
    moods: str = "some number no"  # of the frames it goes with; with others it hardly ever tells four images apart
    nested: bool = False  # ends in a prepositional phrase after a noun: after "with", it may attach to either


def _contents(quantity: Quantity, pen: Pen, view: Domain) -> Saying:
    noun = pen.noun(view, plain=quantity in ("hard", "soft"))
    if quantity == "no":
        noun = pen.noun_of(pen.pick(*COLORS), None if pen.tower or pen.chance(0.5) else pen.pick(*SHAPES))
    return pen.counted(quantity, noun, (noun.objects,), view)


def _pair(first: Quantity, second: Quantity, pen: Pen, view: Domain) -> Saying:
    """Objects of two nouns, or of three, side by side."""
    one = pen.noun(view, plain=False)
    other = pen.other_noun(view, one)
    left = pen.counted(first, one, (one.objects,), view)
    right = pen.counted(second, other, (other.objects,), view)
    return Saying(f"{left.text} and {right.text}", both(left.readings, right.readings))


def _colors(pen: Pen, view: Domain) -> Saying:
    """All colors of a group with their numbers: "1 black item, 2 blue items and a yellow item"."""
    found = [c for c in COLORS if pen.size(pen.noun_of(c).objects, view)]
    if len(found) < 3:
        raise NoDraft
    parts = []
    for color in sorted(found, key=lambda _: float(pen.rng.random())):
        noun = pen.noun_of(color)
        parts.append(pen.counted("hard", noun, (noun.objects,), view))
    text = f"{parts[0].text}, {parts[1].text} and {parts[2].text}"
    return Saying(text, both(*(part.readings for part in parts)))


def _of_which(pen: Pen, view: Domain) -> Saying:
    whole = pen.counted("hard", pen.noun_of(), (THINGS,), view)
    color = pen.pick(*COLORS)
    words, number, amounts = pen.amount("hard", pen.size(pen.noun_of(color).objects, view))
    if words == "a single" or number >= pen.size(THINGS, view):
        raise NoDraft
    inner = count(amounts, (pen.noun_of(color).objects,))
    text = f"{whole.text} of which {words} {'is' if number == 1 else 'are'} {color}"
    return Saying(text, both(whole.readings, inner))


def _either_color(pen: Pen, view: Domain) -> Saying:
    one, other = sorted(COLORS, key=lambda _: float(pen.rng.random()))[:2]
    tests = (term("or", term("is", "color", one), term("is", "color", other)),)
    noun = pen.noun_of()
    words, number, amounts = pen.amount("hard", pen.size(keep(tests), view))
    head = noun.one if number == 1 else noun.many
    text = f"{words} {one} or {other} {head}"
    return Saying(text, count(amounts, (keep(tests),)))


def _shared_color(pen: Pen, view: Domain) -> Saying:
    """ "A blue circle and square": the color may belong to both."""
    color = pen.pick(*view.things).values["color"]
    one, other = sorted(SHAPES, key=lambda _: float(pen.rng.random()))[:2]
    noun = pen.noun_of(color, one)
    second = [pen.noun_of(given, other).objects for given in (color, None)]
    return Saying(f"{a(noun.one)} and {other}", both((exists(noun.objects),), [exists(objects) for objects in second]))


def _shared_wall(pen: Pen, view: Domain) -> Saying:
    """ "A circle and a black square touching a wall": one of them, or both."""
    one = pen.noun(view, plain=False)
    other = pen.other_noun(view, one)
    words, tests = touching(pen, False)
    text = f"{a(one.one)} and {a(other.one)} {words}"
    second = [exists(keep((*other.tests, test))) for test in tests]
    first = [exists(one.objects), exists(keep((*one.tests, tests[0])))]
    return Saying(text, both(first, second))


def _only_color(pen: Pen, view: Domain) -> Saying:
    color = pen.pick(*view.things).values["color"]
    return Saying(f"only {color} {pen.item}s", (term("every", THINGS, term("is", "color", color)),))


def _same_color(pen: Pen, view: Domain) -> Saying:
    """All alike; said of two or more, since one object alone may count as such or not."""
    name, word = ("color", "color") if pen.tower else pen.pick(("color", "color"), ("category", "shape"))
    low = pen.pick(2, 2, 3)
    meaning = term("and", term("count", at_least(low), THINGS), term("values", name, exactly(1), THINGS))
    return Saying(f"at least {pen.number(low)} {pen.item}s, all of the same {word}", (meaning,))


def _several_colors(pen: Pen, view: Domain) -> Saying:
    name, word = ("color", "color") if pen.tower else pen.pick(("color", "color"), ("category", "shape"))
    number = len({thing.values[name] for thing in view.things})
    if number < 2:
        raise NoDraft
    words, _, amounts = pen.amount("hard", number)
    text = f"{pen.item}s of {words} different {word}s"
    return Saying(text, every_way(lambda amount: term("values", name, amount, THINGS), amounts))


def _more(pen: Pen, view: Domain) -> Saying:
    one, other = _contrasted(pen)
    meaning = term("count", term("more-than", term("size", other.objects)), one.objects)
    return Saying(f"more {one.many} than {other.many}", (meaning,))


def _as_many(pen: Pen, view: Domain) -> Saying:
    """Equal numbers; none of either is a case of it under one reading only."""
    one, other = _contrasted(pen)
    meaning = term("count", term("exactly", term("size", other.objects)), one.objects)
    some = term("and", exists(one.objects), meaning)
    return Saying(f"as many {one.many} as {other.many}", (meaning, some))


def _contrasted(pen: Pen) -> tuple[Noun, Noun]:
    """Two nouns that differ in color, or in shape."""
    if pen.tower or pen.chance(0.5):
        one, other = sorted(COLORS, key=lambda _: float(pen.rng.random()))[:2]
        return pen.noun_of(one), pen.noun_of(other)
    one, other = sorted(SHAPES, key=lambda _: float(pen.rng.random()))[:2]
    return pen.noun_of(None, one), pen.noun_of(None, other)


def touching(pen: Pen, definite: bool, negated: bool = False) -> tuple[str, Readings]:
    """Words for touching the box, and the tests they mean: at it, or visibly next to it."""
    words, place = pen.pick(*(DEFINITE if definite else INDEFINITE))
    if negated and not definite:
        words, place = pen.pick(("any wall", "wall"), ("any edge", "wall"), ("a wall", "wall"), ("a corner", "corner"))
    tests = (term("touching", place), term("nearing", place))
    verb = pen.pick("touching", "touching", "touching", "closely touching")
    if negated:
        return f"not touching {words}", tuple(term("not", test) for test in tests)
    return f"{verb} {words}", tests


def _touching(quantity: Quantity, definite: bool, negated: bool, pen: Pen, view: Domain) -> Saying:
    noun = pen.noun(view, plain=negated or quantity != "some")
    words, tests = touching(pen, definite, negated)
    part = pen.counted(quantity, noun, [keep((*noun.tests, test)) for test in tests], view)
    return Saying(f"{part.text} {words}", part.readings)


def _end(words: str, quantity: Quantity, pen: Pen, view: Domain) -> Saying:
    """The block at one end of a tower, and perhaps how high the tower is; a box has no top block and no base."""
    pen.group = A_TOWER
    end, color = pen.pick("top", "bottom"), pen.pick(*COLORS)
    name = {"top": "top", "bottom": pen.pick("base", "base", "bottom")}[end]
    noun = pen.noun_of(color)
    meaning = (exists(keep((*noun.tests, term("at", end)))),)
    text = words.format(noun=a(noun.one), color=a(color), end=name)
    if quantity == "some":
        return Saying(text, meaning)
    height = pen.counted(quantity, pen.noun_of(), (THINGS,), view)
    return Saying(f"{height.text} and {text}", both(height.readings, meaning))


def _both_ends(pen: Pen, view: Domain) -> Saying:
    base, top = pen.noun_of(pen.pick(*COLORS)), pen.noun_of(pen.pick(*COLORS))
    several = term("count", at_least(2), THINGS)  # a single block is both, under one reading
    meaning = tuple(exists(keep((*noun.tests, term("at", end)))) for noun, end in ((base, "bottom"), (top, "top")))
    text = f"{a(base.one)} at the base and {a(top.one)} at the top"
    return Saying(text, (term("and", *meaning), term("and", several, *meaning)))


def above(pen: Pen, first: Readings, second: Term) -> list[tuple[str, tuple[Readings, ...]]]:
    """Ways to say that one block stands higher, or lower; "above" means directly above under one reading."""
    ways = (
        ("above", ("on", "above")),
        ("directly above", ("on",)),
        ("on top of", ("on", "above")),
        ("on", ("on", "above")),
        ("below", ("under", "below")),
        ("directly below", ("under",)),
        ("under", ("under", "below")),
    )
    return [
        (words, tuple((*first, term("related", relation, at_least(1), second)) for relation in relations))
        for words, relations in ways
    ]


def _above(quantity: Quantity, pen: Pen, view: Domain) -> Saying:
    one = pen.noun(view, colored=True)
    other = pen.noun(view, colored=True)
    words, tests = pen.pick(*above(pen, one.tests, other.objects))
    part = pen.counted(quantity, one, [keep(test) for test in tests], view)
    return Saying(f"{part.text} {words} {a(other.one)}", part.readings)


def _nth(pen: Pen, view: Domain) -> Saying:
    place, end = pen.pick(2, 2, 3), pen.pick("top", "bottom")
    noun = pen.noun_of(pen.pick(*COLORS))
    tests = (*noun.tests, term("nth", place, end))
    order = {2: "second", 3: "third"}[place]
    text = f"{a(noun.one)} {order} from the {'top' if end == 'top' else pen.pick('base', 'bottom')}"
    return Saying(text, (exists(keep(tests)),))


NUMBERED: tuple[Quantity, ...] = ("some", "hard", "soft")
CONDITIONS: list[Condition] = [
    Condition("hard", ANY, 3, partial(_contents, "hard"), "hard", moods="some number no not-every"),
    Condition("soft", ANY, 3, partial(_contents, "soft"), "soft", moods="some number every not-every"),
    Condition("some", ANY, 3, partial(_contents, "some"), moods="number every not-every"),
    Condition("no", ANY, 3, partial(_contents, "no"), "negation", moods="some number"),
    Condition("hard hard", ANY, 2, partial(_pair, "hard", "hard"), "hard coordination"),
    Condition("some some", ANY, 1, partial(_pair, "some", "some"), "coordination", moods="number"),
    Condition("some hard", ANY, 2, partial(_pair, "some", "hard"), "hard coordination"),
    Condition("hard soft", ANY, 1, partial(_pair, "hard", "soft"), "hard soft coordination"),
    Condition("soft soft", ANY, 1, partial(_pair, "soft", "soft"), "soft coordination", moods="some number"),
    Condition("hard no", ANY, 0.5, partial(_pair, "hard", "no"), "hard negation coordination", moods="some"),
    Condition("colors", ANY, 0.3, _colors, "hard coordination", moods="some"),
    Condition("of which", ANY, 1, _of_which, "hard"),
    Condition("either color", ANY, 1, _either_color, "hard coordination"),
    Condition("shared color", SCATTER, 2, _shared_color, "coordination cc", moods="number"),
    Condition("shared wall", SCATTER, 0.3, _shared_wall, "coordination cc spatial", moods="number"),
    Condition("only color", ANY, 1, _only_color, "universal"),
    Condition("same color", ANY, 1, _same_color, "soft universal comparison", moods="some number"),
    Condition("several colors", ANY, 1, _several_colors, "hard comparison", moods="number"),
    Condition("more", ANY, 1, _more, "comparison", moods="some number"),
    Condition("as many", ANY, 1, _as_many, "comparison"),
    *(
        Condition(
            f"{q} {'not ' if negated else ''}touching {'the' if definite else 'a'}",
            SCATTER,
            2,
            partial(_touching, q, definite, negated),
            f"spatial {OF_QUANTITY[q]}{' presupposition' * definite}{' negation' * negated}",
            moods="some number" if q == "hard" else "some",
        )
        for q in NUMBERED
        for definite in (False, True)
        for negated in (False, True)
        if q == "hard" or not negated
    ),
    Condition("end", TOWER, 4, partial(_end, "{noun} at the {end}", "some"), "spatial", nested=True),
    Condition("end adjective", TOWER, 1, partial(_end, "{color} {end}", "some"), "spatial"),
    Condition(
        "height end", TOWER, 1, partial(_end, "{noun} at the {end}", "hard"), "hard coordination spatial", nested=True
    ),
    Condition("height as end", TOWER, 1, partial(_end, "{color} {end}", "hard"), "hard coordination spatial"),
    Condition("soft end", TOWER, 1, partial(_end, "{color} {end}", "soft"), "soft coordination spatial"),
    Condition("both ends", TOWER, 1, _both_ends, "coordination spatial", nested=True),
    Condition("some above", TOWER, 3, partial(_above, "some"), "spatial", nested=True),
    Condition("hard above", TOWER, 1, partial(_above, "hard"), "spatial hard", nested=True, moods="some"),
    Condition("nth", TOWER, 1, _nth, "spatial", nested=True),
]


# --- clauses ----------------------------------------------------------------------------------------------------------


def _all_color(definite: bool, pen: Pen, view: Domain) -> Saying:
    noun = pen.noun_of() if pen.tower else pen.noun_of(None, pen.pick(*SHAPES, None))
    color = pen.pick(*COLORS)
    words = pen.pick("all the", "all of the") if definite else "all"
    return Saying(f"{words} {noun.many} are {color}", _all(noun.objects, term("is", "color", color)))


def _all_touch(definite: bool, none: bool, pen: Pen, view: Domain) -> Saying:
    noun = pen.noun(view)
    words, tests = touching(pen, definite)
    meant = [term("not", test) for test in tests] if none else tests
    text = f"no {noun.one} is {words}" if none else f"all {noun.many} are {words}"
    return Saying(text, tuple(reading for test in meant for reading in _all(noun.objects, test)))


def _all(objects: Term, test: Term) -> Readings:
    """All of some objects: that there are some is taken for granted, so the readings without any must agree too."""
    meaning = term("every", objects, test)
    return (term("and", exists(objects), meaning), meaning)


CLAUSES: list[Condition] = [
    Condition("all color", ANY, 1, partial(_all_color, False), "universal", moods="some number"),
    Condition("all the color", ANY, 1, partial(_all_color, True), "universal presupposition", moods="some number"),
    Condition("all touching", SCATTER, 0.5, partial(_all_touch, False, False), "universal spatial", moods="some"),
    Condition(
        "all touching the", SCATTER, 0.5, partial(_all_touch, True, False), "universal spatial presupposition", "some"
    ),
    Condition("none touching", SCATTER, 0.3, partial(_all_touch, False, True), "negation spatial", moods="some"),
]
