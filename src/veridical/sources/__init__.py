"""Sources of annotated images. Adding one costs a file here and a line in `SOURCES`.

This file says what every source is: the `Source` protocol, and `Photograph`, which it yields. A source goes through its
photographs in a fixed order without holding them all; their pictures are read one by one, ready to store: upright, RGB,
JPEG or PNG. `open_source("coco:PATH")` opens one by name.

    icons/            worlds of icons, drawn with exact truth: single scenes, series, matrix panels, stories
    coco.py           COCO's instances and captions
    visual_genome.py  Visual Genome's files, streamed side by side (json_array.py)
    folder.py         a folder of photographs, with labels where there are some
    detections.py     a source whose photographs without objects get what a detector finds
    pictures.py       reading picture files: upright, RGB, of a size, without what else they say
    boxes/            NLVR's drawn boxes: scenes rather than photographs, so no `Source`

From outside: what this module names; builders also use the worlds of `icons/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from veridical.common import registry
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


@dataclass(frozen=True)
class Coverage:
    """Of what a source annotates every instance that can be seen: only of that, absence and numbers can be said."""

    everything: bool = False
    names: frozenset[str] = frozenset()  # categories and hypernyms, where it is not everything
    under: Mapping[str, frozenset[str]] = field(default_factory=dict)  # hypernym -> its categories
    confused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # category -> what some call so, too
    portions: frozenset[str] = frozenset()  # categories whose things are not counted by all in the same way
    spoken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # category -> words of captions that name it
    company: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # category of which more may stand behind, not
    # annotated -> words of captions that speak of several

    def covers(self, name: str) -> bool:
        """Whether every instance of a category or hypernym is annotated."""
        return self.everything or name in self.names


NOTHING, EVERYTHING = Coverage(), Coverage(True)


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
    def coverage(self) -> Coverage:
        """Of what every instance is annotated: of nothing, unless the source says so."""
        return EVERYTHING if self.exact else NOTHING

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

    def config(self) -> dict[str, object]:
        """What a benchmark says about where its photographs came from (JSON)."""


# name -> its class; the path after the colon is its keyword `path`, where it has one
SOURCES: dict[str, str] = {
    "icons": "veridical.sources.icons.worlds:Icons",
    "icons-series": "veridical.sources.icons.worlds:IconSeries",
    "icons-panels": "veridical.sources.icons.worlds:IconPanels",
    "icons-stories": "veridical.sources.icons.stories:IconStories",
    "coco": "veridical.sources.coco:Coco",
    "vg": "veridical.sources.visual_genome:VisualGenome",
    "folder": "veridical.sources.folder:Folder",
}


def open_source(name: str, **options: Any) -> Source:
    """A source of photographs by name: `icons` (and its other worlds), `coco:PATH`, `vg:PATH` or `folder:PATH`."""
    base, _, path = name.partition(":")
    found: Callable[..., Source] = registry.resolve(SOURCES, base, "source", "sources")
    wanted = signature(found).parameters.get("path")
    if path and wanted is None:
        raise UserError(f"The source {name!r} takes no path.", f"Write {base}.")
    if not path and wanted is not None and wanted.default is wanted.empty:
        raise UserError(f"The source {name!r} needs a path.", f"Write {base}:PATH.")
    return found(**({"path": path} if path else {}), **options)
