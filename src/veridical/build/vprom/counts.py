"""Counts in descriptions: "five bowls of oatmeal" shows five, "five o'clock" shows none (V-PROM, section 3.1).

A number from 1 to 10 is a count where the phrase begins with it (after words such as "there are"), no other number is
in the phrase, a plural follows before the next little word, and nothing in `lists/counts.json` says otherwise.
"""

from __future__ import annotations

import re

from veridical.build.vprom.lists import CountWords
from veridical.language.tokens import NUMBER_WORDS

MOST = 10  # the largest count
_NUMBERS = {word: n for n, word in enumerate(NUMBER_WORDS) if 1 <= n <= MOST} | {str(n): n for n in range(1, MOST + 1)}
# a word keeps what is joined to it, so that "5:30", "#7", "$5", "2nd", "3/4" and "two-drawer" are no numbers
_WORD = re.compile(r"[^\s,;!?()\"]+")
_DIGIT = re.compile(r"[0-9]")


def count_in(phrase: str, words: CountWords) -> int | None:
    """The number of things that a description says its region shows, or None.

    >>> from veridical.build.vprom.lists import read_lists
    >>> words = read_lists().counts
    >>> [count_in(p, words) for p in ("There are five bowls of oatmeal.", "five o'clock", "a 10 years old boy")]
    [5, None, None]
    """
    found = [word.rstrip(".'").lstrip("'") for word in _WORD.findall(phrase.lower().replace("’", "'"))]
    found = [word for word in found if word]
    numbers = [place for place, word in enumerate(found) if word in _NUMBERS]
    others = any((_DIGIT.search(w) and w not in _NUMBERS) or w in words.more_than_ten for w in found)
    if len(numbers) != 1 or others:
        return None
    place = numbers[0]
    if not _opens(found[:place], words):
        return None
    count, rest = _NUMBERS[found[place]], found[place + 1 :]
    if not rest or rest[0] in words.not_followed_by:
        return None
    return count if (count > 1) == _has_plural(rest, words) else None


def _opens(before: list[str], words: CountWords) -> bool:
    """Whether nothing but openers stands before the number: "there are only"."""
    if not before:
        return True
    return any(
        " ".join(before[:size]) in words.openers and _opens(before[size:], words) for size in range(1, len(before) + 1)
    )


def _has_plural(rest: list[str], words: CountWords) -> bool:
    """Whether what is counted, up to the next little word, is several things."""
    for word in rest:
        if word in words.stops:
            return False
        if word in words.plurals or (
            word.endswith("s") and not word.endswith(("ss", "'s")) and word not in words.singulars
        ):
            return True
    return False
