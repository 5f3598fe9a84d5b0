"""What every source of annotated images yields: photographs, each a panel with objects, and its picture on demand.

A source goes through its photographs in a fixed order without holding them all; their pictures are read one by one,
ready to store: upright, RGB, JPEG or PNG. `open_source("coco:PATH")` opens one by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from veridical.common.files import Json
from veridical.errors import UserError
from veridical.records import Box, Pairs, Panel


@dataclass(frozen=True, slots=True)
class Region:
    """A described part of a photograph."""

    phrase: str
    box: Box


@dataclass(frozen=True, slots=True)
class Relationship:
    """What one object of a photograph does to another."""

    subject: str  # object id
    predicate: str
    object: str  # object id


@dataclass(frozen=True, slots=True)
class Photograph:
    """An annotated image of a source."""

    panel: Panel  # its id names the photograph in its source; `image` is None until it is stored; `uri`: its address
    licence: str = ""
    captions: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    tags: Pairs = ()  # what is known of the whole: background, place, synset, set ...


class Source(Protocol):
    """Annotated images. A source inherits this and writes `photographs`, `picture` and `config`.

    One that makes its photographs rather than reads them also gives `count`, `at` and `find`, so that each process can
    make its own part; for the others, `at` and `find` go through the photographs from the first.
    """

    @property
    def name(self) -> str:
        """What tables call it: icons, coco, visual_genome, folder."""

    @property
    def exact(self) -> bool:
        """Whether the annotations are all there is to see, so that statements can be judged by running them."""

    @property
    def count(self) -> int | None:
        """How many photographs there are, where each is made from its number alone; None: go through them."""
        return None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files and folders that are read: when they change, so may the photographs."""
        return ()

    def photographs(self) -> Iterator[Photograph]:
        """Every photograph, in the same order each time."""

    def at(self, index: int) -> Photograph:
        """The photograph at a place of that order, from 0."""
        found = next(islice(self.photographs(), index, None), None) if index >= 0 else None
        if found is None:
            raise UserError(f"The source {self.name} has no photograph number {index}.", "They are counted from 0.")
        return found

    def find(self, id: str) -> Photograph:
        """The photograph of an id."""
        found = next((one for one in self.photographs() if one.panel.id == id), None)
        if found is None:
            raise UserError(f"The source {self.name} has no photograph {id!r}.", "Ask the source it came from.")
        return found

    def picture(self, photograph: Photograph) -> bytes:
        """The encoded picture, upright RGB; a UserError names one that cannot be read."""

    def config(self) -> Json:
        """What a benchmark says about where its photographs came from (JSON)."""
