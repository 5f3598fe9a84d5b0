"""Scores of pairs of texts as probabilities: inner products of embeddings, or of words (TF-IDF, BM25), calibrated.

The calibration is a line through the log-odds, fitted on held-out pairs (Platt 1999), with how far off it is. Of the
names of models `tfidf` and `bm25` need nothing, every other one is a text encoder (minilm, any checkpoint of a hub).
All are inner products, so that a block of scores is one product (of sparse rows, for words), and any pair one sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Doubles, Floats, Ints
from veridical.errors import missing_extra
from veridical.matching.assignment.problem import EmbeddingScores, PairScores
from veridical.options.running import Workers

Encode = Callable[[Sequence[str]], Floats]  # texts -> vectors of length 1
Weighting = Literal["tfidf", "bm25"]

WORDS: tuple[Weighting, ...] = ("bm25", "tfidf")  # models that are no encoders
PROJECTED = 64  # numbers of a projected sparse row
NEWTON_STEPS = 100  # fewer than ten are needed
BINS = 10  # of the calibration error
MOST_SLOPE = 1e4
DIGITS = 6  # of what was fitted, so that a benchmark has the same bytes whatever processor made it
K1, B = 1.2, 0.75  # the usual constants of BM25 (Robertson and Zaragoza 2009)
_WORD = re.compile(r"\w+(?:'\w+)?")
_ENDS = ("'s", "ing", "ed", "es", "s", "ly")  # enough of a stemmer for plays, played, playing


@dataclass(frozen=True)
class Calibration:
    """P(positive) = sigmoid(slope * score + intercept), with what held-out pairs say of it."""

    slope: float
    intercept: float
    error: float = 0.0  # expected calibration error on pairs that it was not fitted on
    auc: float = 0.5  # share of (positive, negative) pairs of held-out pairs in the right order
    pairs: int = 0  # held-out pairs

    def probability(self, scores: npt.ArrayLike) -> Doubles:
        z = self.slope * np.asarray(scores, np.float64) + self.intercept
        return 0.5 * (1 + np.tanh(0.5 * z))


@dataclass(frozen=True)
class PairModel:
    """A relevance or similarity model over all rows: asked for the scores of the rows of one fold at a time."""

    name: str
    left: Any  # (N, D) dense or sparse
    right: Any
    calibration: Calibration
    positive: bool  # relevance: log P; similarity: log (1 - P)
    learned: bool | None = None  # whether relevance was learned on the data; None for a similarity

    def scores(self, rows: Ints) -> PairScores:
        if isinstance(self.left, np.ndarray):
            everyone = np.array_equal(rows, np.arange(len(self.left)))  # then no copy is made
            left, right = (np.ascontiguousarray(side if everyone else side[rows]) for side in (self.left, self.right))
            return EmbeddingScores(left, right, self.calibration.slope, self.calibration.intercept, self.positive)
        return SparseScores(self.left[rows], self.right[rows], self.calibration, self.positive)

    def take(self, rows: Ints) -> PairModel:
        """The same model over some of the rows."""
        return replace(self, left=self.left[rows], right=self.right[rows])

    def row_vectors(self, rows: Ints) -> Floats:
        """A dense vector for each row, its query's and its response's; sparse ones are projected at random."""
        both = self.left[rows] + self.right[rows]
        if isinstance(self.left, np.ndarray):
            return np.asarray(both, np.float32)
        project = np.random.default_rng(0).standard_normal((self.left.shape[1], PROJECTED)).astype(np.float32)
        return np.asarray(both @ project, np.float32)

    def odds(self, rows: Ints) -> Floats:
        """(n, n) the log-odds of all pairs of some rows, but for the intercept."""
        table = self.left[rows] @ self.right[rows].T
        dense = np.asarray(table if isinstance(table, np.ndarray) else table.toarray(), np.float32)
        dense *= np.float32(self.calibration.slope)  # in place: these tables are large
        return dense

    def likeness(self, rows: Ints) -> Floats:
        """(n, n) the cosines of the queries of some rows."""
        own = self.left[rows]
        if not isinstance(own, np.ndarray):
            norms = np.sqrt(np.asarray(own.multiply(own).sum(1)).reshape(-1, 1))
            found = (own @ own.T).toarray()
        else:
            norms = np.linalg.norm(own, axis=1, keepdims=True)
            found = own @ own.T
        norms = np.where(norms > 0, norms, 1).astype(np.float32)
        found /= norms
        found /= norms.T
        return np.asarray(found, np.float32)

    def wary(self, by: float) -> PairModel:
        """The same with log-odds that are higher by so much."""
        return replace(self, calibration=replace(self.calibration, intercept=self.calibration.intercept + by))

    def of_pairs(self, rows: Ints, columns: Ints) -> Doubles:
        """Raw scores of pairs, before calibration."""
        return dots(self.left, self.right, rows, columns)

    def to_json(self) -> dict[str, object]:
        learned = {} if self.learned is None else {"learned": self.learned}
        return {"model": self.name, **learned, "calibration": asdict(self.calibration)}


def encoder(name: str, precision: str = "fp32", workers: Workers = Workers()) -> Encode:
    """A text encoder as a function of texts."""
    from veridical.encoders import TextVectors
    from veridical.encoders.encoder import unit

    opened = TextVectors(name, precision=precision, workers=workers)
    return lambda texts: unit(opened.rows(texts))


def dots(left: Any, right: Any, rows: Ints, columns: Ints) -> Doubles:
    if isinstance(left, np.ndarray):
        return np.asarray(np.einsum("nd,nd->n", left[rows], right[columns]), np.float64)
    return np.asarray(left[rows].multiply(right[columns]).sum(1), np.float64).reshape(-1)


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


def _newton(x: Doubles, y: Doubles, weight: Doubles) -> tuple[float, float]:
    """Logistic regression on one number; a step that does not help is halved."""
    line = np.zeros(2)
    design = np.stack([x, np.ones_like(x)], 1)

    def loss(at: Doubles) -> float:
        z = design @ at
        return float(weight @ (np.logaddexp(0, z) - y * z))

    now = loss(line)
    for _ in range(NEWTON_STEPS):
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
    slope, intercept = (to_digits(value) for value in platt(one, zero))
    halves = [rng.permutation(len(values)) % 2 == 0 for values in (one, zero)]
    probabilities, labels = [], []
    for side in (True, False):
        fitted = Calibration(*platt(one[halves[0] == side], zero[halves[1] == side]))
        for values, half, label in ((one, halves[0], 1.0), (zero, halves[1], 0.0)):
            probabilities.append(fitted.probability(values[half != side]))
            labels.append(np.full(int((half != side).sum()), label))
    p, y = np.concatenate(probabilities), np.concatenate(labels)
    ordered = np.sort(zero)
    below = np.searchsorted(ordered, one, "left") + np.searchsorted(ordered, one, "right")  # ties count half
    auc = float(below.mean() / 2 / len(zero)) if len(one) and len(zero) else 0.5
    return Calibration(slope, intercept, to_digits(calibration_error(p, y)), to_digits(auc), len(p))


def to_digits(value: float) -> float:
    """A measured number as it is kept in a manifest: to six digits, since processors round the last ones differently.

    >>> to_digits(12.110640141411126), to_digits(-0.00012345678)
    (12.1106, -0.000123457)
    """
    return float(f"{value:.{DIGITS}g}")


def calibration_error(probabilities: Doubles, labels: Doubles) -> float:
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


@dataclass(frozen=True)
class SparseScores:
    """log-sigmoid(+-(slope * <left_i, right_j> + intercept)) over sparse rows: a `Scores` of the matching."""

    left: Any  # scipy CSR (N, D)
    right: Any
    calibration: Calibration
    positive: bool  # log P, or log (1 - P)

    @property
    def size(self) -> int:
        return int(self.left.shape[0])

    def block(self, start: int, stop: int) -> Floats:
        return self._log(np.asarray((self.left[start:stop] @ self.right.T).todense(), np.float32))

    def pairs(self, rows: npt.ArrayLike, columns: npt.ArrayLike) -> Floats:
        found = self.left[np.asarray(rows)].multiply(self.right[np.asarray(columns)]).sum(1)
        return self._log(np.asarray(found, np.float32).reshape(-1))

    def _log(self, dots: Floats) -> Floats:
        z = np.float32(self.calibration.slope) * dots + np.float32(self.calibration.intercept)
        return np.asarray(-np.logaddexp(np.float32(0), -z if self.positive else z, dtype=np.float32))


class Lexicon:
    """The vocabulary of some texts: turns texts into sparse rows."""

    def __init__(self, texts: Sequence[str]) -> None:
        try:
            from sklearn.feature_extraction.text import CountVectorizer
        except ImportError:
            raise missing_extra("scikit-learn", "build") from None
        words = sorted({word for text in texts for word in terms(text)}) or [""]  # there may be none
        self._vectorizer = CountVectorizer(analyzer=terms, vocabulary=words, dtype=np.float32)
        counts = self.counts(texts)
        frequency = counts.getnnz(axis=0).astype(np.float64)  # texts with each word
        self.idf = np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        self.mean_length = max(float(counts.sum(dtype=np.float64)) / max(len(texts), 1), 1.0)

    def counts(self, texts: Sequence[str]) -> Any:
        """(N, words) how often each word occurs."""
        return self._vectorizer.transform(texts)

    def tfidf(self, texts: Sequence[str]) -> Any:
        """Rows of length 1: their inner product is the cosine."""
        from scipy import sparse

        x = self.counts(texts)
        x.data = 1 + np.log(x.data)
        x = x @ sparse.diags(self.idf)
        norms = np.sqrt(np.asarray(x.multiply(x).sum(1)).reshape(-1))
        return (sparse.diags(1 / np.where(norms > 0, norms, 1)) @ x).tocsr().astype(np.float32)

    def bm25(self, queries: Sequence[str], documents: Sequence[str]) -> tuple[Any, Any]:
        """Rows of queries and documents whose inner product is BM25."""
        from scipy import sparse

        asked = self.counts(queries)
        asked.data[:] = 1
        found = self.counts(documents)
        lengths = np.array([len(terms(text)) for text in documents], np.float32)
        length = np.repeat(lengths, np.diff(found.indptr))  # of the document of each entry
        found.data = found.data * (K1 + 1) / (found.data + K1 * (1 - B + B * length / self.mean_length))
        weighted = asked @ sparse.diags(self.idf)
        return weighted.tocsr().astype(np.float32), found.tocsr().astype(np.float32)


def terms(text: str) -> list[str]:
    """Lower-case words without their commonest endings.

    >>> terms("Playing the guitar's strings")
    ['play', 'the', 'guitar', 'string']
    """
    return [_stem(word) for word in _WORD.findall(text.lower())]


def _stem(word: str) -> str:
    for end in _ENDS:
        if word.endswith(end) and len(word) - len(end) >= 3:
            return word[: -len(end)]
    return word


def word_vectors(queries: Sequence[str], documents: Sequence[str], weighting: Weighting) -> tuple[Any, Any]:
    """Sparse rows of queries and documents; the words' weights come from the documents and queries together."""
    lexicon = Lexicon([*queries, *documents])
    if weighting == "bm25":
        return lexicon.bm25(queries, documents)
    return lexicon.tfidf(queries), lexicon.tfidf(documents)


def random_partners(texts: Sequence[str], rng: np.random.Generator) -> Ints:
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
