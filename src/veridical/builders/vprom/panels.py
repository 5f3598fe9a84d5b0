"""Crops as panels: a region of a photograph that is stored once, with the objects that lie in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veridical.builders.vprom.mining import INSIDE
from veridical.errors import UserError
from veridical.records import Box, Panel, SceneObject
from veridical.sources import Photograph, Source
from veridical.sources.pictures import BadPhotograph


@dataclass(frozen=True, slots=True)
class Stored:
    """A photograph that matrices show: its picture and the panels that are crops of it, still without its address."""

    picture: bytes
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A photograph, by its number where the source can make it again, and the crops that are used of it."""

    photograph: Photograph | int
    crops: tuple[tuple[str, Box | None], ...]  # name and region


def crop_name(photograph: str, number: int, region: Sequence[float]) -> str:
    """The id of a panel: its photograph's where it is all of it."""
    return photograph if math.isnan(region[0]) else f"{photograph}-c{number}"


def crop_names(names: Sequence[str], photograph: np.ndarray, region: np.ndarray) -> list[str]:
    """The ids of all crops of a pool, which are in the order of their photographs."""
    first = np.searchsorted(photograph, photograph)
    return [
        crop_name(names[p], k - start, box)
        for k, (p, start, box) in enumerate(zip(photograph.tolist(), first.tolist(), region.tolist(), strict=True))
    ]


def bad_pictures(source: Source, photographs: Iterable[Photograph]) -> dict[str, str]:
    """The photographs whose picture cannot be used, and why."""
    bad: dict[str, str] = {}
    for photograph in photographs:
        try:
            source.picture(photograph)
        except UserError as error:
            bad[photograph.panel.id] = error.reason if isinstance(error, BadPhotograph) else error.problem
    return bad


def store(source: Source, wanted: Sequence[Wanted]) -> list[Stored]:
    """The pictures and panels of some photographs."""
    out = []
    for one in wanted:
        photograph = source.at(one.photograph) if isinstance(one.photograph, int) else one.photograph
        panels = tuple(cut(photograph, name, region) for name, region in one.crops)
        out.append(Stored(source.picture(photograph), panels))
    return out


def cut(photograph: Photograph, name: str, region: Box | None) -> Panel:
    """A panel of a photograph; objects that lie in it move with it."""
    whole = photograph.panel
    if region is None:
        objects = tuple(replace(thing, polygons=()) for thing in whole.objects)
        return replace(whole, id=name, objects=objects)
    width, height = whole.width or math.ceil(region[2]), whole.height or math.ceil(region[3])
    left, top = math.floor(region[0]), math.floor(region[1])
    right, bottom = min(math.ceil(region[2]), width), min(math.ceil(region[3]), height)
    moved = (_moved(thing, (left, top, right, bottom), region) for thing in whole.objects)
    return replace(
        whole,
        id=name,
        region=(float(left), float(top), float(right), float(bottom)),
        width=right - left,
        height=bottom - top,
        objects=tuple(thing for thing in moved if thing is not None),
    )


def _moved(thing: SceneObject, frame: tuple[int, int, int, int], region: Box) -> SceneObject | None:
    """An object in the coordinates of a panel, or None where most of it lies outside."""
    if thing.box is None:
        return None
    x0, y0, x1, y1 = thing.box
    wide, high = min(x1, region[2]) - max(x0, region[0]), min(y1, region[3]) - max(y0, region[1])
    if max(wide, 0) * max(high, 0) < INSIDE * max((x1 - x0) * (y1 - y0), 1e-9):
        return None
    left, top, right, bottom = frame
    box = (max(x0, left) - left, max(y0, top) - top, min(x1, right) - left, min(y1, bottom) - top)
    return replace(thing, box=box, polygons=())
