"""Guessers that read: n-gram regressions over sentences, questions and candidates; and shortcuts without reading.

N-grams of one to three words are hashed; a candidate is scored by what it says, by how it stands to the item's other
candidates, and (where the question may be seen) by pairs of question and candidate words. A shortcut (place, length,
frequency, shared words) is one number per candidate or sentence, cut into bins: the longest candidate, the shortest,
much longer than the others ... A regression over the bins learns which is right more often, whichever way that is.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from veridical.auditing.data import Fit, Predict, Sample, codes, together
from veridical.auditing.harness import most_common
from veridical.auditing.models import fit_binary
from veridical.common.arrays import Doubles, Ints

COLUMNS = 1 << 18  # hashed features
LONGEST_NGRAM = 3  # words of an n-gram
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
    for n in range(2, LONGEST_NGRAM + 1):
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
    return np.asarray((spread >> np.uint64(40)).astype(np.int64) % COLUMNS, np.int64)


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
        return most_common(train) if model is None else partial(true_or_false, model, features)
    labels = [(train.answer == k).astype(np.int64) for k in range(train.width)]
    return partial(by_place, [fit_binary(x, y, train.group, rng, same=same) for y in labels], features)


def true_or_false(model: Any, features: Any, test: Sample) -> Doubles:
    """Scores of the candidates false and true, from the log-odds of true."""
    z = model.decision_function(features(test))
    return np.stack([-z, z], 1) / 2


def by_place(models: Sequence[Any], features: Any, test: Sample) -> Doubles:
    """Scores of each place, from the log-odds that the answer stands there; a place that never had it has none."""
    x = features(test)
    scores = [m.decision_function(x) if m is not None else np.full(len(test), -1e9) for m in models]
    return np.stack(scores, 1)


def candidate_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """Which candidate is right from the candidates' texts, and from the question where it may be seen."""
    item, place = np.nonzero(train.real())
    keep = train.usable[item, place]
    y = (place == train.answer[item]).astype(np.int64)
    model = fit_binary(_candidate_rows(train, item, place)[keep], y[keep], together(train)[item[keep]], rng)
    if model is None:
        return most_common(train)
    return partial(ranked, lambda *rows: model.decision_function(_candidate_rows(*rows)))


def ranked(score: Callable[[Sample, Ints, Ints], Doubles], test: Sample) -> Doubles:
    """The scores of all candidates that there are, (item, place) by (item, place)."""
    item, place = np.nonzero(test.real())
    scores = np.full((len(test), test.width), -np.inf)
    scores[item, place] = score(test, item, place)
    return scores


def _candidate_rows(s: Sample, item: Ints, place: Ints) -> Any:
    texts = s.candidates or ()
    rows: list[Ints] = []
    for i, k in zip(item.tolist(), place.tolist(), strict=True):
        rows.append(ngrams(texts[i][k]) if s.query is None else ngrams_and_pairs(s.query[i], texts[i][k]))
    return matrix(rows, standing(s)[item, place])


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
    return np.asarray((out - out.mean(0)) / np.where(spread > 1e-9, spread, 1.0))


# --- shortcuts without reading ---------------------------------------------------------------------------------------

Score = Callable[[Sample], Doubles]  # (N, C) a number per candidate
BINS = 12
LONGEST_SENTENCE = 40  # words of a sentence that are told apart
BIN_PENALTIES = (0.01, 0.1, 1.0)


def by_length(train: Sample, rng: np.random.Generator) -> Predict:
    """What the length of the sentence, or of the candidates, says."""
    if train.candidates is None:
        x = _query_bins(train)
        return fit_places(x, train, rng, _query_bins, x.argmax(1))
    return _binned(candidate_lengths, train, rng)


def _binned(score: Score, train: Sample, rng: np.random.Generator) -> Predict:
    """What one number per candidate says, cut into bins."""
    item, place = np.nonzero(train.real())
    values = score(train)
    borders = np.linspace(0, 1, BINS + 1)[1:-1]  # of bins with about equally many values
    cuts = np.unique(np.quantile(_from_mean(values, train)[item, place], borders))
    y = (place == train.answer[item]).astype(np.int64)
    model = fit_binary(_bin_rows(train, values, cuts, item, place), y, train.group[item], rng, BIN_PENALTIES)
    if model is None:
        return most_common(train)

    def odds(test: Sample, item: Ints, place: Ints) -> Doubles:
        return np.round(model.decision_function(_bin_rows(test, score(test), cuts, item, place)), 9)

    return partial(ranked, odds)


def _from_mean(values: Doubles, s: Sample) -> Doubles:
    """(N, C) The difference to the mean of the item's candidates."""
    mean = np.where(s.real(), values, 0).sum(1) / s.choices
    return np.asarray(values - mean[:, None])


def _bin_rows(s: Sample, values: Doubles, cuts: Doubles, item: Ints, place: Ints) -> Doubles:
    """(R, BINS + 2) In which bin the difference lies, and whether the value is the item's highest or lowest."""
    real = s.real()
    most = np.where(real, values, -np.inf).max(1)
    least = np.where(real, values, np.inf).min(1)
    own = values[item, place]
    ends = np.stack([own == most[item], own == least[item]], 1)
    spread = max(float(cuts[-1] - cuts[0]), 1.0)  # what lies far outside all cuts has bins of its own
    borders = np.concatenate([[cuts[0] - spread], cuts, [cuts[-1] + spread]])
    bins = np.eye(len(borders) + 1)[np.searchsorted(borders, _from_mean(values, s)[item, place])]
    return np.concatenate([bins, ends], 1).astype(np.float64)


def candidate_lengths(s: Sample) -> Doubles:
    """(N, C) Words of each candidate."""
    return _per_candidate(s, lambda i, text: float(len(word_codes(text))))


def candidate_frequency(s: Sample) -> Doubles:
    """(N, C) How many items of the split have the candidate, in half octaves."""
    return np.round(2 * np.log2(np.maximum(s.uses, 1)))


def query_overlap(s: Sample) -> Doubles:
    """(N, C) The share of the question's words that the candidate repeats."""
    asked = [frozenset(word_codes(q)) for q in s.query or ()]
    return _per_candidate(s, lambda i, text: len(asked[i] & frozenset(word_codes(text))) / max(len(asked[i]), 1))


by_frequency: Fit = partial(_binned, candidate_frequency)
by_overlap: Fit = partial(_binned, query_overlap)


def _per_candidate(s: Sample, number: Callable[[int, str], float]) -> Doubles:
    out = np.zeros((len(s), s.width))
    for i, texts in enumerate(s.candidates or ()):
        out[i, : len(texts)] = [number(i, text) for text in texts]
    return out


def _query_bins(s: Sample) -> Doubles:
    """(N, LONGEST_SENTENCE + 1) The number of words, one column for each; long sentences share the last."""
    numbers = [min(len(word_codes(q)), LONGEST_SENTENCE) for q in s.query or ()]
    return np.eye(LONGEST_SENTENCE + 1)[numbers]
