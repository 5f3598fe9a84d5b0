"""P_sim: how alike two responses are, so that a wrong choice is kept from being right as well.

A question/answer file has no labels for that, so what counts as similar is made: a response against a light rewording
of itself (other articles, a dropped filler, another order of a list), against another response drawn at random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from veridical.matching.scores.models import WORDS, Calibration, Lexicon, PairModel, calibrate, encoder, random_partners

_FILLERS = frozenset(
    {"a", "an", "the", "is", "are", "was", "were", "be", "to", "of", "in", "on", "at", "his", "her", "their", "its"}
    | {"it", "he", "she", "they", "and", "that", "this"}
)


def fit_similarity(name: str, responses: Sequence[str], rng: np.random.Generator) -> PairModel:
    """P_sim(response, response). Calibrated on rewordings against random pairs: see above."""
    if name in WORDS:
        lexicon = Lexicon(responses)
        table = lexicon.tfidf(responses)  # a similarity is symmetric, BM25 is not

        def score(one: Sequence[str], other: Sequence[str]) -> npt.ArrayLike:
            return np.asarray(lexicon.tfidf(one).multiply(lexicon.tfidf(other)).sum(1)).reshape(-1)

        return PairModel("tfidf", table, table, calibrate_similarity(responses, score, rng), False)
    encode = encoder(name)
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
    kept = [w for w in words if w.lower() not in _FILLERS or rng.random() < 0.5]
    kept = kept or words
    if len(kept) >= 5:  # one word less hardly changes what a long sentence says
        kept.pop(int(rng.integers(len(kept))))
    return " ".join(kept).lower()
