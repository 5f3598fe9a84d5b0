"""What a manifest must look like: `benchmark.json`, and `hidden.json` of the hidden folder.

A benchmark may come from a stranger. Its manifest is checked once, where it is opened, so that whoever has it need not
ask: every field that anybody reads is there and of its type, and names stay in their folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import msgspec

from veridical.benchmark.writer import FILE_NAME, FileEntry, check_names
from veridical.common.files import Json
from veridical.errors import UserError

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]
Name = Annotated[str, msgspec.Meta(max_length=200)]


class _Counts(msgspec.Struct):
    items: dict[str, dict[str, Count]]
    images: Count


class _Config(msgspec.Struct):
    """Of what a builder or importer notes, what others read."""

    format: str | None = None
    kind: str | None = None
    builder: str | None = None
    card: list[str] = []
    collection: dict[str, Any] = {}
    takedowns: Count = 0


class PublicManifest(msgspec.Struct):
    """The shape of `benchmark.json`."""

    format: int
    veridical: str
    name: Name
    task: str
    config: _Config
    seed: int | None
    licence: str
    counts: _Counts
    files: dict[str, FileEntry]
    hidden: list[str]
    official: bool


class HiddenManifest(msgspec.Struct):
    """The shape of `hidden.json`."""

    benchmark: str
    files: dict[str, FileEntry]


def read_manifest(path: Path, text: bytes, shape: type[msgspec.Struct]) -> Json:
    """A manifest as it stands, once it is known to have its shape."""
    try:
        msgspec.json.decode(text, type=shape)
        found: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}.", "Import or build the benchmark again.") from None
    return found


def refuse_odd_names(path: Path, manifest: Json) -> None:
    """Names that become parts of paths, here and in what is exported, stay in their folder."""
    for scheme, splits in manifest["counts"]["items"].items():
        for split in (*splits, *manifest["hidden"]):
            check_names(split, scheme)
    for name in manifest["files"]:
        if not FILE_NAME.fullmatch(name):
            raise UserError(f"{path} lists {name!r}, which names no file of its folder.", "Do not trust it.")
