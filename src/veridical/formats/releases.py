"""Official releases, both ways: a release becomes a benchmark, a benchmark the files of a release.

A `Format` reads a release into `ReleaseSplit`s, one for each split, which write themselves; and it writes a split back.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import hidden_dir, keep_private, outside, staging
from veridical.common import registry
from veridical.common.result import Caution, Result, Table
from veridical.errors import UserError
from veridical.formats import EXPORTS, FORMATS, QUESTIONS
from veridical.formats.card import describe
from veridical.formats.images import is_inside
from veridical.formats.lines import LeftOut, Problems
from veridical.records import Item, Panel, Task

_SPLIT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_.-]{1,64}")  # it becomes part of file names
_SHOWN = 3  # problems in an error


@dataclass(frozen=True)
class ImportResult(Result):
    """What an import made."""

    benchmark: Path
    counts: dict[str, Any]  # items by split, images, panels, judgements, images that are not here
    left_out: tuple[LeftOut, ...] = ()  # what `keep_going` left out

    def parts(self) -> Iterator[Table | str]:
        rows = [(f"items, {name}", f"{count:,}") for name, count in sorted(self.counts["items"]["main"].items())]
        others = ((name.replace("_", " "), count) for name, count in self.counts.items() if name != "items")
        yield Table("", ("what", "count"), rows + [(name, f"{count:,}") for name, count in others])
        yield from imported(self.benchmark, self.left_out)


def imported(benchmark: Path | None, left_out: Sequence[LeftOut]) -> Iterator[str]:
    """What people should know after an import."""
    yield from (f"left out: {left}" for left in left_out)
    yield f"Benchmark: {benchmark}" + (f" ({len(left_out):,} left out)" if left_out else "")


@dataclass(frozen=True)
class ExportResult(Result):
    """What an export wrote."""

    kind: str
    out: Path
    files: int
    bytes: int
    hidden: Path | None = None  # where the files that tell hidden answers went: not for publishing
    hidden_files: int = 0
    hidden_bytes: int = 0

    def parts(self) -> Iterator[Table | str]:
        yield Table("", ("written to", "files", "bytes"), [(self.out, f"{self.files:,}", f"{self.bytes:,}")])
        if self.hidden is not None:
            yield Caution(
                f"Wrote {self.hidden_files:,} files ({self.hidden_bytes:,} bytes) that tell hidden answers to "
                f"{self.hidden}: do not publish them."
            )


def load_format(name: str) -> Format:
    """A release format by name."""
    found = registry.resolve({**FORMATS, **QUESTIONS}, name, "format", "formats")
    if not isinstance(found, Format):
        raise TypeError(f"what the format {name!r} stands for is not a Format")
    return found


def import_release(
    format: str,
    path: Path | str,
    out: Path | str,
    *,
    split: str | None = None,
    images: Path | str | None = None,
    hide: Sequence[str] = (),
    keep_going: bool = False,
) -> ImportResult:
    """Turn an official release (a file, or a folder of files and images) into a benchmark.

    `split` picks one split of a folder, or names the split of a file. `hide` names splits whose answers go to the
    sibling `OUT.hidden`; splits without labels are hidden anyway. `keep_going` imports everything but the lines and
    images that are wrong, and lists those.
    """
    known = load_format(format)
    path = Path(path)
    if not path.exists():
        raise UserError(f"{path} does not exist.", f"Give a file or folder of {known.title}'s release.")
    if images is not None and not Path(images).is_dir():
        raise UserError(f"{images} is not a folder of images.", "Give the folder with --images.")
    problems = Problems(keep_going)
    parts = known.read(Request(path, split, None if images is None else Path(images)), problems)
    _check_parts(parts, path, hide, problems)
    hidden = sorted({*hide, *(part.split for part in parts if not part.labelled)})
    missing: Counter[str] = Counter()
    target = BenchmarkWriter(
        out,
        name=known.title,
        task=known.task,
        # the counts grow while images are read, and are written with the manifest at the end
        config={"format": known.name, "left_out": problems.counts},
        licence=known.licence,
        hidden=hidden,
        official=True,
        describe=describe,
    )
    with target, Writer(target) as writer:
        for part in parts:
            missing.update(part.write(writer, problems))
    made = Benchmark(out)
    return ImportResult(made.directory, made.manifest["counts"] | dict(missing), tuple(problems.left_out))


def _check_parts(parts: Sequence[ReleaseSplit], path: Path, hide: Sequence[str], problems: Problems) -> None:
    splits = [part.split for part in parts]
    for name in splits:
        if not _SPLIT.fullmatch(name):
            raise UserError(
                f"{path}: {name[:80]!r} cannot be the name of a split.",
                "Import one file at a time and name its split with --split: letters, digits, '.', '_' and '-'.",
            )
    for name in hide:
        if name not in splits:
            raise UserError(f"{path} has no split {name!r} to hide.", f"It has: {', '.join(splits)}.")
    if len(parts) > 1:
        _check_shared([(part.split, set(part.ids)) for part in parts], path, "item")
        _check_shared([(part.split, set(part.panels)) for part in parts], path, "image")
    if not any(part.ids for part in parts):
        shown = "".join(f" {left}" for left in problems.left_out[:_SHOWN])
        more = f" And {len(problems.left_out) - _SHOWN:,} more." if len(problems.left_out) > _SHOWN else ""
        if shown:
            raise UserError(f"{path} holds no item that is whole.{shown}{more}", "Correct the file, or get it anew.")
        raise UserError(f"{path} holds no items.", "Give a file or folder with at least one item.")


def _check_shared(named: Sequence[tuple[str, set[str]]], path: Path, what: str) -> None:
    for (one, names), (other, others) in itertools.combinations(named, 2):
        if both := names & others:
            raise UserError(
                f"{path}: {what} {min(both)!r} is in two splits, {one} and {other}.", "Import one of them at a time."
            )


def export(format: str, benchmark: Path | str, out: Path | str) -> ExportResult:
    """Write a benchmark for others: `hf`, `croissant` or `official`."""
    registry.resolve(EXPORTS, format, "export", "exports")(Path(benchmark), Path(out))
    target = Path(os.path.abspath(out))
    secret = hidden_dir(target)
    if format != "official" or not secret.is_dir():
        return ExportResult(format, target, *_size(target))
    return ExportResult(format, target, *_size(target), secret, *_size(secret))


def _size(target: Path) -> tuple[int, int]:
    """How many files, and their bytes."""
    files = [path for path in target.rglob("*") if path.is_file()] if target.is_dir() else [target]
    return len(files), sum(path.stat().st_size for path in files)


def export_official(benchmark: Path | str, out: Path | str) -> None:
    """Write a benchmark as the official release does: the very files it was imported from, or files in their format.

    Files that tell hidden answers go to the sibling `OUT.hidden`, so that uploading OUT cannot publish them.
    """
    source = Benchmark(benchmark)
    target = outside(out, source.directory)
    targets = {"public": target, "hidden": hidden_dir(target)}
    with staging(*targets.values()) as work:
        folders = {part: work / part for part in targets}
        for folder in folders.values():
            folder.mkdir()
        for split in source.splits:
            answers = source.hidden_directory / f"answers-main-{split}.parquet"  # none of a release without labels
            folder = folders["hidden" if source.is_hidden(split) and answers.exists() else "public"]
            if not _write_raw(source, split, folder):
                load_format(_format_of(source)).encode(source, split, folder)
        if not any(folders["hidden"].iterdir()):
            del targets["hidden"]
        keep_private(folders["hidden"])
        for part, place in sorted(targets.items()):  # the public part last: it is there when all is
            if place.exists():
                place.rmdir()
            folders[part].rename(place)


def _write_raw(source: Benchmark, split: str, folder: Path) -> bool:
    """Write the original files of a split; False where there are none."""
    raw = source.raw_table(split)
    if raw is None:
        return False
    texts = raw.filter(pc.is_valid(raw["line"])).combine_chunks()
    names = texts["file"].combine_chunks().dictionary_encode() if len(texts) else pa.array([]).dictionary_encode()
    codes = names.indices.to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()] if len(codes) else []
    for start, end in itertools.pairwise([*starts, len(codes)]):
        with _place(folder, names.dictionary[codes[start]].as_py()).open("ab") as file:
            for chunk in texts["line"].slice(start, end - start).chunks:
                file.writelines(line.as_buffer() for line in chunk)
    pictures = raw.filter(pc.is_valid(raw["image"]))
    for name, address in zip(pictures["file"].to_pylist(), pictures["image"].to_pylist(), strict=True):
        _place(folder, name).write_bytes(source.image(address))
    return True


def _place(folder: Path, name: str) -> Path:
    if not is_inside(name):
        raise UserError(f"The benchmark names a file outside its folder: {name!r}.", "Do not trust it; import it anew.")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _format_of(source: Benchmark) -> str:
    """The release format of a benchmark that we built: it says so, or its name does."""
    for name in (source.manifest["config"].get("format"), source.name):
        if isinstance(name, str) and name.lower() in FORMATS:
            return name.lower()
    raise UserError(
        f"{source.directory} ({source.name}) has no official format.",
        f"Formats: {', '.join(FORMATS)}. Use `export hf`.",
    )


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

    def files(self, is_split: Callable[[Path], bool], missing: str) -> dict[str, Path]:
        """The JSON file of each split that is asked for, by the split's name; `missing` is what a folder may lack."""
        if not self.path.is_dir():
            return {self.split or self.path.stem: self.path}
        found: dict[str, list[Path]] = defaultdict(list)
        for path in find_files(self.path, lambda name: name.endswith(".json")):
            if is_split(path):
                found[path.stem].append(path)
        if not found:
            raise self.holds_none(missing)
        return one_per_split(found, self)

    def holds_none(self, what: str) -> UserError:
        """The error for a folder without a split."""
        return UserError(f"{self.path} holds no {what}.", "Give the folder that holds them, or one such file.")


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
        before = self._last.get(thread)

        def call() -> None:
            if before is not None:
                before.result()  # where the call before it failed, that is the failure to report
            function(*arguments)

        self._last[thread] = self._threads[thread].submit(call)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *error: object) -> None:
        for thread in self._threads.values():
            thread.shutdown(wait=True, cancel_futures=error_type is not None)
        if error_type is None:
            for last in self._last.values():
                last.result()


class ReleaseSplit(Protocol):
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
    read: Callable[[Request, Problems], list[ReleaseSplit]]
    encode: Callable[[Benchmark, str, Path], None]  # benchmark, split, folder: write the split in this format


def items_to_write(benchmark: Benchmark, split: str) -> list[Item]:
    """The items of a split, with hidden answers where they are here."""
    return list(benchmark.items(split, answers=benchmark.is_hidden(split) and benchmark.hidden_directory.exists()))


def judgements_of(benchmark: Benchmark, words: Mapping[str, str]) -> dict[tuple[str, str], dict[str, str]]:
    """What workers said, as a release words verdicts: item and kind of judgement -> worker -> word."""
    table = benchmark.judgements_table(hidden=True).select(["item", "worker", "verdict", "kind"])
    out: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for item, worker, verdict, kind in zip(*(column.to_pylist() for column in table.columns), strict=True):
        if verdict in words:
            out[item, kind][worker] = words[verdict]
    return out


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
