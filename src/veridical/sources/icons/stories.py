"""Stories of the icon world in fours: what somebody does, holds or visits, known exactly: pictures are made from it.

Four photographs of a quartet show the same cast in four ways. In each, four people stand in the four quarters; what
they have to do with, what they wear, where they stand and what colour their things have are four values each, dealt
by a Latin square of its own: every photograph shows all four, and the b-th person of the four photographs has each
once. So whoever knows that all four are there still has to look who has which, and no property says anything of
another. `stories.json` says what things are for; edit it to tell other stories.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import msgspec
import numpy as np

from veridical.errors import UserError
from veridical.sources.icons.glyphs import CATEGORIES, PERSON
from veridical.sources.icons.scene import Group, IconScene, Interaction, NoRoom, compose
from veridical.sources.icons.worlds import IconWorld, one_of

Style = Literal["held", "acts", "visited"]  # what people of a quartet differ in; a key of `stories.json`
Facts = dict[str, dict[str, str]]  # name -> what is known of it, by the words of templates
STYLES: tuple[Style, ...] = ("held", "acts", "visited")
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
    wears: str
    hue: str  # of the other thing
    where: str


@dataclass(frozen=True, slots=True)
class Story:
    """A scene and what happens in it."""

    scene: IconScene
    style: Style
    people: tuple[StoryPerson, ...]  # the b-th of the four photographs differ in everything
    counted: str  # the category of the equal things
    count: int
    hue: str  # of the equal things
    landmarks: tuple[int, ...]  # indices of objects


class Tales(msgspec.Struct, frozen=True):
    """The facts that stories are told with: `stories.json`."""

    held: Facts
    acts: Facts
    visited: Facts
    places: Facts
    counted: tuple[str, ...]
    beside: tuple[str, ...]
    landmarks: tuple[str, ...]


@lru_cache(maxsize=1)
def tales() -> Tales:
    """The facts of `stories.json`."""
    return msgspec.json.decode((files("veridical.sources.icons") / "stories.json").read_bytes(), type=Tales)


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


def latin_square(rng: np.random.Generator) -> np.ndarray:
    """A random one of the 576: (4, 4), each number once in every row and every column.

    >>> square = latin_square(np.random.default_rng(0))
    >>> all(sorted(line) == [0, 1, 2, 3] for line in (*square.tolist(), *square.T.tolist()))
    True
    """
    one, other = np.indices((FOUR, FOUR))
    # of the four that begin with 0123 in row and column, three are the cyclic one with two numbers exchanged
    base = one ^ other if rng.random() < 1 / 4 else (one + other) % FOUR
    rows, columns, numbers = (rng.permutation(FOUR) for _ in range(3))
    square: np.ndarray = numbers[base[rows][:, columns]]
    return square


def _sample(rng: np.random.Generator, width: int, height: int) -> tuple[Story, ...]:
    told = tales()
    style: Style = STYLES[int(rng.integers(len(STYLES)))]
    facts: dict[Style, Facts] = {"held": told.held, "acts": told.acts, "visited": told.visited}
    topics = _some(rng, facts[style], FOUR)
    others = _some(rng, told.beside, FOUR) if style == "acts" else topics
    landmarks = _some(rng, told.landmarks, LANDMARKS)
    counted = one_of(rng, told.counted)
    counts, places = rng.permutation(COUNTS)[:FOUR], _some(rng, told.places, FOUR)
    wears, hues, group_hues = (_some(rng, COLORS, FOUR) for _ in range(3))
    topic, other, where, worn, hue = (latin_square(rng) for _ in range(5))
    stories = []
    for k in range(FOUR):
        people = [
            StoryPerson(
                b, 0, topics[topic[k, b]], wears[worn[k, b]], hues[hue[k, b]], WHERE[where[k, b]]
            )
            for b in range(FOUR)
        ]  # fmt: skip
        beside = [others[int(other[k, b])] for b in range(FOUR)] if style == "acts" else [p.topic for p in people]
        groups, links = _groups(style, people, beside)
        groups += [_thing(name) for name in landmarks]
        groups.append(_thing(counted, group_hues[k], int(counts[k])))
        scene = compose(
            rng, groups, width=width, height=height, background=places[k], layout="corners", interactions=links
        )
        stories.append(_mixed(rng, Story(scene, style, tuple(people), counted, int(counts[k]), group_hues[k], ())))
    return tuple(stories)


def _groups(style: Style, people: list[StoryPerson], beside: list[str]) -> tuple[list[Group], list[Interaction]]:
    """Pairs in the order of the quarters: whoever stands in quarter k is object 2k, and the thing 2k + 1."""
    groups: list[Group] = []
    links = []
    for k, b in enumerate(sorted(range(FOUR), key=lambda b: WHERE.index(people[b].where))):
        one = people[b]
        action = {"held": "standing", "acts": one.topic, "visited": "walking"}[style]
        look = (("action", action), ("color", one.wears), ("pattern", "solid"), ("size", "medium"))
        groups += [Group(PERSON, 1, look), _thing(beside[b], one.hue, size="medium" if style == "visited" else "small")]
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
    first = 2 * FOUR
    return replace(story, scene=scene, people=people, landmarks=tuple(place[first : first + LANDMARKS]))
