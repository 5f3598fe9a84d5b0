"""Facts of a scene of boxes, for NLVR's structured baselines (Suhr et al. 2017, section 6.2).

A *property* is true or not ("a black object touches the wall"); a *count* is a class of objects and how many there are
("black triangle in all", 3). Properties are crossed with every n-gram of the sentence; a count is compared with each
number of the sentence and crossed with the n-grams around it. In count features the colours, shapes and sizes that the
sentence names stand as variables (`# color1 shape1`), so that "two black squares" tells something about "six blue
circles"; classes that the sentence does not name are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

import numpy as np

from veridical.common.arrays import Floats, Ints
from veridical.errors import UserError
from veridical.language.reading.lexicon import NUMBERS
from veridical.records import Box, Panel
from veridical.zoo.architecture import Example
from veridical.zoo.inputs import FIRST, Vocabulary, text_words

LONGEST = 6  # words of an n-gram
COLORS = ("black", "blue", "yellow")
SHAPES = ("circle", "square", "triangle")
SIZES = ("small", "medium", "large")
NAMED = {**dict.fromkeys(COLORS, "color"), **dict.fromkeys(SHAPES, "shape"), **dict.fromkeys(SIZES, "size")}
HEIGHTS = (1, 2, 3, 4)  # of towers
TOWER_GAP = 1  # pixels between the blocks of a drawn tower
PLURALS = {f"{one}s": one for one in (*SHAPES, "block", "object", "tower")}
PLURALS |= {"boxes": "box", "items": "object", "item": "object"}
COMPARED = {-1: "fewer", 0: "as many", 1: "more"}

Block = tuple[list[str], list[str]]  # facts and n-grams: each pair of one and the other is a feature


@dataclass(frozen=True, slots=True)
class SeenObject:
    """An object of a box, with what the features ask about it."""

    shape: str
    color: str
    size: str
    box: Box
    walls: int  # how many sides of its panel it touches
    on_floor: bool  # touches the bottom of its panel
    centred: bool  # as far from the left side as from the right

    @property
    def traits(self) -> tuple[str, str, str]:
        return self.size, self.color, self.shape


def things(panel: Panel) -> list[SeenObject]:
    """The objects of a panel that have a place."""
    found = []
    for o in panel.objects:
        if o.box is not None:
            left, top, right, bottom = o.box
            width, height = panel.width or 0, panel.height or 0
            walls = (left <= 0) + (top <= 0) + (right >= width) + (bottom >= height)
            place = walls, bottom >= height, left == width - right
            found.append(SeenObject(o.category, o.attribute("color") or "", o.attribute("size") or "", o.box, *place))
    return found


def tower(box: Sequence[SeenObject]) -> list[SeenObject]:
    """The blocks of a tower from its base up; empty where the objects are not one stack of squares in mid-box.

    Drawn towers stand in the middle of their box with a pixel between blocks; a lone square elsewhere is no tower.
    """
    stack = sorted(box, key=lambda t: -t.box[3])
    stands = all(0 <= a.box[1] - b.box[3] <= TOWER_GAP and a.box[0] == b.box[0] for a, b in itertools.pairwise(stack))
    if not (stack and stands and all(t.shape == "square" for t in stack)):
        return []
    base = stack[0]
    return stack if base.on_floor and base.centred else []


def properties(panels: Sequence[Panel]) -> set[str]:
    """What is true somewhere in the scene."""
    found: set[str] = set()
    for panel in panels:
        box = things(panel)
        for thing in box:
            for which in ("object", thing.color, thing.shape):
                if thing.walls:
                    found.add(f"{which} touches wall")
                if thing.walls > 1:
                    found.add(f"{which} touches corner")
        if stack := tower(box):
            found.update((f"{stack[-1].color} on top", f"{stack[0].color} at base"))
    return found


def counts(panels: Sequence[Panel], named: Iterable[str] = tuple(NAMED)) -> set[tuple[str, int]]:
    """Classes of objects and how many there are: in all, in a box, boxes with them; of those in `named`."""
    boxes = [things(panel) for panel in panels]
    known = set(named)
    found: set[tuple[str, int]] = set()
    # Every class by size, colour and shape, each given or open.
    for want in itertools.product(*(("", *(v for v in values if v in known)) for values in (SIZES, COLORS, SHAPES))):
        which = " ".join(filter(None, want)) or "object"
        held = [[t for t in box if all(w in ("", v) for w, v in zip(want, t.traits, strict=True))] for box in boxes]
        numbers = [len(own) for own in held]
        found.add((f"{which} in all", sum(numbers)))
        found.update((f"{which} in a box", n) for n in numbers)
        found.add((f"boxes with {which}", sum(n > 0 for n in numbers)))
        found.add((f"boxes with only {which}", sum(n == len(b) for n, b in zip(numbers, boxes, strict=True))))
        if not want[0]:
            found.add((f"{which} touching wall", sum(t.walls > 0 for own in held for t in own)))
    for name in ("color", "shape"):
        found.update((f"{name}s in a box", len({getattr(t, name) for t in box})) for box in boxes)
    found.update(_tower_counts([stack for box in boxes if (stack := tower(box))], known))
    return found


def _tower_counts(towers: Sequence[Sequence[SeenObject]], known: set[str]) -> Iterator[tuple[str, int]]:
    if not towers:
        return
    yield "towers", len(towers)
    for height in HEIGHTS:
        yield f"towers of {height}", sum(len(s) == height for s in towers)
    for stack in towers:
        yield "tower height", len(stack)
        for place, block in (("on top", stack[-1]), ("at base", stack[0])):
            if block.color in known:
                yield f"height with {block.color} {place}", len(stack)
    for color in (c for c in COLORS if c in known):
        yield f"towers with {color} on top", sum(s[-1].color == color for s in towers)
        yield f"towers with {color} at base", sum(s[0].color == color for s in towers)


def ngrams(words: Sequence[str], longest: int = LONGEST) -> set[str]:
    """Every n-gram of a sentence, up to `longest` words, with marks for its two ends.

    >>> sorted(ngrams(["a", "box"], 2))
    ['<s> a', 'a', 'a box', 'box', 'box </s>']
    """
    marked = ["<s>", *words, "</s>"]
    found = {" ".join(marked[i : i + n]) for n in range(1, longest + 1) for i in range(len(marked) - n + 1)}
    return found - {"<s>", "</s>"}


def numbers(
    words: Sequence[str], longest: int = LONGEST, spoken: Mapping[str, int] = {}
) -> Iterator[tuple[int, set[str]]]:
    """Each number of a sentence with the n-grams around it, in which the number itself reads `#`.

    Words of `spoken` ("a", "no") are numbers too, and stay as they are.

    >>> [(n, sorted(grams)) for n, grams in numbers(["exactly", "two", "boxes"], 2)]
    [(2, ['#', '# boxes', 'exactly #'])]
    """
    marked = ["<s>", *words, "</s>"]
    for at, word in enumerate(marked):
        number = int(word) if word.isdigit() else NUMBERS.get(word, spoken.get(word))
        if number is None:
            continue
        around = [*marked[:at], word if word in spoken else "#", *marked[at + 1 :]]
        spans = ((i, i + n) for n in range(1, longest + 1) for i in range(max(0, at - n + 1), at + 1))
        yield number, {" ".join(around[i:j]) for i, j in spans if j <= len(around)}


def variables(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """A sentence with its colours, shapes and sizes as variables, numbered in order of appearance.

    >>> variables("two black squares above a yellow square".split())[0]
    ['two', 'color1', 'shape1', 'above', 'a', 'color2', 'shape1']
    """
    named: dict[str, str] = {}
    out = []
    for word in words:
        word = PLURALS.get(word, word)
        name = NAMED.get(word)
        if name and word not in named:
            named[word] = f"{name}{sum(v.startswith(name) for v in named.values()) + 1}"
        out.append(named.get(word, word))
    return out, named


def property_features(words: Sequence[str], panels: Sequence[Panel], longest: int = LONGEST) -> Iterator[Block]:
    """Properties crossed with every n-gram."""
    yield sorted(properties(panels)), sorted(ngrams(words, longest))


def count_features(words: Sequence[str], panels: Sequence[Panel], longest: int = LONGEST) -> Iterator[Block]:
    """Counts, compared with each number of the sentence, crossed with the n-grams around that number."""
    renamed, named = variables(words)
    around = list(numbers(renamed, longest))
    found = counts(panels, named) if around else set()
    seen = {(" ".join(named.get(word, word) for word in fact.split()), n) for fact, n in found}
    for number, grams in around:
        yield sorted({f"{COMPARED[(n > number) - (n < number)]} {fact}" for fact, n in seen}), sorted(grams)


class CrossedState(TypedDict):
    """What `Crossed` learned, as JSON."""

    facts: list[str]
    grams: list[str]
    known: list[int]  # pairs of them that occur often enough


class Crossed:
    """The features of MaxEnt and the MLP (NLVR section 6.2), (fact, n-gram) pairs: a set of ids, (F,)."""

    per_view = False

    def __init__(self, *, properties: bool = True, counts: bool = True, longest: int = LONGEST, least: int = 2) -> None:
        self.makers: tuple[Callable[..., Iterator[Block]], ...] = (
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
        for make in self.makers:
            yield from make(sentence, example.panels, self.longest)

    def refuse(self, examples: Sequence[Example]) -> None:
        """An error where there is nothing to make features of."""
        refuse_other_scenes(examples)

    def learn(self, examples: Sequence[Example]) -> None:
        self.refuse(examples)
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

    state_shape: ClassVar[Any] = CrossedState

    @property
    def state(self) -> CrossedState:
        return {"facts": list(self.facts), "grams": list(self.grams), "known": self.known.tolist()}

    @state.setter
    def state(self, value: CrossedState) -> None:
        self.restore(value)

    def restore(self, value: CrossedState) -> None:
        """Take what was learned before."""
        self.facts = {str(fact): n for n, fact in enumerate(value["facts"])}
        self.grams = {str(gram): n for n, gram in enumerate(value["grams"])}
        self.known = np.array(value["known"], np.int64)


def _codes(facts: list[int], grams: list[int]) -> Ints:
    """Every pair as one number."""
    return (np.array(facts, np.int64)[:, None] << 32 | np.array(grams, np.int64)[None]).ravel()


def _union(codes: list[Ints]) -> Ints:
    return np.unique(np.concatenate(codes)) if codes else np.zeros(0, np.int64)


def refuse_other_scenes(examples: Sequence[Example]) -> None:
    """An error where no panel has the objects of NLVR's boxes: features of photographs would say nothing."""
    if not any(one.category in SHAPES for e in examples for panel in e.panels for one in panel.objects):
        raise UserError(
            "The panels of the benchmark have none of the objects that this model knows: circles, squares, triangles.",
            "Of photographs with annotated or detected objects, train maxent-objects; of pixels, film or cnn-rnn.",
        )


class SceneFacts(Vocabulary):
    """Which properties hold and how many there are of each class, without the sentence: (D,) zeros and ones."""

    first = 0

    def learn(self, examples: Sequence[Example]) -> None:
        refuse_other_scenes(examples)
        super().learn(examples)

    def texts(self, example: Example) -> list[set[str]]:
        return [properties(example.panels) | {f"{n} {which}" for which, n in counts(example.panels)}]

    def encode(self, example: Example) -> Floats:
        out = np.zeros(self.size, np.float32)
        out[[self.ids[fact] for fact in self.texts(example)[0] if fact in self.ids]] = 1
        return out
