"""The vocabulary of the icon world: which categories there are, which glyph draws each, which attributes it can show.

The glyphs come from the font of the package fontawesomefree; `categories.json` names them. A category allows only
values that can be told apart when drawn: a ball is never tilted, a fish seen from the side faces left or right.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import msgspec

from veridical.errors import UserError, missing_extra

COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "gray", "black")
PATTERNS = ("solid", "striped", "dotted", "checked", "outlined")
SIZES = ("small", "medium", "large")
ROTATIONS = ("upright", "tilted", "upside-down")
FACINGS = ("left", "right")  # only for categories seen from the side
AGES = ("child", "adult", "elderly")
GENDERS = ("male", "female")
PERSON = "person"

LICENCE = "Font Awesome Free 6.6.0 icons by Fonticons, Inc., CC-BY-4.0 (fontawesome.com/license/free)"
# what to call a person of an age and gender: singular, plural
PERSON_NOUNS: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        ("child", "male"): ("boy", "boys"),
        ("child", "female"): ("girl", "girls"),
        ("adult", "male"): ("man", "men"),
        ("adult", "female"): ("woman", "women"),
        ("elderly", "male"): ("old man", "old men"),
        ("elderly", "female"): ("old woman", "old women"),
    }
)


class Glyph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One icon of the font."""

    name: str  # in Font Awesome
    codepoint: str  # hexadecimal
    facing: str | None = None  # the way it looks in the font; None: not seen from the side
    turn: int = 0  # degrees counter-clockwise that set it upright: tools are drawn on the diagonal
    head: tuple[float, float, float] | None = None  # people: centre and radius; x / width, y / height, r / height
    head_scale: float = 1.0  # people: an adult's head against the one in the font
    child_head: float = 1.0  # people: a child's head against an adult's, where one icon shows all ages


class Pose(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An icon of a person, and whom it can show."""

    action: str
    ages: tuple[str, ...]
    genders: tuple[str, ...]
    glyph: Glyph


class Category(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an object of the icon world can be."""

    name: str  # a WordNet noun where there is one
    plural: str
    hypernym: str  # animal, vehicle, tool, food ...
    synset: str = ""  # WordNet 3.0, as nltk names it
    glyph: Glyph | None = None  # None for people, who have poses
    rotations: tuple[str, ...] = ROTATIONS  # those that can be told apart
    poses: tuple[Pose, ...] = ()
    marked: bool = False  # its solid icon has dots, bars or little ink: people do not see a pattern on it for sure

    def allows(self, attribute: str) -> tuple[str, ...]:
        """The values an attribute can take in this category; none where it does not apply.

        >>> CATEGORIES["dog"].allows("facing"), CATEGORIES["apple"].allows("facing")
        (('left', 'right'), ())
        """
        if attribute == "rotation":
            return self.rotations
        if attribute == "facing":
            faces = self.glyph.facing if self.glyph else any(pose.glyph.facing for pose in self.poses)
            return FACINGS if faces else ()
        if attribute in ("age", "gender", "action"):
            values = {"age": AGES, "gender": GENDERS, "action": ACTIONS}[attribute]
            return values if self.poses else ()
        return {"color": COLORS, "pattern": PATTERNS, "size": SIZES}.get(attribute, ())


_FOUND = msgspec.json.decode(Path(__file__).with_name("categories.json").read_bytes(), type=list[Category])
CATEGORIES: Mapping[str, Category] = MappingProxyType({category.name: category for category in _FOUND})
ACTIONS: tuple[str, ...] = tuple(dict.fromkeys(pose.action for pose in CATEGORIES[PERSON].poses))
HYPERNYMS: tuple[str, ...] = tuple(dict.fromkeys(category.hypernym for category in CATEGORIES.values()))


def category(name: str) -> Category:
    """A category by name."""
    if name not in CATEGORIES:
        raise UserError(
            f"The icon world has no category {name!r}.", f"It has {len(CATEGORIES)}: {', '.join(CATEGORIES)}."
        )
    return CATEGORIES[name]


def poses(age: str | None = None, gender: str | None = None, action: str | None = None) -> tuple[Pose, ...]:
    """The icons that can show such a person; None means any."""
    return tuple(
        pose
        for pose in CATEGORIES[PERSON].poses
        if age in (None, *pose.ages) and gender in (None, *pose.genders) and action in (None, pose.action)
    )


@cache
def font_path() -> Path:
    """The font file of the package fontawesomefree."""
    spec = find_spec("fontawesomefree")
    if spec is None or not spec.submodule_search_locations:
        raise missing_extra("fontawesomefree", "build")
    path = Path(spec.submodule_search_locations[0]) / "static" / "fontawesomefree" / "webfonts" / "fa-solid-900.ttf"
    if not path.is_file():
        raise UserError(
            f"The package fontawesomefree has no {path.name}.", "Install the version veridical[build] asks for."
        )
    return path
