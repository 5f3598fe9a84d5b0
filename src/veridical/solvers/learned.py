"""What the program solver learns: which of a sentence's programs is meant, and a guess where there is none.

The *ranking* is log-linear, learned from truth labels alone:

    p(z | s) = exp(w f(s, z)) / sum_z' exp(w f(s, z'))
    L(w)     = sum over presentations of log sum_z p(z | s) prod_i P(y_i | z(image_i))  -  l2/2 |w|^2
    P(y | v) = 1 - noise where y = v, else noise

A program that is right on all images of its sentence gets nearly all of the credit; `noise` is the share of wrong
labels, so that one bad judgement does not rule the right program out.

The *fallback* is a logistic regression for sentences that no program was found for, over words crossed with counts of
what they mention:

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
from veridical.language.programs.terms import Term, term
from veridical.language.reading.grammar import Candidate, template
from veridical.language.reading.lexicon import BOXES, World, read_words

BUCKETS = 1 << 15  # weights of the fallback


@dataclass(frozen=True)
class RankingConfig:
    """How the ranking is learned."""

    noise: float = 0.1  # share of labels taken to be wrong
    l2: float = 1.0  # pull of every weight to zero
    steps: int = 150
    rate: float = 0.3  # of AdaGrad


def features(candidate: Candidate, shape: str) -> list[str]:
    """What the ranking sees of a candidate: its decisions, alone and together with the sentence's template."""
    out = []
    for mark in candidate.marks:
        key, equals, name = mark.partition("=")
        parts = key.split(".")
        out += [f"{'.'.join(parts[:k])}{equals}{name}" for k in range(1, len(parts) + 1)]
        if equals:
            out.append(f"{mark}|{shape}")
    structure = " ".join(m for m in candidate.marks if "=" not in m)
    out.append(f"{structure}|{shape}")
    last = candidate.program.args[-1] if candidate.program.args else None
    out.append(f"top.{candidate.program.op}.{last.type if isinstance(last, Term) else ''}")
    return out


@dataclass(frozen=True)
class Evidence:
    """One presentation: the features of each candidate, and how many of the images it gets right."""

    features: Sequence[Sequence[str]]
    right: Sequence[int]
    images: int


def scores(weights: dict[str, float], named: Sequence[Sequence[str]]) -> Doubles:
    """The unnormalised log-probability of each candidate."""
    get = weights.get
    return np.array([sum([get(f, 0.0) for f in fs]) for fs in named])


def posterior(raw: Doubles) -> Doubles:
    """Softmax."""
    p: Doubles = np.exp(raw - raw.max())
    total: Doubles = p / p.sum()
    return total


def learn(evidence: Sequence[Evidence], config: RankingConfig) -> dict[str, float]:
    """Weights that maximise the marginal likelihood of the labels."""
    names: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    owner: list[int] = []
    likelihood: list[float] = []
    for k, one in enumerate(evidence):
        for fs, right in zip(one.features, one.right, strict=True):
            columns += [names.setdefault(f, len(names)) for f in fs]
            rows += [len(owner)] * len(fs)
            owner.append(k)
            likelihood.append(right * np.log(1 - config.noise) + (one.images - right) * np.log(config.noise))
    if not names:
        return {}
    row, column, group = np.array(rows), np.array(columns), np.array(owner)
    fit, weights, squares = np.array(likelihood), np.zeros(len(names)), np.full(len(names), 1e-6)
    for _ in range(config.steps):
        raw: Doubles = np.bincount(row, weights[column], minlength=len(group)).astype(np.float64)  # (candidates,)
        pull: Doubles = np.subtract(_softmax(raw + fit, group), _softmax(raw, group))
        gradient = np.bincount(column, pull[row], minlength=len(names)) - config.l2 * weights
        squares += gradient**2
        weights += config.rate * gradient / np.sqrt(squares)
    return {name: round(float(weights[k]), 5) for name, k in names.items() if abs(weights[k]) > 1e-4}


def _softmax(raw: Doubles, group: Ints) -> Doubles:
    top = np.full(group.max() + 1, -np.inf)
    np.maximum.at(top, group, raw)
    p: Doubles = np.exp(raw - top[group])
    return np.divide(p, np.bincount(group, p)[group])


@dataclass(frozen=True)
class FallbackConfig:
    """How the fallback is learned."""

    l2: float = 2e-3  # pull of every weight to zero, per example
    steps: int = 60
    rate: float = 0.02  # of AdaGrad


@lru_cache(maxsize=1 << 19)
def _bucket(cue: str, fact: str) -> int:
    return zlib.crc32(f"{cue}|{fact}".encode()) % BUCKETS


_WALL = compiled(term("touching", "wall"))
_TOP, _BOTTOM = compiled(term("at", "top")), compiled(term("at", "bottom"))


def scene_facts(tokens: Sequence[str], domain: Domain, world: World = BOXES) -> list[str]:
    """Counts of the mentioned objects, each compared with the number in the sentence."""
    named = {name: {table[t] for t in tokens if t in table} for name, table in world.attributes.items()}
    wanted = {name: values for name, values in named.items() if values}
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
