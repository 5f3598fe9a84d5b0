"""A logistic regression for sentences that no program was found for: words crossed with counts of what they mention.

    p(true) = sigmoid(w . f),   f = words and word pairs of the template  x  counts compared with the sentence's number

The counts are of the objects that have a mentioned colour, shape and size, so that evidence is shared between colours.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from veridical.common.arrays import Doubles, Ints
from veridical.language.programs.domain import RELATE, Domain, Thing
from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import term
from veridical.language.reading.grammar import template
from veridical.language.reading.lexicon import BOXES, World, read_words

BUCKETS = 1 << 15


@dataclass(frozen=True)
class FallbackConfig:
    """How the fallback is learned."""

    l2: float = 2e-3  # pull of every weight to zero, per example
    steps: int = 60
    rate: float = 0.02  # of AdaGrad


def _mentioned(tokens: Sequence[str], world: World) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, table in world.attributes.items():
        values = {table[t] for t in tokens if t in table}
        if values:
            found[name] = values
    return found


@lru_cache(maxsize=1 << 19)
def _bucket(cue: str, fact: str) -> int:
    return zlib.crc32(f"{cue}|{fact}".encode()) % BUCKETS


_WALL = compiled(term("touching", "wall"))
_TOP, _BOTTOM = compiled(term("at", "top")), compiled(term("at", "bottom"))


def scene_facts(tokens: Sequence[str], domain: Domain, world: World = BOXES) -> list[str]:
    """Counts of the mentioned objects, each compared with the number in the sentence."""
    wanted = _mentioned(tokens, world)
    number = next((int(t) for t in tokens if t.isdigit()), 1)

    def meant(t: Thing) -> bool:
        return all(t.values.get(name) in values for name, values in wanted.items())

    chosen = [t for t in domain.things if meant(t)]
    per_box = [sum(meant(t) for t in g.things) for g in domain.by_panel]
    sizes = [len(g.things) for g in domain.by_panel]
    counts = {
        "all": len(chosen),
        "most": max(per_box, default=0),
        "least": min(per_box, default=0),
        "boxes": sum(n > 0 for n in per_box),
        "boxes-n": sum(n == number for n in per_box),
        "sizes-n": sum(n == number for n in sizes),
        "fullest": max(sizes, default=0),
        "emptiest": min(sizes, default=0),
        "wall": sum(map(_WALL(domain), chosen)),
        "top": sum(map(_TOP(domain), chosen)),
        "bottom": sum(map(_BOTTOM(domain), chosen)),
        "stacked": sum(any(RELATE["on"](a, b) for b in chosen) for a in chosen),
    }
    out = ["bias"]
    for name, n in counts.items():
        out += [f"{name}{'<' if n < number else '>' if n > number else '='}", f"{name}:{min(n, 3)}"]
    return out


class Fallback:
    """The trained model: hashed weights, indexed by bucket."""

    def __init__(self, weights: Doubles | None = None, world: World = BOXES) -> None:
        self.weights = np.zeros(BUCKETS) if weights is None else weights
        self.world = world

    def buckets(self, sentence: str, domain: Domain) -> Ints:
        """The features that are on for a sentence and a scene."""
        tokens = read_words(sentence)
        words = template(tokens, self.world).split()
        cues = {"", *words, *(f"{a} {b}" for a, b in itertools.pairwise(words))}
        facts = scene_facts(tokens, domain, self.world)
        return np.array(sorted({_bucket(c, f) for c in cues for f in facts}))

    def probability(self, sentence: str, domain: Domain) -> float:
        """The probability that the sentence is true of the scene."""
        return float(1 / (1 + np.exp(-self.weights[self.buckets(sentence, domain)].sum())))

    def fit(
        self, sentences: Sequence[str], domains: Sequence[Domain], labels: Sequence[bool], config: FallbackConfig
    ) -> None:
        """Learn the weights by full-batch AdaGrad on the log-likelihood."""
        found = [self.buckets(s, d) for s, d in zip(sentences, domains, strict=True)]
        if not found:
            return
        column = np.concatenate(found)
        row = np.repeat(np.arange(len(found)), [len(f) for f in found])
        truth = np.array(labels, float)
        weights, squares = np.zeros(BUCKETS), np.full(BUCKETS, 1e-8)
        for _ in range(config.steps):
            p = 1 / (1 + np.exp(-np.bincount(row, weights[column], minlength=len(found))))
            gradient = np.bincount(column, (truth - p)[row], minlength=BUCKETS) / len(found) - config.l2 * weights
            squares += gradient**2
            weights += config.rate * gradient / np.sqrt(squares)
        self.weights = weights
