"""What a model that grounds tags in a photograph looks at (VCR, section 5: the data path of R2C).

A text is a list of (word, object): a tag is the word for its class with the number of its object, any other word has
object 0. Objects are the whole photograph, then the tagged boxes: class, place and the vector of an encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from veridical.common.arrays import Floats, Ints
from veridical.encoders import Features, load, object_regions, panel_key, region_key
from veridical.encoders.encoder import unit
from veridical.errors import UserError
from veridical.language.reading.lexicon import words
from veridical.records import Panel, Ref, Text
from veridical.zoo.architecture import Example
from veridical.zoo.inputs import Vocabulary

WHOLE = 1  # the number of the whole photograph among objects; 0 is no object
PHOTOGRAPH = "(photograph)"  # its class
PLACES = 5  # left, top, right, bottom and area, as shares of the photograph

Pair = tuple[str, int]  # a word, and the number of the object it points at


def tagged_words(text: Text | None, panel: Panel) -> list[Pair]:
    """Words with the objects they point at; a tag is a word for each object it names.

    >>> from veridical.records import SceneObject
    >>> panel = Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "dog")))
    >>> tagged_words(Text("", ("Is", Ref(("0", "1")), "sad", "?")), panel)
    [('is', 0), ('person', 2), ('dog', 3), ('sad', 0)]
    """
    if text is None:
        return []
    if not text.tokens:
        return [(word, 0) for word in words(text.raw)]
    number = {one.id: WHOLE + 1 + k for k, one in enumerate(panel.objects)}
    category = {one.id: one.category.lower() for one in panel.objects}
    out: list[Pair] = []
    for token in text.tokens:
        if isinstance(token, Ref):
            out += [(category.get(one, "object"), number.get(one, 0)) for one in token.objects]
        else:
            out += [(word, 0) for word in words(token)]
    return out


def only_panel(example: Example) -> Panel:
    """The photograph of an item."""
    if len(example.panels) != 1:
        raise UserError(
            f"Item {example.item.id} has {len(example.panels)} panels.", "Models that ground tags take one photograph."
        )
    return example.panels[0]


class _Tagged(Vocabulary):
    per_view = False

    def learn(self, examples: Sequence[Example]) -> None:  # type: ignore[override]
        super().learn([word for word, _ in text] for example in examples for text in self.read(example))

    def read(self, example: Example) -> list[list[Pair]]:
        raise NotImplementedError

    def pairs(self, text: list[Pair]) -> Ints:
        """(T, 2) word ids and object numbers."""
        ids = Vocabulary.encode(self, [word for word, _ in text])
        return np.stack([ids, np.array([number for _, number in text], np.int64)], axis=1) if text else _NOTHING


_NOTHING = np.zeros((1, 2), np.int64)


class TaggedQuery(_Tagged):
    """The question, for a reason with the assumed answer: (T, 2)."""

    def read(self, example: Example) -> list[list[Pair]]:
        return [tagged_words(example.query, only_panel(example))]

    def encode(self, example: Example) -> Ints:  # type: ignore[override]
        return self.pairs(self.read(example)[0])


class TaggedResponses(_Tagged):
    """The candidates: (C, T, 2)."""

    def read(self, example: Example) -> list[list[Pair]]:
        texts = [c if isinstance(c, Text) else Text(c) for c in example.item.candidates]
        return [tagged_words(text, only_panel(example)) for text in texts]

    def encode(self, example: Example) -> Ints:  # type: ignore[override]
        rows = [self.pairs(text) for text in self.read(example)]
        out = np.zeros((len(rows), max(len(row) for row in rows), 2), np.int64)
        for place, row in zip(out, rows, strict=True):
            place[: len(row)] = row
        return out


class ObjectClasses(Vocabulary):
    """The classes of the photograph and its objects: (1 + O,) ids."""

    per_view = False

    def learn(self, examples: Sequence[Example]) -> None:  # type: ignore[override]
        super().learn(self._names(example) for example in examples)

    def encode(self, example: Example) -> Ints:  # type: ignore[override]
        return Vocabulary.encode(self, self._names(example))

    @staticmethod
    def _names(example: Example) -> list[str]:
        return [PHOTOGRAPH, *(one.category.lower() for one in only_panel(example).objects)]


class ObjectVectors:
    """The vectors and places of the photograph and its objects: (1 + O, D + 5), from `veridical features --objects`.

    Without an encoder there are only places.
    """

    per_view = True  # made batch by batch: all vectors of a benchmark may be larger than memory

    def __init__(self, encoder: str) -> None:
        self._encoder = encoder
        self._files: dict[Path, Features] = {}
        self.state: dict[str, Any] = {"size": 0}

    @property
    def size(self) -> int:
        return int(self.state["size"])

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": 0}
        self.state["size"] = self.encode(examples[0]).shape[1]

    def encode(self, example: Example) -> Floats:
        panel = only_panel(example)
        if not self._encoder:
            return _places(panel)
        key = panel_key(panel)
        if key is None or panel.image is None or example.folder is None:
            raise UserError(
                f"The photograph of item {example.item.id} is not in the benchmark.", "Import it with its images."
            )
        keys = [key, *(region_key(panel.image, box) for box in object_regions(panel))]
        vectors = unit(self._file(example.folder).rows(keys))
        vectors = vectors * np.float32(np.sqrt(vectors.shape[1]))  # numbers around 1: what linear layers like
        return np.concatenate([vectors, _places(panel)], axis=1)

    def _file(self, folder: Path) -> Features:
        if folder not in self._files:
            opened = load(folder, self._encoder)
            identity = asdict(opened.identity)
            if self.state.setdefault("images", identity) != identity:
                raise UserError(
                    f"The model was trained on vectors of other weights of {self._encoder}.",
                    "Encode with the weights it was trained on, or train it again.",
                )
            self._files[folder] = opened
        return self._files[folder]


def _places(panel: Panel) -> Floats:
    """(1 + O, 5) where each object lies; one without a box lies everywhere."""
    width, height = float(panel.width or 1), float(panel.height or 1)
    whole = (0.0, 0.0, width, height)
    boxes = np.array([whole, *(one.box or whole for one in panel.objects)], np.float32)
    boxes /= np.array([width, height, width, height], np.float32)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return np.concatenate([boxes, area[:, None]], axis=1)
