"""Visual elements and relations, by the paper's names (V-PROM, section 3.1), and how annotators' words become elements.

An element is an attribute, an object category or a count from 1 to 10; elements of one group (a super-attribute, or
the whole element type) exclude each other, so that a panel is used for one of them at a time.

The lists behind mining are files that anyone may edit: `read_lists()` reads those of `lists/`; `read_lists(FOLDER)`
takes each file of that folder instead of ours, and ours where it has none. Words are compared in lower case; lists that
contradict each other are refused. A `LabelReader` makes a word one of its synonyms' (`same.json`), then finds it in a
super-attribute, or leaves it out by the list of semantic attributes or of ambiguous objects, which is counted under the
principle behind the list. What is left out is still seen, and may explain a matrix (`others`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from veridical.common.files import decode_json, decoded, read_bytes
from veridical.errors import UserError
from veridical.records import SceneObject

Subject = Literal["attribute", "object", "count"]

OBJECT, HUMAN, CATEGORY, COUNT = ELEMENT_TYPES = (
    "object attribute",
    "human attribute",
    "object category",
    "object count",
)  # the columns of Table 1
# what a matrix shows
SUBJECT_OF: dict[str, Subject] = {OBJECT: "attribute", HUMAN: "attribute", CATEGORY: "object", COUNT: "count"}
# from the simplest explanation of a matrix to the most contrived
AND, PROGRESSION, UNION, OR = RELATIONS = ("and", "progression", "union", "or")
MOST = 10  # the largest count
# What a matrix is about: a relation over an element type.
CELLS = tuple((r, type_) for r in RELATIONS for type_ in ELEMENT_TYPES if r != PROGRESSION or type_ == COUNT)

# the lists, ours and those that may take their place
OURS = Path(__file__).parent / "lists"
FILES = (
    "superattributes.json",
    "same.json",
    "schemes.json",
    "counts.json",
    "people.txt",
    "semantic_attributes.txt",
    "ambiguous_objects.txt",
)
NOT_LABELS = frozenset({"synset", "name", "crowd", "supercategory"})  # pairs of a source that are no attributes
CROWD = ("crowd", "true")
T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, order=True)
class Element:
    """Something that a panel can show."""

    type: str  # one of ELEMENT_TYPES
    group: str  # the super-attribute; of a category or a count, the type again
    name: str  # red, dog, 7


def count_element(number: int) -> Element:
    """The element of a count."""
    return Element(COUNT, COUNT, str(number))


def in_order(elements: set[Element]) -> tuple[Element, ...]:
    """Elements by type, group and name; counts by their number."""

    def place(e: Element) -> tuple[int, str, int, str]:
        return ELEMENT_TYPES.index(e.type), e.group, int(e.name) if e.type == COUNT else 0, e.name

    return tuple(sorted(elements, key=place))


class CountWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How numbers in descriptions are read."""

    openers: frozenset[str]  # what may stand before a count
    not_followed_by: frozenset[str] = msgspec.field(name="not followed by")
    plurals: frozenset[str] = msgspec.field(name="plural without s")
    singulars: frozenset[str] = msgspec.field(name="singular with s")
    groups: frozenset[str]  # what is not counted where "of" follows: it is the members that are seen
    nouns: frozenset[str]  # in -ing, -ed or -ly
    not_nouns: frozenset[str] = msgspec.field(name="not nouns")  # in no such ending: "one" alone with these is no count
    stops: frozenset[str]  # words that end what is counted
    more_than_ten: frozenset[str] = msgspec.field(name="more than ten")


class SchemeLists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the held-out schemes hold out (section 3.2)."""

    held_out: tuple[str, ...] = msgspec.field(name="held out")  # super-attributes, in test only
    pairs: dict[str, dict[str, str]] = msgspec.field(name="held-out pairs")  # type -> relation -> super-attribute


class SameWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words that mean the same label, by element type."""

    object: dict[str, str] = msgspec.field(name="object attribute")
    human: dict[str, str] = msgspec.field(name="human attribute")
    category: dict[str, str] = msgspec.field(name="object category")


class SuperAttributes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The attributes that are used: super-attribute -> attributes, which exclude each other."""

    object: dict[str, tuple[str, ...]] = msgspec.field(name="object attribute")
    human: dict[str, tuple[str, ...]] = msgspec.field(name="human attribute")


@dataclass(frozen=True)
class Lists:
    """Everything that the lists say."""

    attributes: SuperAttributes
    same: SameWords
    schemes: SchemeLists
    counts: CountWords
    people: frozenset[str]  # objects whose attributes are human attributes
    semantic: frozenset[str]  # attributes whose look depends on what has them (visual relatedness)
    ambiguous: frozenset[str]  # objects that are beside most others (independence)
    hashes: Mapping[str, str]  # file -> SHA-256


def read_lists(folder: Path | str | None = None) -> Lists:
    """The lists of a folder; a file it lacks is ours."""
    chosen = None if folder is None else Path(folder)
    if chosen is not None and not chosen.is_dir():
        raise UserError(f"There is no folder {chosen}.", f"Copy the files to change from {OURS}.")
    if chosen is not None and not any((chosen / name).exists() for name in FILES):
        raise UserError(f"{chosen} has none of the lists.", f"Copy the files to change from {OURS}.")
    paths = {name: chosen / name if chosen and (chosen / name).exists() else OURS / name for name in FILES}
    data = {name: read_bytes(path) for name, path in paths.items()}
    attributes = _attributes(paths["superattributes.json"], data)
    return Lists(
        attributes=attributes,
        same=_same(paths["same.json"], data),
        schemes=_schemes(paths["schemes.json"], data, attributes),
        counts=_counts(paths["counts.json"], data),
        people=_lines(paths["people.txt"], data),
        semantic=_lines(paths["semantic_attributes.txt"], data),
        ambiguous=_lines(paths["ambiguous_objects.txt"], data),
        hashes={name: hashlib.sha256(text).hexdigest() for name, text in sorted(data.items())},
    )


def _json(path: Path, data: Mapping[str, bytes], shape: type[T]) -> T:
    return decode_json(data[path.name], path, shape, "such a list", f"Compare it with {OURS / path.name}.")


def _lines(path: Path, data: Mapping[str, bytes]) -> frozenset[str]:
    """One word or phrase a line; what follows # is a comment."""
    lines = (_normal(line.partition("#")[0]) for line in decoded(data[path.name], path).splitlines())
    return frozenset(line for line in lines if line)


def _normal(word: str) -> str:
    """A word as those of sources are read."""
    return " ".join(word.lower().split())


def _keyed(path: Path, pairs: Iterable[tuple[str, V]]) -> dict[str, V]:
    """A mapping by normal words, each of them once."""
    out: dict[str, V] = {}
    for word, value in pairs:
        if out.setdefault(_normal(word), value) != value:
            raise UserError(f"{path} says two things of {_normal(word)!r}.", "Keep one of them.")
    return out


def _attributes(path: Path, data: Mapping[str, bytes]) -> SuperAttributes:
    """Every attribute in one super-attribute of its type."""
    read = _json(path, data, SuperAttributes)

    def tidy(type_: str, groups: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        out = _keyed(path, ((group, tuple(dict.fromkeys(map(_normal, own)))) for group, own in groups.items()))
        owner: dict[str, str] = {}
        for group, own in out.items():
            for name in own:
                if owner.setdefault(name, group) != group:
                    raise UserError(
                        f"{path} has {name!r} ({type_}) in {owner[name]!r} and in {group!r}.",
                        "Keep it in one: the attributes of a super-attribute exclude each other.",
                    )
        return out

    return SuperAttributes(object=tidy(OBJECT, read.object), human=tidy(HUMAN, read.human))


def _same(path: Path, data: Mapping[str, bytes]) -> SameWords:
    """Words and what they are read as, which is not read as something else again."""
    read = _json(path, data, SameWords)

    def tidy(words: Mapping[str, str]) -> dict[str, str]:
        out = _keyed(path, ((word, _normal(means)) for word, means in words.items()))
        for word, means in out.items():
            if out.get(means, means) != means:
                raise UserError(
                    f"{path} reads {word!r} as {means!r}, and {means!r} as {out[means]!r}.",
                    f"Read {word!r} as {out[means]!r}.",
                )
        return out

    return SameWords(object=tidy(read.object), human=tidy(read.human), category=tidy(read.category))


def _schemes(path: Path, data: Mapping[str, bytes], attributes: SuperAttributes) -> SchemeLists:
    """What is held out, all of it in the list of super-attributes."""
    read = _json(path, data, SchemeLists)
    groups = {OBJECT: attributes.object, HUMAN: attributes.human}
    known = {name for own in groups.values() for group, names in own.items() for name in (group, *names)}
    held_out = tuple(dict.fromkeys(map(_normal, read.held_out)))
    for name in held_out:
        if name not in known:
            raise UserError(
                f"{path} holds out {name!r}, and superattributes.json has no such super-attribute or attribute.",
                f"Super-attributes are: {', '.join(sorted({g for own in groups.values() for g in own}))}.",
            )
    pairs = _keyed(
        path,
        ((type_, _keyed(path, ((r, _normal(group)) for r, group in own.items()))) for type_, own in read.pairs.items()),
    )
    for type_, own in pairs.items():
        if type_ not in groups:
            raise UserError(f"{path} has pairs of {type_!r}.", f"Pairs are of: {', '.join(groups)}.")
        for relation, group in own.items():
            if relation not in (AND, OR, UNION):
                raise UserError(f"{path} has the relation {relation!r}.", f"Relations are: {AND}, {OR}, {UNION}.")
            if group not in groups[type_]:
                raise UserError(
                    f"{path} pairs {relation!r} with {group!r}, and superattributes.json has no such {type_}.",
                    f"Super-attributes are: {', '.join(sorted(groups[type_]))}.",
                )
        if len(set(own.values())) < len(own):
            raise UserError(
                f"{path} holds a super-attribute out for two relations ({type_}).", "Give each relation its own."
            )
    return SchemeLists(held_out=held_out, pairs=pairs)


def _counts(path: Path, data: Mapping[str, bytes]) -> CountWords:
    read = _json(path, data, CountWords)
    return CountWords(**{name: frozenset(map(_normal, getattr(read, name))) for name in CountWords.__struct_fields__})


@dataclass(frozen=True, slots=True)
class Labels:
    """What one object is labelled with."""

    type: str  # of its attributes: human or object
    category: Element | None  # None: left out
    attributes: frozenset[Element]
    others: frozenset[Element] = frozenset()  # what is seen too, and no matrix is about here
    lost: tuple[tuple[str, str], ...] = ()  # (principle, element type) for each label that a list left out


class LabelReader:
    """Reads the labels of objects by the lists."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._same = {OBJECT: lists.same.object, HUMAN: lists.same.human}
        self._of = {
            type_: {name: Element(type_, group, name) for group, names in groups.items() for name in names}
            for type_, groups in ((OBJECT, lists.attributes.object), (HUMAN, lists.attributes.human))
        }

    def read(self, thing: SceneObject) -> Labels:
        """The labels of an object."""
        lists = self._lists
        word = _normal(thing.category)
        word = lists.same.category.get(word, word)
        type_ = HUMAN if word in lists.people else OBJECT
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
            found, beside = self._find(type_, name, value), self._beside(type_, name, value)
            if found is not None:
                attributes.add(found)
            else:
                lost.append(("relatedness" if _normal(value) in lists.semantic else "unlisted", type_))
            if beside is not None:
                others.add(beside)
            elif found is None:
                others.add(Element(OBJECT, name, _normal(value)))  # a property by the name the source gives it
        return Labels(type_, category, frozenset(attributes), frozenset(others), tuple(lost))

    def _beside(self, type_: str, name: str, value: str) -> Element | None:
        """An attribute as one of the other type: the red of a person's clothes is that of a thing.

        A thing's words are not read by people's synonyms: an old house is not elderly.
        """
        if type_ == HUMAN:
            return self._find(OBJECT, name, value)
        return None if self._find(OBJECT, name, value) else self._of[HUMAN].get(_normal(value))

    def _find(self, type_: str, name: str, value: str) -> Element | None:
        same, known, word = self._same[type_], self._of[type_], _normal(value)
        word = same.get(f"{name}={word}") or same.get(word, word)
        return known.get(word)
