"""A log-linear ranking of candidate programs, learned from truth labels alone.

    p(z | s) = exp(w f(s, z)) / sum_z' exp(w f(s, z'))
    L(w)     = sum over presentations of log sum_z p(z | s) prod_i P(y_i | z(image_i))  -  l2/2 |w|^2
    P(y | v) = 1 - noise where y = v, else noise

A program that is right on all images of its sentence gets nearly all of the credit; `noise` is the share of wrong
labels, so that one bad judgement does not rule the right program out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veridical.common.arrays import Doubles, Ints
from veridical.language.programs.terms import Term
from veridical.language.reading.grammar import Candidate


@dataclass(frozen=True)
class RankingConfig:
    """How the ranking is learned."""

    noise: float = 0.1  # share of labels taken to be wrong
    l2: float = 1.0  # pull of every weight to zero
    steps: int = 150
    rate: float = 0.3  # of AdaGrad


def features(candidate: Candidate, template: str) -> list[str]:
    """What the ranking sees of a candidate: its decisions, alone and together with the abstracted sentence."""
    out = []
    for mark in candidate.marks:
        key, equals, name = mark.partition("=")
        parts = key.split(".")
        out += [f"{'.'.join(parts[:k])}{equals}{name}" for k in range(1, len(parts) + 1)]
        if equals:
            out.append(f"{mark}|{template}")
    structure = " ".join(m for m in candidate.marks if "=" not in m)
    out.append(f"{structure}|{template}")
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
