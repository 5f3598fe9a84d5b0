"""Icon pictures that come in series, as photographs of one event do: what the embedded NLVR2 finds its sets in.

A series has a main thing (its synset), a few companions, a palette and a background; its pictures differ in how many
there are of each, in colours and in places. So the pictures of a series are similar and a sentence has to count and
compare; another series of the same synset looks different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veridical.common.files import Json
from veridical.errors import UserError
from veridical.records import Pairs
from veridical.sources.icons.glyphs import CATEGORIES, COLORS, PERSON
from veridical.sources.icons.scene import BACKGROUNDS, Group, IconScene, NoRoom, compose
from veridical.sources.icons.source import IconWorld
from veridical.sources.photographs import Photograph

PICTURES = 10  # of a series: a set takes eight
MOST = 5  # instances of the main thing; companions go up to three
COMPANIONS = 3
PALETTE = 3
TRIES = 5


@dataclass(frozen=True)
class IconSeries(IconWorld):
    """Series of icon pictures as a source; picture n of series s is a function of the seed, s and n alone."""

    series: int = 100
    seed: int = 0
    width: int = 400
    height: int = 300
    categories: tuple[str, ...] = ()  # the main things, in turn; all that are not people unless given

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
        event = np.random.default_rng([self.seed, series])
        mains = self.mains
        main = mains[series % len(mains)]
        others = [name for name in CATEGORIES if name != main]
        companions = [others[int(i)] for i in event.choice(len(others), COMPANIONS, replace=False)]
        palette = [COLORS[int(i)] for i in event.choice(len(COLORS), PALETTE, replace=False)]
        background = BACKGROUNDS[int(event.integers(len(BACKGROUNDS)))]
        rng = np.random.default_rng([self.seed, series, number])
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

    def config(self) -> Json:
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
            groups.append(_group(name, count, palette[int(rng.integers(len(palette)))]))
    return groups


def _group(name: str, count: int, color: str) -> Group:
    fixed: Pairs = (("color", color),) if color in CATEGORIES[name].allows("color") else ()
    return Group(name, count, fixed)
