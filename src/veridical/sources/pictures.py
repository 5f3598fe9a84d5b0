"""Reading a photograph safely, ready to store: upright, RGB, JPEG or PNG, or refused by name with the reason.

A JPEG or PNG that is upright RGB already keeps its bytes, so that nothing is compressed twice; only its metadata (where
it was taken, and by whom) goes. Everything else is decoded, turned as its EXIF says, laid on white, brought to eight
bits and encoded again, the same way each time: a JPEG as a JPEG, all others as a PNG. Of an animation or a file of
several pages the first picture is taken.

A photograph that cannot be used raises `BadPhotograph`, a `UserError`: builders catch it, leave the photograph out and
record `reason` among what was pruned.
"""

from __future__ import annotations

import stat
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from veridical.benchmark.check import decoding_error
from veridical.common.metadata import without_metadata
from veridical.common.pictures import MAX_PIXELS
from veridical.errors import UserError
from veridical.records import Box, Panel, SceneObject
from veridical.sources import Photograph, Region

if TYPE_CHECKING:
    from PIL import Image

JPEG_QUALITY = 95
_FIX = "Replace or remove the file; a build leaves such photographs out and lists them."
_ORIENTATION = 0x0112  # the EXIF entry that says how the camera was held
_JPEG_FORMATS = frozenset({"JPEG", "MPO"})  # MPO: a JPEG with further pictures after it, as some cameras write
_SIXTEEN_BITS = frozenset({"PNG", "PPM"})  # formats whose whole numbers go to 65,535
_DECODER_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    NotImplementedError,
    OverflowError,
    MemoryError,
    struct.error,
    zlib.error,
)  # what Pillow's decoders raise on damaged files


class BadPhotograph(UserError):
    """A photograph that cannot be used; `reason` says why, without the name of the file."""

    def __init__(self, name: str, reason: str, fix: str = _FIX) -> None:
        super().__init__(f"{name} cannot be used: {reason}.", fix)
        self.name = name
        self.reason = reason

    def __reduce__(self) -> tuple[type[BadPhotograph], tuple[str, str, str]]:
        return type(self), (self.name, self.reason, self.fix)  # it crosses processes


@dataclass(frozen=True, slots=True)
class EncodedPicture:
    """An encoded picture, ready to store."""

    data: bytes
    width: int
    height: int


def read_picture(path: Path | str, *, max_side: int | None = None) -> EncodedPicture:
    """The photograph of a file, upright RGB; with `max_side`, made smaller so that no side is longer."""
    with _regular_file(path) as file:
        data = file.read()
    return prepare_picture(data, str(path), max_side=max_side)


def prepare_picture(data: bytes, name: str, *, max_side: int | None = None) -> EncodedPicture:
    """The same for bytes; `name` is what errors call them."""
    width, height, format = _header(BytesIO(data), name)
    if reason := _damage(data):
        raise BadPhotograph(name, reason)
    small = max_side is not None and max(width, height) > max_side
    with _opened(BytesIO(data), name) as image:
        if not small and _keeps_bytes(image, data) and (bare := without_metadata(data)) is not None:
            return EncodedPicture(bare, width, height)
        try:
            upright = _upright_rgb(image, name)
        except _DECODER_ERRORS as error:
            raise BadPhotograph(name, f"it cannot be converted ({error})") from None
    if small and max_side is not None:
        from PIL import Image

        upright = upright.resize(scaled_size(upright.width, upright.height, max_side), Image.Resampling.LANCZOS)
    file = BytesIO()
    if format in _JPEG_FORMATS:
        upright.save(file, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    else:
        upright.save(file, "PNG")
    return EncodedPicture(file.getvalue(), *upright.size)


def upright_size(path: Path | str) -> tuple[int, int]:
    """Width and height of a photograph as it will be stored, from its header: its pixels are not decoded."""
    with _regular_file(path) as file:
        return _header(file, str(path))[:2]


def scaled_size(width: int, height: int, max_side: int | None) -> tuple[int, int]:
    """The size after making a picture no longer than `max_side`.

    >>> scaled_size(640, 480, 320), scaled_size(100, 50, 320), scaled_size(1000, 1, 10)
    ((320, 240), (100, 50), (10, 1))
    """
    longest = max(width, height)
    if max_side is None or longest <= max_side:
        return width, height
    return max(1, round(width * max_side / longest)), max(1, round(height * max_side / longest))


def scaled(photograph: Photograph, max_side: int | None) -> Photograph:
    """A photograph whose boxes and outlines fit its picture read with the same `max_side`."""
    panel = photograph.panel
    if max_side is None or panel.width is None or panel.height is None or max(panel.width, panel.height) <= max_side:
        return photograph
    width, height = scaled_size(panel.width, panel.height, max_side)
    x, y = width / panel.width, height / panel.height
    objects = tuple(
        replace(
            thing,
            box=None if thing.box is None else _scaled_box(thing.box, x, y),
            polygons=tuple(tuple((px * x, py * y) for px, py in outline) for outline in thing.polygons),
        )
        for thing in panel.objects
    )
    regions = tuple(Region(r.phrase, _scaled_box(r.box, x, y)) for r in photograph.regions)
    return replace(photograph, panel=replace(panel, width=width, height=height, objects=objects), regions=regions)


def fitting(picture: EncodedPicture, panel: Panel, name: str) -> bytes:
    """The picture's bytes, if it has the size that the annotations were made for: otherwise boxes would be wrong."""
    if panel.width is not None and (picture.width, picture.height) != (panel.width, panel.height):
        found, said = f"{picture.width} x {picture.height}", f"{panel.width} x {panel.height}"
        raise BadPhotograph(
            name,
            f"it has {found} pixels, and its annotations were made for {said}",
            "Use the photographs the annotations were published with, neither scaled nor turned.",
        )
    return picture.data


def clipped(box: Box, width: int | None, height: int | None) -> Box | None:
    """The part of a box inside a picture, or None where nothing is left of it.

    >>> clipped((-3, 5, 20, 9), 10, 10), clipped((4, 4, 4, 9), None, None)
    ((0.0, 5.0, 10.0, 9.0), None)
    """
    left, top = max(0.0, float(box[0])), max(0.0, float(box[1]))
    right = float(box[2]) if width is None else min(float(width), float(box[2]))
    bottom = float(box[3]) if height is None else min(float(height), float(box[3]))
    return (left, top, right, bottom) if left < right and top < bottom else None


def objects_inside(objects: tuple[SceneObject, ...], width: int, height: int) -> tuple[SceneObject, ...]:
    """Objects with their boxes clipped to the picture."""
    return tuple(o if o.box is None else replace(o, box=clipped(o.box, width, height)) for o in objects)


def _scaled_box(box: Box, x: float, y: float) -> Box:
    return box[0] * x, box[1] * y, box[2] * x, box[3] * y


@contextmanager
def _regular_file(path: Path | str) -> Iterator[BinaryIO]:
    """A file to read; pipes and devices, which may never end, or never begin, are refused."""
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise BadPhotograph(str(path), "it is not a regular file")
        with Path(path).open("rb") as file:
            yield file
    except OSError as error:
        raise BadPhotograph(str(path), f"it cannot be read ({error.strerror})") from None


def _header(file: BinaryIO, name: str) -> tuple[int, int, str]:
    """Upright width and height, and the file's format."""
    with _opened(file, name) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise BadPhotograph(name, f"it claims {width:,} x {height:,} pixels; at most {MAX_PIXELS:,} are decoded")
        if not width or not height:
            raise BadPhotograph(name, "it has no pixels")
        if _orientation(image) >= 5:  # a quarter turn
            width, height = height, width
        return width, height, image.format or ""


def _opened(file: BinaryIO, name: str) -> Image.Image:
    from PIL import Image, UnidentifiedImageError

    if not file.read(1):
        raise BadPhotograph(name, "it is empty (0 bytes)")
    file.seek(0)
    try:
        with warnings.catch_warnings(action="ignore"):
            return Image.open(file)
    except UnidentifiedImageError:
        raise BadPhotograph(name, "it is not an image that can be read") from None
    except Image.DecompressionBombError:
        raise BadPhotograph(name, f"it claims too many pixels; at most {MAX_PIXELS:,} are decoded") from None
    except _DECODER_ERRORS as error:
        raise BadPhotograph(name, f"it cannot be opened ({error})") from None


def _damage(data: bytes) -> str | None:
    with warnings.catch_warnings(action="ignore"):
        try:
            return decoding_error(data)
        except _DECODER_ERRORS as error:
            return f"cannot be decoded: {error}"


def _orientation(image: Image.Image) -> int:
    """1 to 8 as EXIF counts; 1 is upright. An entry that cannot be read says nothing."""
    with warnings.catch_warnings(action="ignore"):
        try:
            found = image.getexif().get(_ORIENTATION, 1)
        except _DECODER_ERRORS:
            return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _keeps_bytes(image: Image.Image, data: bytes) -> bool:
    if image.mode != "RGB" or image.has_transparency_data or _orientation(image) != 1:
        return False
    if image.format in _JPEG_FORMATS:
        return True
    animated = getattr(image, "n_frames", 1) > 1
    return image.format == "PNG" and not animated and data[24] == 8  # bits of a colour in the header


def _upright_rgb(image: Image.Image, name: str) -> Image.Image:
    import numpy as np
    from PIL import Image, ImageOps

    turned = ImageOps.exif_transpose(image) if _orientation(image) != 1 else image
    if turned.mode == "F":
        raise BadPhotograph(name, "its pixels are decimal numbers, and nothing says which is white")
    if turned.mode == "I" and image.format not in _SIXTEEN_BITS:
        raise BadPhotograph(name, "its pixels are numbers of 32 bits, or with a sign, and nothing says which is white")
    if turned.mode == "I" or turned.mode.startswith("I;16"):  # 16 bits of grey: Pillow would cut them off, not scale
        grey = np.asarray(turned).astype(np.int64)
        turned = Image.fromarray((np.clip(grey, 0, 65535) >> 8).astype(np.uint8))
    if turned.has_transparency_data:
        layer = turned.convert("RGBA")
        turned = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    out = turned.convert("RGB")
    if out is image:
        out = image.copy()
    out.info = {}  # no EXIF, colour profile or comment of the old file in the new one
    return out
