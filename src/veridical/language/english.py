"""English words that readers and writers share: numbers, plurals, articles, nouns for categories, names for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from veridical.records import Panel

NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "twenty-one"),
    *("twenty-two", "twenty-three", "twenty-four", "twenty-five"),  # NLVR's three boxes of eight, and one more
)
IRREGULAR = dict(
    pair.split(":")
    for line in (
        "person:people man:men woman:women child:children mouse:mice goose:geese foot:feet tooth:teeth ox:oxen",
        "knife:knives leaf:leaves wolf:wolves shelf:shelves bookshelf:bookshelves loaf:loaves calf:calves half:halves",
        "wife:wives life:lives scarf:scarves elf:elves hoof:hooves thief:thieves bus:buses quiz:quizzes cactus:cacti",
        "potato:potatoes tomato:tomatoes hero:heroes buffalo:buffaloes mosquito:mosquitoes mango:mangoes die:dice",
    )
    for pair in line.split()
)
SAME = {"sheep", "fish", "deer", "moose", "bison", "aircraft", "spacecraft", "shrimp", "squid", "salmon", "series"}
IN_PAIRS = {"scissors", "skis", "glasses", "sunglasses", "pants", "jeans", "shorts", "trousers", "pliers", "binoculars"}
# masses and plurals without a singular, with the word that counts them; categories of COCO and of other detectors
PORTIONS = {"broccoli": "piece", "bread": "piece", "cheese": "piece", "furniture": "piece", "food": "piece"}
PORTIONS |= {"clothing": "piece", "equipment": "piece", "jewelry": "piece", "fruit": "piece", "cake": "cake"}
AN_DESPITE = ("hour", "honest", "heir", "x-ray")  # sounded with a vowel first
A_DESPITE = ("uni", "use", "euro", "ewe", "one", "ukulele", "utensil", "ufo", "u-")  # spelled with one, not sounded


@dataclass(frozen=True, slots=True)
class Word:
    """What one thing is called, and what several are."""

    one: str
    many: str


def plural(noun: str) -> str:
    """The plural of an English noun or of a noun phrase that ends in it.

    >>> [plural(n) for n in ("dog", "bus", "wine glass", "cherry", "toy", "person", "knife", "sheep", "photo")]
    ['dogs', 'buses', 'wine glasses', 'cherries', 'toys', 'people', 'knives', 'sheep', 'photos']
    """
    if " of " in noun:
        head, rest = noun.split(" of ", 1)
        return f"{plural(head)} of {rest}"
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    for mark in (" ", "-"):
        before, found, last = noun.rpartition(mark)
        if found:
            return f"{before}{found}{plural(last)}"
    if noun in SAME:
        return noun
    for end in ("man", "person", "child", "foot", "tooth", "knife", "shelf", "mouse"):
        if noun.endswith(end) and noun not in ("human", "german", "roman", "talisman", "shaman", "caiman"):
            return noun[: -len(end)] + IRREGULAR[end]
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def a(phrase: str) -> str:
    """A phrase with its indefinite article.

    >>> [a(p) for p in ("dog", "orange cat", "umbrella", "unicycle", "hourglass")]
    ['a dog', 'an orange cat', 'an umbrella', 'a unicycle', 'an hourglass']
    """
    low = phrase.lower()
    vowel = (low[:1] in "aeiou" and not low.startswith(A_DESPITE)) or low.startswith(AN_DESPITE)
    return f"{'an' if vowel else 'a'} {phrase}"


def number(value: int) -> str:
    """A number in words, or in digits past twenty."""
    return NUMBER_WORDS[value] if value <= 20 else str(value)


def word(name: str, many: str | None = None) -> Word:
    """The words for a category's name: pairs of scissors, pieces of broccoli, and plain nouns.

    >>> word("scissors"), word("tv_monitor")
    (Word(one='pair of scissors', many='pairs of scissors'), Word(one='tv monitor', many='tv monitors'))
    """
    plain = " ".join(name.replace("_", " ").split())
    if plain.lower() == "tv":
        return Word("TV", "TVs")
    if plain in IN_PAIRS:
        return Word(f"pair of {plain}", f"pairs of {plain}")
    if many is None and plain in PORTIONS and PORTIONS[plain] != plain:
        return Word(f"{PORTIONS[plain]} of {plain}", f"{plural(PORTIONS[plain])} of {plain}")
    return Word(plain, many or plural(plain))


# --- names -----------------------------------------------------------------------------------------------------------
# VCR's text-only models read "Casey is handing a cup to Riley" in place of "[person1] is handing [cup1] to [person2]"
# (section 6.1), so that pretrained language models meet ordinary sentences and no gender is guessed.

# Classes that are people: their tags may be exchanged for each other.
PEOPLE = frozenset(
    {"person", "people", "man", "woman", "boy", "girl", "child", "kid", "baby", "lady", "guy", "men", "women"}
)
NEUTRAL = (
    "Casey", "Riley", "Jessie", "Jackie", "Avery", "Jaime", "Peyton", "Kerry", "Jody", "Kendall", "Skyler", "Frankie",
    "Pat", "Quinn",
)  # fmt: skip


def plain_names(panels: Iterable[Panel]) -> dict[str, str]:
    """A name for each object: the k-th person is the k-th neutral name (then numbered), a thing its class.

    >>> from veridical.records import SceneObject
    >>> objects = [SceneObject(str(k), name) for k, name in enumerate(("Woman", "cup", "person"))]
    >>> plain_names([Panel("p", objects=tuple(objects))])
    {'0': 'Casey', '1': 'cup', '2': 'Riley'}
    """
    names: dict[str, str] = {}
    people = 0
    for panel in panels:
        for one in panel.objects:
            if one.category.strip().lower() in PEOPLE:
                again = people // len(NEUTRAL)
                names[one.id] = NEUTRAL[people % len(NEUTRAL)] + (f" {again + 1}" if again else "")
                people += 1
            else:
                names[one.id] = one.category
    return names
