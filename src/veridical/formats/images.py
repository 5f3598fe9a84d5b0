"""Reading the image files of a release: nothing outside its folder, nothing empty, cut off or too large to decode.

A picture that claims billions of pixels is refused by its header. PNG and JPEG files, which are nearly all, are not
decoded: the checksums of a PNG's chunks and the end of a JPEG tell whether they are whole, at about a hundredth of
the cost. Other formats are decoded.
"""

from __future__ import annotations

import io
import os
import struct
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from veridical.benchmark.check import decoding_error
from veridical.common.pictures import DECODER_ERRORS, MAX_PIXELS
from veridical.errors import UserError

_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8"
_CHUNK = struct.Struct(">I4s")
_WITHOUT_LENGTH = frozenset({0x00, 0x01, *range(0xD0, 0xD8)})  # parts of a JPEG that are only their marker
_SCAN, _END = 0xDA, b"\xff\xd9"  # of a JPEG: where its pixels start, and where it ends


class BadImage(ValueError):
    """Why an image cannot be used."""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file of a release."""

    path: Path
    name: str  # its path within the release, with forward slashes
    outside: bool = False  # a link leads out of the folder of images to it


def image_size(data: bytes) -> tuple[int, int]:
    """Width and height from the header; BadImage where it is no image that can be used."""
    if not data:
        raise BadImage("the image is empty (0 bytes).")
    png = data.startswith(_PNG) and data[12:16] == b"IHDR" and len(data) >= 24
    width, height = struct.unpack(">II", data[16:24]) if png else _pillow_size(data)
    if width * height > MAX_PIXELS:
        raise BadImage(f"the image claims {width:,} x {height:,} pixels; at most {MAX_PIXELS:,} are read.")
    if not width or not height:
        raise BadImage("the image has no pixels.")
    if png:
        _check_png(data)
    elif data.startswith(_JPEG):
        _check_jpeg(data)
    elif problem := decoding_error(data):
        raise BadImage(f"the image is damaged: {problem}.")
    return width, height


def _check_png(data: bytes) -> None:
    view, place = memoryview(data), len(_PNG)
    while place + 12 <= len(data):
        length, name = _CHUNK.unpack_from(data, place)
        end = place + 8 + length
        if end + 4 > len(data):
            break
        if zlib.crc32(view[place + 4 : end]) != int.from_bytes(view[end : end + 4]):
            raise BadImage("the image is damaged: a checksum in it is wrong.")
        if name == b"IEND":
            return
        place = end + 4
    raise BadImage("the image is cut off.")


def _check_jpeg(data: bytes) -> None:
    """A picture within the picture has an end too: only one after the start of the pixels counts."""
    place = len(_JPEG)
    while place + 4 <= len(data):
        if data[place] != 0xFF:
            raise BadImage("the image is damaged: its parts do not follow each other.")
        marker = data[place + 1]
        if marker == _SCAN:
            if data.find(_END, place) < 0:
                break
            return
        if marker == 0xFF:  # may be repeated before any part
            place += 1
        elif marker in _WITHOUT_LENGTH:
            place += 2
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4])
    raise BadImage("the image is cut off.")


def _pillow_size(data: bytes) -> tuple[int, int]:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as image:
                return image.size
    except Image.DecompressionBombError:
        raise BadImage(f"the image claims too many pixels; at most {MAX_PIXELS:,} are read.") from None
    except (UnidentifiedImageError, *DECODER_ERRORS):
        raise BadImage("this is not an image that can be read.") from None


def read_image(path: Path, outside: bool = False) -> tuple[bytes, tuple[int, int]]:
    """An image's bytes and size; BadImage where it cannot be used, or a link to it leads `outside` its folder."""
    if outside:
        raise BadImage("a link leads out of the folder of images to it.")
    if path.exists() and not path.is_file():  # a named pipe would wait for ever
        raise BadImage("the image cannot be read: it is no file.")
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


def walk(
    folder: Path,
    prefix: str,
    suffixes: tuple[str, ...] = (".png",),
    depth: int = 3,
    root: Path | None = None,
    outside: bool = False,
) -> Iterator[ImageFile]:
    """Image files under a folder in the order of their names, named `prefix/...`."""
    root = root or folder
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}.", "Check the folder of images.") from None
    for entry in entries:
        name = f"{prefix}/{entry.name}" if prefix else entry.name
        if entry.is_dir():
            if depth:
                out = outside or (entry.is_symlink() and leaves_folder(Path(entry.path), root))
                yield from walk(Path(entry.path), name, suffixes, depth - 1, root, out)
        elif entry.name.lower().endswith(suffixes):
            path = Path(entry.path)
            yield ImageFile(path, name, outside or (entry.is_symlink() and leaves_folder(path, root)))
