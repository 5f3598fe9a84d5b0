"""The icon world: pictures composed from the icons of a font, with exact truth, so that nothing needs downloading.

    scene = compose(rng, [Group("dog", 3, (("color", "red"),)), Group("person")], distractors=2)
    encode(scene), panel(scene, "picture-1"), relationships(scene)

`Icons` is the world as a source of single scenes; `series.py`, `panels.py` and `stories.py` are the worlds that the
builders of NLVR2, V-PROM and VCR draw from. All are an `IconWorld`: the k-th picture is a function of k and the seed.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from veridical.common.files import Json
from veridical.errors import UserError
from veridical.sources.icons.draw import encode
from veridical.sources.icons.glyphs import CATEGORIES, LICENCE, PERSON
from veridical.sources.icons.scene import Group, IconScene, Interaction, NoRoom, compose, panel, relationships
from veridical.sources.photographs import Photograph, Source

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
        interactions = (Interaction(0, ("next to", "holding", "looking at")[int(rng.integers(3))], 1),)
    groups = [Group(name, count) for name, count in zip(shown, counts, strict=True)]
    for extra in (int(rng.integers(0, 4)), 0):
        try:
            return compose(rng, groups, width=width, height=height, distractors=extra, interactions=interactions)
        except NoRoom:
            continue  # a small picture: the same without distractors
    return compose(rng, [Group(shown[0])], width=width, height=height)


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

    def config(self) -> Json:
        """What made these photographs."""
        return {"source": self.name, **asdict(self), "licence": LICENCE}
