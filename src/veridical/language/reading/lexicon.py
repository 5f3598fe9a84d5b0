"""The words that the grammar knows: what each is called in it, and what the content words mean.

`lexicon.json` lists them: `CANON` sends inflections and synonyms to one spelling; `PHRASES` joins words that act as
one. The world's own words (colours, shapes, sizes) are a `World`, so that other scenes bring their own.

People's spelling (`yelow`, `abox`) is repaired towards the words that are known, by edit distance with transpositions;
ties go to the more frequent word, then to one with the same letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import msgspec

from veridical.language.english import NUMBER_WORDS

NUMBERS: dict[str, int] = {word: n for n, word in enumerate(NUMBER_WORDS[:11])} | {"single": 1, "couple": 2, "pair": 2}
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


# --- the lexicon ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """The content words of some scenes, by attribute of its objects."""

    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # attribute -> word -> value
    nouns: frozenset[str] = frozenset()  # words for any object


class _Lexicon(msgspec.Struct, forbid_unknown_fields=True):
    """What `lexicon.json` holds. A form that ends in `_` is known as it stands, and is not sent to another word."""

    attributes: dict[str, dict[str, str]]  # of the world of boxes
    nouns: frozenset[str]
    forms: dict[str, str]  # word -> its inflections and synonyms
    plain: str  # words that stand for themselves
    phrases: list[tuple[str, str]]  # words that act as one, joined in this order
    joined: dict[str, str]  # slips that write two words as one


_LEXICON = msgspec.json.decode(Path(__file__).with_name("lexicon.json").read_bytes(), type=_Lexicon)
BOXES = World(_LEXICON.attributes, _LEXICON.nouns)
CANON: dict[str, str] = {form: word for word, forms in _LEXICON.forms.items() for form in forms.split()}
PHRASES: tuple[tuple[tuple[str, ...], str], ...] = tuple((tuple(p.split()), joined) for p, joined in _LEXICON.phrases)
_JOINED = _LEXICON.joined
_CONTENT = frozenset(word for table in BOXES.attributes.values() for word in table)
_PLAIN = {*_LEXICON.plain.split(), *CANON, *_LEXICON.forms, *NUMBERS, *_JOINED, *_CONTENT}
KNOWN = frozenset(word.rstrip("_") for word in _PLAIN)  # every spelling that is accepted as it stands
_COMMON = ("least", "with", "there", "exactly", "and", "the")
_FIX = speller(KNOWN, dict.fromkeys((*_CONTENT, "block", "box", "tower", "item"), 2) | dict.fromkeys(_COMMON, 1))


_NAMES = KNOWN | {joined for _, joined in PHRASES} | {"one_", ","}


def is_known(token: str) -> bool:
    """Whether a canonical word means something to the grammar."""
    return token in _NAMES or token.isdigit()


@lru_cache(maxsize=65536)
def _canonical(word: str) -> tuple[str, ...]:
    if word not in KNOWN and not word.isdigit() and len(word) > 2:
        split = split_joined(word, KNOWN)
        if len(split) > 1:
            return tuple(c for w in split for c in _canonical(w))
        word = _FIX(word)
    word = _JOINED.get(word, word)
    if word in NUMBERS and word not in ("single", "couple", "pair"):
        return (str(NUMBERS[word]),)
    return (CANON.get(word, word),)


_NEGATIVE = {"neither": ("no",), "nor": ("and", "no")}


def _unswap(out: list[str]) -> None:
    """Slips that make another word: `a blue black` for block, `block blocks` for black, `exactly on` for one."""
    colours = BOXES.attributes["color"]
    for at in range(1, len(out)):
        follower = out[at + 1] if at + 1 < len(out) else ""
        alone = follower not in (*BOXES.nouns, *_CONTENT, "box", "tower", "and", "or", ",")
        if out[at] == "black" and out[at - 1] in colours and alone:
            out[at] = "block"
        if out[at] == "block" == out[at - 1]:
            out[at - 1] = "black"
        if out[at] == "on" and out[at - 1] in ("exactly", "atleast", "only", "atmost"):
            out[at] = "1"
        if out[at] == "least" and out[at - 1] not in KNOWN:
            out[at - 1] = "at"


@lru_cache(maxsize=65536)
def read_words(sentence: str) -> tuple[str, ...]:
    """The canonical words of a sentence.

    >>> read_words("There is atleast one grey square with 2 yelow blocks")
    ('there', 'be', 'atleast', '1', 'box', 'with', '2', 'yellow', 'block')
    """
    out = [c for word in words(sentence) for c in _canonical(word)]
    _unswap(out)
    out = [c for word in out for c in _NEGATIVE.get(word, (word,))]
    for pattern, joined in PHRASES:
        size, at = len(pattern), 0
        if pattern[0] not in out:
            continue
        while at + size <= len(out):
            if tuple(out[at : at + size]) == pattern:
                out[at : at + size] = [joined]
            at += 1
    return tuple(out)
