"""What models look at: words, candidate texts, pixels, and the facts of a structured scene, each as one array.

Word and feature ids begin at 2: 0 is padding and 1 is a word that training never showed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO

import numpy as np
import numpy.typing as npt

from veridical.common.arrays import Ints
from veridical.errors import UserError
from veridical.language.english import plain_names
from veridical.language.reading.lexicon import words
from veridical.records import Panel, Ref, Text
from veridical.zoo.architecture import Example
from veridical.zoo.facts import LONGEST, Block, count_features, counts, properties, property_features

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

    def learn(self, sentences: Iterator[list[str]]) -> None:
        seen = Counter(word for sentence in sentences for word in sentence)
        self.state = sorted(word for word, n in seen.items() if n >= self.least)

    def encode(self, sentence: Sequence[str]) -> Ints:
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


class _Texts(Vocabulary):
    per_view = False

    def learn(self, examples: Sequence[Example]) -> None:  # type: ignore[override]
        super().learn(sentence for example in examples for sentence in self.read(example))

    def read(self, example: Example) -> list[list[str]]:
        raise NotImplementedError


class Words(_Texts):
    """The words of the sentence or question, for a reason also of the assumed answer: (T,) ids."""

    def read(self, example: Example) -> list[list[str]]:
        return [text_words(example.query, example.panels)]

    def encode(self, example: Example) -> Ints:  # type: ignore[override]
        return Vocabulary.encode(self, self.read(example)[0])


class CandidateWords(_Texts):
    """The words of each candidate: (C, T) ids."""

    def read(self, example: Example) -> list[list[str]]:
        texts = [c if isinstance(c, Text) else Text(c) for c in example.item.candidates]
        return [text_words(text, example.panels) for text in texts]

    def encode(self, example: Example) -> Ints:  # type: ignore[override]
        rows = [Vocabulary.encode(self, sentence) for sentence in self.read(example)]
        out = np.zeros((len(rows), max(1, *map(len, rows))), np.int64)
        for row, ids in zip(out, rows, strict=True):
            row[: len(ids)] = ids
        return out


class Crossed:
    """The features of MaxEnt and the MLP (NLVR section 6.2), (fact, n-gram) pairs: a set of ids, (F,)."""

    per_view = False

    def __init__(self, *, properties: bool = True, counts: bool = True, longest: int = LONGEST, least: int = 2) -> None:
        self.kinds: tuple[Callable[..., Iterator[Block]], ...] = (
            *((property_features,) if properties else ()),
            *((count_features,) if counts else ()),
        )
        self.longest, self.least = longest, least
        self.facts: dict[str, int] = {}
        self.grams: dict[str, int] = {}
        self.known: Ints = np.zeros(0, np.int64)  # the pairs that have an id, in order; see _codes

    def blocks(self, example: Example) -> Iterator[Block]:
        """The features of an example, in words."""
        sentence = text_words(example.item.query, example.panels)
        for kind in self.kinds:
            yield from kind(sentence, example.panels, self.longest)

    def learn(self, examples: Sequence[Example]) -> None:
        self.facts, self.grams = {}, {}
        codes = []
        for example in examples:
            own = [
                _codes(
                    [self.facts.setdefault(fact, len(self.facts)) for fact in facts],
                    [self.grams.setdefault(gram, len(self.grams)) for gram in grams],
                )
                for facts, grams in self.blocks(example)
            ]
            codes.append(_union(own))  # a feature counts once per item
        pairs, seen = np.unique(np.concatenate(codes), return_counts=True)
        self.known = pairs[seen >= self.least]

    def encode(self, example: Example) -> Ints:
        codes = _union(
            [
                _codes(
                    [self.facts[fact] for fact in facts if fact in self.facts],
                    [self.grams[gram] for gram in grams if gram in self.grams],
                )
                for facts, grams in self.blocks(example)
            ]
        )
        places = np.searchsorted(self.known, codes)
        is_known = places < len(self.known)
        is_known[is_known] = self.known[places[is_known]] == codes[is_known]
        return places[is_known] + FIRST

    @property
    def size(self) -> int:
        return len(self.known) + FIRST

    @property
    def state(self) -> dict[str, list[str] | list[int]]:
        return {"facts": list(self.facts), "grams": list(self.grams), "known": self.known.tolist()}

    @state.setter
    def state(self, value: dict[str, list[str] | list[int]]) -> None:
        self.facts = {str(fact): n for n, fact in enumerate(value["facts"])}
        self.grams = {str(gram): n for n, gram in enumerate(value["grams"])}
        self.known = np.array(value["known"], np.int64)


def _codes(facts: list[int], grams: list[int]) -> Ints:
    """Every pair as one number."""
    return (np.array(facts, np.int64)[:, None] << 32 | np.array(grams, np.int64)[None]).ravel()


def _union(codes: list[Ints]) -> Ints:
    return np.unique(np.concatenate(codes)) if codes else np.zeros(0, np.int64)


class SceneFacts:
    """Which properties hold and how many there are of each kind, without the sentence: (D,) zeros and ones."""

    per_view = False

    def __init__(self, least: int = 20) -> None:
        self.least = least
        self.ids: dict[str, int] = {}

    @staticmethod
    def facts(panels: Sequence[Panel]) -> set[str]:
        return properties(panels) | {f"{n} {kind}" for kind, n in counts(panels)}

    def learn(self, examples: Sequence[Example]) -> None:
        seen = Counter(fact for example in examples for fact in self.facts(example.panels))
        self.state = sorted(fact for fact, n in seen.items() if n >= self.least)

    def encode(self, example: Example) -> npt.NDArray[np.float32]:
        out = np.zeros(len(self.ids), np.float32)
        out[[self.ids[fact] for fact in self.facts(example.panels) if fact in self.ids]] = 1
        return out

    @property
    def size(self) -> int:
        return len(self.ids)

    @property
    def state(self) -> list[str]:
        return list(self.ids)

    @state.setter
    def state(self, known: list[str]) -> None:
        self.ids = {fact: n for n, fact in enumerate(known)}


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

    def encode(self, example: Example) -> npt.NDArray[np.uint8]:
        return np.ascontiguousarray(self._picture(example).transpose(2, 0, 1))

    def _picture(self, example: Example) -> npt.NDArray[np.uint8]:
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


def _decode(data: bytes, width: int, height: int, region: tuple[float, ...] | None = None) -> npt.NDArray[np.uint8]:
    from PIL import Image

    with Image.open(BytesIO(data)) as picture:
        whole = picture.convert("RGB")
    part = whole if region is None else whole.crop((int(region[0]), int(region[1]), int(region[2]), int(region[3])))
    return _resize(np.asarray(part), width, height)


def _resize(pixels: npt.NDArray[np.uint8], width: int, height: int) -> npt.NDArray[np.uint8]:
    if pixels.shape[:2] == (height, width):
        return pixels
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))
