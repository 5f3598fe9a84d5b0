"""Blind models that read: n-gram logistic regression over sentences, questions and candidates.

N-grams of one to three words are hashed; a candidate is scored by what it says, by how it stands to the item's other
candidates, and (where the question may be seen) by pairs of question and candidate words.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from veridical.auditing.data import codes
from veridical.auditing.harness import most_common
from veridical.auditing.regression import fit_binary
from veridical.auditing.sample import Predict, Sample
from veridical.common.arrays import Doubles, Ints

COLUMNS = 1 << 18  # hashed features
LONGEST = 3  # words of an n-gram
MOST_PAIRED = 24  # words of a text that are paired with words of another

_WORD = re.compile(r"[a-z0-9']+|[^\sa-z0-9']")


def words(text: str) -> list[str]:
    """Lower-case words, and every other sign for itself."""
    return _WORD.findall(text.lower())


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
            span = np.zeros(len(code) - n + 1, np.uint64)
            for k in range(n):
                span = (span * np.uint64(1_000_003)) ^ code[k : len(code) - n + 1 + k]
            found.append(span + np.uint64(n))
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


def mixed(code: Any) -> Ints:
    """Hashes as feature numbers."""
    spread = (code ^ (code >> np.uint64(17))) * np.uint64(0x9E3779B97F4A7C15)
    return (spread >> np.uint64(40)).astype(np.int64) % COLUMNS


def folded(code: Any) -> Ints:
    """Hashes as feature numbers, each once."""
    return np.unique(mixed(code))


def matrix(rows: Iterable[Ints], extra: Doubles | None = None) -> Any:
    """Rows of feature numbers as a sparse matrix, with dense columns beside them."""
    from scipy import sparse

    listed = list(rows)
    ends = np.concatenate([[0], np.cumsum([len(r) for r in listed])])
    flat = np.concatenate(listed) if listed else np.empty(0, np.int64)
    out = sparse.csr_matrix((np.ones(len(flat), np.float64), flat, ends), shape=(len(listed), COLUMNS))
    return out if extra is None else sparse.hstack([out, sparse.csr_matrix(extra)], format="csr")


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


def _two(model: Any, features: Any, test: Sample) -> Doubles:
    z = model.decision_function(features(test))
    return np.stack([-z, z], 1) / 2


def _many(models: Sequence[Any], features: Any, test: Sample) -> Doubles:
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


def _rank(model: Any, test: Sample) -> Doubles:
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


def standing(s: Sample) -> Doubles:
    """(N, C, 4) How a candidate stands to its item's others: length, overlap with them and with the question."""
    out = np.zeros((len(s), s.width, 4))
    for i, texts in enumerate(s.candidates or ()):
        out[i, : len(texts)] = _standing(s.query[i] if s.query is not None else "", texts)
    return out


@lru_cache(maxsize=1 << 16)
def _standing(query: str, texts: tuple[str, ...]) -> Doubles:
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
