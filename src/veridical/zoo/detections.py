"""Features of NLVR2's MAXENT (Suhr et al. 2019, section 6): numbers of detected objects, crossed with n-grams.

A sentence names classes of objects, by their name in any form or by a word that WordNet has for them or for what they
are a kind of ("vehicles"), perhaps with a value of an attribute before it ("red"). For each class and each number of
the sentence, the count in either image and in both is compared with the number and crossed with the n-grams around it;
counts of the two images are compared with each other, and crossed with the n-grams around the class. In n-grams
numbers read `#`, classes `class1`, `class2` and values `value1`, in order of appearance: what is learned of dogs is
known of cats. A class that is named and nowhere to be seen counts as 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

from veridical.errors import UserError
from veridical.language.wordnet import Thesaurus, open_thesaurus
from veridical.records import Panel, SceneObject
from veridical.zoo.architecture import Example
from veridical.zoo.facts import COMPARED, Block, Crossed, CrossedState, ngrams, numbers
from veridical.zoo.inputs import text_words

THRESHOLD = 0.5  # the least score of a detection that counts
LONGEST_NAME = 3  # words of a class's name
SPOKEN = {"a": 1, "an": 1, "no": 0, "neither": 0, "any": 1, "only": 1}  # what counts, and stays in n-grams as it is
PLACED = frozenset({"left", "right"})  # which image, before all: not taken for the value of an attribute
ANYTHING = {"object", "item", "thing"}  # nouns for every class
MANY = 4  # classes of a sentence that are counted
ENDINGS = (("ies", "y"), ("ves", "fe"), ("ves", "f"), ("es", ""), ("s", ""), ("men", "man"), ("people", "person"))
IRREGULAR = {"children": "child", "mice": "mouse", "geese": "goose", "feet": "foot", "leaves": "leaf", "dice": "die"}


@dataclass(frozen=True)
class Named:
    """A class of objects that a sentence names."""

    word: str  # what stands for it in n-grams
    categories: frozenset[str]
    values: frozenset[str]  # of attributes; all of them

    def counts(self, panels: Sequence[Panel]) -> list[int]:
        """How many there are in each panel."""
        return [sum(map(self.fits, panel.objects)) for panel in panels]

    def fits(self, one: SceneObject) -> bool:
        sure = one.score is None or one.score >= THRESHOLD
        return sure and one.category.lower() in self.categories and self.values <= {v for _, v in one.attributes}


def singulars(noun: str) -> set[str]:
    """What a noun may be a form of, itself too.

    >>> sorted(singulars("knives"))
    ['knif', 'knife', 'kniv', 'knive', 'knives']
    """
    last = noun.rpartition(" ")[2]
    front = noun[: len(noun) - len(last)]
    found = {noun} | {front + last[: -len(end)] + one for end, one in ENDINGS if last.endswith(end)}
    return found | ({front + IRREGULAR[last]} if last in IRREGULAR else set())


class DetectedState(CrossedState):
    """What `DetectedCrossed` learned, as JSON."""

    categories: list[str]
    values: list[str]


class DetectedCrossed(Crossed):
    """Counts of detected objects crossed with n-grams: a set of ids, (F,)."""

    def __init__(self, *, longest: int, least: int) -> None:
        super().__init__(longest=longest, least=least)
        self.categories: tuple[str, ...] = ()  # that training shows, in lower case
        self.values: frozenset[str] = frozenset()
        self._meant: dict[str, frozenset[str]] = {}
        self._called: dict[str, set[str]] = {}  # a word -> categories that it is a word for

    def refuse(self, examples: Sequence[Example]) -> None:
        if not any(panel.objects for e in examples for panel in e.panels):
            raise UserError(
                "No object is annotated or detected in the panels of the benchmark.",
                "Import or build it with annotations, or find objects with a detector (`--detector`).",
            )

    def learn(self, examples: Sequence[Example]) -> None:
        objects = [one for e in examples for panel in e.panels for one in panel.objects]
        self.categories = tuple(sorted({one.category.lower() for one in objects}))
        self.values = frozenset(v for one in objects for _, v in one.attributes) - PLACED
        self._meant, self._called = {}, {}
        super().learn(examples)

    def blocks(self, example: Example) -> Iterator[Block]:
        said, named = self.named(text_words(example.query, example.panels))
        counts = [(one.word, one.counts(example.panels)) for one in named[:MANY]]
        for number, grams in numbers(said, self.longest, SPOKEN):
            facts = {f"{_compared(n, number)} {w} {where}" for w, c in counts for where, n in _places(c)}
            yield sorted(facts), sorted(grams)
        for word, own in counts:
            grams = {gram for gram in ngrams(said, self.longest) if word in gram.split()}
            yield sorted({f"{word} {fact}" for fact in _within(own)}), sorted(grams)
        for (word, own), (other, theirs) in itertools.combinations(counts, 2):
            facts = {f"{_compared(n, m)} {word} {where} than {other} {there}"
                     for where, n in _places(own) for there, m in _places(theirs)}  # fmt: skip
            yield sorted(facts), sorted(gram for gram in ngrams(said, self.longest) if {word, other} & {*gram.split()})

    def named(self, words: Sequence[str]) -> tuple[list[str], list[Named]]:
        """The sentence with variables for classes and values, and the classes."""
        out: list[str] = []
        found: dict[tuple[frozenset[str], frozenset[str]], Named] = {}
        values: dict[str, str] = {}
        before: set[str] = set()  # values since the last class
        at = 0
        while at < len(words):
            size, categories = self._longest_name(words, at)
            if categories:
                key = categories, frozenset(before)
                one = found.setdefault(key, Named(f"class{len(found) + 1}", *key))
                out.append(one.word)
                before = set()
            elif words[at] in self.values:
                out.append(values.setdefault(words[at], f"value{len(values) + 1}"))
                before.add(words[at])
            else:
                out.append(words[at])
                before = before if words[at] == "and" else set()
            at += size
        return out, list(found.values())

    def _longest_name(self, words: Sequence[str], at: int) -> tuple[int, frozenset[str]]:
        """How many words from here name a class, and which categories it has; (1, none) where none does."""
        for size in range(min(LONGEST_NAME, len(words) - at), 0, -1):
            found = self.meant(" ".join(words[at : at + size]))
            if found:
                return size, found
        return 1, frozenset()

    def meant(self, noun: str) -> frozenset[str]:
        """The categories that a noun names: their own name, a synonym, or what they are a kind of or are kinds of."""
        if noun not in self._meant:
            forms = singulars(noun)
            exact = frozenset(self.categories if forms & ANYTHING else (c for c in self.categories if c in forms))
            self._meant[noun] = exact or self._above(forms) or self._below(forms)
        return self._meant[noun]

    def _above(self, forms: set[str]) -> frozenset[str]:
        """Categories that a noun is a synonym of, or that are kinds of it ("vehicles")."""
        if not self._called:
            words = self._thesaurus
            ids = {c: words.wnid(c) for c in self.categories}
            named = {c: {*words.names(one), *words.hypernyms(one)} for c, one in ids.items() if one}
            for category, names in [*named.items(), ("", {""})]:
                for name in names:
                    self._called.setdefault(name, set()).add(category)
        return frozenset(c for form in forms for c in self._called.get(form, ()))

    def _below(self, forms: set[str]) -> frozenset[str]:
        """Categories that a noun is a kind of ("puppies"); of its first sense, where that can be seen."""
        words = self._thesaurus
        ids = [one for form in sorted(forms) if (one := words.wnid(form)) and words.is_concrete(form)]
        return frozenset({*self.categories} & {name for one in ids for name in words.hypernyms(one)})

    @cached_property
    def _thesaurus(self) -> Thesaurus:
        return open_thesaurus(None, needed=False)

    state_shape: ClassVar[Any] = DetectedState

    @property
    def state(self) -> CrossedState:
        out: DetectedState = {
            "facts": list(self.facts),
            "grams": list(self.grams),
            "known": self.known.tolist(),
            "categories": list(self.categories),
            "values": sorted(self.values),
        }
        return out

    @state.setter
    def state(self, value: CrossedState) -> None:
        self.restore(value)
        own = cast(DetectedState, value)
        self.categories, self.values = tuple(map(str, own["categories"])), frozenset(map(str, own["values"]))
        self._meant, self._called = {}, {}


def _compared(number: int, other: int) -> str:
    return COMPARED[(number > other) - (number < other)]


def _places(counts: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The counts of a class: in each image, in all, in the image with fewest and most, and images with it."""
    yield from ((f"in image {n}", count) for n, count in enumerate(counts, 1))
    yield from (
        ("in all", sum(counts)),
        ("in the emptiest", min(counts, default=0)),
        ("in the fullest", max(counts, default=0)),
    )
    yield "images", sum(count > 0 for count in counts)


def _within(counts: Sequence[int]) -> Iterator[str]:
    """What is true of a class in the images."""
    for place, count in _places(counts):
        yield f"{'some' if count else 'none'} {place}"
    for (n, first), (m, second) in itertools.combinations(enumerate(counts, 1), 2):
        yield f"{_compared(first, second)} in image {n} than {m}"
        yield f"{_compared(first, 2 * second)} in image {n} than twice {m}"
        yield f"{_compared(2 * first, second)} twice in image {n} than {m}"
        yield f"{first - second} more in image {n} than {m}"
