"""From the words of annotators to visual elements: what an object is called, and what it looks like.

A word is first made one of its synonyms' (`same.json`), then found in a super-attribute, or left out by the list of
semantic attributes or of ambiguous objects, which is counted under the principle behind the list. What is left out is
still seen, and may explain a matrix (`others`); so may an attribute of people as one of things.
"""

from __future__ import annotations

from dataclasses import dataclass

from veridical.builders.vprom.elements import CATEGORY, HUMAN, OBJECT, Element
from veridical.builders.vprom.lists import Lists
from veridical.records import SceneObject

NOT_LABELS = frozenset({"synset", "name", "crowd", "supercategory"})  # pairs of a source that are no attributes
CROWD = ("crowd", "true")


@dataclass(frozen=True, slots=True)
class Labels:
    """What one object is labelled with."""

    kind: str  # of its attributes: human or object
    category: Element | None  # None: left out
    attributes: frozenset[Element]
    others: frozenset[Element] = frozenset()  # what is seen too, and no matrix is about here
    lost: tuple[tuple[str, str], ...] = ()  # (principle, kind) for each label that a list left out


class Reader:
    """Reads the labels of objects by the lists."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._same = {OBJECT: lists.same.object, HUMAN: lists.same.human}
        self._of = {
            kind: {name: Element(kind, group, name) for group, names in groups.items() for name in names}
            for kind, groups in ((OBJECT, lists.attributes.object), (HUMAN, lists.attributes.human))
        }

    def read(self, thing: SceneObject) -> Labels:
        """The labels of an object."""
        lists = self._lists
        word = _normal(thing.category)
        word = lists.same.category.get(word, word)
        kind = HUMAN if word in lists.people else OBJECT
        lost: list[tuple[str, str]] = []
        category: Element | None = None
        attributes, others = set[Element](), set[Element]()
        if word in lists.ambiguous:
            lost.append(("independence", CATEGORY))
            others.add(Element(CATEGORY, CATEGORY, word))  # seen, though no matrix is about it
        elif word:
            category = Element(CATEGORY, CATEGORY, word)
        for name, value in thing.attributes:
            if name in NOT_LABELS:
                continue
            found, beside = self._find(kind, name, value), self._beside(kind, name, value)
            if found is not None:
                attributes.add(found)
            else:
                lost.append(("relatedness" if _normal(value) in lists.semantic else "unlisted", kind))
            if beside is not None:
                others.add(beside)
            elif found is None:
                others.add(Element(OBJECT, name, _normal(value)))  # a property by the name the source gives it
        return Labels(kind, category, frozenset(attributes), frozenset(others), tuple(lost))

    def _beside(self, kind: str, name: str, value: str) -> Element | None:
        """An attribute as one of the other kind: the red of a person's clothes is that of a thing.

        A thing's words are not read by people's synonyms: an old house is not elderly.
        """
        if kind == HUMAN:
            return self._find(OBJECT, name, value)
        return None if self._find(OBJECT, name, value) else self._of[HUMAN].get(_normal(value))

    def _find(self, kind: str, name: str, value: str) -> Element | None:
        same, known, word = self._same[kind], self._of[kind], _normal(value)
        word = same.get(f"{name}={word}") or same.get(word, word)
        return known.get(word)


def _normal(word: str) -> str:
    return " ".join(word.lower().split())
