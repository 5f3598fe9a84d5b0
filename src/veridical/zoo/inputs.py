"""What models look at: words, candidate texts and pixels, each as one array. (Facts of a scene: `facts`.)

Word ids begin at 2: 0 is padding and 1 is a word that training never showed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from veridical.common import arrays
from veridical.common.arrays import Array, Floats, Ints
from veridical.common.pictures import stored_picture, within
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
    """Words that training showed at least `least` times, in alphabetical order; each input says which words it has."""

    per_view = False
    first = FIRST  # the lowest id

    def __init__(self, least: int = 1) -> None:
        self.least = least
        self.ids: dict[str, int] = {}

    def texts(self, example: Example) -> Iterable[Iterable[str]]:
        """The words of an example, text by text."""
        raise NotImplementedError

    def learn(self, examples: Sequence[Example]) -> None:
        self.ids = {}
        self.grow(examples)

    def grow(self, examples: Sequence[Example]) -> None:
        """Add the words of other examples behind those that are known."""
        seen = Counter(word for example in examples for text in self.texts(example) for word in text)
        self.know([*self.ids, *sorted(word for word, n in seen.items() if n >= self.least and word not in self.ids)])

    def know(self, words: Sequence[str]) -> None:
        """Number these words, and no others."""
        self.ids = {word: self.first + n for n, word in enumerate(words)}

    def number(self, sentence: Iterable[str]) -> Ints:
        return np.array([self.ids.get(word, UNKNOWN) for word in sentence], np.int64)

    @property
    def size(self) -> int:
        return len(self.ids) + self.first

    state_shape: ClassVar[Any] = list[str]

    @property
    def state(self) -> list[str]:
        return list(self.ids)

    @state.setter
    def state(self, known: list[str]) -> None:
        self.know(known)


class Words(Vocabulary):
    """The words of the sentence or question, for a reason also of the assumed answer: (T,) ids."""

    def texts(self, example: Example) -> list[list[str]]:
        return [text_words(example.query, example.panels)]

    def encode(self, example: Example) -> Ints:
        return self.number(self.texts(example)[0])


class CandidateWords(Vocabulary):
    """The words of each candidate: (C, T) ids."""

    def texts(self, example: Example) -> list[list[str]]:
        return [text_words(text, example.panels) for text in candidate_texts(example)]

    def encode(self, example: Example) -> Ints:
        return pad([self.number(sentence) if sentence else np.zeros(1, np.int64) for sentence in self.texts(example)])


def pad(arrays: Sequence[Array]) -> Array:
    """Arrays of different sizes in one, filled up with zeros.

    >>> pad([np.array([1, 2]), np.array([3])]).tolist()
    [[1, 2], [3, 0]]
    """
    shape = tuple(np.max([a.shape for a in arrays], axis=0).tolist())
    if all(a.shape == shape for a in arrays):
        return np.stack(arrays)
    out = np.zeros((len(arrays), *shape), arrays[0].dtype)
    for place, array in zip(out, arrays, strict=True):
        place[tuple(slice(0, n) for n in array.shape)] = array
    return out


def candidate_texts(example: Example) -> list[Text]:
    """The candidates of an item as texts."""
    return [c if isinstance(c, Text) else Text(c) for c in example.item.candidates]


class StoredVectors:
    """Vectors that `veridical features` stored; `state` says of which weights, so that others are refused later."""

    state_shape: ClassVar[Any] = dict[str, int | list[float] | dict[str, str]]

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


class StoredRows(StoredVectors):
    """Stored vectors by row number, of several benchmarks behind each other; row 0 is no vector."""

    per_view = False

    def __init__(self, encoder: str) -> None:
        super().__init__(encoder)
        self._first: dict[Path, int] = {}  # the row number of a file's first vector
        self._end = 1

    def places(self, example: Example, keys: Sequence[str]) -> Ints:
        """The row numbers of vectors of an example's benchmark."""
        file = self.file(example)
        if example.folder is not None and example.folder not in self._first:
            self._first[example.folder] = self._end
            self._end += len(file)
        return self._first[example.folder or Path()] + file.places(keys)

    def vectors(self, rows: Ints) -> Floats:
        """(...) row numbers -> (..., D), scaled; zeros where there is no vector."""
        out: Floats | None = None
        for folder, first in self._first.items():
            file = self._files[folder][0]
            out = np.zeros((*rows.shape, file.size), np.float32) if out is None else out
            here = (rows >= first) & (rows < first + len(file))
            out[here] = scaled(file.matrix[rows[here] - first])
        return np.zeros((*rows.shape, int(self.state["size"])), np.float32) if out is None else out


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
            return decode(example.image(view.image), self.width, self.height)
        order = view.order if view is not None else tuple(range(len(example.panels)))
        panels = [example.panels[i] for i in order]
        if panels and all(panel.image is not None for panel in panels):
            edges = np.linspace(0, self.width, len(panels) + 1).astype(int)
            parts = [
                decode(example.image(panel.image or ""), right - left, self.height, panel.region)
                for panel, left, right in zip(panels, edges, edges[1:], strict=False)
            ]
            return np.concatenate(parts, axis=1)
        if len(panels) == 3 and all(panel.region is not None for panel in panels):
            from veridical.sources.boxes.drawings import draw

            return resize(draw(panels)[..., :3], self.width, self.height)
        raise UserError(
            f"Item {item.id} has no picture in the benchmark.", "Import it with its images, or train a text model."
        )


def decode(data: bytes, width: int, height: int, region: tuple[float, ...] | None = None) -> arrays.Pixels:
    """(A region of) a stored picture, squeezed into a size: (height, width, 3)."""
    return resize(cut(data, region), width, height)


def cut(data: bytes, region: tuple[float, ...] | None = None) -> arrays.Pixels:
    """(A region of) a stored picture: (H, W, 3)."""
    whole = stored_picture(data, "of an item").convert("RGB")
    if region is not None:
        left, top, right, bottom = map(int, within(whole.size, region))
        whole = whole.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    return np.asarray(whole)


def resize(pixels: arrays.Pixels, width: int, height: int) -> arrays.Pixels:
    """A picture squeezed into a size."""
    if pixels.shape[:2] == (height, width):
        return pixels
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))
