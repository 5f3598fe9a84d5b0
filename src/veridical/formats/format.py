"""What every release format offers: `read` gives its splits, each of which writes itself; `encode` writes one back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import pyarrow as pa

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.errors import UserError
from veridical.formats.lines import Problems
from veridical.records import Panel, Task


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


class Writer:
    """Hands tables to a benchmark's writer in two other threads: Parquet is encoded while more is read.

    Original lines go through one thread, everything else through the other, each in its order, so that the files are
    the same as without threads.
    """

    def __init__(self, writer: BenchmarkWriter) -> None:
        self._writer = writer
        self._threads = {"records": ThreadPoolExecutor(1), "raw": ThreadPoolExecutor(1)}
        self._last: dict[str, Future[None]] = {}

    def add_image(self, data: bytes) -> str:
        """Store an image now and return its content address."""
        return self._writer.add_image(data)

    def add_items(self, split: str, items: pa.Table) -> None:
        self._later("records", self._writer.add_items, split, items)

    def add_panels(self, panels: pa.Table | Sequence[Panel]) -> None:
        self._later("records", self._writer.add_panels, panels)

    def add_judgements(self, judgements: pa.Table) -> None:
        self._later("records", self._writer.add_judgements, judgements)

    def add_raw(self, split: str, raw: pa.Table) -> None:
        self._later("raw", self._writer.add_raw, split, raw)

    def _later(self, thread: str, function: Callable[..., None], *arguments: object) -> None:
        self._last[thread] = self._threads[thread].submit(_after, self._last.get(thread), function, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for thread in self._threads.values():
            thread.shutdown(wait=True, cancel_futures=kind is not None)
        if kind is None:
            for last in self._last.values():
                last.result()


def _after(before: Future[None] | None, function: Callable[..., None], *arguments: object) -> None:
    """Call a function unless the call before it failed; that failure is the one to report."""
    if before is not None:
        before.result()
    function(*arguments)


class Part(Protocol):
    """One split of a release, read and found whole."""

    @property
    def split(self) -> str: ...

    @property
    def labelled(self) -> bool: ...

    @property
    def ids(self) -> list[str]: ...

    @property
    def panels(self) -> list[str]: ...  # what its panels are named after; no other split may have the same

    def write(self, writer: Writer, problems: Problems) -> Mapping[str, int]:
        """Add the split to a benchmark; gives counts beyond the writer's, such as missing images."""


@dataclass(frozen=True)
class Format:
    """An official release format."""

    name: str
    title: str  # the benchmark's name
    task: Task
    licence: str  # empty where the release's files state none
    read: Callable[[Request, Problems], list[Part]]
    encode: Callable[[Benchmark, str, Path], None]  # benchmark, split, folder: write the split in this format


def find_files(root: Path, wanted: Callable[[str], bool], depth: int = 3) -> Iterable[Path]:
    """Files under a folder by name, nearest and first in alphabet first; folders of images are not entered."""
    try:
        entries = sorted(os.scandir(root), key=lambda entry: (entry.is_dir(), entry.name))
    except OSError as error:
        raise UserError(f"{root} cannot be read: {error.strerror}.", "Check the folder of the release.") from None
    for entry in entries:
        if not entry.is_dir():
            if wanted(entry.name):
                yield root / entry.name
        elif depth and "images" not in entry.name and not entry.name.startswith("."):
            yield from find_files(root / entry.name, wanted, depth - 1)


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
