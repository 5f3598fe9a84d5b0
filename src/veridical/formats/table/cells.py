"""One cell of a table: words, a list of choices, a truth value.

A list may be a list already, JSON, what Python or NumPy print of a list, an object with a label for each choice, or
texts with something between them.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from veridical.records import LETTERS

MOST_CHOICES = len(LETTERS)
SEPARATORS = ("\n", "||", "|", ";", "\t", " / ", ",")  # between the choices of one cell; the first that fits all
_LABEL = re.compile(r"\(?([A-Za-z])[.):]\)?\s*(?=\S)")
_NUMPY = re.compile(r"(?<=['\"])\s+(?=['\"])")  # NumPy prints no commas
_ARRAY = re.compile(r"(?:np\.|numpy\.)?array\(")  # and writes this around a list


class CellWords(msgspec.Struct, frozen=True):
    """What roles.json holds."""

    columns: dict[str, list[str]]  # role -> names of its column, the likeliest first
    statements: list[str]  # names of a column of statements
    choice: list[str]  # what stands before the letter or number of a column of one choice
    wrong: list[str]  # the same of a column of one wrong choice
    picture: list[str]  # the same of a column of one of several pictures
    sides: list[list[str]]  # columns of two pictures
    tags: list[str]
    telling: list[str]  # columns that would tell the answer, and are never shown
    truth: dict[str, list[str]]
    yes: list[str]
    no: list[str]
    missing: list[str]


WORDS = msgspec.json.decode(Path(__file__).with_name("roles.json").read_bytes(), type=CellWords)


class BadCell(ValueError):
    """What is wrong with a cell: what was found and what was expected."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a question."""

    label: str  # what an answer may call it: its letter, or its own label
    text: str
    place: int  # among the columns or in the list, from 0: empty ones are counted


def words(value: Any) -> str:
    """A cell as text; nothing, and what is not a number, is empty.

    >>> words(None), words("  a cat "), words(3), words(True), words(float("nan"))
    ('', 'a cat', '3', 'true', '')
    """
    if isinstance(value, str):
        return value.strip()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        raise BadCell("it holds bytes; expected a text.")
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def is_missing(value: Any) -> bool:
    """Whether a cell says that there is no value."""
    return not isinstance(value, list | dict | bytes) and words(value).lower() in WORDS.missing


def read_list(text: str) -> list[Any] | dict[str, Any] | None:
    """A list, or labels and texts, written in one cell; None where it is neither.

    >>> read_list('["a", "b"]'), read_list("['it''s', 'b']"), read_list("['a' 'b']"), read_list("a|b")
    (['a', 'b'], ['its', 'b'], ['a', 'b'], None)
    >>> read_list("array(['a', 'b'], dtype=object)"), read_list("{'text': array(['a', 'b'], dtype='<U1')}")
    (['a', 'b'], {'text': ['a', 'b']})
    """
    if not text or (text[0] not in "[({" and not _ARRAY.match(text)):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = _literal(text)
        if isinstance(found, list) and len(found) == 1 and _NUMPY.search(text):
            found = _literal(_NUMPY.sub(", ", text)) or found
    return found if isinstance(found, list | dict) else None


def _literal(text: str) -> Any:
    try:
        found = ast.literal_eval(_Unwrapped().visit(ast.parse(text.strip(), mode="eval")))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return list(found) if isinstance(found, tuple) else found


class _Unwrapped(ast.NodeTransformer):
    """The list in `array([...], dtype=object)`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_array = _ARRAY.fullmatch(f"{ast.unparse(node.func)}(") is not None and len(node.args) == 1
        return self.visit(node.args[0]) if is_array else node


def separator_of(cells: Iterable[str]) -> str | None:
    """The first separator that parts every cell; None where none does."""
    texts = [text for text in cells if text]
    fitting = (one for one in SEPARATORS if all(len(_parts(text, one)) > 1 for text in texts))
    return next(fitting, None) if texts else None


def _parts(text: str, separator: str) -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]


def listed_choices(value: Any, separator: str | None) -> list[Choice]:
    """The choices of one cell."""
    found: Any = value
    if isinstance(value, str):
        text = value.strip()
        found = read_list(text)
        if found is None:
            found = [text] if not separator else _parts(text, separator)
    if isinstance(found, dict):
        return _labelled(found)
    if not isinstance(found, list):
        raise BadCell(f"the choices are {words(value)[:80]!r}; expected a list.")
    if found and all(isinstance(one, dict) for one in found):
        pairs = [(_first(one, "label", "key", "id"), _first(one, "text", "value", "content")) for one in found]
        return [Choice(label, text, k) for k, (label, text) in enumerate(pairs) if text]
    return lettered(map(words, found))


def _labelled(found: dict[str, Any]) -> list[Choice]:
    """`{"A": "a cat", "B": ...}`, or lists of texts and labels side by side."""
    texts, labels = found.get("text"), found.get("label")
    if isinstance(texts, list) and isinstance(labels, list) and len(texts) == len(labels):
        found = dict(zip(map(words, labels), texts, strict=True))
    pairs = [(label, words(text)) for label, text in found.items()]
    return [Choice(label.strip(), text, k) for k, (label, text) in enumerate(pairs) if text]


def _first(found: dict[str, Any], *names: str) -> str:
    return next((words(found[name]) for name in names if found.get(name) is not None), "")


def lettered(texts: Iterable[str], labels: Sequence[str] = ()) -> list[Choice]:
    """Texts as choices A, B, C ...; empty ones are none, and keep their letter."""
    names = labels or LETTERS
    return [Choice(names[k] if k < len(names) else str(k + 1), text, k) for k, text in enumerate(texts) if text]


def says_its_letter(choices: Sequence[Choice]) -> bool:
    """Whether every choice begins with its own letter: `A. a cat`."""
    found = [_LABEL.match(one.text) for one in choices]
    return bool(found) and all(m is not None and m[1].upper() == c.label for m, c in zip(found, choices, strict=True))


def without_letters(choices: Sequence[Choice]) -> list[Choice]:
    """Choices without the letters they begin with."""
    return [replace(one, text=_LABEL.sub("", one.text, count=1)) for one in choices]


def truth(value: Any) -> int | None:
    """0 for a word that means false, 1 for one that means true, None for others.

    >>> truth("True"), truth(0), truth("yes"), truth("cat")
    (1, 0, 1, None)
    """
    word = words(value).lower()
    word = word.removesuffix(".0") if word in ("0.0", "1.0") else word
    if word in WORDS.truth["true"] or word in WORDS.yes:
        return 1
    return 0 if word in WORDS.truth["false"] or word in WORDS.no else None


def is_yes_or_no(value: Any) -> bool:
    return words(value).lower() in {*WORDS.yes, *WORDS.no}
