"""Panels of the icon world for matrices: some icons of one category that share their colour, pattern and ground.

Everything that a relation may be about (category, count, colour, pattern, ground; of people age, gender and action) is
drawn independently, so that it says nothing about the rest. Sizes, turns and places are free: they differ within a
panel, nobody is asked about them, and they are no labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from veridical.common.files import Json
from veridical.errors import UserError
from veridical.records import Pairs, Panel
from veridical.sources.icons.glyphs import CATEGORIES, COLORS, LICENCE, PATTERNS, PERSON, PERSON_NOUNS
from veridical.sources.icons.scene import BACKGROUNDS, Group, IconScene, compose, panel
from veridical.sources.icons.source import IconWorld
from veridical.sources.photographs import Photograph

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
        attributes: list[tuple[str, str]] = [("color", _one(rng, COLORS)), ("pattern", _one(rng, PATTERNS))]
        if rng.random() < PEOPLE:
            name = PERSON
            attributes += _pose(rng)
        else:
            name = _one(rng, self.things)
        if number <= LARGE:
            attributes.append(("size", _one(rng, ("medium", "large", "large"))))
        ground = _one(rng, BACKGROUNDS)
        group = Group(name, number, tuple(attributes))
        return compose(rng, [group], width=self.side, height=self.side, background=ground)

    def label(self, index: int) -> str:
        return f"icons-{self.seed}-{index}"

    def photograph(self, index: int, scene: IconScene) -> Photograph:
        """A panel with the labels that a relation may be about, and nothing else."""
        return Photograph(_labelled(panel(scene, self.label(index)), scene.background), licence=LICENCE)

    def config(self) -> Json:
        """What made these panels, but for the salt."""
        known = {name: value for name, value in asdict(self).items() if name != "salt"}
        return {"source": self.name, **known, "licence": LICENCE}


def _one(rng: np.random.Generator, names: Sequence[str]) -> str:
    return names[int(rng.integers(len(names)))]


def _pose(rng: np.random.Generator) -> list[tuple[str, str]]:
    """An action, and an age and gender in which the font can show it."""
    poses = CATEGORIES[PERSON].poses
    action = _one(rng, list(dict.fromkeys(pose.action for pose in poses)))
    known = [(age, gender) for pose in poses if pose.action == action for age in pose.ages for gender in pose.genders]
    age, gender = known[int(rng.integers(len(known)))]
    return [("age", age), ("gender", gender), ("action", action)]


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
