"""CSV files of answers: `identifier,true` as the published scripts take it, and what else people write.

There may be a header, an index column as pandas writes it, more columns that the header names, spaces, quotation marks,
tabs or semicolons. A file of two columns is read at once; anything else row by row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from veridical.errors import UserError
from veridical.evaluation.predictions import Predictions, gather
from veridical.evaluation.words import SHOWN, column, is_answer, known_names

LONGEST_CELL = 1 << 17  # characters
_EACH = "Each line is `identifier,answer`; a header names the columns where there are more."
ROWS = "Write one row per question. Nothing was scored."


def read_csv(path: Path, text: str) -> Predictions:
    """A file of names and what was answered."""
    first = text.lstrip().split("\n", 1)[0]
    delimiter = max(",\t;", key=first.count)
    if text.endswith(delimiter):  # an empty answer is no answer, but a file that was written whole ends its line
        raise UserError(
            f"{path}: the last line has no answer and no end: the file was cut off. Nothing was scored.",
            "Write it again. If nothing is missing, end its last line with a newline.",
        )
    return _read_fast(path, text, delimiter) or _read_rows(path, text, delimiter)


def _read_fast(path: Path, text: str, delimiter: str = ",") -> Predictions | None:
    """The whole file at once, or None where anything at all is unusual: then it is read row by row."""
    first = text.split("\n", 1)[0].split(delimiter)
    skipped = int(_header(first) == (0, 1))
    if '"' in text or len(first) != 2 or (not skipped and _header(first) is not None):
        return None
    columns = {"id": pa.string(), "word": pa.string()}
    read = arrow_csv.ReadOptions(column_names=list(columns), skip_rows=skipped)
    parse = arrow_csv.ParseOptions(delimiter=delimiter, quote_char=False)
    convert = arrow_csv.ConvertOptions(column_types=columns, strings_can_be_null=False)
    try:
        table = arrow_csv.read_csv(io.BytesIO(text.encode()), read, parse, convert)
    except pa.ArrowInvalid:
        return None
    names = pc.utf8_trim_whitespace(table["id"]).combine_chunks()
    count = text.count("\n") + (not text.endswith("\n")) - skipped
    if not count or len(names) != count or pc.any(pc.equal(names, "")).as_py():
        return None
    words = pc.utf8_trim_whitespace(table["word"]).combine_chunks().dictionary_encode()
    line = np.arange(1, count + 1) + skipped
    unread = np.full(count, -1, np.int64)
    return Predictions(
        path=path,
        format="csv",
        names=names,
        chosen=unread,
        width=np.zeros(count, np.int64),
        tied=np.zeros(count, np.bool_),
        line=line,
        word=np.asarray(words.indices).astype(np.int64),
        words=tuple(words.dictionary.to_pylist()),
    )


def _read_rows(path: Path, text: str, delimiter: str = ",") -> Predictions:
    rows = [(n, [cell.strip() for cell in row]) for n, row in csv_rows(path, text, delimiter)]
    if not rows:
        raise UserError(f"{path} has no rows.", _EACH)
    header = _header(rows[0][1])
    wide = len(rows[0][1])
    if header is None:
        places = (1, 2) if wide == 3 and _counts([row[0] for _, row in rows]) else (0, 1)
        wide = places[1] + 1
    else:
        places, rows = header, rows[1:]
    wrong = [(n, row) for n, row in rows if len(row) != wide or not row[places[0]]]
    if wrong:
        n, row = wrong[0]
        also = f"{len(wrong) - 1:,} more are wrong too; " if len(wrong) > 1 else ""
        rest = f"{also}{len(rows) - len(wrong):,} other lines are fine. Nothing was scored."
        raise UserError(f"{path}, line {n}: found {delimiter.join(row)[:SHOWN]!r}.", f"{_EACH} {rest}")
    if not rows:
        raise UserError(f"{path} has a header but no predictions.", _EACH)
    words = [row[places[1]] for _, row in rows]
    return gather(path, "csv", [row[places[0]] for _, row in rows], words, np.array([n for n, _ in rows], np.int64))


def _header(cells: list[str]) -> tuple[int, int] | None:
    """Where the names and the answers stand, if these cells are a header.

    >>> _header(["", "id", "label", "prediction"]), _header(["dev-0", "true"]), _header(["sentence", "answer"])
    ((1, 3), None, (0, 1))
    """
    cells = [cell.strip().strip('"') for cell in cells]
    known = known_names()
    item, said = column(cells, known.item), column(cells, known.said)
    if item is not None and said is not None:
        return item, said
    index = cells[0].lower() in ("", "unnamed: 0")  # of pandas, which calls the column of a series 0
    first = int(index and len(cells) > 2)
    if len(cells) - first != 2 or any(is_answer(cell) and not (index and cell == "0") for cell in cells):
        return None
    places = (first, first + 1)
    if said == places[0] or item == places[1]:
        return places[1], places[0]
    return places if item is not None or said is not None or index else None


def _counts(cells: list[str]) -> bool:
    """Whether a column is only an index: 0, 1, 2 ..."""
    return cells == [str(n) for n in range(len(cells))]


def csv_rows(path: Path, text: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, with their line numbers."""
    csv.field_size_limit(LONGEST_CELL)  # of the whole process: others may have raised it
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:  # a cell of more than 128 KiB, such as after a quotation mark that is never closed
        raise UserError(f"{path}, line {reader.line_num}: {error}.", ROWS) from None
