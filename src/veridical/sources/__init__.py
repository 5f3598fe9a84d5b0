"""Sources of annotated images. Each yields panels; adding one costs a file here and a line in `SOURCES`.

    photographs.py    what every source is: the `Source` protocol, and `Photograph`, which it yields
    icons/            worlds of icons, drawn with exact truth: single scenes, series, matrix panels, stories
    coco.py           COCO's instances and captions
    visual_genome.py  Visual Genome's files, streamed side by side (json_array.py)
    folder.py         a folder of photographs, with labels where there are some
    detections.py     a source whose photographs without objects get what a detector finds
    pictures.py       reading picture files: upright, RGB, of a size, without what else they say
    boxes/            NLVR's drawn boxes: scenes rather than photographs, so no `Source`

From outside: `open_source("coco:PATH")` and what this module names; builders also use the worlds of `icons/`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from veridical.common import registry
from veridical.errors import UserError
from veridical.sources.photographs import Photograph, Region, Relationship, Source

__all__ = ["SOURCES", "Photograph", "Region", "Relationship", "Source", "open_source"]

# name -> its class; the path after the colon is its keyword `path`, where it has one
SOURCES: dict[str, str] = {
    "icons": "veridical.sources.icons.source:Icons",
    "icons-series": "veridical.sources.icons.series:IconSeries",
    "icons-panels": "veridical.sources.icons.panels:IconPanels",
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
