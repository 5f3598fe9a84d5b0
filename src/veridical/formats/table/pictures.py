"""The pictures of a row: a cell becomes bytes to store, or an address to keep.

A cell is a path beside the table (or in the folder of images), an http address, base64, bytes, the {bytes, path} of
`datasets`, or a list of these. A path that leads out of the folder is refused, however it is written: a table of a
stranger cannot pull in pictures from elsewhere. Whatever lies in the table's own folder, or below, it can: keep such a
table in a folder of its own. File names are not kept: they may tell the answer. Where answers are hidden, neither is
what a picture says beside its pixels.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from veridical.benchmark.writer import content_address
from veridical.common.metadata import bare_picture
from veridical.common.pictures import BadPicture
from veridical.formats.fetch import WantedFile, fetch
from veridical.formats.images import BadImage, image_size, read_image
from veridical.formats.table.cells import BadCell, is_missing, read_list
from veridical.records import Panel

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_DATA = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{64,}={0,2}\s*")
_BETWEEN = (";", "|", ",")  # several paths in one cell
MOST_BYTES = 200 << 20  # of a picture that is fetched
DEEPEST = 8  # lists in lists of pictures


@dataclass
class PictureFinder:
    """Finds the pictures that cells name."""

    base: Path  # where the table lies
    images: Path | None = None  # where paths start, if not there
    fetched: Mapping[str, Path] = field(default_factory=dict)  # address -> the file it was fetched to
    addresses: set[str] = field(default_factory=set)  # those that were only kept
    bare: bool = False  # store pictures without their metadata

    def panels(self, cells: Iterable[Any], store: Callable[[bytes], str]) -> list[Panel]:
        """The panels of a row's cells, in their order; `store` keeps bytes and gives their content address."""
        return [self._panel(one, store) for cell in cells for one in self.single(cell)]

    def single(self, cell: Any, depth: int = 0) -> list[Any]:
        """A cell as a list of pictures: bytes, paths, addresses or base64."""
        if depth > DEEPEST:
            raise BadCell("the pictures are lists in lists, nested too deeply.")
        if isinstance(cell, dict):
            cell = cell.get("bytes") or cell.get("path") or cell.get("url")
        if isinstance(cell, list):
            return [one for inner in cell for one in self.single(inner, depth + 1)]
        if isinstance(cell, bytes | bytearray | memoryview):
            return [bytes(cell)] if len(cell) else []
        if is_missing(cell):
            return []
        if not isinstance(cell, str):
            raise BadCell(f"the picture is {cell!r}; expected a path, an address, base64 or bytes.")
        text = cell.strip()
        found = read_list(text)
        if isinstance(found, list):
            return [one for inner in found for one in self.single(inner, depth + 1)]
        if len(text) < 4096 and not self._is_one(text):
            for mark in _BETWEEN:
                parts = [part.strip() for part in text.split(mark) if part.strip()]
                if len(parts) > 1 and all(map(self._is_one, parts)):
                    return parts
        return [text]

    def _is_one(self, text: str) -> bool:
        return (bool(_ADDRESS.fullmatch(text)) and not _several(text)) or self._path(text) is not None

    def _panel(self, one: bytes | str, store: Callable[[bytes], str]) -> Panel:
        address: str | None = None
        if isinstance(one, str) and _ADDRESS.fullmatch(one):
            address = one
            if one not in self.fetched:
                self.addresses.add(one)
                return Panel(one, uri=one)
        try:
            data, (width, height) = self._bytes(one)
            if self.bare:
                data = bare_picture(data)
                width, height = image_size(data)
        except (BadImage, BadPicture) as error:
            shown = "" if isinstance(one, bytes) or len(one) > 300 else f"{one!r}: "
            raise BadCell(f"{shown}{error}") from None
        stored = store(data)
        return Panel(stored[:32], stored, None, width, height, uri=address)

    def _bytes(self, one: bytes | str) -> tuple[bytes, tuple[int, int]]:
        if isinstance(one, bytes):
            return one, image_size(one)
        if one in self.fetched:
            return read_image(self.fetched[one])
        path = self._path(one)
        if path is not None:
            return read_image(path)
        text, marked = _DATA.subn("", one, count=1)
        if marked or _BASE64.fullmatch(text):
            try:
                data = base64.b64decode("".join(text.split()), validate=True)
            except (binascii.Error, ValueError):
                raise BadImage("this is not whole base64.") from None
            return data, image_size(data)
        raise BadCell(self._why_not(one))

    def _path(self, name: str) -> Path | None:
        """The file that a name stands for; None where there is none within the folder."""
        try:
            return next((found for folder in self._folders for found in [_within(folder, name)] if found), None)
        except (OSError, ValueError):  # too long, or with a null character
            return None

    @property
    def _folders(self) -> list[Path]:
        return [self.base] if self.images is None else [self.images, self.base]

    def _why_not(self, name: str) -> str:
        shown = name if len(name) < 120 else f"{name[:60]}... ({len(name):,} characters)"
        try:
            outside = any((folder / name).is_file() for folder in self._folders)
        except (OSError, ValueError):
            outside = False
        if outside:
            return (
                f"the picture {shown!r} leads out of {self._folders[0]}; give the folder that pictures may be "
                "taken from with --images."
            )
        return f"the picture {shown!r} is neither a file in {self._folders[0]}, an address, nor base64."


def _several(text: str) -> bool:
    return len(re.findall(r"https?://", text, re.IGNORECASE)) > 1


def _within(folder: Path, name: str) -> Path | None:
    """A file of a folder, to which no link and no `..` leads from outside."""
    if name.lower().startswith("file://"):
        name = unquote(urlparse(name).path)
    path = folder / name
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return Path(real) if os.path.commonpath([real, root]) == root and Path(real).is_file() else None


def fetch_pictures(addresses: Iterable[str], folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Fetch pictures; gives their files by address, and of the others why they did not come."""
    wanted = {f"{content_address(one.encode())[:32]}": one for one in sorted(set(addresses))}
    done = fetch([WantedFile(name, url, MOST_BYTES) for name, url in wanted.items()], folder, "fetching pictures")
    came = {one.wanted.url: folder / one.wanted.name for one in done if one.status in ("fetched", "had")}
    return came, {one.wanted.url: one.reason or one.status for one in done if one.wanted.url not in came}


def addresses_in(cells: Iterable[Any], finder: PictureFinder) -> list[str]:
    """The http addresses among cells."""
    ones = [one for cell in cells for one in finder.single(cell)]
    return [one for one in ones if isinstance(one, str) and _ADDRESS.fullmatch(one)]


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """Where fetched pictures lie until they are stored."""
    return tempfile.TemporaryDirectory(prefix="veridical-pictures-")
