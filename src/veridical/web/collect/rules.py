"""Guideline checks that a writer sees while typing: rules in JSON, read by the server and by the page alike.

A rule is broken where one of its expressions is found in the text and none of its exceptions is, or where the text has
too few or too many words. The text is looked at in lower case, with plain apostrophes and single spaces. Expressions
are of the part that Python and JavaScript have in common; `rules_cases.json` of the tests is run by both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import msgspec

from veridical.builders.nlvr2.pairs import patterns
from veridical.errors import UserError

FOLDER = Path(__file__).with_name("rules")
_WORD = re.compile(r"[a-z0-9'\u00c0-\u024f-]+")
_SPACE = re.compile(r"[ \t\n\r\f\v\u00a0]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One guideline; `any` and `unless` are expressions, `least` and `most` count words."""

    name: str
    words: str  # for the writer
    refuse: bool = False  # or only warn
    any: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    builder: bool = False  # its expressions are those of the NLVR2 builder, which tags items by them


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one kind of writing."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Broken:
    """A rule that a text breaks."""

    rule: str
    words: str
    refuse: bool


@cache
def load(name: str) -> Rules:
    """The rules of a file of this folder: nlvr, nlvr2 or vcr."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        raise UserError(f"There are no rules {name!r}.", f"Choose one of: {', '.join(names())}.")
    found = msgspec.json.decode(path.read_bytes(), type=Rules)
    return Rules(tuple(_completed(one) if one.builder else one for one in found.rules))


def _completed(one: Rule) -> Rule:
    found, exceptions = patterns()[one.name]
    return replace(one, any=(*one.any, *found), unless=(*one.unless, *exceptions), builder=False)


def as_json(name: str) -> bytes:
    """The rules of a file, for the page."""
    return msgspec.json.encode(load(name))


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def plain(text: str) -> str:
    """A text as rules look at it.

    >>> plain("  The dog’s\\n tail ")
    "the dog's tail"
    """
    return _SPACE.sub(" ", text.lower().replace("’", "'").replace("‘", "'")).strip(" ")


def check(rules: Rules, text: str) -> list[Broken]:
    """The rules that a text breaks, in the order of the file.

    >>> [one.rule for one in check(load("nlvr"), "In image A there is a black square")]
    ['names an image']
    """
    seen = plain(text)
    size = len(_WORD.findall(seen))
    return [Broken(one.name, one.words, one.refuse) for one in rules.rules if _broken(one, seen, size)]


def _broken(one: Rule, seen: str, size: int) -> bool:
    if (one.least is not None and size < one.least) or (one.most is not None and size > one.most):
        return True
    return _found(one.any, seen) and not _found(one.unless, seen)


def _found(expressions: tuple[str, ...], seen: str) -> bool:
    return any(_compiled(expression).search(seen) for expression in expressions)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.ASCII)
