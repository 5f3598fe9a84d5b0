"""Question/answer files: CSV, JSON lines or Parquet with a question and an answer, maybe a rationale, group and fold.

The first bad row is an error with its line and the count of the others; nothing is matched before every row is whole.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from veridical.errors import UserError
from veridical.records import Pairs as Tags
from veridical.records import Panel, Text

SUFFIXES = {".csv": ",", ".tsv": "\t", ".jsonl": "", ".ndjson": "", ".parquet": ""}
LIKELY_GROUPS = ("group", "movie", "video", "video_id", "video_name", "image", "image_id", "img_id", "scene")
REASON = re.compile(r".*:r[0-9]+", re.DOTALL)  # the ids of rationale items; a question's may not look so
_BIG = 1 << 24  # characters of one CSV field


@dataclass(frozen=True)
class Columns:
    """The names of a file's columns; None: the usual name, where the file has it."""

    question: str | None = None
    answer: str | None = None
    rationale: str | None = None
    group: str | None = None  # what must not be in two folds: movie, video, photograph
    fold: str | None = None  # numbers of folds, or names of splits
    id: str | None = None


@dataclass(frozen=True)
class Asked:
    """A question with its right answer: what is matched."""

    id: str
    question: Text
    answer: Text
    rationale: Text | None = None
    origins: tuple[str, ...] = ()
    fold: str | None = None
    panel: Panel | None = None  # whose objects the tags of the texts name
    tags: Tags = ()
    panels: tuple[str, ...] = ()  # of the item
    writer: str | None = None


@dataclass(frozen=True)
class Table:
    """What a file holds."""

    rows: list[Asked]
    columns: dict[str, str]  # what was read -> the name of its column
    left_out: list[str] = field(default_factory=list)  # problems of rows that were left out
    notes: tuple[str, ...] = ()

    @property
    def has_rationales(self) -> bool:
        return bool(self.rows) and self.rows[0].rationale is not None


def read_table(path: Path | str, columns: Columns | None = None, *, keep_going: bool = False) -> Table:
    """Read a question/answer file. Bad rows are an error; with `keep_going` they are left out and listed."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"{path.name} does not end in {', '.join(SUFFIXES)}.", "Give a CSV, JSON lines or Parquet file."
        )
    if not path.is_file():
        raise UserError(f"There is no file {path}.", "Give a CSV, JSON lines or Parquet file of questions and answers.")
    names, lines = _open(path)
    used = _choose(path, names, columns or Columns())
    rows: list[Asked] = []
    bad: list[str] = []
    seen: dict[str, int] = {}
    for number, values in lines:
        problem, row = _row(values, used, str(number))
        if row is not None and row.id in seen:
            problem = f"the id {row.id!r} is also that of line {seen[row.id]}."
        if problem:
            bad.append(f"{path.name}, line {number}: {problem}")
        elif row is not None:
            seen[row.id] = number
            rows.append(row)
    if bad and not keep_going:
        others = f" {len(bad) - 1:,} other rows are bad too." if len(bad) > 1 else ""
        raise UserError(
            bad[0] + others, f"Correct them, or leave them out with --keep-going; {len(rows):,} rows are fine."
        )
    if not rows:
        raise UserError(f"{path.name} has no question with an answer.", "Give at least four.")
    notes = [f"Left out: {len(bad):,} bad rows, the first: {bad[0]}"] if bad else []
    if "group" not in used and (likely := [n for n in names if n in LIKELY_GROUPS]):
        notes.append(f"No column of groups is named: questions of one {likely[0]} may be in two splits (--group).")
    return Table(rows, used, bad, tuple(notes))


def _open(path: Path) -> tuple[list[str], Iterator[tuple[int, Mapping[str, Any] | str]]]:
    """The columns of a file, and its rows with their line numbers; a row that cannot be read is the reason why."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _open_parquet(path)
    try:
        # bytes, since reading as text would change the ends of lines inside of fields
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path.name} is not UTF-8: {error.reason} at byte {error.start:,}.", "Save it as UTF-8."
        ) from None
    return _open_csv(path, text, SUFFIXES[suffix]) if SUFFIXES[suffix] else _open_json(path, text)


def _open_csv(path: Path, text: str, comma: str) -> tuple[list[str], Iterator[tuple[int, Mapping[str, Any] | str]]]:
    csv.field_size_limit(_BIG)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=comma, strict=True)
    try:
        names = next(reader, [])
    except csv.Error as error:
        raise UserError(f"{path.name}, line 1: {error}.", "The first line names the columns.") from None
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(f"{path.name} has two columns named {twice[0]!r}.", "Give each column its own name.")

    def rows() -> Iterator[tuple[int, Mapping[str, Any] | str]]:
        while True:
            first = reader.line_num + 1
            try:
                values = next(reader, None)
            except csv.Error as error:
                yield first, f"{error}."
                continue
            if values is None:
                return
            if not values:
                continue  # an empty line
            if len(values) != len(names):
                yield first, f"{len(values)} fields; the first line names {len(names)} columns."
            else:
                yield first, dict(zip(names, values, strict=True))

    return names, rows()


def _open_json(path: Path, text: str) -> tuple[list[str], Iterator[tuple[int, Mapping[str, Any] | str]]]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    found: list[tuple[int, Mapping[str, Any] | str]] = []
    names: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            found.append((number, f"not a JSON object: {error}."))
            continue
        names.update(dict.fromkeys(value))
        found.append((number, value))
    if found and not names:
        raise UserError(f"{path.name}, line {found[0][0]}: {found[0][1]}", "Each line is a JSON object.")
    return list(names), iter(found)


def _open_parquet(path: Path) -> tuple[list[str], Iterator[tuple[int, Mapping[str, Any] | str]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowInvalid) as error:
        raise UserError(
            f"{path.name} is no whole Parquet file: {str(error).splitlines()[0]}", "Write it again."
        ) from None
    names = table.column_names
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise UserError(f"{path.name} has two columns named {twice[0]!r}.", "Give each column its own name.")
    return names, enumerate(table.to_pylist(), 1)


def _choose(path: Path, names: Sequence[str], columns: Columns) -> dict[str, str]:
    """What is read -> the name of its column."""
    used: dict[str, str] = {}
    for one in fields(Columns):
        asked = getattr(columns, one.name)
        name = asked or one.name
        if name in names:
            used[one.name] = name
        elif asked or one.name in ("question", "answer"):
            raise UserError(
                f"{path.name} has no column {name!r}; it has: {', '.join(names) or 'none'}.",
                f"Say which column it is: --{one.name} NAME.",
            )
    owners: dict[str, str] = {}
    for what, name in used.items():
        if name in owners:
            raise UserError(
                f"The column {name!r} is named for both {owners[name]} and {what}.",
                "Name a column of its own for each.",
            )
        owners[name] = what
    return used


def _row(values: Mapping[str, Any] | str, used: Mapping[str, str], number: str) -> tuple[str, Asked | None]:
    """What is wrong with a row, or the row."""
    if isinstance(values, str):
        return values, None
    found: dict[str, str] = {}
    for what, name in used.items():
        value = values.get(name)
        if isinstance(value, bool | list | dict) or (isinstance(value, float) and what in ("question", "answer")):
            return f"{name!r} is {value!r}; expected a text.", None
        text = "" if value is None else str(value).strip()
        if not text:
            return f"{name!r} is empty.", None
        found[what] = text
    name = found.get("id", number)
    if not name.isprintable() or REASON.fullmatch(name):
        return f"the id {name!r} cannot name a question (ids of rationales end in :r0 to :r3).", None
    return "", Asked(
        name,
        Text(found["question"]),
        Text(found["answer"]),
        Text(found["rationale"]) if "rationale" in found else None,
        (found["group"],) if "group" in found else (),
        found.get("fold"),
    )


def read_people(path: Path | str) -> dict[float, dict[str, list[int]]]:
    """People's answers to a sweep's choices (columns lambda, id, choice): lambda -> question -> places they chose."""
    path = Path(path)
    if not path.is_file() or path.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"{path} is no CSV, JSON lines or Parquet file.", "Give one with columns lambda, id and choice."
        )
    names, lines = _open(path)
    missing = [name for name in ("lambda", "id", "choice") if name not in names]
    if missing:
        raise UserError(f"{path.name} has no column {missing[0]!r}; it has: {', '.join(names)}.", "Add it.")
    out: dict[float, dict[str, list[int]]] = {}
    for number, row in lines:
        try:
            if isinstance(row, str):
                raise ValueError(row)
            weight, choice = float(row["lambda"]), int(row["choice"])
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{path.name}, line {number}: {error}.", "Each row is a lambda, a question's id and a place from 0."
            ) from None
        out.setdefault(weight, {}).setdefault(str(row["id"]), []).append(choice)
    return out
