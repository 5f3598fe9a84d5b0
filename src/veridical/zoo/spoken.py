"""Question and candidates as frozen word vectors, each word with the number of the object it points at.

Vectors come from the second-to-last layer of any encoder of `transformers` (`minilm` here, in place of the papers' BERT
and ELMo), or from GloVe; every distinct text is encoded once and kept by content hash. Tags read as the paper has them
(VCR, section 6.1): people by gender-neutral names, things by their classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from veridical.common.arrays import Floats, Ints
from veridical.encoders import WordVectors
from veridical.language.english import plain_names
from veridical.language.reading.lexicon import words
from veridical.records import Panel, Ref, Text
from veridical.zoo.architecture import Example, Input
from veridical.zoo.inputs import StoredVectors, candidate_texts, pad, scaled
from veridical.zoo.objects import WHOLE

Spoken = list[tuple[str, int]]  # words, and the numbers of the objects they point at


@dataclass(frozen=True)
class ReaderConfig:
    """Encoder and sizes of a model that reads texts alone."""

    words: str = "minilm"  # encoder of words: any of transformers, by its second-to-last layer, or glove
    hidden: int = 64  # width of its BiLSTMs and of the perceptron
    dropout: float = 0.2  # of words and of the hidden layer


def spoken(text: Text | None, panels: Sequence[Panel]) -> Spoken:
    """The words of a text, each with the object it points at; other words point at the whole photograph.

    >>> from veridical.records import SceneObject
    >>> panel = Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "dog")))
    >>> spoken(Text("", ("Is", Ref(("0", "1")), "sad", "?")), [panel])
    [('is', 1), ('casey', 2), ('dog', 3), ('sad', 1)]
    """
    if text is None:
        return []
    if not text.tokens:
        return [(word, WHOLE) for word in words(text.raw)]
    tagged = any(isinstance(token, Ref) for token in text.tokens)
    names = plain_names(panels) if tagged else {}
    objects = [one.id for panel in panels for one in panel.objects] if tagged else []
    number = {name: WHOLE + 1 + k for k, name in enumerate(objects)}
    out: Spoken = []
    for token in text.tokens:
        if isinstance(token, Ref):
            said = [(names.get(o, "object"), number.get(o, WHOLE)) for o in token.objects]
        else:
            said = [(token, WHOLE)]
        out += [(word, place) for part, place in said for word in _words(part)]
    return out


@lru_cache(maxsize=100_000)  # the same few words, over and over
def _words(token: str) -> tuple[str, ...]:
    return tuple(words(token))


def query_of(example: Example) -> list[Spoken]:
    """The question, for a reason with the assumed answer."""
    return [spoken(example.query, example.panels)]


def responses_of(example: Example) -> list[Spoken]:
    """The candidates."""
    return [spoken(text, example.panels) for text in candidate_texts(example)]


class SpokenVectors(StoredVectors):
    """Row numbers of word vectors, 0 for padding, looked up as vectors: of the question (T,), of candidates (C, T)."""

    per_view = False

    def __init__(self, encoder: str, candidates: bool) -> None:
        super().__init__(encoder)
        self._candidates = candidates
        self._vectors: WordVectors | None = None

    @property
    def vectors(self) -> WordVectors:
        if self._vectors is None:
            self._vectors = WordVectors(self.encoder)
        self.same_weights("words", asdict(self._vectors.identity))
        return self._vectors

    def texts(self, example: Example) -> list[tuple[str, ...]]:
        said = responses_of(example) if self._candidates else query_of(example)
        return [tuple(word for word, _ in text) for text in said]

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": 0}
        self.prepare(examples)
        self.state["size"] = self.vectors.size

    def prepare(self, examples: Sequence[Example]) -> None:
        """Encode all texts that are not known yet, in batches."""
        self.vectors.add(text for example in examples for text in self.texts(example))

    def encode(self, example: Example) -> Ints:
        rows = [1 + self.vectors.places(text) if text else np.zeros(1, np.int64) for text in self.texts(example)]
        return np.asarray(pad(rows) if self._candidates else rows[0])

    def look_up(self, rows: Ints) -> Floats:
        found = scaled(self.vectors.at(np.maximum(rows - 1, 0)))
        return found * (rows > 0)[..., None]


class Tags:
    """The number of the object that each word points at, 0 for padding: of the question (T,), of candidates (C, T)."""

    per_view = False
    size = 0
    state: None = None
    state_shape: ClassVar[Any] = None

    def __init__(self, candidates: bool) -> None:
        self._candidates = candidates

    def learn(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def encode(self, example: Example) -> Ints:
        if not self._candidates:
            return _numbers(query_of(example)[0])
        return np.asarray(pad([_numbers(text) for text in responses_of(example)]))


def _numbers(text: Iterable[tuple[str, int]]) -> Ints:
    return np.array([number for _, number in text] or [0], np.int64)


def spoken_inputs(encoder: str, query: bool = True) -> dict[str, Input]:
    """The inputs of a model that reads the candidates and, with `query`, the question."""
    out: dict[str, Input] = {"responses": SpokenVectors(encoder, True), "response_tags": Tags(True)}
    return out | ({"query": SpokenVectors(encoder, False), "query_tags": Tags(False)} if query else {})
