"""Stories of the icon world in fours: what somebody does, holds or visits, known exactly: pictures are made from it.

Four photographs of a quartet show the same cast in four ways. In each, four people stand in the four quarters. Who they
are, where they stand, what they have to do with and what colour their things have are four values each, dealt as the
directions of an affine plane: every photograph shows all four of each, and of the people who share one of them, one in
every photograph, no two share another. So whoever knows that all four are there still has to look who has which, and
no property says anything of another. `stories.json` says what things are for; edit it to tell other stories.

A detector of this world tells people from tools and buildings, not a hammer from a wrench (`detected`): what a thing
is, what colour it has and what people do is to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

import msgspec
import numpy as np

from veridical.common.arrays import Ints
from veridical.errors import UserError
from veridical.records import Panel
from veridical.sources.icons.glyphs import CATEGORIES, PERSON, PERSON_NOUNS
from veridical.sources.icons.scene import Group, IconScene, Interaction, NoRoom, compose
from veridical.sources.icons.worlds import IconWorld, one_of

Style = Literal["held", "acts", "visited"]  # what people of a quartet differ in; a key of `stories.json`
Facts = dict[str, dict[str, str]]  # name -> what is known of it, by the words of templates
STYLES: dict[Style, float] = {"held": 0.45, "acts": 0.35, "visited": 0.2}  # how often; the first knows most things
FOUR = 4  # photographs of a quartet, and people in each
COUNTS = (1, 2, 3, 4, 5)  # of equal things: each photograph of a quartet shows another number
LANDMARKS = 2  # things that play no part, the same in the four photographs
COLORS = ("red", "yellow", "green", "blue", "purple", "pink", "brown", "black")  # those that nobody mixes up
WHERE = ("upper left", "upper right", "lower left", "lower right")  # as the layout `corners` has them
ATTEMPTS = 40


@dataclass(frozen=True, slots=True)
class StoryPerson:
    """One of four people, by what can be said of them."""

    person: int  # index of an object of the scene
    other: int  # what is held, visited or stands beside
    topic: str  # a name of the style's facts
    wears: str  # the same person wears the same in the four photographs
    looks: tuple[str, str]  # age and gender
    hue: str  # of the other thing
    where: str

    @property
    def noun(self) -> str:
        return PERSON_NOUNS[self.looks][0]


@dataclass(frozen=True, slots=True)
class Story:
    """A scene and what happens in it."""

    scene: IconScene
    style: Style
    people: tuple[StoryPerson, ...]
    counted: str  # the category of the equal things
    count: int  # of those that are of the hue
    hue: str  # of the equal things; of two colours, the one to count
    mixed: bool  # the equal things have two colours, and all photographs show as many of both together

    def who(self, known: str, value: str) -> StoryPerson:
        """The one whose topic, clothes, place or thing's hue it is."""
        return next(one for one in self.people if getattr(one, known) == value)


class Tales(msgspec.Struct, frozen=True):
    """The facts that stories are told with: `stories.json`."""

    held: dict[str, Facts]  # by the class that a detector gives; things of a quartet are of one
    acts: Facts
    visited: Facts
    places: Facts
    counted: tuple[str, ...]
    beside: tuple[str, ...]
    landmarks: tuple[str, ...]

    def known(self, style: Style) -> Facts:
        """The facts of a style, by topic."""
        if style == "held":
            return {name: fact for facts in self.held.values() for name, fact in facts.items()}
        return self.acts if style == "acts" else self.visited


@lru_cache(maxsize=1)
def tales() -> Tales:
    """The facts of `stories.json`."""
    return msgspec.json.decode((files("veridical.sources.icons") / "stories.json").read_bytes(), type=Tales)


@cache
def seen_as(category: str) -> str:
    """What a detector calls a thing.

    >>> seen_as("hammer"), seen_as("house"), seen_as("person")
    ('tool', 'building', 'person')
    """
    found = next((name for name, facts in tales().held.items() if category in facts), None)
    return found or CATEGORIES[category].hypernym


def detected(panel: Panel) -> Panel:
    """A photograph as a detector annotates it: classes, boxes and outlines, but not how an object looks."""
    things = (replace(one, category=seen_as(one.category), attributes=()) for one in panel.objects)
    return replace(panel, objects=tuple(things))


@dataclass(frozen=True)
class IconStories(IconWorld):
    """Stories as a source; a quartet is a function of the seed and its number, and of the salt where it is salted."""

    count: int = 1000
    seed: int = 0
    salt: tuple[int, ...] = field(default=(), repr=False)  # of a secret
    salted: frozenset[int] = frozenset()  # the quartets that nobody can tell without it

    def __post_init__(self) -> None:
        if self.count < 1 or self.seed < 0:
            raise UserError(f"{self.count} stories of seed {self.seed}.", "Give one or more, and a seed from 0.")

    def begin(self, quartet: int) -> tuple[tuple[Story, ...], np.random.Generator]:
        """Four stories, and the generator they were drawn with: whoever asks about them draws on."""
        rng = np.random.default_rng([self.seed, quartet, *(self.salt if quartet in self.salted else ())])
        return sample_quartet(rng), rng

    def scene(self, index: int) -> IconScene:
        quartet, number = divmod(index, FOUR)
        return _scenes(self, quartet)[number]

    def label(self, index: int) -> str:
        return f"story-{index}"

    def config(self) -> dict[str, object]:
        """The source alone: a benchmark says its seed and how many photographs it has by itself."""
        return {"source": self.name}


@lru_cache(maxsize=4)
def _scenes(stories: IconStories, quartet: int) -> tuple[IconScene, ...]:
    return tuple(story.scene for story in stories.begin(quartet)[0])


def sample_quartet(rng: np.random.Generator, *, width: int = 400, height: int = 300) -> tuple[Story, ...]:
    """Four stories whose objects all fit into their pictures."""
    for _ in range(ATTEMPTS):
        try:
            return _sample(rng, width, height)
        except NoRoom:
            continue  # fewer or smaller things may come next time
    raise NoRoom(f"No story fits into {width} x {height} pixels.", "Choose a larger picture, such as 400 x 300.")


def plane(rng: np.random.Generator) -> Ints:
    """Four properties of 4 x 4 people, (4, 4, 4): the value 0 to 3 of each property, photograph and person.

    The lines of the affine plane over the field of four: of two properties, every pair of values is somebody's.

    >>> dealt = plane(np.random.default_rng(0))
    >>> len({(*pair,) for pair in dealt[[0, 3]].reshape(2, 16).T.tolist()})
    16
    """
    times = np.array([[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]])  # of the field; its sum is ^
    photograph, person = np.indices((FOUR, FOUR))
    slopes, photograph = rng.permutation(FOUR), rng.permutation(FOUR)[photograph]
    return np.array([rng.permutation(FOUR)[times[slope, photograph] ^ person] for slope in slopes], np.int64)


def _sample(rng: np.random.Generator, width: int, height: int) -> tuple[Story, ...]:
    told = tales()
    style: Style = list(STYLES)[int(rng.choice(len(STYLES), p=list(STYLES.values())))]
    topics = _some(rng, told.held[one_of(rng, told.held)] if style == "held" else told.known(style), FOUR)
    beside = _some(rng, told.beside, FOUR) if style == "acts" else []  # the b-th has the b-th hue
    landmarks, counted = _some(rng, told.landmarks, LANDMARKS), one_of(rng, told.counted)
    places, hues, wears = (_some(rng, names, FOUR) for names in (told.places, COLORS, COLORS))
    looks = [list(PERSON_NOUNS)[int(k)] for k in rng.permutation(len(PERSON_NOUNS))[:FOUR]]
    counts, painted, mixed = _counts(rng)
    stories = []
    for k, (topic, cast, where, hue) in enumerate(plane(rng).transpose(1, 0, 2)):
        people = [
            StoryPerson(0, 0, topics[topic[b]], wears[cast[b]], looks[cast[b]], hues[hue[b]], WHERE[where[b]])
            for b in range(FOUR)
        ]
        groups, links = _groups(style, people, [beside[int(h)] for h in hue] if beside else [p.topic for p in people])
        groups += [_thing(name) for name in landmarks]
        groups += [_thing(counted, color, count) for color, count in painted[k]]
        scene = compose(
            rng, groups, width=width, height=height, background=places[k], layout="corners", interactions=links
        )
        stories.append(
            _mixed(rng, Story(scene, style, tuple(people), counted, counts[k], painted[k][0][0], mixed))
        )  # fmt: skip
    return tuple(stories)


def _counts(rng: np.random.Generator) -> tuple[list[int], list[list[tuple[str, int]]], bool]:
    """How many there are to count, which colours are how often there, and whether there are two of them.

    Where there are two, the photographs show as many things altogether: boxes alone tell no number.
    """
    colors = _some(rng, COLORS, FOUR)
    if rng.random() < 0.5:
        counts = [int(n) for n in rng.permutation(COUNTS)[:FOUR]]
        return counts, [[(color, count)] for color, count in zip(colors, counts, strict=True)], False
    counts = [int(n) for n in rng.permutation(COUNTS[:FOUR])]
    return counts, [[(colors[0], n), (colors[1], max(COUNTS) - n)] for n in counts], True


def _groups(style: Style, people: list[StoryPerson], things: list[str]) -> tuple[list[Group], list[Interaction]]:
    """Pairs in the order of the quarters: whoever stands in quarter k is object 2k, and the thing 2k + 1."""
    groups: list[Group] = []
    links = []
    for k, b in enumerate(sorted(range(FOUR), key=lambda b: WHERE.index(people[b].where))):
        one = people[b]
        action = {"held": "standing", "acts": one.topic, "visited": "walking"}[style]
        look = (
            ("action", action), ("age", one.looks[0]), ("gender", one.looks[1]), ("color", one.wears),
            ("pattern", "solid"), ("size", "medium"),
        )  # fmt: skip
        groups += [Group(PERSON, 1, look), _thing(things[b], one.hue, size="medium" if style == "visited" else "small")]
        links.append(Interaction(2 * k, "holding" if style == "held" else "next to", 2 * k + 1))
        people[b] = replace(one, person=2 * k, other=2 * k + 1)
    return groups, links


def _thing(name: str, color: str | None = None, count: int = 1, size: str = "small") -> Group:
    upright = (("rotation", "upright"),) if "upright" in CATEGORIES[name].allows("rotation") else ()
    colored = (("color", color), ("pattern", "solid")) if color else ()
    return Group(name, count, (*upright, *colored, ("size", size)))


def _some(rng: np.random.Generator, names: Facts | tuple[str, ...], count: int) -> list[str]:
    listed = list(names)
    return [listed[int(k)] for k in rng.permutation(len(listed))[:count]]


def _mixed(rng: np.random.Generator, story: Story) -> Story:
    """The same story with its objects in another order: a number must not tell what part an object plays."""
    order = rng.permutation(len(story.scene.objects))
    place = np.argsort(order).tolist()  # old index -> new index
    scene = replace(
        story.scene,
        objects=tuple(story.scene.objects[int(k)] for k in order),
        interactions=tuple((place[a], predicate, place[b]) for a, predicate, b in story.scene.interactions),
    )
    people = tuple(replace(one, person=place[one.person], other=place[one.other]) for one in story.people)
    return replace(story, scene=scene, people=people)
