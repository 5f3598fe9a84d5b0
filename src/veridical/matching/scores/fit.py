"""P_rel, how well a response answers a question, and P_sim, how alike two responses are, fitted to the data.

P_rel is learned where the model is an encoder. Encoders put a question beside its paraphrases, not beside its
answers. So score(q, r) = <q M, r>: a square matrix M, started at the identity and trained so that a question picks its
own response out of a batch (contrastive logistic regression; equal texts are no negatives), mends much of that; q M is
again a vector, so the matching needs nothing new. M is cross-fitted: the questions of a fold are mapped by a matrix
that was trained on other folds, so that no pair is scored by a model that saw it. Relevance is calibrated on own
against random responses.

P_sim keeps a wrong choice from being right as well. A question/answer file has no labels for that, so what counts as
similar is made: a response against a light rewording of itself (other articles, a dropped filler, another order of a
list), against another response drawn at random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Floats, Ints
from veridical.engine.progress import Progress
from veridical.matching.scores import models
from veridical.matching.scores.models import WORDS, Calibration, PairModel, calibrate, encoder, random_partners

MOST_PAIRS = 20_000  # that a calibration looks at
PARTS = 3  # matrices: each is trained on the folds of the other parts
EPOCHS = 8
LEAST_STEPS = 300  # for small data
BATCH = 512
RATE = 3e-3
PULL = 2e-3  # towards the identity, per step
SCALE = 20.0  # inverse temperature of the softmax over a batch
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
    precision: str = "fp32",
) -> PairModel:
    """P_rel(query, response). With `learned`, embeddings are mapped by what other folds teach, where that helps.

    Calibrated on own against random pairs; every own pair is held out of what scores it.
    """
    helped = False
    if name in WORDS:
        left, right = models.word_vectors(queries, responses, "bm25" if name == "bm25" else "tfidf")
    else:
        encode = encoder(name, precision)
        left, right = encode(queries), encode(responses)
        if learned:
            left, helped = mapped(left, right, texts, folds, rng)
    rows = rng.permutation(len(texts))[:MOST_PAIRS]
    partner = random_partners([str(t) for t in texts], rng)
    apart = rows[texts[partner[rows]] != texts[rows]]
    found = calibrate(models.dots(left, right, rows, rows), models.dots(left, right, apart, partner[apart]), rng)
    return PairModel(name, left, right, found, True, helped)


def learn(left: Floats, right: Floats, texts: Ints, rng: np.random.Generator, label: str = "") -> Floats:
    """A matrix (D, D) such that the rows of `left @ M` lie near the rows of `right` they belong to.

    Vectors have length 1; `texts` numbers the responses, equal numbers are equal texts.
    """
    size = left.shape[1]
    identity = np.eye(size, dtype=np.float32)
    if len(left) < LEAST:
        return identity
    matrix = identity.copy()
    first, second = np.zeros_like(matrix), np.zeros_like(matrix)
    batches = max(1, len(left) // min(BATCH, max(64, len(left) // 16)))
    epochs = max(EPOCHS, -(-LEAST_STEPS // batches))
    steps, step = epochs * batches, 0
    with Progress(label or "Learning relevance", steps, "steps") as progress:
        for _ in range(epochs):
            for rows in np.array_split(rng.permutation(len(left)), batches):
                gradient = _gradient(left[rows], right[rows], texts[rows], matrix)
                step += 1
                first += 0.1 * (gradient - first)
                second += 0.001 * (gradient * gradient - second)
                correct = np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                rate = RATE * (1 - step / (steps + 1))  # to zero in a line
                matrix -= (rate * correct * first / (np.sqrt(second) + 1e-8)).astype(np.float32)
                matrix += np.float32(PULL * rate / RATE) * (identity - matrix)
                progress.advance()
    return matrix


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
    out = left.copy()
    better = []
    for number in range(int(part.max()) + 1):
        here = part == number
        matrix = learn(left[~here], right[~here], texts[~here], rng, f"Learning relevance, part {number + 1}")
        out[here] = left[here] @ matrix
        rows = rng.permutation(np.flatnonzero(here))[:1000]
        better.append(_picks(out[rows], right[rows], texts[rows]) - _picks(left[rows], right[rows], texts[rows]))
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
    """How early each row's own response comes among all: the mean of 1 / rank."""
    z = left @ right.T
    own = z[np.arange(len(z)), np.arange(len(z))]
    z[texts[:, None] == texts[None, :]] = -np.inf
    return float((1 / (1 + (z > own[:, None]).sum(1))).mean())


# --- similarity ------------------------------------------------------------------------------------------------------

FILLERS = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "to", "of", "in", "on", "at", "his", "her", "their", "its"}
    | {"it", "he", "she", "they", "and", "that", "this"}
)


def fit_similarity(
    name: str, responses: Sequence[str], rng: np.random.Generator, *, precision: str = "fp32"
) -> PairModel:
    """P_sim(response, response). Calibrated on rewordings against random pairs: see above."""
    if name in WORDS:
        lexicon = models.Lexicon(responses)
        table = lexicon.tfidf(responses)  # a similarity is symmetric, BM25 is not

        def score(one: Sequence[str], other: Sequence[str]) -> npt.ArrayLike:
            return np.asarray(lexicon.tfidf(one).multiply(lexicon.tfidf(other)).sum(1)).reshape(-1)

        return PairModel("tfidf", table, table, calibrate_similarity(responses, score, rng), False)
    encode = encoder(name, precision)
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
