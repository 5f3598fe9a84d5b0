"""What every release format offers: `read` gives its splits, each of which writes itself; `encode` writes one back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.errors import UserError
from veridical.formats.lines import Problems
from veridical.records import Task


@dataclass(frozen=True)
class Request:
    """What to import."""

    path: Path  # a file, or the folder of a release
    split: str | None = None  # of a folder: only this split; of a file: its name
    images: Path | None = None  # where the images are, if not beside the files

    @property
    def root(self) -> Path:
        """The folder that names within the release are relative to."""
        return self.path if self.path.is_dir() else self.path.parent

    def name_of(self, path: Path) -> str:
        """A file's name within the release."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name


class Part(Protocol):
    """One split of a release, read and found whole."""

    @property
    def split(self) -> str: ...

    @property
    def labelled(self) -> bool: ...

    @property
    def ids(self) -> list[str]: ...

    def write(self, writer: BenchmarkWriter, problems: Problems) -> Mapping[str, int]:
        """Add the split to a benchmark; gives counts beyond the writer's, such as missing images."""


@dataclass(frozen=True)
class Format:
    """An official release format."""

    name: str
    title: str  # the benchmark's name
    task: Task
    licence: str
    read: Callable[[Request, Problems], list[Part]]
    encode: Callable[[Benchmark, str, Path], None]  # benchmark, split, folder: write the split in this format


def find_files(root: Path, wanted: Callable[[str], bool], depth: int = 3) -> Iterable[Path]:
    """Files under a folder by name, nearest and first in alphabet first; folders of images are not entered."""
    entries = sorted(root.iterdir(), key=lambda path: (path.is_dir(), path.name))
    for path in entries:
        if path.is_file():
            if wanted(path.name):
                yield path
        elif depth and path.is_dir() and "images" not in path.name and not path.name.startswith("."):
            yield from find_files(path, wanted, depth - 1)


def one_per_split(found: Mapping[str, list[Path]], request: Request) -> dict[str, Path]:
    """The one file of each split; two files for one split are an error."""
    for split, paths in found.items():
        if len(paths) > 1:
            names = " and ".join(request.name_of(path) for path in paths[:2])
            raise UserError(f"{request.path}: split {split!r} is in two files, {names}.", "Import one file at a time.")
    if request.split is None:
        return {split: paths[0] for split, paths in found.items()}
    if request.split not in found:
        have = ", ".join(found) or "none"
        raise UserError(f"{request.path} has no split {request.split!r}; found: {have}.", "Choose one of these.")
    return {request.split: found[request.split][0]}
