"""The lists behind mining, as files that anyone may edit: what is a super-attribute, what is left out, what is a count.

`read_lists()` reads those that come with Veridical; `read_lists(FOLDER)` takes each file of that folder instead of
ours, and ours where it has none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from veridical.errors import UserError

T = TypeVar("T")
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
    return Lists(
        attributes=_json(paths["superattributes.json"], data, SuperAttributes),
        same=_json(paths["same.json"], data, SameWords),
        schemes=_json(paths["schemes.json"], data, SchemeLists),
        counts=_json(paths["counts.json"], data, CountWords),
        people=_lines(data["people.txt"]),
        semantic=_lines(data["semantic_attributes.txt"]),
        ambiguous=_lines(data["ambiguous_objects.txt"]),
        hashes={name: hashlib.sha256(text).hexdigest() for name, text in sorted(data.items())},
    )


def _json(path: Path, data: Mapping[str, bytes], shape: type[T]) -> T:
    try:
        return msgspec.json.decode(data[path.name], type=shape)
    except msgspec.DecodeError as error:
        raise UserError(f"{path} cannot be read: {error}.", f"Compare it with {OURS / path.name}.") from error


def _lines(data: bytes) -> frozenset[str]:
    """One word or phrase a line; what follows # is a comment."""
    lines = (line.partition("#")[0].strip().lower() for line in data.decode("utf-8", "replace").splitlines())
    return frozenset(line for line in lines if line)
