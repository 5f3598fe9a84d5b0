"""P_rel, how well a response answers a question, and P_sim, how alike two responses are, fitted to the data.

P_rel is learned where the model is an encoder. Encoders put a question beside its paraphrases, not beside its
answers. So score(q, r) = <q M, r>: a square matrix M mends much of that; q M is again a vector, so the matching needs
nothing new. M starts at what is known in one step, the covariance of questions and their responses with that of each
side taken out,

    M = (Q'Q + a)^-1 Q'R (R'R + b)^-1,   a and b ridges

and is then trained so that a question picks its own response out of a batch (contrastive logistic regression; equal
texts are no negatives). M is cross-fitted: the questions of a fold are mapped by a matrix that was trained on other
folds, so that no pair is scored by a model that saw it. Relevance is calibrated on own against random responses.

P_sim keeps a wrong choice from being right as well. A question/answer file has no labels for that, so what counts as
similar is made: a response against a light rewording of itself (other articles, a dropped filler, another order of a
list), against another response drawn at random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Doubles, Floats, Ints, one_thread
from veridical.engine.progress import Progress
from veridical.matching.scores import models
from veridical.matching.scores.models import (
    WORDS,
    Calibration,
    Encode,
    PairModel,
    calibrate,
    encoder,
    random_partners,
)

MOST_PAIRS = 20_000  # that a calibration looks at
PARTS = 3  # matrices: each is trained on the folds of the other parts
STEPS = 60  # from the start in one step; more win nothing
BATCH = 512
RATE = 0.05  # of the mean size of M's numbers
RIDGE, FEW = 2.0, 4.0  # of the mean variance of a dimension; more where rows are few for the dimensions
SCALE = 20.0  # inverse temperature of the softmax over a batch
SMALLEST = 1e-9
NEAR = 1e-5  # of a score: what differs by less is equal
LEAST = 200  # pairs to train on; with fewer the identity is as good


def fit_relevance(
    name: str,
    queries: Sequence[str],
    responses: Sequence[str],
    texts: Ints,
    folds: Sequence[str],
    rng: np.random.Generator,
    *,
    learned: bool = True,
    encode: Encode | None = None,
) -> PairModel:
    """P_rel(query, response). With `learned`, embeddings are mapped by what other folds teach, where that helps.

    Calibrated on own against random pairs; every own pair is held out of what scores it. `encode` is what the name
    stands for, where that is open already.
    """
    helped = False
    if name in WORDS:
        left, right = models.word_vectors(queries, responses, "bm25" if name == "bm25" else "tfidf")
    else:
        encode = encode or encoder(name)
        left, right = encode(queries), encode(responses)
        if learned:
            left, helped = mapped(left, right, texts, folds, rng)
    rows = rng.permutation(len(texts))[:MOST_PAIRS]
    partner = random_partners([str(t) for t in texts], rng)
    apart = rows[texts[partner[rows]] != texts[rows]]
    found = calibrate(models.dots(left, right, rows, rows), models.dots(left, right, apart, partner[apart]), rng)
    return PairModel(name, left, right, found, True, helped)


def learn(left: Floats, right: Floats, texts: Ints, rng: np.random.Generator) -> Floats:
    """A matrix (D, D) such that the rows of `left @ M` lie near the rows of `right` they belong to.

    Vectors have length 1; `texts` numbers the responses, equal numbers are equal texts.
    """
    if len(left) < LEAST:
        return np.eye(left.shape[1], dtype=np.float32)
    matrix = _in_one_step(left, right)
    matrix /= np.linalg.norm(left @ matrix, axis=1).mean() + SMALLEST
    step_size = RATE * float(np.abs(matrix).mean())
    first, second = np.zeros_like(matrix), np.zeros_like(matrix)
    for step in range(1, STEPS + 1):
        rows = rng.permutation(len(left))[: min(BATCH, len(left) // 2)]
        gradient = _gradient(left[rows], right[rows], texts[rows], matrix)
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient * gradient - second)
        correct = np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        rate = step_size * (1 - step / (STEPS + 1))  # to zero in a line
        matrix -= np.float32(rate * correct) * first / (np.sqrt(second) + np.float32(1e-8))
    return matrix


def _in_one_step(left: Floats, right: Floats) -> Floats:
    """The covariance of both sides with the variances of each taken out: see above."""
    count, size = left.shape
    share = RIDGE * (1 + FEW * size / count)

    def without(side: Floats, table: Doubles) -> Doubles:
        own = np.asarray(side.T @ side, np.float64) / count
        return np.linalg.solve(own + share * np.trace(own) / size * np.eye(size), table)

    both = np.asarray((left - left.mean(0)).T @ (right - right.mean(0)), np.float64) / count
    return np.ascontiguousarray(without(right, without(left, both).T).T, np.float32)


def _gradient(q: Floats, r: Floats, texts: Ints, matrix: Floats) -> Floats:
    """Of the mean cross-entropy of picking the own response among those of the batch, and the own question."""
    z = SCALE * ((q @ matrix) @ r.T)  # (B, B)
    same = texts[:, None] == texts[None, :]
    np.fill_diagonal(same, False)
    z[same] = -np.inf
    rows = np.exp(z - z.max(1, keepdims=True))
    rows /= rows.sum(1, keepdims=True)
    columns = np.exp(z - z.max(0, keepdims=True))
    columns /= columns.sum(0, keepdims=True)
    pull = 0.5 * (rows + columns)
    pull[np.arange(len(q)), np.arange(len(q))] -= 1
    return np.asarray((SCALE / len(q)) * (q.T @ (pull @ r)))


def mapped(
    left: Floats, right: Floats, texts: Ints, folds: Sequence[str], rng: np.random.Generator
) -> tuple[Floats, bool]:
    """The rows of `left`, each mapped by a matrix that other folds taught; and whether held-out pairs gain by it.

    With one fold its halves teach each other: which half a row is in is drawn, equal texts of responses together.
    """
    part = parts_of(folds, texts, rng)
    parts = int(part.max()) + 1
    out, better = left.copy(), []
    with Progress("Learning relevance", parts, "parts") as progress, one_thread():
        for number in range(parts):
            here = part == number
            matrix = learn(left[~here], right[~here], texts[~here], rng)
            out[here] = left[here] @ matrix
            rows = rng.permutation(np.flatnonzero(here))[:1000]
            better.append(_picks(out[rows], right[rows], texts[rows]) - _picks(left[rows], right[rows], texts[rows]))
            progress.advance()
    out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)
    return (out, True) if np.mean(better) > 0 else (left, False)


def parts_of(folds: Sequence[str], texts: Ints, rng: np.random.Generator) -> Ints:
    """Which part each row is in: whole folds, as equal as they allow; with one fold, halves by response text."""
    names, code = np.unique(np.asarray(folds, dtype=object).astype(str), return_inverse=True)
    if len(names) == 1:
        return rng.permutation(int(texts.max()) + 1)[texts] % 2
    totals = np.zeros(min(PARTS, len(names)), np.int64)
    of_fold = np.zeros(len(names), np.int64)
    sizes = np.bincount(code)
    for fold in np.argsort(-sizes, kind="stable"):
        of_fold[fold] = int(totals.argmin())
        totals[of_fold[fold]] += sizes[fold]
    return of_fold[code]


def _picks(left: Floats, right: Floats, texts: Ints) -> float:
    """How early each row's own response comes among all others: the mean of 1 / rank, equals counting half."""
    z = left @ right.T
    own = np.diag(z).copy()[:, None]
    z[texts[:, None] == texts[None, :]] = -np.inf
    near = np.float32(NEAR) * np.abs(own)
    return float((1 / (1 + ((z > own + near).sum(1) + (z >= own - near).sum(1)) / 2)).mean())


# --- similarity ------------------------------------------------------------------------------------------------------

FILLERS = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "to", "of", "in", "on", "at", "his", "her", "their", "its"}
    | {"it", "he", "she", "they", "and", "that", "this"}
)


def fit_similarity(
    name: str, responses: Sequence[str], rng: np.random.Generator, *, encode: Encode | None = None
) -> PairModel:
    """P_sim(response, response). Calibrated on rewordings against random pairs: see above."""
    if name in WORDS:
        lexicon = models.Lexicon(responses)
        table = lexicon.tfidf(responses)  # a similarity is symmetric, BM25 is not

        def score(one: Sequence[str], other: Sequence[str]) -> npt.ArrayLike:
            return np.asarray(lexicon.tfidf(one).multiply(lexicon.tfidf(other)).sum(1)).reshape(-1)

        return PairModel("tfidf", table, table, calibrate_similarity(responses, score, rng), False)
    encode = encode or encoder(name)
    dense = encode(responses)
    found = calibrate_similarity(responses, lambda one, other: (encode(one) * encode(other)).sum(1), rng)
    return PairModel(name, dense, dense, found, False)


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


def reworded(text: str, rng: np.random.Generator) -> str:
    """A text that says the same in other words, or nearly: fillers go or change, halves around "and" change places.

    >>> reworded("The dog", np.random.default_rng(0)) in {"dog", "the dog", "a dog", "Dog.", "dog ."}
    True
    """
    words = re.findall(r"[\w']+|[^\w\s]", text)
    if "and" in words[1:-1]:
        middle = words.index("and", 1)
        words = [*words[middle + 1 :], "and", *words[:middle]]
    kept = [w for w in words if w.lower() not in FILLERS or rng.random() < 0.5]
    kept = kept or words
    if len(kept) >= 5:  # one word less hardly changes what a long sentence says
        kept.pop(int(rng.integers(len(kept))))
    return " ".join(kept).lower()
