"""Counts in descriptions: "five bowls of oatmeal" shows five, "five o'clock" shows none (V-PROM, section 3.1).

A number from 1 to 10 is a count where the phrase begins with it (after words such as "there are"), no other number is
in the phrase, a plural follows before the next little word ("one": a noun that is none), and nothing in
`lists/counts.json` says otherwise.
"""

from __future__ import annotations

import re
from itertools import takewhile

from veridical.builders.vprom.lists import CountWords
from veridical.language.english import NUMBER_WORDS

MOST = 10  # the largest count
_NUMBERS = {word: n for n, word in enumerate(NUMBER_WORDS) if 1 <= n <= MOST} | {str(n): n for n in range(1, MOST + 1)}
# a word keeps what is joined to it, so that "5:30", "#7", "$5", "2nd", "3/4" and "two-drawer" are no numbers
_WORD = re.compile(r"[^\s,;!?()\"]+")
_NOT_NOUN = ("ing", "ed", "ly")  # endings of "the one standing", "one dressed in white"
_DIGIT = re.compile(r"[0-9]")


def count_in(phrase: str, words: CountWords) -> int | None:
    """The number of things that a description says its region shows, or None.

    >>> from veridical.builders.vprom.lists import read_lists
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
    counted = list(takewhile(lambda word: word not in words.stops, rest))
    if _is_group(counted, rest[len(counted) :], words) or (count > 1) != _has_plural(counted, words):
        return None
    return None if count == 1 and _is_pronoun(found[:place], counted, words) else count


def _opens(before: list[str], words: CountWords) -> bool:
    """Whether nothing but openers stands before the number: "there are only"."""
    if not before:
        return True
    return any(
        " ".join(before[:size]) in words.openers and _opens(before[size:], words) for size in range(1, len(before) + 1)
    )


def _has_plural(counted: list[str], words: CountWords) -> bool:
    """Whether what is counted is several things."""
    return any(
        word in words.plurals
        or (word.endswith("s") and not word.endswith(("ss", "'s")) and word not in words.singulars)
        for word in counted
    )


def _is_group(counted: list[str], after: list[str], words: CountWords) -> bool:
    """Whether groups are counted, of which the picture shows the members: "one large group of people"."""
    if not counted or counted[-1] not in words.groups:
        return False
    return after[:1] == ["of"] or counted[-1] in words.not_followed_by


def _is_pronoun(before: list[str], counted: list[str], words: CountWords) -> bool:
    """Whether "one" stands for a thing that is not named: "the one standing"."""
    if before[-1:] == ["the"]:
        return True
    return not any(
        word in words.nouns or (word not in words.not_nouns and not word.endswith(_NOT_NOUN)) for word in counted
    )
