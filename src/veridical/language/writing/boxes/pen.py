"""The pen that writes statements: words, numbers and noun phrases, each with what it means under every reading.

People read "2 blocks" as exactly two or as at least two, and see an object two pixels from the wall as touching it or
not. A piece of text therefore carries all its readings, and a statement is only used where they agree. What is
written about is guided by one scene: a noun that occurs there, a count that is right there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from veridical.language.english import NUMBER_WORDS, Word
from veridical.language.programs.domain import Domain
from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import Term, term
from veridical.language.writing.drafting import PANELS, Dice, NoDraft, Readings, at_least, exactly, keep

Quantity = Literal["some", "hard", "soft", "no"]

COLORS = ("black", "blue", "yellow")
SHAPES = ("circle", "square", "triangle")
SIZES = ("small", "medium", "large")
TOWERS = term("towers")
MOST_READINGS = 16


@dataclass(frozen=True, slots=True)
class Saying:
    """A piece of English and what it means, once for each reading."""

    text: str
    readings: Readings


@dataclass(frozen=True, slots=True)
class Noun(Word):
    """What some objects are called: "blue circle", "blue circles", and the tests it stands for."""

    tests: Readings

    @property
    def objects(self) -> Term:
        return keep(self.tests)


@dataclass(frozen=True, slots=True)
class Division(Word):
    """What a scene is divided into, as the writer calls it: boxes or towers."""

    groups: Term


A_TOWER = Division("tower", "towers", TOWERS)


def every_way(join: Callable[..., Term], *parts: Sequence[Term]) -> Readings:
    """A joint meaning for each choice of readings of the parts."""
    return tuple(dict.fromkeys(join(*choice) for choice in list(product(*parts))[:MOST_READINGS]))


def count(amounts: Sequence[Term], objects: Sequence[Term]) -> Readings:
    """That there are so many, under every reading of the amount and of what is counted."""
    return every_way(lambda amount, items: term("count", amount, items), amounts, objects)


def both(*parts: Sequence[Term]) -> Readings:
    """All of the parts hold, under every reading."""
    return every_way(lambda *terms: term("and", *terms), *parts)


class Pen(Dice):
    """Writes one sentence in one style, guided by one scene."""

    def __init__(self, rng: np.random.Generator, tower: bool, scene: Domain, other: Domain) -> None:
        super().__init__(rng)
        self.tower = tower
        self.scene = scene  # what is written about: an image that the statement must be true of
        self.other = other  # one that it must be false of: what to deny is found there
        self.digits = self.chance(0.5)
        if tower:
            self.item = self.pick("block", "block", "block", "block", "item", "square", "object")
            self.group = self.pick(*[A_TOWER] * 5, Division("box", "boxes", PANELS))
        else:
            self.item = self.pick("item", "item", "object")
            self.group = self.pick(*[Division("box", "boxes", PANELS)] * 4, Division("grey box", "grey boxes", PANELS))

    def number(self, value: int) -> str:
        return str(value) if self.digits else NUMBER_WORDS[value]

    # --- what is written about

    def view(self, other: bool = False) -> Domain:
        """One of the scene's boxes, or of the other's; where it holds a tower, that is the same."""
        return self.pick(*(self.other if other else self.scene).by_panel)

    def size(self, items: Term, view: Domain) -> int:
        """How many objects or groups a term finds."""
        return len(compiled(items)(view))

    def noun(self, view: Domain, *, colored: bool = False, plain: bool = True) -> Noun:
        """A noun for something that `view` has: any of its properties named, none only where `plain`."""
        values = self.pick(*view.things).values
        color = values["color"] if colored or self.chance(0.65) else None
        shape = values["category"] if not self.tower and self.chance(0.55) else None
        size = values["size"] if not self.tower and self.chance(0.1) else None
        if not plain and color is None and shape is None:
            color = values["color"]
        return self.noun_of(color, shape, size)

    def noun_of(self, color: str | None = None, shape: str | None = None, size: str | None = None) -> Noun:
        words = [word for word in (size, color) if word]
        word = shape or self.item
        named = (("size", size), ("color", color), ("category", shape))
        tests = tuple(term("is", name, value) for name, value in named if value)
        return Noun(" ".join((*words, word)), " ".join((*words, word + "s")), tests)

    def other_noun(self, view: Domain, first: Noun, *, colored: bool = False) -> Noun:
        """A noun that shares no object with the first, so that coordinations never count one twice."""
        for _ in range(8):
            noun = self.noun(view, colored=colored, plain=False)
            if not self.size(keep((*first.tests, *noun.tests)), self.scene) and first.tests:
                return noun
        raise NoDraft

    # --- how many

    def amount(self, quantity: Quantity, count: int) -> tuple[str, int, Readings]:
        """Words for an amount that `count` fits, the number it ends with, and its readings."""
        if quantity == "some":
            return "a", 1, (at_least(1),)
        if quantity == "no":
            return "no", self.pick(1, 2), (exactly(0),)
        if count < 1:
            raise NoDraft
        return self._hard(count) if quantity == "hard" else self._soft(count)

    def _hard(self, count: int) -> tuple[str, int, Readings]:
        number = self.number(count)
        if count == 1 and self.chance(0.08):
            return "a single", 1, (exactly(1),)
        if self.chance(0.5):
            return f"{self.pick('exactly', 'exactly', 'only')} {number}", count, (exactly(count),)
        return number, count, (exactly(count), at_least(count))

    def _soft(self, count: int) -> tuple[str, int, Readings]:
        low, high = self.pick(*range(1, count + 1)), count + self.pick(0, 0, 1)
        ways = [(f"at least {self.number(low)}", low, at_least(low))] * 3
        ways.append((f"at most {self.number(high)}", high, term("at-most", high)))
        if count > 1:
            less = self.pick(*range(1, count))
            ways.append((f"more than {self.number(less)}", less, term("more-than", less)))
            ways.append((f"{self.number(count)} or more", count, at_least(count)))
        ways.append((f"fewer than {self.number(high + 1)}", high + 1, term("fewer-than", high + 1)))
        words, number, meaning = self.pick(*ways)
        return words, number, (meaning,)

    def counted(self, quantity: Quantity, noun: Noun, objects: Sequence[Term], view: Domain) -> Saying:
        """An amount of a noun, "exactly two blue circles"; each of `objects` is a reading of what is counted."""
        words, number, amounts = self.amount(quantity, self.size(objects[0], view))
        return Saying(noun.counted(words, number), count(amounts, objects))
