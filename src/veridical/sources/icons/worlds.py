"""The icon world: pictures composed from the icons of a font, with exact truth, so that nothing needs downloading.

    scene = compose(rng, [Group("dog", 3, (("color", "red"),)), Group("person")], distractors=2)
    encode(scene), panel(scene, "picture-1"), relationships(scene)

`Icons` is the world as a source of single scenes; `IconSeries`, `IconPanels` and the stories of `stories.py` are the
worlds that the builders of NLVR2, V-PROM and VCR draw from. All are an `IconWorld`: the k-th picture is a function of k
and the seed.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

import numpy as np

from veridical.errors import UserError
from veridical.records import Pairs, Panel
from veridical.sources import Photograph, Source
from veridical.sources.icons.draw import encode
from veridical.sources.icons.glyphs import ACTIONS, CATEGORIES, COLORS, LICENCE, PATTERNS, PERSON, PERSON_NOUNS
from veridical.sources.icons.scene import (
    BACKGROUNDS,
    Group,
    IconScene,
    Interaction,
    NoRoom,
    compose,
    panel,
    relationships,
)

Thing = TypeVar("Thing")
_NUMBERS = re.compile("[0-9]{1,18}")


def sample_scene(rng: np.random.Generator, *, width: int = 400, height: int = 300) -> IconScene:
    """A scene as one might meet it: a few categories, often people, sometimes an interaction; 2 to 10 objects."""
    names = list(CATEGORIES)
    shown = [names[int(k)] for k in rng.choice(len(names), int(rng.integers(1, 4)), replace=False)]
    if rng.random() < 0.4 and PERSON not in shown:
        shown[0] = PERSON
    counts = [int(count) for count in rng.choice((1, 2, 3, 4, 5), len(shown), p=(0.4, 0.25, 0.2, 0.1, 0.05))]
    interactions: tuple[Interaction, ...] = ()
    if shown[0] == PERSON and len(shown) > 1 and rng.random() < 0.5:
        counts[:2] = [1, 1]
        interactions = (Interaction(0, one_of(rng, ("next to", "holding", "looking at")), 1),)
    groups = [Group(name, count) for name, count in zip(shown, counts, strict=True)]
    for extra in (int(rng.integers(0, 4)), 0):
        try:
            return compose(rng, groups, width=width, height=height, distractors=extra, interactions=interactions)
        except NoRoom:
            continue  # a small picture: the same without distractors
    return compose(rng, [Group(shown[0])], width=width, height=height)


def one_of(rng: np.random.Generator, names: Iterable[Thing]) -> Thing:
    """One of some names or other things, all with the same chance."""
    listed = list(names)
    return listed[int(rng.integers(len(listed)))]


class IconWorld(Source):
    """Pictures of icons as photographs: the k-th is a function of the world's fields and k alone."""

    name = "icons"
    exact = True

    @property
    @abstractmethod
    def count(self) -> int:
        """How many there are."""

    @abstractmethod
    def scene(self, index: int) -> IconScene:
        """What a photograph shows: the same in any process."""

    @abstractmethod
    def label(self, index: int) -> str:
        """The id of a photograph."""

    def place(self, numbers: Sequence[int]) -> int:
        """The index of the photograph whose id has these numbers in it."""
        return numbers[-1]

    def photograph(self, index: int, scene: IconScene) -> Photograph:
        """A scene with all that is known of it, unless a world keeps to less."""
        return Photograph(
            panel(scene, self.label(index)),
            licence=LICENCE,
            relationships=relationships(scene),
            tags=(("background", scene.background), ("layout", scene.layout)),
        )

    def at(self, index: int) -> Photograph:
        if not 0 <= index < self.count:
            raise UserError(f"There is no photograph number {index}.", f"This source has {self.count:,}, from 0.")
        return self.photograph(index, self.scene(index))

    def find(self, id: str) -> Photograph:
        return self.at(self.number(id))

    def photographs(self) -> Iterator[Photograph]:
        return map(self.at, range(self.count))

    def picture(self, photograph: Photograph) -> bytes:
        """The JPEG file of a photograph of this source."""
        return encode(self.scene(self.number(photograph.panel.id)))

    def number(self, id: str) -> int:
        """The place of a photograph; an id that this source did not give is refused."""
        index = self.place([-1, -1, *map(int, _NUMBERS.findall(id))])
        if not 0 <= index < self.count or self.label(index) != id:
            raise UserError(
                f"{id!r} is no photograph of this source.",
                f"Its photographs are {self.label(0)} to {self.label(self.count - 1)}.",
            )
        return index


@dataclass(frozen=True)
class Icons(IconWorld):
    """Sampled scenes of the icon world."""

    count: int = 1000
    seed: int = 0
    width: int = 400
    height: int = 300

    def __post_init__(self) -> None:
        if self.count < 0 or self.seed < 0:
            raise UserError(f"{self} was asked for.", "Give a count and a seed of 0 or more.")

    def scene(self, index: int) -> IconScene:
        return sample_scene(np.random.default_rng([self.seed, index]), width=self.width, height=self.height)

    def label(self, index: int) -> str:
        return f"icons-{self.seed}-{index}"

    def config(self) -> dict[str, object]:
        """What made these photographs."""
        return {"source": self.name, **asdict(self), "licence": LICENCE}


# --- series -----------------------------------------------------------------------------------------------------------
# Pictures that come in series, as photographs of one event do. A series has a main thing (its synset), a few
# companions, a palette and a background; its pictures differ in how many there are of each, in colours and in places.
# So the pictures of a series are similar and a sentence has to count and compare; another series of the same synset
# looks different.

PICTURES = 10  # of a series: a set takes eight
MOST = 5  # instances of the main thing; companions go up to three
COMPANIONS = 3
PALETTE = 3
TRIES = 5


@dataclass(frozen=True)
class IconSeries(IconWorld):
    """Series of icon pictures as a source; picture n of series s is a function of the seed, the salt, s and n alone."""

    series: int = 100
    seed: int = 0
    width: int = 400
    height: int = 300
    categories: tuple[str, ...] = ()  # the main things, in turn; all that are not people unless given
    salt: tuple[int, ...] = field(default=(), repr=False)  # of a secret: without it nobody knows what a picture shows

    def __post_init__(self) -> None:
        if self.series < 1 or self.seed < 0:
            raise UserError(f"{self.series} series of seed {self.seed}.", "Give one or more, and a seed from 0.")
        for name in self.categories:
            if name not in CATEGORIES:
                raise UserError(f"The icon world has no {name!r}.", f"It has: {', '.join(CATEGORIES)}.")

    @property
    def mains(self) -> tuple[str, ...]:
        return self.categories or tuple(name for name in CATEGORIES if name != PERSON)

    @property
    def count(self) -> int:
        return self.series * PICTURES

    def scene(self, index: int) -> IconScene:
        series, number = divmod(index, PICTURES)
        event = np.random.default_rng([self.seed, *self.salt, series])
        mains = self.mains
        main = mains[series % len(mains)]
        others = [name for name in CATEGORIES if name != main]
        companions = [others[int(i)] for i in event.choice(len(others), COMPANIONS, replace=False)]
        palette = [COLORS[int(i)] for i in event.choice(len(COLORS), PALETTE, replace=False)]
        background = one_of(event, BACKGROUNDS)
        rng = np.random.default_rng([self.seed, *self.salt, series, number])
        for attempt in range(TRIES):
            groups = _groups(rng, main, companions, palette, smaller=attempt)
            try:
                return compose(rng, groups, width=self.width, height=self.height, background=background)
            except NoRoom:
                continue
        return compose(rng, [Group(main)], width=self.width, height=self.height, background=background)

    def label(self, index: int) -> str:
        series, number = divmod(index, PICTURES)
        return f"icons-{self.seed}-{series}-{number}"

    def place(self, numbers: Sequence[int]) -> int:
        return numbers[-2] * PICTURES + numbers[-1]

    def photograph(self, index: int, scene: IconScene) -> Photograph:
        made = super().photograph(index, scene)
        return replace(made, tags=(*made.tags, ("series", str(index // PICTURES))))

    def config(self) -> dict[str, object]:
        size = {"width": self.width, "height": self.height}
        return {"source": self.name, "series": self.series, "pictures": PICTURES, "seed": self.seed, **size}


def _groups(
    rng: np.random.Generator, main: str, companions: list[str], palette: list[str], smaller: int
) -> list[Group]:
    """Some of the main thing in one or two colours, and up to three of each companion."""
    total = int(rng.integers(1, max(MOST - smaller, 1) + 1))
    first = int(rng.integers(0, total + 1))
    colors = [palette[int(i)] for i in rng.choice(len(palette), 2, replace=False)]
    groups = [_group(main, n, c) for n, c in zip((total - first, first), colors, strict=True) if n]
    for name in companions:
        count = int(rng.integers(0, max(3 - smaller, 0) + 1))
        if count:
            groups.append(_group(name, count, one_of(rng, palette)))
    return groups


def _group(name: str, count: int, color: str) -> Group:
    fixed: Pairs = (("color", color),) if color in CATEGORIES[name].allows("color") else ()
    return Group(name, count, fixed)


# --- panels for matrices ----------------------------------------------------------------------------------------------
# Some icons of one category that share their colour, pattern and ground. Everything that a relation may be about
# (category, count, colour, pattern, ground; of people age, gender and action) is drawn independently, so that it says
# nothing about the rest. Sizes, turns and places are free: they differ within a panel, nobody is asked about them, and
# they are no labels.

LABELS = ("color", "pattern", "age", "gender", "action")  # attributes that all icons of a panel share
PEOPLE = 0.35  # the share of panels that show people
FEW, MANY = 0.14, 0.44 / 6  # chances of each count up to 4, and of each above: the larger icons show more
THINGS = tuple(name for name in CATEGORIES if name != PERSON)
LARGE = 4  # up to so many icons are drawn large, so that their pattern shows


@dataclass(frozen=True)
class IconPanels(IconWorld):
    """A source of panels; the k-th is a function of the seed, the salt and k alone."""

    count: int = 12_000
    seed: int = 0
    side: int = 160  # pixels
    categories: int = 0  # how many categories there are beside people; 0: all that the icon world has
    salt: tuple[int, ...] = field(default=(), repr=False)  # of a secret: without it nobody knows what panel k shows

    def __post_init__(self) -> None:
        if self.count < 1 or self.seed < 0 or self.side < 100:
            raise UserError(f"{self} was asked for.", "Give a count from 1, a seed from 0 and a side from 100 pixels.")
        if not 0 <= self.categories <= len(THINGS):
            raise UserError(
                f"{self.categories} categories of icons were asked for.",
                f"Give 1 to {len(THINGS)}, or 0 for all of them.",
            )

    @property
    def things(self) -> tuple[str, ...]:
        """The categories beside people: the same ones for every seed, spread evenly over all."""
        wanted = self.categories or len(THINGS)
        return tuple(THINGS[k * len(THINGS) // wanted] for k in range(wanted))

    def scene(self, index: int) -> IconScene:
        rng = np.random.default_rng([self.seed, *self.salt, index])
        number = int(rng.choice(10, p=[FEW] * 4 + [MANY] * 6)) + 1
        attributes: list[tuple[str, str]] = [("color", one_of(rng, COLORS)), ("pattern", one_of(rng, PATTERNS))]
        if rng.random() < PEOPLE:
            name = PERSON
            action = one_of(rng, ACTIONS)  # then an age and a gender in which the font can show it
            poses = [pose for pose in CATEGORIES[PERSON].poses if pose.action == action]
            known = [(age, gender) for pose in poses for age in pose.ages for gender in pose.genders]
            age, gender = known[int(rng.integers(len(known)))]
            attributes += [("age", age), ("gender", gender), ("action", action)]
        else:
            name = one_of(rng, self.things)
        if number <= LARGE:
            attributes.append(("size", one_of(rng, ("medium", "large", "large"))))
        ground = one_of(rng, BACKGROUNDS)
        group = Group(name, number, tuple(attributes))
        return compose(rng, [group], width=self.side, height=self.side, background=ground)

    def label(self, index: int) -> str:
        return f"icons-{self.seed}-{index}"

    def photograph(self, index: int, scene: IconScene) -> Photograph:
        """A panel with the labels that a relation may be about, and nothing else."""
        return Photograph(_labelled(panel(scene, self.label(index)), scene.background), licence=LICENCE)

    def config(self) -> dict[str, object]:
        """What made these panels, but for the salt."""
        known = {name: value for name, value in asdict(self).items() if name != "salt"}
        return {"source": self.name, **known, "licence": LICENCE}


def _labelled(one: Panel, ground: str) -> Panel:
    """The panel with the labels that all its icons share, and the ground they stand on.

    A person is called by age and gender: were all people "person", that would explain every matrix of people.
    """
    objects = []
    for thing in one.objects:
        if thing.category == PERSON:
            noun, _ = PERSON_NOUNS[thing.attribute("age") or "", thing.attribute("gender") or ""]
            thing = replace(thing, category=noun)
        kept: Pairs = tuple(pair for pair in thing.attributes if pair[0] in LABELS)
        objects.append(
            replace(thing, attributes=(*kept, ("scene", "in the sky" if ground == "sky" else f"on {ground}")))
        )
    return replace(one, objects=tuple(objects))
