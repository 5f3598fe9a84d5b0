"""P_rel and P_sim of all pairs of a fold, from sentence embeddings or from words alone, as calibrated probabilities.

A model is named: `tfidf` and `bm25` need nothing, every other name is a text encoder of `features` (minilm, any
checkpoint of a hub). A relevance model reads questions and responses, a similarity model responses on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.matching.assignment.problem import EmbeddingScores, Scores
from veridical.matching.scores.bilinear import mapped
from veridical.matching.scores.calibration import Calibration, calibrate, calibrate_similarity, random_partners
from veridical.matching.scores.lexical import Lexicon, SparseScores, vectors

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Encode = Callable[[Sequence[str]], Floats]  # texts -> vectors of length 1

WORDS = ("bm25", "tfidf")  # models that are no encoders
OFFLINE = "minilm"
PROJECTED = 64  # numbers of a projected sparse row
MOST_PAIRS = 20_000  # that a calibration looks at


@dataclass(frozen=True)
class Fitted:
    """A relevance or similarity model over all rows: asked for the scores of the rows of one fold at a time."""

    name: str
    left: Any  # (N, D) dense or sparse
    right: Any
    calibration: Calibration
    positive: bool  # relevance: log P; similarity: log (1 - P)
    about: dict[str, Any] = field(default_factory=dict)

    def scores(self, rows: Ints) -> Scores:
        if isinstance(self.left, np.ndarray):
            left, right = (np.ascontiguousarray(side[rows]) for side in (self.left, self.right))
            return EmbeddingScores(left, right, self.calibration.slope, self.calibration.intercept, self.positive)
        return SparseScores(self.left[rows], self.right[rows], self.calibration, self.positive)

    def take(self, rows: Ints) -> Fitted:
        """The same model over some of the rows."""
        return replace(self, left=self.left[rows], right=self.right[rows])

    def query_vectors(self, rows: Ints) -> Floats:
        """A dense vector for the query of each row; sparse rows are projected at random, which keeps distances."""
        if isinstance(self.left, np.ndarray):
            return np.asarray(self.left[rows], np.float32)
        project = np.random.default_rng(0).standard_normal((self.left.shape[1], PROJECTED)).astype(np.float32)
        return np.asarray(self.left[rows] @ project, np.float32)

    def of_pairs(self, rows: Ints, columns: Ints) -> npt.NDArray[np.float64]:
        """Raw scores of pairs, before calibration."""
        return _dots(self.left, self.right, rows, columns)

    def to_json(self) -> dict[str, Any]:
        return {"model": self.name, **self.about, "calibration": self.calibration.to_json()}


def encoder(name: str) -> Encode:
    """An encoder of `features` as a function of texts."""
    from veridical.encoders import TextVectors
    from veridical.encoders.encoder import unit

    opened = TextVectors(name)
    return lambda texts: unit(opened.rows(texts))


def fit_relevance(
    name: str,
    queries: Sequence[str],
    responses: Sequence[str],
    texts: Ints,
    folds: Sequence[str],
    rng: np.random.Generator,
    *,
    learned: bool = True,
) -> Fitted:
    """P_rel(query, response). With `learned`, embeddings are mapped by what other folds teach, where that helps.

    Calibrated on own against random pairs; every own pair is held out of what scores it.
    """
    about: dict[str, Any] = {"learned": False}
    if name in WORDS:
        left, right = vectors(queries, responses, "bm25" if name == "bm25" else "tfidf")
    else:
        encode = encoder(name)
        left, right = encode(queries), encode(responses)
        if learned:
            left, about["learned"] = mapped(left, right, texts, folds, rng)
    rows = rng.permutation(len(texts))[:MOST_PAIRS]
    partner = random_partners([str(t) for t in texts], rng)
    apart = rows[texts[partner[rows]] != texts[rows]]
    found = calibrate(_dots(left, right, rows, rows), _dots(left, right, apart, partner[apart]), rng)
    return Fitted(name, left, right, found, True, about)


def fit_similarity(name: str, responses: Sequence[str], rng: np.random.Generator) -> Fitted:
    """P_sim(response, response). Calibrated on rewordings against random pairs: see `calibration`."""
    if name in WORDS:
        lexicon = Lexicon(responses)
        table = lexicon.tfidf(responses)  # a similarity is symmetric, BM25 is not

        def score(one: Sequence[str], other: Sequence[str]) -> npt.ArrayLike:
            return np.asarray(lexicon.tfidf(one).multiply(lexicon.tfidf(other)).sum(1)).reshape(-1)

        return Fitted("tfidf", table, table, calibrate_similarity(responses, score, rng), False)
    encode = encoder(name)
    dense = encode(responses)
    found = calibrate_similarity(responses, lambda one, other: (encode(one) * encode(other)).sum(1), rng)
    return Fitted(name, dense, dense, found, False)


def _dots(left: Any, right: Any, rows: Ints, columns: Ints) -> npt.NDArray[np.float64]:
    if isinstance(left, np.ndarray):
        return np.einsum("nd,nd->n", left[rows], right[columns]).astype(np.float64)
    return np.asarray(left[rows].multiply(right[columns]).sum(1), np.float64).reshape(-1)
