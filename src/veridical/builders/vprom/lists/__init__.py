"""The lists behind mining, as files that anyone may edit: what is a super-attribute, what is left out, what is a count.

`read_lists()` reads those that come with Veridical; `read_lists(FOLDER)` takes each file of that folder instead of
ours, and ours where it has none. Words are compared in lower case; lists that contradict each other are refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from veridical.builders.vprom.elements import AND, HUMAN, OBJECT, OR, UNION
from veridical.common.files import decode_json
from veridical.errors import UserError

T = TypeVar("T")
V = TypeVar("V")
OURS = Path(__file__).parent
FILES = (
    "superattributes.json",
    "same.json",
    "schemes.json",
    "counts.json",
    "people.txt",
    "semantic_attributes.txt",
    "ambiguous_objects.txt",
)


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
    pairs: dict[str, dict[str, str]] = msgspec.field(name="held-out pairs")  # kind -> relation -> super-attribute


class SameWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words that mean the same label, by kind of element."""

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
    data = {name: path.read_bytes() for name, path in paths.items()}
    attributes = _attributes(paths["superattributes.json"], data)
    return Lists(
        attributes=attributes,
        same=_same(paths["same.json"], data),
        schemes=_schemes(paths["schemes.json"], data, attributes),
        counts=_counts(paths["counts.json"], data),
        people=_lines(data["people.txt"]),
        semantic=_lines(data["semantic_attributes.txt"]),
        ambiguous=_lines(data["ambiguous_objects.txt"]),
        hashes={name: hashlib.sha256(text).hexdigest() for name, text in sorted(data.items())},
    )


def _json(path: Path, data: Mapping[str, bytes], shape: type[T]) -> T:
    return decode_json(data[path.name], path, shape, "such a list", f"Compare it with {OURS / path.name}.")


def _lines(data: bytes) -> frozenset[str]:
    """One word or phrase a line; what follows # is a comment."""
    lines = (_normal(line.partition("#")[0]) for line in data.decode("utf-8", "replace").splitlines())
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
    """Every attribute in one super-attribute of its kind."""
    read = _json(path, data, SuperAttributes)

    def tidy(kind: str, groups: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        out = _keyed(path, ((group, tuple(dict.fromkeys(map(_normal, own)))) for group, own in groups.items()))
        owner: dict[str, str] = {}
        for group, own in out.items():
            for name in own:
                if owner.setdefault(name, group) != group:
                    raise UserError(
                        f"{path} has {name!r} ({kind}) in {owner[name]!r} and in {group!r}.",
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
        ((kind, _keyed(path, ((r, _normal(group)) for r, group in own.items()))) for kind, own in read.pairs.items()),
    )
    for kind, own in pairs.items():
        if kind not in groups:
            raise UserError(f"{path} has pairs of {kind!r}.", f"Pairs are of: {', '.join(groups)}.")
        for relation, group in own.items():
            if relation not in (AND, OR, UNION):
                raise UserError(f"{path} has the relation {relation!r}.", f"Relations are: {AND}, {OR}, {UNION}.")
            if group not in groups[kind]:
                raise UserError(
                    f"{path} pairs {relation!r} with {group!r}, and superattributes.json has no such {kind}.",
                    f"Super-attributes are: {', '.join(sorted(groups[kind]))}.",
                )
        if len(set(own.values())) < len(own):
            raise UserError(
                f"{path} holds a super-attribute out for two relations ({kind}).", "Give each relation its own."
            )
    return SchemeLists(held_out=held_out, pairs=pairs)


def _counts(path: Path, data: Mapping[str, bytes]) -> CountWords:
    read = _json(path, data, CountWords)
    return CountWords(**{name: frozenset(map(_normal, getattr(read, name))) for name in CountWords.__struct_fields__})
