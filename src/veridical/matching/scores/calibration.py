"""Scores as probabilities: a line through the log-odds, fitted on held-out pairs (Platt 1999), and how far off it is.

Relevance is calibrated on a question's own response against a response drawn at random. Similarity has no labels in a
question/answer file, so what counts as similar is made: a response against a light rewording of itself (other
articles, a dropped filler, another order of a list), against another response drawn at random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 100  # of Newton's method; it needs fewer than ten
BINS = 10  # of the calibration error
MOST_SLOPE = 1e4
_FILLERS = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "to", "of", "in", "on", "at", "his", "her", "their", "its"}
    | {"it", "he", "she", "they", "and", "that", "this"}
)


@dataclass(frozen=True)
class Calibration:
    """P(positive) = sigmoid(slope * score + intercept), with what held-out pairs say of it."""

    slope: float
    intercept: float
    error: float = 0.0  # expected calibration error on pairs that it was not fitted on
    auc: float = 0.5  # share of (positive, negative) pairs of held-out pairs in the right order
    pairs: int = 0  # held-out pairs

    def probability(self, scores: npt.ArrayLike) -> Floats:
        z = self.slope * np.asarray(scores, np.float64) + self.intercept
        return 0.5 * (1 + np.tanh(0.5 * z))

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def platt(positive: npt.ArrayLike, negative: npt.ArrayLike) -> tuple[float, float]:
    """Slope and intercept of the line through the log-odds, by Newton's method on Platt's smoothed labels.

    The slope is never negative: a score that runs the wrong way says nothing, and is not turned around.

    >>> slope, intercept = platt([0.8, 0.9, 0.4], [0.1, 0.2, 0.5])
    >>> slope > 0 > intercept
    True
    """
    one, zero = np.asarray(positive, np.float64), np.asarray(negative, np.float64)
    scores = np.concatenate([one, zero])
    spread = float(scores.std())
    if not len(one) or not len(zero) or spread < 1e-12:
        return 0.0, 0.0
    centre = float(scores.mean())
    x = (scores - centre) / spread
    y = np.concatenate([np.full(len(one), (len(one) + 1) / (len(one) + 2)), np.full(len(zero), 1 / (len(zero) + 2))])
    weight = np.concatenate([np.full(len(one), 0.5 / len(one)), np.full(len(zero), 0.5 / len(zero))])
    a, b = _newton(x, y, weight)
    if a <= 0:
        return 0.0, 0.0
    slope = min(a / spread, MOST_SLOPE)
    return slope, b - slope * centre


def _newton(x: Floats, y: Floats, weight: Floats) -> tuple[float, float]:
    """Logistic regression on one number; a step that does not help is halved."""
    line = np.zeros(2)
    design = np.stack([x, np.ones_like(x)], 1)

    def loss(at: Floats) -> float:
        z = design @ at
        return float(weight @ (np.logaddexp(0, z) - y * z))

    now = loss(line)
    for _ in range(STEPS):
        p = 0.5 * (1 + np.tanh(0.5 * (design @ line)))
        gradient = design.T @ (weight * (p - y))
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-6 and loss(line - size * step) > now:
            size /= 2
        line = line - size * step
        before, now = now, loss(line)
        if before - now < 1e-10:
            break
    return float(line[0]), float(line[1])


def calibrate(positive: npt.ArrayLike, negative: npt.ArrayLike, rng: np.random.Generator) -> Calibration:
    """A calibration fitted on all pairs, whose error was measured on halves that the other half was fitted for."""
    one, zero = np.asarray(positive, np.float64), np.asarray(negative, np.float64)
    slope, intercept = platt(one, zero)
    halves = [rng.permutation(len(values)) % 2 == 0 for values in (one, zero)]
    probabilities, labels = [], []
    for side in (True, False):
        fitted = Calibration(*platt(one[halves[0] == side], zero[halves[1] == side]))
        for values, half, label in ((one, halves[0], 1.0), (zero, halves[1], 0.0)):
            probabilities.append(fitted.probability(values[half != side]))
            labels.append(np.full(int((half != side).sum()), label))
    p, y = np.concatenate(probabilities), np.concatenate(labels)
    return Calibration(slope, intercept, calibration_error(p, y), _auc(one, zero), len(p))


def calibration_error(probabilities: Floats, labels: Floats) -> float:
    """Expected calibration error: the mean distance of stated probability and share of positives, over equal bins.

    >>> calibration_error(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.0
    >>> calibration_error(np.full(4, 0.5), np.array([1.0, 1.0, 0.0, 0.0]))
    0.0
    """
    if not len(probabilities):
        return 0.0
    borders = np.unique(np.quantile(probabilities, np.linspace(0, 1, BINS + 1)[1:-1]))
    bins = np.searchsorted(borders, probabilities, "right")  # equal probabilities are in one bin
    parts = [np.flatnonzero(bins == one) for one in np.unique(bins)]
    gaps = [abs(float(probabilities[part].mean() - labels[part].mean())) * len(part) for part in parts]
    return sum(gaps) / len(probabilities)


def _auc(positive: Floats, negative: Floats) -> float:
    if not len(positive) or not len(negative):
        return 0.5
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, "left") + np.searchsorted(ordered, positive, "right")
    return float(below.mean() / 2 / len(negative))


def random_partners(texts: Sequence[str], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """For each row another row whose text differs; rows for which none was found in some draws get themselves."""
    codes = np.unique(np.asarray(texts, dtype=object).astype(str), return_inverse=True)[1]
    partner = rng.integers(0, len(codes), len(codes))
    for _ in range(20):
        clash = codes[partner] == codes
        if not clash.any():
            return partner
        partner[clash] = rng.integers(0, len(codes), int(clash.sum()))
    clash = codes[partner] == codes
    partner[clash] = np.flatnonzero(clash)
    return partner


def reworded(text: str, rng: np.random.Generator) -> str:
    """A text that says the same in other words, or nearly: fillers go or change, halves around "and" change places.

    >>> reworded("The dog", np.random.default_rng(0)) in {"dog", "the dog", "a dog", "Dog.", "dog ."}
    True
    """
    words = re.findall(r"[\w']+|[^\w\s]", text)
    if "and" in words[1:-1]:
        middle = words.index("and", 1)
        words = [*words[middle + 1 :], "and", *words[:middle]]
    kept = [w for w in words if w.lower() not in _FILLERS or rng.random() < 0.5]
    kept = kept or words
    if len(kept) >= 5:  # one word less hardly changes what a long sentence says
        kept.pop(int(rng.integers(len(kept))))
    return " ".join(kept).lower()


def calibrate_similarity(
    texts: Sequence[str],
    score: Callable[[Sequence[str], Sequence[str]], npt.ArrayLike],
    rng: np.random.Generator,
    most: int = 2000,
) -> Calibration:
    """Calibrate a similarity of two texts: rewordings are similar, random pairs are not."""
    chosen = rng.permutation(len(texts))[:most]
    own = [texts[i] for i in chosen]
    other = random_partners(texts, rng)[chosen]
    differs = [k for k, (i, j) in enumerate(zip(chosen, other, strict=True)) if texts[i] != texts[j]]
    positive = score(own, [reworded(text, rng) for text in own])
    negative = score([own[k] for k in differs], [texts[other[k]] for k in differs])
    return calibrate(positive, negative, rng)
