"""What both writers use to draft a sentence: chance, and programs for the things it speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from veridical.language.programs.terms import Term, term

Readings = tuple[Term, ...]  # what some words mean, once for each way to take them
Choice = TypeVar("Choice")

THINGS, PANELS = term("things"), term("panels")


class NoDraft(Exception):
    """The scenes offer nothing for this draft; another one is tried."""


class Dice:
    """The chance that decides what is written."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def chance(self, share: float) -> bool:
        return float(self.rng.random()) < share

    def pick(self, *choices: Choice) -> Choice:
        return choices[int(self.rng.random() * len(choices))]


def keep(tests: Sequence[Term], objects: Term = THINGS) -> Term:
    """The objects that pass all the tests."""
    if not tests:
        return objects
    return term("keep", tests[0] if len(tests) == 1 else term("and", *tests), objects)


def at_least(number: int) -> Term:
    return term("at-least", number)


def exactly(number: int) -> Term:
    return term("exactly", number)


def exists(objects: Term) -> Term:
    """That there are any."""
    return term("count", at_least(1), objects)
