"""Sources of annotated images. Each yields panels; adding one costs a file here and a line in `SOURCES`."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from veridical.errors import UserError
from veridical.sources.photographs import Photograph, Region, Relationship, Source

__all__ = ["SOURCES", "Photograph", "Region", "Relationship", "Source", "open_source"]

# name -> its class, called with the path after the colon (none for icons) and options
SOURCES: dict[str, str] = {
    "icons": "veridical.sources.icons.source:Icons",
    "coco": "veridical.sources.coco:Coco",
    "vg": "veridical.sources.visual_genome:VisualGenome",
    "folder": "veridical.sources.folder:Folder",
}
EMBEDDED = frozenset({"icons"})  # sources that need no path


def open_source(name: str, **options: Any) -> Source:
    """A source of photographs by name: `icons`, `coco:PATH`, `vg:PATH` or `folder:PATH`."""
    kind, _, path = name.partition(":")
    if kind not in SOURCES:
        raise UserError(f"There is no source {name!r}.", f"Choose one of: {', '.join(SOURCES)}; such as coco:PATH.")
    if bool(path) is (kind in EMBEDDED):
        raise UserError(
            f"The source {name!r} {'takes no path' if path else 'needs a path'}.",
            f"Write {kind if path else kind + ':PATH'}.",
        )
    made: Source = resolve_name(SOURCES[kind])(*([path] if path else []), **options)
    return made
