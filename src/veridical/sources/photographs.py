"""What every source of annotated images yields: photographs, each a panel with objects, and its picture on demand.

A source goes through its photographs in a fixed order without holding them all; their pictures are read one by one,
ready to store: upright, RGB, JPEG or PNG. `open_source("coco:PATH")` opens one by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

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
    """Annotated images."""

    name: str  # icons, coco, visual_genome, folder
    exact: bool  # whether the annotations are all there is to see, so that statements can be judged by running them

    def photographs(self) -> Iterator[Photograph]:
        """Every photograph, in the same order each time."""

    def picture(self, photograph: Photograph) -> bytes:
        """The encoded picture, upright RGB; a UserError names one that cannot be read."""

    def config(self) -> dict[str, Any]:
        """What a benchmark says about where its photographs came from (JSON)."""
