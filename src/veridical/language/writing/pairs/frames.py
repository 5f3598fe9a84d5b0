"""The frames of sentences about two images: how an image is named, and how a claim is put about it or denied of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from veridical.language.programs.terms import Term, term
from veridical.language.writing.pairs.claims import AT_LEAST_ONE, Claim, Readings, every_way
from veridical.language.writing.pairs.kinds import PANELS, SIDES, Desk

VERBS = (
    *[("contains", "contain")] * 4,
    *[("shows", "show")] * 4,
    *[("has", "have")] * 2,
    *(("includes", "include"), ("features", "feature")),
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence without its capital and full stop, its readings, and the sentence that denies it."""

    said: str
    denied: str | None  # None: only "it is not true that ..." denies it
    readings: Readings
    spatial: bool = False
    presupposes: bool = False


@dataclass(frozen=True, slots=True)
class Family:
    """A way to write a sentence."""

    name: str
    weight: float
    write: Callable[[Desk], Draft]
    drafts: int = 14  # tried before another family has its turn; more where most come to nothing


def of_side(side: int, readings: Readings) -> Readings:
    """That something holds of one image."""
    return tuple(term("every", SIDES[side], reading) for reading in readings)


def within(side: int, readings: Readings) -> Readings:
    """The objects of one image."""
    return tuple(term("within", reading, SIDES[side]) for reading in readings)


def of_images(amounts: list[Term], readings: Readings) -> Readings:
    """That something holds of so many images."""
    return every_way(lambda amount, reading: term("count", amount, term("where", reading, PANELS)), amounts, readings)


def exists(items: Term) -> Term:
    """That there are any."""
    return term("count", AT_LEAST_ONE, items)


def a_side(desk: Desk) -> tuple[int, str, str]:
    """An image, its name, and the other's."""
    side = int(desk.chance(0.5))
    names = [f"the left {desk.image}", f"the right {desk.image}"]
    if desk.chance(0.2):
        names = [f"the {desk.image} on the left", f"the {desk.image} on the right"]
    return side, names[side], names[1 - side]


def verbs(desk: Desk) -> tuple[str, str]:
    """A verb for what an image does to its things, and its plural."""
    return desk.pick(*VERBS)


def has(what: Claim, one: bool, verb: tuple[str, str]) -> tuple[str, str | None]:
    """What an image or several contain, and the denial."""
    held = verb[0] if one else verb[1]
    said = f"{held} {what.said}"
    if what.denied is not None:
        return said, f"{held} {what.denied}"
    if what.after_not is None:
        return said, None
    return said, f"{'does' if one else 'do'} not {verb[1]} {what.after_not}"


def there(what: Claim) -> tuple[str, str | None]:
    """That there is something, and the denial."""
    be = "is" if what.number == 1 else "are"
    if what.denied is not None:
        return f"there {be} {what.said}", there_be(what.denied)
    if what.after_not is None or what.after_not.startswith("both"):
        return f"there {be} {what.said}", None
    return f"there {be} {what.said}", f"there {be} not {what.after_not}"


def there_be(phrase: str) -> str:
    """ "There is at least one dog", "there are fewer than two dogs"."""
    singular = ("at least one ", "more than one ", "at most one ", "no more than one ", "one ")
    digits = tuple(start.replace("one", "1") for start in singular)
    return f"there {'is' if phrase.startswith((*singular, *digits)) else 'are'} {phrase}"
