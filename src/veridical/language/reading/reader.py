"""The reading machine: rules over the words of one sentence, each giving every way to read on from a position.

A rule is a function (reader, position, context...) -> readings, where a reading is (end, meaning, marks) and marks are
the names of the grammar's decisions on the way, which the ranking learns to weigh. Rules are memoised per sentence
and call one another by name, since noun phrases and conditions contain each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from veridical.language.reading.lexicon import BOXES, World

Marks = tuple[str, ...]
Reading = tuple[int, Any, Marks]
Rule = Callable[..., list[Reading]]
RULES: dict[str, Rule] = {}
WIDEST = 24  # readings kept per rule and position: enough for every real ambiguity, a bound for nonsense

MOST_STEPS = 50_000  # readings made for one sentence: over three times what any sentence of NLVR's training split takes


class TooManySteps(Exception):
    """The sentence has more ways to read on than are worth following."""


class Budget:
    """The steps left for one sentence, over all its readers. Steps are counted, not timed: the same on any machine."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps, or end the reading."""
        self.left -= steps
        if self.left < 0:
            raise TooManySteps


class Reader:
    """One sentence being read."""

    def __init__(self, tokens: tuple[str, ...], world: World = BOXES, budget: Budget | None = None) -> None:
        self.tokens = tokens
        self.world = world
        self.budget = budget or Budget(MOST_STEPS)
        self.end = len(tokens)
        self.memo: dict[tuple[Any, ...], list[Reading]] = {}

    def __call__(self, name: str, at: int, *args: Any) -> list[Reading]:
        return RULES[name](self, at, *args)

    def spend(self, steps: int = 1) -> None:
        """Count work against the sentence's budget."""
        self.budget.spend(steps)

    def word(self, at: int) -> str:
        """The word at a position, or the empty word outside the sentence."""
        return self.tokens[at] if 0 <= at < self.end else ""

    def skip(self, at: int, *words: str) -> int:
        """The position after any run of the given words."""
        while at < self.end and self.tokens[at] in words:
            at += 1
        return at

    def number(self, at: int) -> int | None:
        """The number written at a position."""
        word = self.word(at)
        return int(word) if word.isdigit() else 1 if word == "single" else None

    def value(self, attribute: str, at: int) -> str | None:
        """The value of an attribute that the word names."""
        return self.world.attributes.get(attribute, {}).get(self.word(at))

    def sequence(self, at: int, *words: str) -> int | None:
        """The position after exactly these words, or None."""
        return at + len(words) if self.tokens[at : at + len(words)] == words else None


def rule(function: Callable[..., Iterable[Reading]]) -> Rule:
    """Register and memoise a rule; equal readings are kept once, with the fewest marks."""
    name = function.__name__

    @wraps(function)
    def memoised(reader: Reader, at: int, *args: Any) -> list[Reading]:
        key = (name, at, *args)
        found = reader.memo.get(key)
        if found is None:
            reader.memo[key] = []  # a rule that meets itself at the same position adds nothing
            found = list(function(reader, at, *args))
            reader.spend(1 + len(found))
            if len(found) > 1:
                best: dict[tuple[int, Any], Marks] = {}
                for end, meaning, marks in found:
                    old = best.get((end, meaning))
                    if old is None or len(marks) < len(old):
                        best[end, meaning] = marks
                found = [(e, m, marks) for (e, m), marks in best.items()][:WIDEST]
            reader.memo[key] = found
        return found

    RULES[name] = memoised
    return memoised
