"""English words that readers and writers share: numbers, plurals, articles, names for people, nouns for categories.

`Nouns` is all that the writer of sentences about photographs knows of a source: words for categories, hypernyms and
attributes. `nouns_of` makes it from any panels (their categories and, where there is one, the attribute
`supercategory`); `icon_nouns` from the icon world, whose people, colours, patterns and actions have words of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from veridical.records import Panel
from veridical.sources import EVERYTHING, Coverage

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

    def counted(self, words: str, number: int) -> str:
        """ "A dog", "two dogs", "dogs": the word with those of an amount, "a" for one and "" for some."""
        if words == "a":
            return a(self.one)
        noun = self.one if number == 1 else self.many
        return f"{words} {noun}" if words else noun


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


# --- nouns for what photographs show ----------------------------------------------------------------------------------

Values = tuple[tuple[str, str], ...]  # (attribute, value); the attribute may be `category`


@dataclass(frozen=True, slots=True)
class Spoken:
    """How an attribute is put into words."""

    name: str  # of the attribute: color, action ...
    phrase: str = "{value} {noun}"  # a noun with it: "red dog", "dog running"
    predicate: str = "{value}"  # what follows "is": "red", "running"
    noun: str = ""  # what the attribute is called ("color"), where values are compared: "all the same color"
    values: frozenset[str] | None = None  # the values spoken of; None: all
    of: frozenset[str] | None = None  # the categories it is said of; None: all that no other way is for
    least: float = 0  # pixels of the shorter side of a box; of smaller things nobody could tell

    def says(self, value: str | None) -> bool:
        """Whether there are words for a value."""
        return value is not None and (self.values is None or value in self.values)


@dataclass(frozen=True, slots=True)
class Named:
    """A name for the things of a category that have some attributes: a boy is a person, male, a child."""

    word: Word
    values: Values  # the category first
    wider: Values = ()  # values that some would count too: an old man is a man, or not


@dataclass(frozen=True)
class Nouns:
    """What a source's things are called."""

    categories: Mapping[str, Word]
    hypernyms: Mapping[str, Word] = field(default_factory=dict)  # by the name of the hypernym
    above: Mapping[str, str] = field(default_factory=dict)  # category -> its hypernym
    hypernym_attribute: str | None = None  # the attribute of things that holds their hypernym, where there is one
    attributes: tuple[Spoken, ...] = ()
    named: tuple[Named, ...] = ()
    doubtful: frozenset[str] = frozenset()  # categories that some would not count under their hypernym
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # category -> those that some would call so too
    holders: int = 1  # images of four pairs that show a thing before it is spoken of

    def under(self, hypernym: str) -> tuple[str, ...]:
        """The categories of a hypernym."""
        return tuple(category for category, above in self.above.items() if above == hypernym)


COLOR_NAMES = frozenset(
    ("black", "white", "red", "green", "blue", "yellow", "orange", "purple", "pink", "brown", "gray", "grey", "tan")
)
PLAIN_ATTRIBUTES = (Spoken("color", noun="color", values=COLOR_NAMES),)
HYPERNYM_ATTRIBUTES = ("hypernym", "supercategory")
# COCO's supercategories that name none of their things: nobody says "two indoors" or "a sports"
UNSPOKEN = frozenset(("accessory", "sports", "indoor", "outdoor", "electronic", "kitchen", "food", "person"))
HOLDERS = 2  # of eight photographs: what only one shows says nothing about the others


def nouns_of(panels: Iterable[Panel], coverage: Coverage = EVERYTHING) -> Nouns:
    """The words for what some panels show, as far as a source covers it: categories, hypernyms and plain colours."""
    above: dict[str, str] = {}
    categories: dict[str, Word] = {}
    attribute: str | None = None
    for panel in panels:
        for thing in panel.objects:
            if thing.category not in categories and coverage.covers(thing.category):
                categories[thing.category] = word(thing.category)
            found = next((n for n in HYPERNYM_ATTRIBUTES if thing.attribute(n)), None)
            if found:
                attribute = attribute or found
                above.setdefault(thing.category, thing.attribute(found) or "")
    named = {name for name in above.values() if coverage.covers(name)}
    hypernyms = {name: word(name) for name in sorted(named - UNSPOKEN - {*categories})}
    known = {c: above[c] for c in sorted(above) if above[c] in hypernyms}
    ordered = dict(sorted(categories.items()))
    return Nouns(ordered, hypernyms, known, attribute, PLAIN_ATTRIBUTES, also=coverage.confused, holders=HOLDERS)


PATTERN_NAMES = frozenset(("striped", "dotted", "checked"))
PATTERN_PIXELS = 24  # a pattern repeats every four pixels or more: smaller icons show hardly a dot or stripe whole


class _IconWords(msgspec.Struct, forbid_unknown_fields=True):
    """What `icon_words.json` says, as `Nouns` has it."""

    hypernyms: dict[str, Word]
    doubtful: frozenset[str]
    also: dict[str, tuple[str, ...]]


def icon_nouns() -> Nouns:
    """The words of the icon world."""
    from veridical.sources.icons.glyphs import CATEGORIES, COLORS, PERSON, PERSON_NOUNS

    words = msgspec.json.decode(Path(__file__).with_name("icon_words.json").read_bytes(), type=_IconWords)
    people = frozenset([PERSON])
    rest = frozenset(CATEGORIES) - people
    unmarked = frozenset(name for name in rest if not CATEGORIES[name].marked)
    named = [
        Named(
            Word(*words),
            (("category", PERSON), ("age", age), ("gender", gender)),
            (("age", "elderly"),) if age == "adult" else (),
        )
        for (age, gender), words in PERSON_NOUNS.items()
    ]
    named.append(Named(word("child"), (("category", PERSON), ("age", "child"))))
    categories = {}
    for name, category in CATEGORIES.items():
        categories[name] = word(name)
        if categories[name].one == name:  # "loaves of bread" are counted in loaves
            head, found, tail = category.plural.partition(" of ")
            singular = next((one for one, several in IRREGULAR.items() if several == head), head.removesuffix("s"))
            categories[name] = Word(f"{singular} of {tail}" if found else name, category.plural)
    return Nouns(
        categories,
        words.hypernyms,
        {name: category.hypernym for name, category in CATEGORIES.items() if category.hypernym in words.hypernyms},
        None,
        (
            Spoken("pattern", values=PATTERN_NAMES, of=unmarked, least=PATTERN_PIXELS),
            Spoken("rotation", "upside-down {noun}", "upside down", values=frozenset(("upside-down",)), of=rest),
            Spoken("color", "{noun} in {value}", "wearing {value}", "color of clothes", frozenset(COLORS), people),
            Spoken("color", noun="color", values=frozenset(COLORS), of=rest),
            Spoken("action", "{noun} {value}", "{value}", of=people),
            Spoken("facing", "{noun} facing {value}", "facing {value}"),
        ),
        tuple(named),
        words.doubtful,
        words.also,
    )
