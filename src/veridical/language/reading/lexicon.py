"""The words that the grammar knows: what each is called in it, and what the content words mean.

`CANON` sends inflections and synonyms to one spelling; `PHRASES` joins words that act as one. The world's own words
(colours, shapes, sizes) are a `World`, so that other scenes bring their own.

People's spelling (`yelow`, `abox`) is repaired towards the words that are known, by edit distance with transpositions;
ties go to the more frequent word, then to one with the same letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache

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


BOXES = World(
    attributes={
        "color": {"black": "black", "blue": "blue", "yellow": "yellow"},
        "category": {"square": "square", "rectangle": "square", "circle": "circle", "triangle": "triangle"},
        "size": {"small": "small", "tiny": "small", "medium": "medium", "big": "large", "large": "large"},
    },
    nouns=frozenset({"item", "block"}),
)

_GROUPS: dict[str, str] = {
    "item": "items object objects thing things element elements figure figures shapes_ piece pieces",
    "block": "blocks brick bricks cube cubes",
    "one_": "ones",
    "box": "boxes container containers",
    "tower": "towers stack stacks column columns",
    "tallest": "longest",
    "square": "squares",
    "rectangle": "rectangles",
    "circle": "circles ball balls dot dots round",
    "triangle": "triangles",
    "color": "colors colour colours colored coloured",
    "shape": "shapes type types kind kinds",
    "size": "sizes sized",
    "big": "bigger biggest huge",
    "large": "larger largest",
    "small": "smaller smallest little",
    "has": "have having contain contains containing had hold holds includes",
    "be": "is are was were being",
    "which": "that who",
    "with": "wth wih",
    "touching": "touch touches touched attached attach attaches adjacent connected",
    "near": "close closer beside",
    "nearly": "almost",
    "closely": "directly immediately right_",
    "edge": "edges line lines border borders boundary boundaries",
    "wall": "walls",
    "side": "sides",
    "corner": "corners",
    "base": "bases floor ground",
    "bottom": "bottoms lowest lower bottommost",
    "top": "tops topmost uppermost highest upper",
    "roof": "ceiling",
    "middle": "center centre",
    "above": "over atop",
    "below": "bellow beneath underneath under",
    "same": "similar identical equal",
    "different": "differing distinct",
    "other": "another others",
    "multiple": "many several lots numerous",
    "few": "some",
    "no": "zero_",
    "grey": "gray",
    "each": "every",
    "all": "both_",
    "exactly": "exact precisely exacts",
    "only": "just solely",
    "less": "fewer lesser",
    "level": "position positions levels place positioned",
    "height": "tall heights high taller higher",
    "number": "amount count numbers counts",
    "stacked": "piled stack_",
    "they": "them these those",
    "it": "this",
    "its": "their",
    "second": "2nd",
    "third": "3rd",
    "first": "1st",
    "without": "",
    "including": "include included",
}
CANON: dict[str, str] = {form: word for word, forms in _GROUPS.items() for form in forms.split()}

_PLAIN = (
    "there a an the of at least most than not any and or but either in on to as from between among where out then "
    "more by both made odd even fourth last set lot total t ll none neither nor together exactly nearly near for do "
    "does next greater tallest shortest alternately left right below above also two per horizontally vertically"
)
PHRASES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("at", "least"), "atleast"),
    (("at", "most"), "atmost"),
    (("a", "least"), "atleast"),
    (("t", "least"), "atleast"),
    (("more", "than"), "morethan"),
    (("less", "than"), "lessthan"),
    (("greater", "than"), "morethan"),
    (("not", "morethan"), "atmost"),
    (("no", "morethan"), "atmost"),
    (("not", "lessthan"), "atleast"),
    (("no", "lessthan"), "atleast"),
    (("a", "lot", "of"), "multiple"),
    (("lot", "of"), "multiple"),
    (("on", "the", "top", "of"), "ontop"),
    (("on", "top", "of"), "ontop"),
    (("at", "the", "top", "of", "each", "other"), "together"),
    (("ontop", "each", "other"), "together"),
    (("above", "each", "other"), "together"),
    (("each", "other"), "eachother"),
    (("one", "other"), "eachother"),
    (("in", "between"), "between"),
    (("out", "of"), "of"),
    (("none", "of"), "noneof"),
    (("grey", "box"), "box"),
    (("grey", "square"), "box"),
    (("square", "box"), "box"),
    (("top", "most"), "top"),
    (("bottom", "most"), "bottom"),
    (("above", "of"), "above"),
    (("next", "to"), "near"),
    (("block", "height"), "block"),
    (("do", "has"), "has"),
    (("do", "not"), "not"),
    (("does", "not"), "not"),
    (("ll",), "all"),
    (("tower", "together"), "together"),
)
_JOINED = {"atleast": "atleast", "atmost": "atmost", "tleast": "atleast", "alteast": "atleast"}


def known_words() -> frozenset[str]:
    """Every spelling the lexicon accepts as it stands."""
    plain = set(_PLAIN.split()) | set(CANON) | set(_GROUPS) | set(NUMBERS) | set(_JOINED)
    for table in BOXES.attributes.values():
        plain |= set(table)
    return frozenset(w.rstrip("_") for w in plain if w)


_KNOWN = known_words()
_CONTENT = frozenset(w for table in BOXES.attributes.values() for w in table) | {"block", "box", "tower", "item"}
_COMMON = ("least", "with", "there", "exactly", "and", "the")
_FIX = speller(_KNOWN, dict.fromkeys(_CONTENT, 2) | dict.fromkeys(_COMMON, 1))


_NAMES = _KNOWN | {joined for _, joined in PHRASES} | {"one_", ","}


def is_known(token: str) -> bool:
    """Whether a canonical word means something to the grammar."""
    return token in _NAMES or token.isdigit()


@lru_cache(maxsize=65536)
def _canonical(word: str) -> tuple[str, ...]:
    if word not in _KNOWN and not word.isdigit() and len(word) > 2:
        split = split_joined(word, _KNOWN)
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
        alone = follower not in (*BOXES.nouns, *_CONTENT, "and", "or", ",")
        if out[at] == "black" and out[at - 1] in colours and alone:
            out[at] = "block"
        if out[at] == "block" == out[at - 1]:
            out[at - 1] = "black"
        if out[at] == "on" and out[at - 1] in ("exactly", "atleast", "only", "atmost"):
            out[at] = "1"
        if out[at] == "least" and out[at - 1] not in _KNOWN:
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
