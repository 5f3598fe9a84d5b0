"""A table as columns and rows: CSV and TSV with any separator, JSON, JSON lines, Parquet, Arrow streams.

Rows are read anew each time they are asked for, as tables may have pictures inside: of Parquet and Arrow a batch is in
memory, of CSV the bytes of the file, of JSON lines its text and its lines, of JSON all values. A row that cannot be
read is the reason why.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from veridical.common.files import (
    DECODING_ERRORS,
    BadLine,
    Json,
    decoded,
    each_line,
    read_bytes,
    read_json,
    refuse_endless,
)
from veridical.errors import UserError
from veridical.records import Pairs

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
KINDS = "Give a CSV, TSV, JSON lines or Parquet file."
_SEPARATORS = ",;\t|"
_BIG = 1 << 28  # characters of one CSV field: a picture as base64
_BATCH = 64  # rows of Parquet at a time: they may hold pictures

_UNCLOSED = "a text begins with a quote, and no quote ends it."

# what Arrow raises where a file is damaged; a time that Python cannot tell, or its zone, are no ArrowException
ARROW_ERRORS = (OSError, ValueError, LookupError, OverflowError, pa.ArrowException)

# numbers of lines, and their values by column or the reason why they cannot be read
Lines = Iterator[tuple[int, Mapping[str, Any] | str]]


@dataclass(frozen=True)
class QuestionFile:
    """A table of questions, or a part of one."""

    path: Path  # pictures that its cells name lie beside it
    columns: tuple[str, ...]
    rows: Callable[[], Lines]  # read anew at each call
    unit: str = "line"  # what its numbers count
    split: str | None = None  # where the file is of one split
    pictures: frozenset[str] = frozenset()  # columns that hold pictures by their type
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> what its numbers stand for
    tags: Pairs = ()  # of all its questions

    @property
    def name(self) -> str:
        return self.path.name

    def where(self, number: int) -> str:
        return f"{self.name}, {self.unit} {number}"


def open_file(path: Path) -> QuestionFile:
    """A table by its suffix; what is wrong with the whole of it is an error."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"{path.name} does not end in {', '.join(SUFFIXES)}.", KINDS)
    if not path.is_file() and not path.is_fifo():
        raise UserError(f"There is no file {path}.", KINDS)
    if suffix == ".parquet":
        return _parquet(path)
    if suffix == ".json":
        return _json(path)
    data = read_bytes(path)
    text = decoded(data, path)
    found = _csv(path, data, _separator(text)) if suffix in (".csv", ".tsv") else _json_lines(path, text)
    if twice := [name for name, count in Counter(found.columns).items() if count > 1]:
        raise UserError(f"{path.name} has two columns named {twice[0]!r}.", "Give each column its own name.")
    return found


def _csv(path: Path, data: bytes, separator: str) -> QuestionFile:
    csv.field_size_limit(_BIG)
    comma = "\t" if path.suffix.lower() == ".tsv" else separator

    def reader() -> Any:
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")  # decodes a piece at a time
        return csv.reader(text, delimiter=comma, strict=True)

    try:
        columns = [name.strip() for name in next(reader(), [])]
    except csv.Error as error:
        raise UserError(f"{path.name}, line 1: {error}.", "The first line names the columns.") from None

    def rows() -> Lines:
        lines = reader()
        next(lines, None)
        while True:
            first = lines.line_num + 1
            try:
                values = next(lines, None)
            except csv.Error as error:
                yield first, _UNCLOSED if "end of data" in str(error) else f"{error}."
                continue
            if values is None:
                return
            if not values:
                continue  # an empty line
            if len(values) != len(columns):
                quotes = f" A text with {comma!r} in it needs quotes." if len(values) > len(columns) else ""
                yield first, f"{len(values)} fields; the first line names {len(columns)} columns.{quotes}"
            else:
                yield first, dict(zip(columns, values, strict=True))

    return QuestionFile(path, tuple(columns), rows)


def _separator(text: str) -> str:
    """What parts the first line into the most columns; a comma, where several do."""
    head = text.partition("\n")[0].partition("\r")[0]

    def columns(separator: str) -> int:
        try:
            return len(next(csv.reader([head], delimiter=separator), []))
        except csv.Error:  # a field without end
            return 0

    return max(_SEPARATORS, key=columns)


def _json_lines(path: Path, text: str) -> QuestionFile:
    columns: dict[str, None] = {}
    first: tuple[int, BadLine] | None = None
    for number, value in each_line(text, Json):
        if isinstance(value, BadLine):
            first = first or (number, value)
        else:
            columns.update(dict.fromkeys(value))
    if first and not columns:
        raise UserError(f"{path.name}, line {first[0]}: {first[1]}", "Each line is a JSON object.")
    return QuestionFile(path, tuple(columns), lambda: each_line(text, Json))


def _json(path: Path) -> QuestionFile:
    """A list of objects, alone or as the only list of an object; or objects by their ids."""
    found: Any = read_json(path, object, "a list of questions", KINDS)
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        if len(lists) == 1 and all(isinstance(one, dict) for one in lists[0]):
            found = lists[0]
        elif found and all(isinstance(one, dict) for one in found.values()):
            found = [{"id": id, **one} for id, one in found.items()]
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UserError(f"{path.name} is not a list of questions, each a JSON object.", KINDS)
    columns = dict.fromkeys(name for row in found for name in row)
    return QuestionFile(path, tuple(columns), lambda: iter(enumerate(found, 1)), "question")


# --- Arrow -----------------------------------------------------------------------------------------------------------


class ColumnFeatures(msgspec.Struct):
    """What `datasets` knows of the columns of a table: dataset_info.json, and a note in the schema."""

    features: dict[str, Any] | None = None


class _SchemaNote(msgspec.Struct):
    info: ColumnFeatures = msgspec.field(default_factory=ColumnFeatures)


def _parquet(path: Path) -> QuestionFile:
    refuse_endless(path)
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
    except ARROW_ERRORS as error:
        problem = f"{path.name} is no whole Parquet file: {first_line(error)}"
        raise UserError(problem, "Write it again.") from None

    def batches() -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_BATCH)

    return arrow_file(path, schema, batches)


def arrow_file(
    path: Path,
    schema: pa.Schema,
    batches: Callable[[], Iterator[pa.RecordBatch]],
    split: str | None = None,
    features: Mapping[str, Any] | None = None,
    tags: Pairs = (),
) -> QuestionFile:
    """A table of Arrow; `features` are what `datasets` knows of its columns, where the schema does not say it."""
    known = features if features is not None else _features(schema)
    names = {
        name: _class_names(path, name, one["names"])
        for name, one in known.items()
        if isinstance(one, dict) and one.get("_type") == "ClassLabel" and one.get("names")
    }
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise UserError(f"{path.name} has two columns named {twice[0]!r}.", "Give each column its own name.")

    def rows() -> Lines:
        number = 0
        try:
            for batch in batches():
                batch.validate(full=True)  # places outside of a column's bytes would be read as they are
                for start in range(0, batch.num_rows, _BATCH):
                    for row in batch.slice(start, _BATCH).to_pylist():
                        number += 1
                        yield number, row
        except ARROW_ERRORS as error:
            problem = f"{path.name}, after row {number:,}: {first_line(error)}"
            raise UserError(problem, "It is damaged: write or get it again.") from None

    pictures = frozenset(field.name for field in schema if _is_picture(field.type))
    return QuestionFile(path, tuple(schema.names), rows, "row", split, pictures, names, tags)


def _features(schema: pa.Schema) -> dict[str, Any]:
    """What `datasets` wrote about the columns of a file."""
    try:
        found = msgspec.json.decode((schema.metadata or {}).get(b"huggingface", b"{}"), type=_SchemaNote)
    except DECODING_ERRORS:
        return {}
    return found.info.features or {}


def _class_names(path: Path, column: str, names: Any) -> tuple[str, ...]:
    try:
        return tuple(msgspec.convert(names, list[str]))
    except msgspec.ValidationError:
        problem = f"{path.name}: the names of the classes of {column!r} are not a list of texts."
        raise UserError(problem, "Correct them, or save the data set again.") from None


def first_line(error: Exception) -> str:
    """What Arrow says is wrong; more lines are about its own insides."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _is_picture(dtype: pa.DataType) -> bool:
    """Bytes, the Image feature of `datasets`, or a list of one of them."""
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        return _is_picture(dtype.value_type)
    if pa.types.is_struct(dtype):
        return any(field.name == "bytes" and _is_bytes(field.type) for field in dtype)
    return _is_bytes(dtype)


def _is_bytes(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_binary(dtype) or pa.types.is_large_binary(dtype))
