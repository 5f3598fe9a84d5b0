"""What a stage depends on beside its options: the files of a source, word lists, the panels that sentences are about.

Annotations are hashed by content; photographs, which may be many and large, by name, size and time of change. None of
this goes into a benchmark: it only says when a stage must be made anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from veridical.benchmark.writer import file_hash
from veridical.records import Panel
from veridical.sources import Source
from veridical.sources.folder import SUFFIXES

_ANNOTATIONS = (".json", ".jsonl", ".csv")


def of_source(source: Source | None) -> str:
    """A hash of the files that a source reads; the same for every source that has none, such as icons."""
    digest = hashlib.sha256()
    for place in sorted(set(_places(source)), key=str):
        digest.update(f"{place}\n".encode("utf-8", "surrogateescape"))
        for line in _annotations(place) if place.exists() else ():
            digest.update(line.encode("utf-8", "surrogateescape"))
        for line in sorted(_pictures(place)):
            digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def of_panels(panels: Mapping[str, Panel]) -> str:
    """A hash of what is known of photographs."""
    digest = hashlib.sha256()
    for name in sorted(panels):
        digest.update(msgspec.json.encode(panels[name]) + b"\n")
    return digest.hexdigest()


def of_path(path: str | None) -> str | None:
    """The hash of a file; of a folder, or where there is nothing, its name."""
    return file_hash(Path(path)) if path is not None and Path(path).is_file() else path


def _places(source: Any) -> Iterator[Path]:
    """The files and folders that a source, or the source inside it, was given."""
    while hasattr(source, "source"):
        source = source.source
    yield from _paths(getattr(source, "__dict__", {}).values())
    yield from _paths(getattr(source, "folders", ()))


def _paths(values: Iterable[Any]) -> Iterator[Path]:
    for value in values:
        if isinstance(value, Path):
            yield value.absolute()


def _annotations(place: Path) -> Iterator[str]:
    """Annotations in a folder, or beside a file of them: COCO's captions lie beside its instances."""
    beside = place if place.is_dir() else place.parent
    files = {place} if place.is_file() else set()
    if place.is_dir() or place.suffix == ".json":
        files |= {path for path in beside.iterdir() if path.suffix in _ANNOTATIONS and path.is_file()}
    for path in sorted(files):
        yield f"{path.name} {file_hash(path)}\n"


def _pictures(place: Path) -> Iterator[str]:
    for folder, inside, files in os.walk(place):
        inside[:] = [name for name in inside if not name.startswith(".")]
        for name in files:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                path = Path(folder, name)
                facts = path.stat() if path.exists() else None  # a link that leads nowhere
                size, changed = (facts.st_size, facts.st_mtime_ns) if facts else (0, 0)
                yield f"{path.relative_to(place)} {size} {changed}\n"
