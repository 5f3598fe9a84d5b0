"""The manifest of a benchmark, and of its hidden folder: the shape that it must have, and names that stay in place."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from veridical.benchmark.writer import FILE_NAME, FileEntry, check_names
from veridical.common.files import Json
from veridical.errors import UserError


class _Counts(msgspec.Struct):
    items: dict[str, dict[str, int]]
    images: int


class Manifest(msgspec.Struct):
    """The shape that a manifest must have."""

    format: int
    name: str
    task: str
    counts: _Counts
    files: dict[str, FileEntry]
    hidden: list[str]
    official: bool


class HiddenManifest(msgspec.Struct):
    """The same of the hidden folder."""

    benchmark: str
    files: dict[str, FileEntry]


def read_manifest(path: Path, text: bytes, shape: type[msgspec.Struct]) -> Json:
    """What a manifest says; an error where it has another shape."""
    try:
        msgspec.json.decode(text, type=shape)
        found: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}.", "Import or build the benchmark again.") from None
    return found


def check_manifest_names(path: Path, manifest: Json) -> None:
    """Names that become parts of paths, here and in what is exported, stay in their folder."""
    for scheme, splits in manifest["counts"]["items"].items():
        for split in (*splits, *manifest["hidden"]):
            check_names(split, scheme)
    for name in manifest["files"]:
        if not FILE_NAME.fullmatch(name):
            raise UserError(f"{path} lists {name!r}, which names no file of its folder.", "Do not trust it.")
