"""Frames: openings that say how many boxes or towers fit a condition, and the families that frames and conditions make.

"There are exactly two" + "towers" + "with" + "a black block at the base".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from veridical.language.english import NUMBER_WORDS
from veridical.language.programs.terms import term
from veridical.language.writing.boxes.conditions import CLAUSES, CONDITIONS, OF_QUANTITY, Condition, shows
from veridical.language.writing.boxes.pen import Division, Pen, Quantity, Saying, every_way
from veridical.language.writing.drafting import NoDraft, Readings, at_least, exactly

Opening = Callable[[Pen, Division, Readings], tuple[str, bool, Readings]]  # gives words, whether plural, readings


@dataclass(frozen=True, slots=True)
class Family:
    """One way to write statements."""

    name: str
    arrangements: tuple[str, ...]  # of scenes it can be said of
    weight: float  # how often it is written where no mixture of phenomena asks otherwise
    write: Callable[[Pen], Saying]
    phenomena: frozenset[str]  # that it always shows


@dataclass(frozen=True, slots=True)
class _Frame:
    """An opening that says how many groups fit a condition."""

    name: str
    phenomena: frozenset[str]
    weight: float
    opening: Opening
    link: str  # with, that has, has, where
    mood: str  # some, number, no, every, not-every


def _counted(quantity: Quantity, there: bool, pen: Pen, group: Division, holds: Readings) -> tuple[str, bool, Readings]:
    """ "There are exactly two towers", or "exactly two towers": a sentence begins with words, not digits."""
    if not there:
        pen.digits = False
    words, number, amounts = pen.amount(quantity, pen.size(term("where", holds[0], group.groups), pen.scene))
    if words == "a single":
        raise NoDraft
    if words == "no" and (not there or pen.chance(0.7)):
        number = 1
    be = "" if not there else "there is " if number == 1 else "there are "
    return f"{be}{group.counted(words, number)}", number != 1, counts(amounts, group, holds)


def counts(amounts: Readings, group: Division, holds: Readings) -> Readings:
    return every_way(lambda n, h: term("count", n, term("where", h, group.groups)), amounts, holds)


def _of_the(quantity: Quantity, pen: Pen, group: Division, holds: Readings) -> tuple[str, bool, Readings]:
    """ "One of the towers", "none of the boxes"."""
    if quantity == "no":
        return f"none of the {group.many}", True, counts((exactly(0),), group, holds)
    count = pen.size(term("where", holds[0], group.groups), pen.scene)
    if not 1 <= count <= 2:
        raise NoDraft
    amounts = (exactly(count), at_least(count))
    return f"{NUMBER_WORDS[count]} of the {group.many}", count > 1, counts(amounts, group, holds)


def _every(pen: Pen, group: Division, holds: Readings) -> tuple[str, bool, Readings]:
    words, plural = pen.pick((f"every {group.one}", False), (f"each {group.one}", False), (f"all {group.many}", True))
    return words, plural, every_way(lambda h: term("every", group.groups, h), holds)


def _not_every(pen: Pen, group: Division, holds: Readings) -> tuple[str, bool, Readings]:
    meaning = every_way(lambda h: term("not", term("every", group.groups, h)), holds)
    return f"not every {group.one}", False, meaning


_QUANTITIES: tuple[tuple[Quantity, str, float], ...] = (
    ("some", "some", 6),
    ("hard", "number", 3),
    ("soft", "number", 2),
    ("no", "no", 1),
)


def _frames() -> list[_Frame]:
    frames = []
    for quantity, mood, weight in _QUANTITIES:
        shown = shows(OF_QUANTITY[quantity])
        for link, share in (("with", 1.0), ("that has", 0.3), ("where", 0.3)):
            opening = partial(_counted, quantity, True)
            frames.append(
                _Frame(f"there {quantity} {link}", shown | shows("existential"), share * weight, opening, link, mood)
            )
        if quantity != "some":
            frames.append(_Frame(f"plain {quantity}", shown, 0.3, partial(_counted, quantity, False), "has", mood))
    return [
        *frames,
        _Frame("of the", shows("hard presupposition"), 0.7, partial(_of_the, "hard"), "has", "number"),
        _Frame("none of the", shows("negation presupposition"), 0.2, partial(_of_the, "no"), "has", "no"),
        _Frame("every", shows("universal"), 0.6, _every, "has", "every"),
        _Frame("not every", shows("universal negation"), 0.2, _not_every, "has", "not-every"),
    ]


def _write_framed(frame: _Frame, condition: Condition, pen: Pen) -> Saying:
    said = condition.say(pen, pen.view(other="negation" in frame.phenomena))  # what to deny is seen elsewhere
    words, plural, readings = frame.opening(pen, pen.group, said.readings)
    have = "have" if plural else "has"
    link = {"with": "with", "that has": f"that {have}", "has": have, "where": "where"}[frame.link]
    return Saying(f"{words} {link} {said.text}", readings)


def framed_families() -> list[Family]:
    """Every frame with every condition that goes with it.

    No sentence denies or quantifies twice: "no box with no blue item" is hard to read.
    """
    twice, nested = shows("negation universal"), shows("pp")
    return [
        Family(
            f"{frame.name}: {condition.name}",
            condition.arrangements,
            frame.weight * condition.weight,
            partial(_write_framed, frame, condition),
            frame.phenomena | shows(condition.shown) | (nested if condition.nested and frame.link == "with" else set()),
        )
        for frame in _frames()
        for condition in (CLAUSES if frame.link == "where" else CONDITIONS)
        if frame.mood in condition.moods.split() and not frame.phenomena & shows(condition.shown) & twice
    ]
