"""Blind models that read: n-gram logistic regression over sentences, questions and candidates.

N-grams of one to three words are hashed; a candidate is scored by what it says, by how it stands to the item's other
candidates, and (where the question may be seen) by pairs of question and candidate words. The strength of the
regularisation is chosen on a quarter of the training groups in every fit, so it is part of every control's budget too.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from veridical.audit.data import Floats, Ints, codes
from veridical.audit.harness import most_common
from veridical.audit.sample import Predict, Sample
from veridical.errors import missing_extra

COLUMNS = 1 << 18  # hashed features
LONGEST = 3  # words of an n-gram
PENALTIES = (0.02, 0.2, 2.0)  # C of the logistic regression
LEAST_SEEN = 2  # training rows that must show a feature
HELD_OUT = 0.25  # of the training groups, to choose the penalty
MOST_PAIRED = 24  # words of a text that are paired with words of another

_WORD = re.compile(r"[a-z0-9']+|[^\sa-z0-9']")


def words(text: str) -> list[str]:
    """Lower-case words, and every other sign for itself."""
    return _WORD.findall(text.lower())


class Line:
    """A fitted logistic regression over all columns: those that training hardly showed have weight 0."""

    def __init__(self, x: Any, y: Ints, penalty: float, weight: Floats | None = None) -> None:
        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError:
            raise missing_extra("scikit-learn", "build") from None
        if isinstance(x, np.ndarray):
            model = LogisticRegression(C=penalty, solver="newton-cholesky", tol=1e-3, max_iter=100)
            model.fit(x, y, sample_weight=weight)
            self.weights = model.coef_[0]
        else:
            shown = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]) >= LEAST_SEEN)
            # The intercept is pulled to zero weakly; leaving rare columns out makes this many times faster.
            model = LogisticRegression(C=penalty, solver="liblinear", tol=1e-2, intercept_scaling=10, random_state=0)
            model.fit(x[:, shown], y, sample_weight=weight)
            self.weights = np.zeros(x.shape[1])
            self.weights[shown] = model.coef_[0]
        self.intercept = float(model.intercept_[0])

    def decision_function(self, x: Any) -> Floats:
        """The log-odds of the second class."""
        return np.asarray(x @ self.weights + self.intercept, np.float64)


@lru_cache(maxsize=1 << 17)
def word_codes(text: str) -> tuple[int, ...]:
    """The words of a text as numbers."""
    return tuple(zlib.crc32(w.encode()) for w in words(text))


@lru_cache(maxsize=1 << 16)
def ngrams(text: str) -> Ints:
    """The hashed n-grams of a text, each once; the ends of the text are words too."""
    code = np.array([1, *word_codes(text), 2], np.uint64)
    found = [code]
    for n in range(2, LONGEST + 1):
        if len(code) >= n:
            mixed = np.zeros(len(code) - n + 1, np.uint64)
            for k in range(n):
                mixed = (mixed * np.uint64(1_000_003)) ^ code[k : len(code) - n + 1 + k]
            found.append(mixed + np.uint64(n))
    return folded(np.concatenate(found))


def word_pairs(one: str, other: str) -> Ints:
    """Hashed pairs of a word of one text and a word of another, and of words they share."""
    a = np.array(word_codes(one)[:MOST_PAIRED] or (0,), np.uint64)
    b = np.array(word_codes(other)[:MOST_PAIRED] or (0,), np.uint64)
    crossed = (a[:, None] * np.uint64(2_654_435_761)) ^ (b[None, :] * np.uint64(97_531))
    return folded(crossed.ravel() + np.uint64(77))


@lru_cache(maxsize=1 << 16)
def ngrams_and_pairs(query: str, text: str) -> Ints:
    """The features of a candidate beside its question."""
    return np.union1d(ngrams(text), word_pairs(query, text))


def folded(code: Any) -> Ints:
    """Hashes as feature numbers, each once."""
    mixed = (code ^ (code >> np.uint64(17))) * np.uint64(0x9E3779B97F4A7C15)
    return np.unique((mixed >> np.uint64(40)).astype(np.int64) % COLUMNS)


def matrix(rows: Iterable[Ints], extra: Floats | None = None) -> Any:
    """Rows of feature numbers as a sparse matrix, with dense columns beside them."""
    from scipy import sparse

    listed = list(rows)
    ends = np.concatenate([[0], np.cumsum([len(r) for r in listed])])
    flat = np.concatenate(listed) if listed else np.empty(0, np.int64)
    out = sparse.csr_matrix((np.ones(len(flat), np.float64), flat, ends), shape=(len(listed), COLUMNS))
    return out if extra is None else sparse.hstack([out, sparse.csr_matrix(extra)], format="csr")


def fit_binary(
    x: Any,
    y: Ints,
    group: Ints,
    rng: np.random.Generator,
    penalties: Sequence[float] = PENALTIES,
    same: Ints | None = None,
) -> Line | None:
    """A logistic regression whose penalty is chosen on held-out groups; None where there is only one class.

    `same` numbers rows whose features are equal: they are joined into two weighted rows, one for each class.
    """
    if len(np.unique(y)) < 2:
        return None
    names = np.unique(group)
    held = np.isin(group, rng.permutation(names)[: max(1, int(HELD_OUT * len(names)))])
    best = penalties[0]
    if len(penalties) > 1 and len(np.unique(y[~held])) == 2 and held.any():
        inner = _joined(x[~held], y[~held], None if same is None else same[~held])
        losses = [_loss(Line(*inner[:2], c, inner[2]), x[held], y[held]) for c in penalties]
        best = penalties[int(np.argmin(losses))]
    rows, label, weight = _joined(x, y, same)
    return Line(rows, label, best, weight)


def _joined(x: Any, y: Ints, same: Ints | None) -> tuple[Any, Ints, Floats | None]:
    if same is None:
        return x, y, None
    _, first, counts = np.unique(same * 2 + y, return_index=True, return_counts=True)
    return x[first], y[first], counts.astype(np.float64)


def _loss(model: Line, x: Any, y: Ints) -> float:
    z = model.decision_function(x)
    return float(np.logaddexp(0, np.where(y == 1, -z, z)).mean())


def query_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """The answer's place from the sentence or question alone."""
    return fit_places(_query_features(train), train, rng, _query_features, codes(train.query or ()))


def _query_features(test: Sample) -> Any:
    return matrix(map(ngrams, test.query or ()))


def fit_places(x: Any, train: Sample, rng: np.random.Generator, features: Any, same: Ints | None = None) -> Predict:
    """One regression per place of the answer (one in all for true and false)."""
    if train.width == 2:
        model = fit_binary(x, train.answer, train.group, rng, same=same)
        return most_common(train) if model is None else partial(_two, model, features)
    labels = [(train.answer == k).astype(np.int64) for k in range(train.width)]
    return partial(_many, [fit_binary(x, y, train.group, rng, same=same) for y in labels], features)


def _two(model: Any, features: Any, test: Sample) -> Floats:
    z = model.decision_function(features(test))
    return np.stack([-z, z], 1) / 2


def _many(models: Sequence[Any], features: Any, test: Sample) -> Floats:
    x = features(test)
    scores = [m.decision_function(x) if m is not None else np.full(len(test), -1e9) for m in models]
    return np.stack(scores, 1)


def candidate_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """Which candidate is right from the candidates' texts, and from the question where it may be seen."""
    x, item, place = _candidate_rows(train)
    keep = train.usable[item, place]
    y = (place == train.answer[item]).astype(np.int64)
    model = fit_binary(x[keep], y[keep], train.group[item[keep]], rng)
    return most_common(train) if model is None else partial(_rank, model)


def _rank(model: Any, test: Sample) -> Floats:
    x, item, place = _candidate_rows(test)
    scores = np.full((len(test), test.width), -np.inf)
    scores[item, place] = model.decision_function(x)
    return scores


def _candidate_rows(s: Sample) -> tuple[Any, Ints, Ints]:
    item, place = np.nonzero(s.real())
    texts = s.candidates or ()
    rows: list[Ints] = []
    for i, k in zip(item.tolist(), place.tolist(), strict=True):
        rows.append(ngrams(texts[i][k]) if s.query is None else ngrams_and_pairs(s.query[i], texts[i][k]))
    return matrix(rows, standing(s)[item, place]), item, place


def standing(s: Sample) -> Floats:
    """(N, C, 4) How a candidate stands to its item's others: length, overlap with them and with the question."""
    out = np.zeros((len(s), s.width, 4))
    for i, texts in enumerate(s.candidates or ()):
        out[i, : len(texts)] = _standing(s.query[i] if s.query is not None else "", texts)
    return out


@lru_cache(maxsize=1 << 16)
def _standing(query: str, texts: tuple[str, ...]) -> Floats:
    """(C, 4) The same for one item, each column with mean 0 and deviation 1."""
    sets = [frozenset(word_codes(t)) for t in texts]
    asked = frozenset(word_codes(query))
    out = np.zeros((len(texts), 4))
    for k, own in enumerate(sets):
        others = [len(own & o) / max(len(own | o), 1) for j, o in enumerate(sets) if j != k]
        length = len(word_codes(texts[k]))
        out[k] = (length, max(others, default=0), sum(others), len(own & asked) / max(len(own), 1))
    spread = out.std(0)
    return (out - out.mean(0)) / np.where(spread > 1e-9, spread, 1.0)
