"""Reading the text files of a release: lines of JSON, decoded all at once and typed, with file and line in every error.

The fast path decodes a whole file in one call. Only where that fails is the file read line by line to find the lines
that are wrong: the first is an error, or, with `keep_going`, each is listed and left out.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import numpy as np
import pyarrow as pa

from veridical.benchmark import tables
from veridical.common.arrays import Ints
from veridical.common.files import DECODING_ERRORS, UTF8_MARK, in_words, read_bytes
from veridical.errors import UserError

T = TypeVar("T")
KEEP_GOING = "Correct it, or import everything else with --keep-going. Nothing was written."
_NO_LINES = np.empty(0, np.int64)
_CHUNK_BYTES = 1 << 18  # of JSON: what it becomes stays in the processor's cache
_MARKS = ((UTF8_MARK, "a UTF-8 byte order mark"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that `keep_going` left out, and why."""

    file: str
    line: int | None  # counted from 1; None where the whole file is meant
    problem: str
    unit: str = "line"  # what is counted

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.line}: {self.problem}" if self.line else f"{self.file}: {self.problem}"


@dataclass
class Problems:
    """What is wrong with a release: the first problem is an error, or all are collected."""

    keep_going: bool = False
    left_out: list[LeftOut] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"lines": 0, "files": 0})  # of what was left out

    def found(self, file: str, line: int | None, problem: str, fix: str = KEEP_GOING, unit: str = "line") -> None:
        """Report a problem at a line counted from 1."""
        left = LeftOut(file, line, problem, unit)
        if not self.keep_going:
            raise UserError(str(left), fix)
        self.left_out.append(left)
        self.counts["lines" if line else "files"] += 1


@dataclass(frozen=True)
class TextFile:
    """A text file of a release and where its lines start."""

    name: str  # its path within the release
    data: bytes
    starts: Ints  # of each line, and the end of the last

    def __len__(self) -> int:
        return len(self.starts) - 1

    def line(self, number: int) -> bytes:
        """Line `number`, counted from 0, with its line ending."""
        return self.data[self.starts[number] : self.starts[number + 1]]

    def raw(self, without: Iterable[int] = ()) -> pa.Table:
        """The file as rows of a raw table, without some lines."""
        buffers = [None, pa.py_buffer(self.starts), pa.py_buffer(self.data)]
        lines = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(self), buffers)
        if gone := sorted(without):
            lines = lines.filter(pa.array(np.isin(np.arange(len(self)), gone, invert=True)))
        return raw_table([self.name] * len(lines), lines)


def raw_table(
    files: Sequence[str], lines: pa.Array | None = None, images: Sequence[str | None] | None = None
) -> pa.Table:
    """Rows of a raw table: lines of text files, or whole image files."""
    n = len(files)
    return pa.Table.from_arrays(
        [
            pa.array(files, pa.string()),
            pa.nulls(n, pa.large_binary()) if lines is None else lines,
            pa.nulls(n, pa.string()) if images is None else pa.array(images, pa.string()),
        ],
        schema=tables.RAW,
    )


def read_text(path: Path, name: str) -> TextFile:
    """A file and its line starts."""
    data = read_bytes(path)
    return TextFile(name, data, _line_starts(data))


def _line_starts(data: bytes) -> Ints:
    starts = [np.zeros(1, np.int64)]
    for place in range(0, len(data), _CHUNK_BYTES):  # in parts that stay in the processor's cache
        part = np.frombuffer(data, np.uint8, min(_CHUNK_BYTES, len(data) - place), place)
        starts.append(np.flatnonzero(part == ord("\n")) + (place + 1))
    if data and not data.endswith(b"\n"):
        starts.append(np.array([len(data)]))
    return np.concatenate(starts)


@dataclass
class Lines(Generic[T]):
    """The records of a file, where each stands, and which lines were left out."""

    file: TextFile
    records: list[T]
    numbers: Ints  # line of each record, counted from 0
    dropped: set[int] = field(default_factory=set)

    def drop(self, wrong: Mapping[int, str], problems: Problems, fix: str = KEEP_GOING) -> None:
        """Report records (by index) that are wrong, and leave their lines out."""
        if not wrong:
            return
        for index in sorted(wrong):
            problems.found(self.file.name, int(self.numbers[index]) + 1, wrong[index], fix)
            self.dropped.add(int(self.numbers[index]))
        keep = [i for i in range(len(self.records)) if i not in wrong]
        self.records = [self.records[i] for i in keep]
        self.numbers = self.numbers[keep]

    def raw(self) -> pa.Table:
        """The file's lines as rows of a raw table, without those left out."""
        return self.file.raw(self.dropped)


def decode_lines(
    file: TextFile, decoder: msgspec.json.Decoder[T], problems: Problems, expected: Mapping[str, str] | None = None
) -> Lines[T]:
    """Every line's record. `expected` says in words what a field holds, for errors."""
    out: Lines[T] = Lines(file, [], _NO_LINES)
    parts = list(decode_chunks(file, decoder, problems, expected))
    for part in parts:
        out.records += part.records
        out.dropped |= part.dropped
    out.numbers = np.concatenate([part.numbers for part in parts]) if parts else _NO_LINES
    return out


def decode_chunks(
    file: TextFile, decoder: msgspec.json.Decoder[T], problems: Problems, expected: Mapping[str, str] | None = None
) -> Iterator[Lines[T]]:
    """The records of a file some thousand lines at a time: who turns each part into columns needs little memory, and
    little time to fetch that memory."""
    first = _first_line(file, problems)
    if first:
        yield Lines(file, [], _NO_LINES, set(range(first)))
    utf8 = _is_utf8(file.data)
    view = memoryview(file.data)
    while first < len(file):
        last = max(first + 1, int(np.searchsorted(file.starts, file.starts[first] + _CHUNK_BYTES, "right")) - 1)
        records: list[T] = []
        with _no_garbage_collection(), suppress(*DECODING_ERRORS):  # nothing decoded refers back, and there is much
            records = decoder.decode_lines(view[file.starts[first] : file.starts[last]]) if utf8 else []
        if len(records) == last - first:
            yield Lines(file, records, np.arange(first, last))
        else:
            yield _one_by_one(file, first, last, decoder, problems, expected or {})
        first = last


def _first_line(file: TextFile, problems: Problems) -> int:
    """The first line to read: what starts with a byte order mark is reported, and is not JSON."""
    for mark, what in _MARKS:
        if file.data.startswith(mark):
            problems.found(file.name, 1, f"the file starts with {what}.", "Save it as UTF-8 without a byte order mark.")
            return 1 if mark == UTF8_MARK else len(file)
    return 0


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _one_by_one(
    file: TextFile,
    first: int,
    last: int,
    decoder: msgspec.json.Decoder[T],
    problems: Problems,
    expected: Mapping[str, str],
) -> Lines[T]:
    records: list[T] = []
    numbers: list[int] = []
    dropped: set[int] = set()
    for number in range(first, last):
        line = file.line(number)
        if not line.strip():
            continue
        try:
            line.decode()
            records.append(decoder.decode(line))
            numbers.append(number)
        except DECODING_ERRORS as error:
            dropped.add(number)
            problems.found(file.name, number + 1, in_words(error, expected))
    return Lines(file, records, np.array(numbers, np.int64), dropped)


def decode_one(
    file: TextFile, decoder: msgspec.json.Decoder[T], problems: Problems, expected: Mapping[str, str] | None = None
) -> T | None:
    """The one JSON value that a whole file holds, or None where it is left out."""
    if not _is_utf8(file.data) or file.data.startswith(UTF8_MARK):
        problems.found(file.name, None, "it is not UTF-8 text without a byte order mark.", "Save it as UTF-8.")
        return None
    try:
        return decoder.decode(file.data)
    except DECODING_ERRORS as error:
        problems.found(file.name, None, in_words(error, expected or {}))
        return None


def find_duplicates(ids: Sequence[str], numbers: Ints, what: str = "identifier") -> dict[int, str]:
    """Records (by index) whose id an earlier line has."""
    if len(set(ids)) == len(ids):
        return {}
    first: dict[str, int] = {}
    wrong = {}
    for index, one in enumerate(ids):
        if (before := first.setdefault(one, index)) != index:
            wrong[index] = f"{what} {one!r} is already on line {int(numbers[before]) + 1}."
    return wrong


def find_wrong(records: Sequence[T], problem: Callable[[T], str | None]) -> dict[int, str]:
    """Records (by index) that a check finds wrong."""
    return {index: text for index, text in enumerate(map(problem, records)) if text}
