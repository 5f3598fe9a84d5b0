"""The icon world: pictures composed from the icons of a font, with exact truth, so that nothing needs downloading.

    scene = compose(rng, [Group("dog", 3, (("color", "red"),)), Group("person")], distractors=2)
    encode(scene), panel(scene, "picture-1"), relationships(scene)

`Icons` is the world as a source of photographs: the k-th is a function of the seed and k alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import UserError
from veridical.sources.icons.draw import RGB, draw, encode
from veridical.sources.icons.glyphs import (
    ACTIONS,
    AGES,
    CATEGORIES,
    COLORS,
    FACINGS,
    GENDERS,
    HYPERNYMS,
    LICENCE,
    PATTERNS,
    PERSON,
    PERSON_NOUNS,
    ROTATIONS,
    SIZES,
    Category,
    hypernym_noun,
)
from veridical.sources.icons.place import LAYOUTS
from veridical.sources.icons.scene import (
    BACKGROUNDS,
    INTERACTIONS,
    Group,
    IconScene,
    Interaction,
    NoRoom,
    Placed,
    compose,
    panel,
    relationships,
)
from veridical.sources.photographs import Photograph

__all__ = [
    "ACTIONS",
    "AGES",
    "BACKGROUNDS",
    "CATEGORIES",
    "COLORS",
    "FACINGS",
    "GENDERS",
    "HYPERNYMS",
    "INTERACTIONS",
    "LAYOUTS",
    "LICENCE",
    "PATTERNS",
    "PERSON",
    "PERSON_NOUNS",
    "RGB",
    "ROTATIONS",
    "SIZES",
    "Category",
    "Group",
    "IconScene",
    "Icons",
    "Interaction",
    "NoRoom",
    "Placed",
    "compose",
    "draw",
    "encode",
    "hypernym_noun",
    "panel",
    "relationships",
    "sample_scene",
]


def sample_scene(rng: np.random.Generator, *, width: int = 400, height: int = 300) -> IconScene:
    """A scene as one might meet it: a few kinds of things, often people, sometimes an interaction; 2 to 10 objects."""
    names = list(CATEGORIES)
    kinds = [names[int(k)] for k in rng.choice(len(names), int(rng.integers(1, 4)), replace=False)]
    if rng.random() < 0.4 and PERSON not in kinds:
        kinds[0] = PERSON
    counts = [int(count) for count in rng.choice((1, 2, 3, 4, 5), len(kinds), p=(0.4, 0.25, 0.2, 0.1, 0.05))]
    interactions: tuple[Interaction, ...] = ()
    if kinds[0] == PERSON and len(kinds) > 1 and rng.random() < 0.5:
        counts[:2] = [1, 1]
        interactions = (Interaction(0, ("next to", "holding", "looking at")[int(rng.integers(3))], 1),)
    groups = [Group(kind, count) for kind, count in zip(kinds, counts, strict=True)]
    for extra in (int(rng.integers(0, 4)), 0):
        try:
            return compose(rng, groups, width=width, height=height, distractors=extra, interactions=interactions)
        except NoRoom:
            continue  # a small picture: the same without distractors
    return compose(rng, [Group(kinds[0])], width=width, height=height)


@dataclass(frozen=True)
class Icons:
    """Sampled scenes of the icon world as photographs."""

    count: int = 1000
    seed: int = 0
    width: int = 400
    height: int = 300

    name = "icons"
    exact = True

    def __post_init__(self) -> None:
        if self.count < 0 or self.seed < 0:
            raise UserError(f"{self} was asked for.", "Give a count and a seed of 0 or more.")

    def scene(self, index: int) -> IconScene:
        """The scene of one photograph: the same in any process."""
        return sample_scene(np.random.default_rng([self.seed, index]), width=self.width, height=self.height)

    def photograph(self, index: int) -> Photograph:
        """One photograph by its number."""
        scene = self.scene(index)
        return Photograph(
            panel(scene, f"icons-{self.seed}-{index}"),
            licence=LICENCE,
            relationships=relationships(scene),
            tags=(("background", scene.background), ("layout", scene.layout)),
        )

    def photographs(self) -> Iterator[Photograph]:
        """Every photograph, in order."""
        return (self.photograph(index) for index in range(self.count))

    def picture(self, photograph: Photograph) -> bytes:
        """The JPEG file of a photograph of this source."""
        kind, _, rest = photograph.panel.id.partition("-")
        seed, _, index = rest.partition("-")
        if kind != "icons" or seed != str(self.seed) or not index.isdecimal() or int(index) >= self.count:
            raise UserError(
                f"{photograph.panel.id!r} is no photograph of this source.",
                f"Its photographs are icons-{self.seed}-0 to icons-{self.seed}-{self.count - 1}.",
            )
        return encode(self.scene(int(index)))

    def config(self) -> dict[str, Any]:
        """What made these photographs."""
        return {
            "source": self.name,
            "count": self.count,
            "seed": self.seed,
            "width": self.width,
            "height": self.height,
            "licence": LICENCE,
        }
