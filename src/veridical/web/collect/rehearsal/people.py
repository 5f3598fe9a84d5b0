"""Simulated workers: how often they are right, whether they follow guidelines, how fast they are, whether they stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Character:
    """A sort of people."""

    name: str
    share: float  # of all
    skill: float  # how often a judgement is right
    follows: float  # how often a sentence follows the guidelines
    meant: float  # how often a sentence is true of just the pairs it was meant for
    leaves: float = 0.02  # how often a task is abandoned
    honest: bool = True  # others answer at random once they are qualified
    seconds: float = 1.0  # how long they take, compared with others


CHARACTERS = (
    Character("expert", 0.4, 0.97, 0.95, 0.98),
    Character("careful", 0.3, 0.94, 0.85, 0.95),
    Character("careless", 0.14, 0.86, 0.6, 0.88, seconds=0.6),
    Character("restless", 0.08, 0.93, 0.85, 0.95, leaves=0.35),
    Character("spammer", 0.08, 0.95, 0.1, 0.5, honest=False, seconds=0.2),
)
SECONDS = {"tutorial": 20, "guideline": 25, "prune": 60, "sets": 60, "sentence": 90, "contrast": 150, "validate": 18,
           "questions": 240, "accept": 30, "choose": 25}  # fmt: skip


@dataclass
class Person:
    """Somebody who takes part."""

    number: int
    character: Character
    rng: np.random.Generator
    worker: str = ""
    waited: int = 0  # times in a row that there was nothing to do

    def right(self, qualifying: bool) -> bool:
        """Whether this judgement is right; a spammer looks only while being tested."""
        skill = self.character.skill if self.character.honest or qualifying else 0.0
        return bool(self.rng.random() < skill)

    @property
    def guesses(self) -> bool:
        return not self.character.honest

    def takes(self, kind: str) -> float:
        """Seconds for a task."""
        usual = SECONDS[kind] * self.character.seconds
        return float(usual * np.exp(self.rng.normal(0.0, 0.35)))

    def leaves(self) -> bool:
        return bool(self.rng.random() < self.character.leaves)


def crowd(count: int, seed: int, characters: tuple[Character, ...] = CHARACTERS) -> list[Person]:
    """People in the shares of their characters, each with randomness of their own."""
    edges = np.cumsum([one.share for one in characters]) / sum(one.share for one in characters)
    places = (np.arange(count) + 0.5) / count
    order = np.random.default_rng([seed, 11]).permutation(count)
    chosen = [characters[int(np.searchsorted(edges, places[k]))] for k in order]
    return [Person(k, one, np.random.default_rng([seed, 12, k])) for k, one in enumerate(chosen)]
