"""What a column of answers means: letters, places counted from 0 or from 1, texts, true and false.

The style that reads every row is taken. Where two do, and do not say the same, nobody can know, and it is an error that
says how to tell; where none does, the style that reads most rows is taken and the others are bad rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veridical.errors import UserError
from veridical.formats.table.cells import BadCell, Choice, is_missing, read_list, truth, words
from veridical.options.importing import AnswerStyle

_LETTER = re.compile(r"(?:(?:option|choice|answer)\s*:?\s*)?\(?(\w+)\)?(?:[.):]\s*(.*)|)", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"\d{1,4}(?:\.0+)?")
IN_WORDS: Mapping[AnswerStyle, str] = {
    "letter": "a letter",
    "index0": "a place counted from 0",
    "index1": "a place counted from 1",
    "text": "the text of a choice",
    "truth": "true or false",
}


@dataclass(frozen=True, slots=True)
class AnswerCell:
    """A cell of the column of answers, and the choices it is about."""

    value: Any
    choices: Sequence[Choice]  # none of a statement

    @property
    def is_missing(self) -> bool:
        return is_missing(self.value) and by_text(self) is None


def by_letter(cell: AnswerCell) -> int | None:
    """The choice that a letter, or a label of the choices' own, names; `B. a dog` must be what B says."""
    said = words(cell.value)
    for k, one in enumerate(cell.choices):
        if said.casefold() == one.label.casefold():
            return k
    if not (match := _LETTER.fullmatch(said)):
        return None
    for k, one in enumerate(cell.choices):
        if match[1].casefold() == one.label.casefold() and (not match[2] or _same(match[2], one.text)):
            return k
    return None


def by_text(cell: AnswerCell) -> int | None:
    """The only choice that has the text."""
    found = having_text(cell)
    return found[0] if len(found) == 1 else None


def having_text(cell: AnswerCell) -> list[int]:
    """The choices that have the text: exactly, else but for case and a full stop."""
    said = words(cell.value)
    exact = [k for k, one in enumerate(cell.choices) if one.text == said]
    return exact or [k for k, one in enumerate(cell.choices) if _same(one.text, said)]


def by_place(cell: AnswerCell, first: int) -> int | None:
    """The choice in a place."""
    said = words(cell.value)
    if isinstance(cell.value, bool) or not _NUMBER.fullmatch(said):
        return None
    place = int(float(said)) - first
    return next((k for k, one in enumerate(cell.choices) if one.place == place), None)


def by_truth(cell: AnswerCell) -> int | None:
    return None if cell.choices else truth(cell.value)


READERS: Mapping[AnswerStyle, Callable[[AnswerCell], int | None]] = {
    "letter": by_letter,
    "index0": lambda cell: by_place(cell, 0),
    "index1": lambda cell: by_place(cell, 1),
    "text": by_text,
    "truth": by_truth,
}


def _same(one: str, other: str) -> bool:
    return " ".join(one.casefold().split()).rstrip(" .") == " ".join(other.casefold().split()).rstrip(" .")


def single(value: Any) -> Any:
    """The answer in a list of one; a list of several is no answer to a question with one right choice."""
    found = read_list(value.strip()) if isinstance(value, str) else value
    if not isinstance(found, list):
        return value
    if len(found) > 1:
        raise BadCell(f"{len(found)} right answers ({words(value)[:60]}); expected one.")
    return found[0] if found else None


def guess_style(cells: Sequence[AnswerCell], column: str) -> AnswerStyle:
    """The style of a column; an error where it could be two."""
    known = [cell for cell in cells if not cell.is_missing]
    read = {style: [reader(cell) for cell in known] for style, reader in READERS.items()}
    most = max(sum(one is not None for one in found) for found in read.values())
    best = [style for style, found in read.items() if sum(one is not None for one in found) == most]
    if len({tuple(read[style]) for style in best}) == 1 or not known:
        return best[0]
    one, other = best[:2]
    row = next(k for k in range(len(known)) if read[one][k] != read[other][k])
    raise UserError(
        f"The column {column!r} can be read in two ways: {words(known[row].value)[:40]!r} is {IN_WORDS[one]} "
        f"({_chosen(known[row], read[one][row])}) or {IN_WORDS[other]} ({_chosen(known[row], read[other][row])}).",
        f"Say which: --answer-as {one} or --answer-as {other}.",
    )


def _chosen(cell: AnswerCell, place: int | None) -> str:
    return "none of the choices" if place is None else repr(cell.choices[place].text[:40])


def unread(style: AnswerStyle, cell: AnswerCell) -> str:
    """What is wrong with an answer that cannot be read, and what it should have been."""
    said, several = words(cell.value)[:80], having_text(cell) if style == "text" else []
    if len(several) > 1:
        letters = " and ".join(cell.choices[k].label for k in several)
        return f"the answer {said!r} is the text of choices {letters}; expected a text that only one has, or a letter."
    return f"the answer {said!r} is none of the choices; expected {_expected(style, cell)}."


def _expected(style: AnswerStyle, cell: AnswerCell) -> str:
    labels = [one.label for one in cell.choices]
    places = [one.place for one in cell.choices]
    if style == "letter":
        return f"{labels[0]} to {labels[-1]}"
    if style in ("index0", "index1"):
        first = int(style == "index1")
        return f"a number from {places[0] + first} to {places[-1] + first}"
    return IN_WORDS[style] if style == "truth" else f"one of the {len(labels)} choices' texts"
