"""Reading the image files of a release: nothing outside its folder, nothing empty, nothing too large to decode.

Only headers are looked at: a picture that claims billions of pixels is refused before anything is decoded.
"""

from __future__ import annotations

import io
import os
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from veridical.errors import UserError

MAX_PIXELS = 89_478_485  # as `check` accepts
_PNG = b"\x89PNG\r\n\x1a\n"


class BadImage(ValueError):
    """Why an image cannot be used."""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file of a release."""

    path: Path
    name: str  # its path within the release, with forward slashes


def image_size(data: bytes) -> tuple[int, int]:
    """Width and height from the header; BadImage where it is no image that can be used."""
    if not data:
        raise BadImage("the image is empty (0 bytes).")
    if data.startswith(_PNG) and data[12:16] == b"IHDR" and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        whole = data.rfind(b"IEND") >= 0
    else:
        width, height = _pillow_size(data)
        whole = True
    if width * height > MAX_PIXELS:
        raise BadImage(f"the image claims {width:,} x {height:,} pixels; at most {MAX_PIXELS:,} are read.")
    if not width or not height or not whole:
        raise BadImage("the image is cut off." if not whole else "the image has no pixels.")
    return width, height


def _pillow_size(data: bytes) -> tuple[int, int]:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                return image.size
    except Image.DecompressionBombError:
        raise BadImage(f"the image claims too many pixels; at most {MAX_PIXELS:,} are read.") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, struct.error):
        raise BadImage("this is not an image that can be read.") from None


def read_image(path: Path) -> tuple[bytes, tuple[int, int]]:
    """An image's bytes and size; BadImage where it cannot be used."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadImage(f"the image cannot be read: {error.strerror}.") from None
    return data, image_size(data)


def is_inside(name: str) -> bool:
    """Whether a path named in a release stays within its folder.

    >>> is_inside("movie/frame@0.jpg"), is_inside("../secret.png"), is_inside("/etc/passwd")
    (True, False, False)
    """
    parts = name.replace("\\", "/").split("/")
    return (
        bool(name)
        and "\0" not in name
        and not name.startswith(("/", "\\"))
        and ":" not in parts[0]
        and ".." not in parts
    )


def leaves_folder(path: Path, folder: Path) -> bool:
    """Whether a symbolic link leads out of the folder."""
    real = os.path.realpath(folder)
    return os.path.commonpath([real, os.path.realpath(path)]) != real


def walk(folder: Path, prefix: str, suffixes: tuple[str, ...] = (".png",), depth: int = 3) -> Iterator[ImageFile]:
    """Image files under a folder in the order of their names, named `prefix/...`."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}.", "Check the folder of images.") from None
    for entry in entries:
        name = f"{prefix}/{entry.name}" if prefix else entry.name
        if entry.is_dir():
            if depth:
                yield from walk(Path(entry.path), name, suffixes, depth - 1)
        elif entry.name.lower().endswith(suffixes):
            yield ImageFile(Path(entry.path), name)
