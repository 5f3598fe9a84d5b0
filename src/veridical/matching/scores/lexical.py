"""Relevance and similarity from words alone, with no model: TF-IDF cosine and BM25 over sparse vectors.

Both are inner products of sparse rows, so a block of scores is one sparse product, and any pair of rows one sum.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from veridical.errors import missing_extra
from veridical.matching.scores.calibration import Calibration

K1, B = 1.2, 0.75  # the usual constants of BM25 (Robertson and Zaragoza 2009)
_WORD = re.compile(r"\w+(?:'\w+)?")
_ENDS = ("'s", "ing", "ed", "es", "s", "ly")  # enough of a stemmer for plays, played, playing

Weighting = Literal["tfidf", "bm25"]


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

    def block(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        return self._log(np.asarray((self.left[start:stop] @ self.right.T).todense(), np.float32))

    def pairs(self, rows: npt.ArrayLike, columns: npt.ArrayLike) -> npt.NDArray[np.float32]:
        found = self.left[np.asarray(rows)].multiply(self.right[np.asarray(columns)]).sum(1)
        return self._log(np.asarray(found, np.float32).reshape(-1))

    def _log(self, dots: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        z = np.float32(self.calibration.slope) * dots + np.float32(self.calibration.intercept)
        return -np.logaddexp(np.float32(0), -z if self.positive else z, dtype=np.float32)


class Lexicon:
    """The vocabulary of some texts: turns texts into sparse rows."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = Counter(word for text in texts for word in set(terms(text)))
        self.words = {word: k for k, word in enumerate(sorted(counts))}
        frequency = np.array([counts[word] for word in sorted(counts)], np.float64)
        self.idf = np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        self.mean_length = max(float(np.mean([len(terms(text)) for text in texts])) if len(texts) else 1.0, 1.0)

    def counts(self, texts: Sequence[str]) -> Any:
        """(N, words) how often each word occurs."""
        try:
            from scipy import sparse
        except ImportError:
            raise missing_extra("scipy", "build") from None
        rows = [Counter(self.words[w] for w in terms(text) if w in self.words) for text in texts]
        ends = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
        columns = np.array([c for row in rows for c in sorted(row)], np.int64)
        values = np.array([row[c] for row in rows for c in sorted(row)], np.float32)
        return sparse.csr_matrix((values, columns, ends), shape=(len(texts), max(len(self.words), 1)))

    def tfidf(self, texts: Sequence[str]) -> Any:
        """Rows of length 1: their inner product is the cosine."""
        from scipy import sparse

        x = self.counts(texts)
        x.data = 1 + np.log(x.data)
        x = x @ sparse.diags(self.idf if len(self.idf) else np.ones(1, np.float32))
        norms = np.sqrt(np.asarray(x.multiply(x).sum(1)).reshape(-1))
        return (sparse.diags(1 / np.where(norms > 0, norms, 1)) @ x).tocsr().astype(np.float32)

    def bm25(self, queries: Sequence[str], documents: Sequence[str]) -> tuple[Any, Any]:
        """Rows of queries and documents whose inner product is BM25."""
        from scipy import sparse

        asked = self.counts(queries)
        asked.data[:] = 1
        found = self.counts(documents)
        length = np.repeat(
            np.array([len(terms(text)) for text in documents], np.float32), np.diff(found.indptr)
        )  # of the document of each entry
        found.data = found.data * (K1 + 1) / (found.data + K1 * (1 - B + B * length / self.mean_length))
        weighted = asked @ sparse.diags(self.idf if len(self.idf) else np.ones(1, np.float32))
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


def vectors(queries: Sequence[str], documents: Sequence[str], weighting: Weighting) -> tuple[Any, Any]:
    """Sparse rows of queries and documents; the words' weights come from the documents and queries together."""
    lexicon = Lexicon([*queries, *documents])
    if weighting == "bm25":
        return lexicon.bm25(queries, documents)
    return lexicon.tfidf(queries), lexicon.tfidf(documents)
