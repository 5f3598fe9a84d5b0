"""What models look at: words, candidate texts and pixels, each as one array. (Facts of a scene: `facts`.)

Word ids begin at 2: 0 is padding and 1 is a word that training never showed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from veridical.common import arrays
from veridical.common.arrays import Floats, Ints
from veridical.encoders import Features, load
from veridical.encoders.encoder import unit
from veridical.errors import UserError
from veridical.language.english import plain_names
from veridical.language.reading.lexicon import words
from veridical.records import Panel, Ref, Text
from veridical.zoo.architecture import Example

UNKNOWN, FIRST = 1, 2


def text_words(text: Text | None, panels: Sequence[Panel]) -> list[str]:
    """The words of a text; references read as people's neutral names and the classes of things."""
    if text is None:
        return []
    if not text.tokens:
        return words(text.raw)
    names = plain_names(panels)
    plain = " ".join(
        " ".join(names.get(o, "object") for o in token.objects) if isinstance(token, Ref) else token
        for token in text.tokens
    )
    return words(plain)


class Vocabulary:
    """Words that training showed at least `least` times, in alphabetical order."""

    def __init__(self, least: int = 1) -> None:
        self.least = least
        self.ids: dict[str, int] = {}

    def learn_words(self, sentences: Iterable[list[str]]) -> None:
        seen = Counter(word for sentence in sentences for word in sentence)
        self.state = sorted(word for word, n in seen.items() if n >= self.least)

    def number(self, sentence: Sequence[str]) -> Ints:
        return np.array([self.ids.get(word, UNKNOWN) for word in sentence], np.int64)

    @property
    def size(self) -> int:
        return len(self.ids) + FIRST

    @property
    def state(self) -> list[str]:
        return list(self.ids)

    @state.setter
    def state(self, known: list[str]) -> None:
        self.ids = {word: FIRST + n for n, word in enumerate(known)}


class Texts(Vocabulary):
    """A vocabulary over texts of an example; each input says which."""

    per_view = False

    def learn(self, examples: Sequence[Example]) -> None:
        self.learn_words(sentence for example in examples for sentence in self.read(example))

    def read(self, example: Example) -> list[list[str]]:
        raise NotImplementedError


class Words(Texts):
    """The words of the sentence or question, for a reason also of the assumed answer: (T,) ids."""

    def read(self, example: Example) -> list[list[str]]:
        return [text_words(example.query, example.panels)]

    def encode(self, example: Example) -> Ints:
        return self.number(self.read(example)[0])


class CandidateWords(Texts):
    """The words of each candidate: (C, T) ids."""

    def read(self, example: Example) -> list[list[str]]:
        return [text_words(text, example.panels) for text in candidate_texts(example)]

    def encode(self, example: Example) -> Ints:
        rows = [self.number(sentence) for sentence in self.read(example)]
        out = np.zeros((len(rows), max(1, *map(len, rows))), np.int64)
        for row, ids in zip(out, rows, strict=True):
            row[: len(ids)] = ids
        return out


def candidate_texts(example: Example) -> list[Text]:
    """The candidates of an item as texts."""
    return [c if isinstance(c, Text) else Text(c) for c in example.item.candidates]


class StoredVectors:
    """Vectors that `veridical features` stored; `state` says of which weights, so that others are refused later."""

    def __init__(self, encoder: str) -> None:
        self.encoder = encoder
        self.state: dict[str, Any] = {"size": 0}
        self._files: dict[Path, tuple[Features, dict[str, str]]] = {}

    @property
    def size(self) -> int:
        return int(self.state["size"])

    def file(self, example: Example) -> Features:
        """The vectors of an example's benchmark."""
        if example.folder is None:
            raise UserError(f"Item {example.item.id} is in no benchmark.", "Use the examples of a benchmark.")
        if example.folder not in self._files:
            opened = load(example.folder, self.encoder)
            self._files[example.folder] = opened, asdict(opened.identity)
        opened, identity = self._files[example.folder]
        self.same_weights("images", identity)
        return opened

    def same_weights(self, what: str, identity: dict[str, str]) -> None:
        """An error where vectors are of other weights than those in training."""
        if self.state.setdefault(what, identity) != identity:
            raise UserError(
                f"The model was trained on vectors of other weights of {identity['encoder']}.",
                "Encode with the weights it was trained on, or train it again.",
            )


def scaled(vectors: Floats) -> Floats:
    """Vectors of the same length, with numbers around 1: what linear layers like."""
    return unit(vectors) * np.float32(np.sqrt(vectors.shape[-1]))


class Pixels:
    """The picture of one view: (3, height, width) bytes. Several panels with pictures of their own stand side by side.

    A drawing of boxes whose picture is not stored is drawn from its objects: the pixels are the published ones.
    """

    per_view = True
    state: None = None

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height

    def learn(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    @property
    def size(self) -> int:
        return 3

    def encode(self, example: Example) -> arrays.Pixels:
        return np.ascontiguousarray(self._picture(example).transpose(2, 0, 1))

    def _picture(self, example: Example) -> arrays.Pixels:
        item = example.item
        view = item.views[example.view or 0] if item.views else None
        if view is not None and view.image is not None:
            return _decode(example.image(view.image), self.width, self.height)
        order = view.order if view is not None else tuple(range(len(example.panels)))
        panels = [example.panels[i] for i in order]
        if panels and all(panel.image is not None for panel in panels):
            edges = np.linspace(0, self.width, len(panels) + 1).astype(int)
            parts = [
                _decode(example.image(panel.image or ""), right - left, self.height, panel.region)
                for panel, left, right in zip(panels, edges, edges[1:], strict=False)
            ]
            return np.concatenate(parts, axis=1)
        if len(panels) == 3 and all(panel.region is not None for panel in panels):
            from veridical.sources.boxes.drawings import draw

            return _resize(draw(panels)[..., :3], self.width, self.height)
        raise UserError(
            f"Item {item.id} has no picture in the benchmark.", "Import it with its images, or train a text model."
        )


def _decode(data: bytes, width: int, height: int, region: tuple[float, ...] | None = None) -> arrays.Pixels:
    from PIL import Image

    with Image.open(BytesIO(data)) as picture:
        whole = picture.convert("RGB")
    part = whole if region is None else whole.crop((int(region[0]), int(region[1]), int(region[2]), int(region[3])))
    return _resize(np.asarray(part), width, height)


def _resize(pixels: arrays.Pixels, width: int, height: int) -> arrays.Pixels:
    if pixels.shape[:2] == (height, width):
        return pixels
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))
