"""Shortcuts that need no reading: the place, the length, the frequency of a candidate, the words it shares.

Each is one number per candidate (or sentence), cut into bins: the longest candidate, the shortest, much longer than the
others ... A regression over the bins learns which of them is right more often, whichever direction that is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np

from veridical.auditing.data import normal
from veridical.auditing.harness import most_common
from veridical.auditing.regression import Line, fit_binary
from veridical.auditing.sample import Predict, Sample
from veridical.auditing.texts import fit_places, word_codes
from veridical.common.arrays import Doubles, Ints

Score = Callable[[Sample], Doubles]  # (N, C) a number per candidate
BINS = 12
LONGEST = 40  # words of a sentence that are told apart
PENALTIES = (0.01, 0.1, 1.0)


def always_the_same(train: Sample, rng: np.random.Generator) -> Predict:
    """The most common place of the right candidate."""
    return most_common(train)


def by_length(train: Sample, rng: np.random.Generator) -> Predict:
    """What the length of the sentence, or of the candidates, says."""
    if train.candidates is None:
        x = _query_bins(train)
        return fit_places(x, train, rng, _query_bins, x.argmax(1))
    return _binned(train, rng, candidate_lengths)


def by_frequency(train: Sample, rng: np.random.Generator) -> Predict:
    """What it says how often a candidate occurs in the items at hand: this needs no label of theirs."""
    return _binned(train, rng, candidate_frequency)


def by_overlap(train: Sample, rng: np.random.Generator) -> Predict:
    """What it says how many of the question's words a candidate repeats."""
    return _binned(train, rng, query_overlap)


def _binned(train: Sample, rng: np.random.Generator, score: Score) -> Predict:
    item, place = np.nonzero(train.real())
    values = score(train)
    apart = _apart(values, train)[item, place]
    cuts = _cuts(apart)
    y = (place == train.answer[item]).astype(np.int64)
    model = fit_binary(_rows(train, values, cuts, item, place), y, train.group[item], rng, PENALTIES)
    return most_common(train) if model is None else partial(_score, model, score, cuts)


def _score(model: Line, score: Score, cuts: Doubles, test: Sample) -> Doubles:
    item, place = np.nonzero(test.real())
    out = np.full((len(test), test.width), -np.inf)
    out[item, place] = np.round(model.decision_function(_rows(test, score(test), cuts, item, place)), 9)
    return out


def _apart(values: Doubles, s: Sample) -> Doubles:
    """(N, C) The difference to the mean of the item's candidates."""
    mean = np.where(s.real(), values, 0).sum(1) / s.choices
    return values - mean[:, None]


def _rows(s: Sample, values: Doubles, cuts: Doubles, item: Ints, place: Ints) -> Doubles:
    """(R, BINS + 2) In which bin the difference lies, and whether the value is the item's highest or lowest."""
    real = s.real()
    most = np.where(real, values, -np.inf).max(1)
    least = np.where(real, values, np.inf).min(1)
    own = values[item, place]
    ends = np.stack([own == most[item], own == least[item]], 1)
    return np.concatenate([_one_hot(_apart(values, s)[item, place], cuts), ends], 1).astype(np.float64)


def _cuts(values: Doubles) -> Doubles:
    """The borders of bins with about equally many values."""
    return np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))


def _one_hot(values: Doubles, cuts: Doubles) -> Doubles:
    """Bins between the cuts; what lies far outside all cuts has bins of its own."""
    spread = max(float(cuts[-1] - cuts[0]), 1.0)
    borders = np.concatenate([[cuts[0] - spread], cuts, [cuts[-1] + spread]])
    return np.eye(len(borders) + 1)[np.searchsorted(borders, values)]


def candidate_lengths(s: Sample) -> Doubles:
    """(N, C) Words of each candidate."""
    return _each(s, lambda i, text: float(len(word_codes(text))))


def candidate_frequency(s: Sample) -> Doubles:
    """(N, C) How many items have the candidate."""
    counts = Counter(normal(c) for texts in s.candidates or () for c in set(texts))
    return _each(s, lambda i, text: float(min(counts[normal(text)], 8)))


def query_overlap(s: Sample) -> Doubles:
    """(N, C) The share of the question's words that the candidate repeats."""
    asked = [frozenset(word_codes(q)) for q in s.query or ()]
    return _each(s, lambda i, text: len(asked[i] & frozenset(word_codes(text))) / max(len(asked[i]), 1))


def _each(s: Sample, number: Callable[[int, str], float]) -> Doubles:
    out = np.zeros((len(s), s.width))
    for i, texts in enumerate(s.candidates or ()):
        out[i, : len(texts)] = [number(i, text) for text in texts]
    return out


def _query_bins(s: Sample) -> Doubles:
    """(N, LONGEST + 1) The number of words, one column for each; long sentences share the last."""
    numbers = [min(len(word_codes(q)), LONGEST) for q in s.query or ()]
    return np.eye(LONGEST + 1)[numbers]
