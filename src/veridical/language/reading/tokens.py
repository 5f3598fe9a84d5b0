"""The words of a human sentence, and their repair: `yelow` is `yellow`, `abox` is `a box`.

Spelling is repaired towards the words the lexicon knows, by edit distance with transpositions; ties go to the more
frequent word, then to one with the same letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from functools import lru_cache

NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS: dict[str, int] = {word: n for n, word in enumerate(NUMBER_WORDS)} | {"single": 1, "couple": 2, "pair": 2}
MOST_DIGITS = 6  # longer numbers are read as the largest that fits: no scene has so many things
_WORD = re.compile(r"[a-z]+|[0-9]+(?:st|nd|rd|th)\b|[0-9]+|,")
_DIGITS = re.compile(r"[0-9]+")


def words(sentence: str) -> list[str]:
    """Lower-case words, numbers and commas; other punctuation only separates.

    >>> words("There is 1 box, with 2-3 items.")
    ['there', 'is', '1', 'box', ',', 'with', '2', '3', 'items']
    """
    found = _DIGITS.sub(_shorten, sentence.lower().replace("’", "'").replace("n't", " not"))
    return _WORD.findall(found)


def _shorten(number: re.Match[str]) -> str:
    """A number as it is written; one without an end becomes the largest that is read."""
    digits = number.group()
    if len(digits) <= MOST_DIGITS:
        return digits
    digits = digits.lstrip("0") or "0"
    return digits if len(digits) <= MOST_DIGITS else "9" * MOST_DIGITS


def distance(a: str, b: str, most: int = 2) -> int:
    """Edits (insert, delete, replace, swap neighbours) between two words, or `most + 1` where there are more.

    >>> distance("traingle", "triangle"), distance("box", "tower")
    (1, 3)
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    older: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i] + [0] * len(b)
        for j, y in enumerate(b, 1):
            row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > most:
            return most + 1
        older, last = last, row
    return min(last[-1], most + 1)


def speller(known: Set[str], common: Mapping[str, int] | None = None) -> Callable[[str], str]:
    """A function that repairs one word towards `known`, or returns it unchanged.

    Words of three to five letters may differ by one edit, longer ones by two; shorter words are left alone.

    >>> speller({"yellow", "circle", "exactly"})("exacrly")
    'exactly'
    """
    frequency = dict(common or {})

    @lru_cache(maxsize=65536)
    def fix(word: str) -> str:
        if word in known or word.isdigit() or len(word) < 3:
            return word
        allowed = 1 if len(word) < 6 else 2
        letters = sorted(word)
        near = [
            (distance(word, k, allowed), -frequency.get(k, 0), sorted(k) != letters, abs(len(k) - len(word)), k)
            for k in known
            if len(k) > 2 and abs(len(k) - len(word)) <= allowed
        ]
        best = min(near, default=(allowed + 1, 0, True, 0, word))
        return best[-1] if best[0] <= allowed else word

    return fix


def split_joined(word: str, known: Set[str]) -> list[str]:
    """`isa` is `is a`, `abox` is `a box`: a word nobody knows that is two known ones written together."""
    for at in range(1, len(word)):
        left, right = word[:at], word[at:]
        if left in known and right in known and (len(left) > 1 or left == "a") and (len(right) > 1 or right == "a"):
            return [left, right]
    return [word]
