"""Panels as pictures: the part of an image that a panel is, decoded; and what to say where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.common.pictures import stored_picture, within
from veridical.errors import UserError
from veridical.records import Item, Panel

if TYPE_CHECKING:
    from PIL import Image

    from veridical.benchmark.store import Benchmark

PICTURES_FIX = "Import the release again with --images, or ask without pictures: --blind."
_UNREADABLE = "Run `veridical check` on it."


def panel_of(benchmark: Benchmark, name: str) -> Panel:
    """A panel by its id."""
    panel = benchmark.panels.get(name)
    if panel is None:
        raise UserError(f"{benchmark.directory} has no panel {name!r}.", _UNREADABLE)
    return panel


def panel_bytes(benchmark: Benchmark, panel: Panel) -> bytes:
    """The image that a panel is, or is a part of, as it is stored."""
    if panel.image is None:
        raise missing_picture(f"panel {panel.id}")
    return bytes(benchmark.image(panel.image))


def panel_picture(benchmark: Benchmark, name: str) -> Image.Image:
    """A panel, decoded."""
    panel = panel_of(benchmark, name)
    image = decode(panel_bytes(benchmark, panel))
    if panel.region is None:
        return image
    left, top, right, bottom = (round(edge) for edge in within(image.size, panel.region))
    return image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))


def drawing_bytes(benchmark: Benchmark, item: Item, view: int) -> bytes:
    """The whole drawing of one view of an item, as it is stored."""
    if not 0 <= view < len(item.views):
        raise UserError(f"Item {item.id} has no view {view}.", f"Its views are 0 to {len(item.views) - 1}.")
    address = item.views[view].image
    if address is None:
        raise missing_picture(f"view {view} of item {item.id}")
    return bytes(benchmark.image(address))


def decode(data: bytes) -> Image.Image:
    """An image in red, green and blue."""
    return stored_picture(data, "of an item").convert("RGB")


class MissingPicture(UserError):
    """A picture is not stored."""


def missing_picture(what: str) -> MissingPicture:
    """The error for it."""
    return MissingPicture(f"The picture of {what} is not in the benchmark: only its address is known.", PICTURES_FIX)
