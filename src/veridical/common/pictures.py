"""Pictures that others made: decoded, or refused in words; never more pixels than a photograph has."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from veridical.errors import UserError

if TYPE_CHECKING:
    from PIL import Image

MAX_PIXELS = 89_478_485  # a larger image is taken for a decompression bomb, as Pillow does
# what Pillow's decoders may raise over bytes that are wrong, beside its own DecompressionBombError
DECODER_ERRORS = (
    OSError, SyntaxError, ValueError, TypeError, IndexError, KeyError, EOFError, OverflowError, ZeroDivisionError,
    NotImplementedError, struct.error, zlib.error,
)  # fmt: skip


class BadPicture(Exception):
    """Bytes that are no picture, or one that is too large; the message says why."""


def decoded(data: bytes | memoryview) -> Image.Image:
    """The picture that bytes hold, its pixels loaded; `BadPicture` where they hold none."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(BytesIO(data))
            if image.width * image.height > MAX_PIXELS:
                raise BadPicture(f"has {image.width:,} x {image.height:,} pixels; at most {MAX_PIXELS:,} are decoded")
            image.load()
    except (*DECODER_ERRORS, Image.DecompressionBombError) as error:
        raise BadPicture(f"cannot be decoded: {error}") from None
    return image


def within(size: tuple[int, int], region: Sequence[float]) -> tuple[float, float, float, float]:
    """A region as far as it lies in a picture, at least a pixel: what claims more would be filled up with black.

    >>> within((10, 8), (2, 3, 4.5, 5)), within((10, 8), (-1e9, 20, 1e9, 30))
    ((2, 3, 4.5, 5), (0, 7, 10, 8))
    """
    left, top = (min(max(region[k], 0), size[k] - 1) for k in (0, 1))
    right, bottom = (min(max(region[k + 2], low + 1), size[k]) for k, low in ((0, left), (1, top)))
    return left, top, right, bottom


def stored_picture(data: bytes | memoryview, address: str) -> Image.Image:
    """A picture of a benchmark."""
    try:
        return decoded(data)
    except BadPicture as error:
        fix = "Run `veridical check` on the benchmark to find all of them."
        raise UserError(f"Image {address} {error}.", fix) from None
