"""The words for what photographs show: names of categories, of their hypernyms, and of attributes.

`Nouns` is all that the writer of sentences knows of a source. `nouns_of` makes it from any panels (their categories
and, where there is one, the attribute `supercategory`); `icon_nouns` from the icon world, whose people, colours,
patterns and actions have words of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from veridical.language.english import IRREGULAR, Word, word
from veridical.records import Panel

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


def nouns_of(panels: Iterable[Panel]) -> Nouns:
    """The words for whatever some panels show: their categories, hypernyms and plain colours."""
    above: dict[str, str] = {}
    categories: dict[str, Word] = {}
    attribute: str | None = None
    for panel in panels:
        for thing in panel.objects:
            if thing.category not in categories:
                categories[thing.category] = word(thing.category)
            found = next((n for n in HYPERNYM_ATTRIBUTES if thing.attribute(n)), None)
            if found:
                attribute = attribute or found
                above.setdefault(thing.category, thing.attribute(found) or "")
    hypernyms = {}
    for name in sorted(set(above.values())):
        if name not in UNSPOKEN and name not in categories:
            hypernyms[name] = word(name)
    ordered = dict(sorted(categories.items()))
    return Nouns(
        ordered,
        hypernyms,
        {c: above[c] for c in ordered if above.get(c) in hypernyms},
        attribute,
        PLAIN_ATTRIBUTES,
    )


ICON_HYPERNYMS = {
    "animal": word("animal"),
    "vehicle": word("vehicle"),
    "tool": word("tool"),
    "food": Word("food item", "food items"),
    "furniture": word("furniture"),
    "plant": word("plant"),
    "building": word("building"),
    "instrument": word("musical instrument"),
    "ball": word("ball"),
}
ICON_DOUBTFUL = frozenset(
    (
        *("stroller", "shopping cart", "sleigh", "rocket", "cable car", "ruler", "pencil", "key", "magnet", "syringe"),
        *("thermometer", "stapler", "magnifying glass", "candy cane", "egg", "toilet", "bathtub", "sink", "leaf"),
        *("igloo", "tent", "bridge", "bell"),
    )
)
ICON_ALSO = {
    "car": ("taxi", "van", "ambulance"),
    "truck": ("van", "ambulance"),
    "bus": ("van",),
    "van": ("ambulance", "bus"),
    "ship": ("sailboat",),
    "clock": ("stopwatch",),
    "star": ("sun",),
    "hat": ("helmet", "crown"),
    "bag": ("briefcase", "suitcase"),
    "suitcase": ("briefcase",),
    "briefcase": ("suitcase",),
    "cup": ("wineglass",),
    "bucket": ("trash can",),
    "football": ("soccer ball",),
    "shirt": ("vest",),
    "temple": ("church", "mosque"),
    "house": ("igloo",),
    "tree": ("seedling",),
    "leaf": ("clover", "seedling"),
    "seedling": ("leaf",),
}
PATTERN_NAMES = frozenset(("striped", "dotted", "checked"))
PATTERN_PIXELS = 24  # a pattern repeats every four pixels or more: smaller icons show hardly a dot or stripe whole


def icon_nouns() -> Nouns:
    """The words of the icon world."""
    from veridical.sources.icons.glyphs import CATEGORIES, COLORS, PERSON, PERSON_NOUNS

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
    categories = {
        name: word(name) if word(name).one != name else Word(_of(category.plural, name), category.plural)
        for name, category in CATEGORIES.items()
    }
    return Nouns(
        categories,
        ICON_HYPERNYMS,
        {name: category.hypernym for name, category in CATEGORIES.items() if category.hypernym in ICON_HYPERNYMS},
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
        ICON_DOUBTFUL,
        ICON_ALSO,
    )


def _of(many: str, name: str) -> str:
    """The singular that goes with a plural: "loaves of bread" are counted in loaves."""
    head, found, rest = many.partition(" of ")
    singular = next((one for one, several in IRREGULAR.items() if several == head), head.removesuffix("s"))
    return f"{singular} of {rest}" if found else name
