"""Pictures as encoders want them: decoded once, cut into the regions asked for, in RGB on white."""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from veridical.errors import UserError
from veridical.records import Box

if TYPE_CHECKING:
    from PIL import Image


def decode(data: bytes | memoryview, address: str) -> Image.Image:
    """An image in RGB; what is transparent becomes white."""
    from PIL import Image

    try:
        image: Image.Image = Image.open(BytesIO(data))
        image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UserError(
            f"Image {address} cannot be decoded: {error}.",
            "Run `veridical check` on the benchmark to find all of them.",
        ) from None
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")


def cut(image: Image.Image, regions: Sequence[Box | None], address: str) -> list[Image.Image]:
    """Regions of an image: whole pixels, within the image. None is all of it."""
    return [image if region is None else image.crop(_pixels(image.size, region, address)) for region in regions]


def _pixels(size: tuple[int, int], region: Box, address: str) -> tuple[int, int, int, int]:
    """
    >>> _pixels((400, 100), (150.0, -2.5, 250.5, 130.0), "9f2c")
    (150, 0, 251, 100)
    """
    left, top = max(math.floor(region[0]), 0), max(math.floor(region[1]), 0)
    right, bottom = min(math.ceil(region[2]), size[0]), min(math.ceil(region[3]), size[1])
    if left >= right or top >= bottom:
        raise UserError(
            f"Region {region} of image {address} is empty: the image has {size[0]} x {size[1]} pixels.",
            "Regions are left, top, right, bottom in pixels; build the benchmark again without that panel.",
        )
    return left, top, right, bottom
