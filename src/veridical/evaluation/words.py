"""What people call the columns of their predictions, and what they write for a choice: true, yes, 1, B, a text.

The names are in `names.json`, the likeliest first: a file that has both `prediction` and `answer` keeps the right
answer in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from veridical.common.arrays import Ints
from veridical.errors import UserError
from veridical.evaluation.predictions import Predictions
from veridical.records import LETTERS

if TYPE_CHECKING:
    from veridical.evaluation.grade import AnswerKey

MOST_ALIKE = 20_000  # ids that a mistyped one is compared with
SHOWN = 80  # letters of a line that an error shows
_NO_CANDIDATE = -2
_LETTERS = "Write letters (A, B ...), or one score for each candidate."


class KnownNames(msgspec.Struct, frozen=True):
    """What columns and choices are called."""

    item: tuple[str, ...]
    said: tuple[str, ...]
    truth: dict[str, int]  # of a statement


@cache
def known_names() -> KnownNames:
    return msgspec.json.decode(files(__package__).joinpath("names.json").read_bytes(), type=KnownNames)


def column(names: Sequence[str], wanted: tuple[str, ...]) -> int | None:
    """The place of the likeliest of some names.

    >>> column(["", "ID", "answer", "Prediction"], known_names().said)
    3
    """
    plain = [name.strip().lower().replace(" ", "_") for name in names]
    return next((plain.index(name) for name in wanted if name in plain), None)


def is_answer(word: str) -> bool:
    """Whether a word can only be an answer; `y` or `t` may be the name of a column, too."""
    return word.lower() in known_names().truth and not (len(word) == 1 and word.isalpha())


def understood(predictions: Predictions, key: AnswerKey, item: Ints) -> tuple[Predictions, Ints]:
    """Predictions whose words have become choices, and their items: a first line that is neither is a header."""
    if predictions.word is None:
        return predictions, item
    if predictions.format == "csv" and len(item) > 1 and item[0] < 0 and _is_name(predictions, key):
        rest = np.arange(1, len(item))
        predictions, item = predictions.take(rest), item[rest]
    assert predictions.word is not None
    rows = np.flatnonzero(predictions.word >= 0)
    statement = key.benchmark.task == "statement"
    choice = _truths(predictions, rows) if statement else _places(predictions, key, item, rows)
    wrong = rows[choice == _NO_CANDIDATE]
    if len(wrong):
        raise _no_choice(predictions, key, item, wrong)
    chosen, width = predictions.chosen.copy(), predictions.width.copy()
    chosen[rows] = choice
    width[rows] = np.where(choice >= 0, key.candidates[item[rows]], 0)
    return replace(predictions, chosen=chosen, width=width, word=None, words=()), item


def _is_name(predictions: Predictions, key: AnswerKey) -> bool:
    """Whether the word of the first line can only be the name of a column: it is no candidate of any item."""
    assert predictions.word is not None
    place = int(predictions.word[0])
    word = predictions.words[place].lower() if place >= 0 else ""
    if not word or is_answer(word):
        return False
    if key.benchmark.task == "statement":  # `y` and `t` are names, unless other lines answer so, too
        return word not in known_names().truth or int(np.sum(predictions.word == place)) == 1
    most = int(key.candidates.max(initial=0))
    return _letter_or_number(word, most) == _NO_CANDIDATE and not any(word in texts for texts in key.candidate_texts)


def _truths(predictions: Predictions, rows: Ints) -> Ints:
    """Of statements: 0 for false, 1 for true."""
    known = known_names().truth
    each = [-1 if not word else known.get(word.lower(), _NO_CANDIDATE) for word in predictions.words]
    return np.array(each, np.int64)[predictions.word[rows]]  # type: ignore[index]


def _places(predictions: Predictions, key: AnswerKey, item: Ints, rows: Ints) -> Ints:
    """Of other items: the candidate whose letter, number or text a word is. What is no item is not looked at."""
    out = np.full(len(rows), -1, np.int64)
    texts = key.candidate_texts
    assert predictions.word is not None
    for place, row in enumerate(rows.tolist()):
        word = predictions.words[predictions.word[row]].lower()
        if not word:
            continue
        if item[row] < 0:
            continue
        number = _letter_or_number(word, int(key.candidates[item[row]]))
        said = [k for k, text in enumerate(texts[item[row]]) if text == word]
        if len(said) > 1 and number == _NO_CANDIDATE:
            problem = f"{predictions.where(row)}: {word[:SHOWN]!r} is the text of candidates"
            letters = " and ".join(LETTERS[k] for k in said)
            raise UserError(f"{problem} {letters}.", f"{_LETTERS} Nothing was scored.")
        text = said[0] if said else _NO_CANDIDATE
        if _NO_CANDIDATE not in (number, text) and number != text:
            raise UserError(
                f"{predictions.where(row)}: {word!r} is the text of candidate {LETTERS[text]} and, counted from 0, the "
                f"place of candidate {LETTERS[number]}.",
                f"{_LETTERS} Nothing was scored.",
            )
        out[place] = max(number, text)
    return out


def _letter_or_number(word: str, count: int) -> int:
    """The candidate that a letter, or a number counted from 0, stands for.

    >>> [_letter_or_number(word, 4) for word in ("b", "(c)", "d.", "3", "4", "e", "a cat")]
    [1, 2, 3, 3, -2, -2, -2]
    """
    bare = word.strip("().:")
    if len(bare) == 1 and bare.upper() in LETTERS[:count]:
        return LETTERS.index(bare.upper())
    return int(bare) if bare.isdecimal() and bare.isascii() and int(bare) < count else _NO_CANDIDATE


def _no_choice(predictions: Predictions, key: AnswerKey, item: Ints, wrong: Ints) -> UserError:
    """The error for words that say no choice."""
    row = int(wrong[0])
    assert predictions.word is not None
    word, good = predictions.words[predictions.word[row]], len(predictions.line) - len(wrong)
    also = f"{len(wrong) - 1:,} more are wrong too; " if len(wrong) > 1 else ""
    rest = f"{also}{good:,} other lines are fine. Nothing was scored."
    where = f"{predictions.where(row)}: {word[:SHOWN]!r}"
    if key.benchmark.task == "statement":
        fix = "Each line is `identifier,true` or `identifier,false` (yes and no, 1 and 0 will do; nothing: no answer)."
        return UserError(f"{where} is neither true nor false.", f"{fix} {rest}")
    last = LETTERS[int(key.candidates[item[row]]) - 1]
    return UserError(
        f"{where} is no candidate of {predictions.names[row].as_py()}.",
        f"Write its letter (A to {last}), its number (0 to {LETTERS.index(last)}) or its text; nothing for no answer. "
        f"{rest}",
    )


def nearest(name: str, ids: Sequence[str]) -> str | None:
    """The id that a name was probably meant to be, if there is one.

    >>> nearest("dev-85O-0-0", ["dev-850-0-0", "dev-851-0-0"])
    'dev-850-0-0'
    """
    alike = [one for one in ids if abs(len(one) - len(name)) <= 2]
    exact = [one for one in alike if _looks(one) == _looks(name)]
    return next(iter(exact or get_close_matches(name, alike[:MOST_ALIKE], 1, 0.75)), None)


def _looks(name: str) -> str:
    """A name as a hurried eye reads it: without case and spaces, O like 0, l and I like 1, all signs between alike."""
    return name.strip().lower().translate(str.maketrans("oli_. ", "011---"))
