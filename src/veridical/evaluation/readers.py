"""Prediction files of every format as columns: our JSONL, the official NLVR and NLVR2 CSV, VCR's CSV and arrays.

Reading is strict: a line that does not say what it should ends in one error with file and line, and nothing is
scored. What is well formed but says nothing (no scores, or a score that is not a number) is kept as unreadable and
counted later. The format is recognised by content, not by name.

`veridical solve` writes the benchmark's hash into every line and into `FILE.meta.json` beside the file. Names of items
decide what is scored; a hash of another benchmark is a warning that its items may have changed since.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from veridical.common.arrays import Bools, Doubles, Ints
from veridical.common.files import DECODING_ERRORS, UTF8_MARK, decoded, in_words, read_bytes
from veridical.errors import UserError

Format = Literal["jsonl", "truth csv", "vcr csv", "vcr arrays"]

ANSWER_COLUMNS = tuple(f"answer_{j}" for j in range(4))
RATIONALE_COLUMNS = tuple(f"rationale_conditioned_on_a{i}_{j}" for i in range(4) for j in range(4))
_VCR_COLUMNS = ANSWER_COLUMNS + RATIONALE_COLUMNS
_TRUTH = {"false": 0, "true": 1}
_HASH = re.compile(r"[0-9a-f]{64}")
_NOTES = (".meta.json", ".run.json")
_ROWS = "Write one row per question. Nothing was scored."


@dataclass(frozen=True)
class Predictions:
    """A prediction file: row by row which item, which candidate was chosen, and where it stood."""

    path: Path
    format: Format
    names: pa.StringArray  # item id, `item#k`, an official image name, or a VCR question
    chosen: Ints  # index of the highest score, the first of equals; -1 where unreadable
    width: Ints  # how many scores there were
    tied: Bools  # the highest score was reached more than once
    line: Ints  # 1-based
    given: Ints | None = None  # VCR: -1 for the answer, else the answer that the rationale assumes
    benchmarks: frozenset[str] = frozenset()  # hashes of the benchmarks that its lines say they are about

    def where(self, row: int) -> str:
        return f"{self.path}, {'row' if self.format == 'vcr arrays' else 'line'} {int(self.line[row])}"

    def take(self, rows: Ints) -> Predictions:
        """Some of the rows."""
        kept = {name: getattr(self, name)[rows] for name in ("chosen", "width", "tied", "line")}
        given = None if self.given is None else self.given[rows]
        return replace(self, names=self.names.take(rows), given=given, **kept)


class PredictionLine(msgspec.Struct, gc=False):
    """The part of a JSONL line that is scored; `raw` and further keys are skipped without being built."""

    item: str
    scores: list[float] | None = None
    benchmark: Any = None  # its hash, in the lines of `veridical solve`


_LINE = msgspec.json.Decoder(PredictionLine)


def read_predictions(path: Path, data: bytes | None = None) -> Predictions:
    """Read a text file of predictions, whatever its format. Arrays are read by `veridical.evaluation.arrays`."""
    if data is None:
        data = read_bytes(path, "Give a file of predictions.")
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        raise UserError(f"{path} has no predictions.", _EXPECTED)
    if start.startswith(b"{"):
        return read_jsonl(path, data)
    text = decoded(data, path)
    header = text.lstrip().split("\n", 1)[0]
    if "annot_id" in header or "answer_0" in header:
        return read_vcr_csv(path, text)
    return read_truth_csv(path, text)


_EXPECTED = (
    'Give JSONL with {"item": ..., "scores": [...]} per line, CSV with `identifier,true` per line, '
    "or the CSV of visual commonsense reasoning (VCR) with annot_id and 20 probabilities."
)


def read_jsonl(path: Path, data: bytes) -> Predictions:
    """Our own format: {"item": id, "scores": [one per candidate], "raw": text}; no scores means unreadable."""
    data = data.removeprefix(UTF8_MARK)
    if not data.isascii():
        decoded(data, path)  # the decoder passes over what it does not need, whatever its bytes
    try:
        lines = _LINE.decode_lines(data)
    except DECODING_ERRORS:
        raise _bad_json_line(path, data) from None
    number = _line_numbers(data, len(lines))
    if number is None:
        raise _bad_json_line(path, data)
    scores = [line.scores or () for line in lines]
    width = np.fromiter(map(len, scores), np.int64, len(scores))
    flat = np.fromiter(chain.from_iterable(scores), np.float64, int(width.sum()))
    chosen, tied = _choose_ragged(flat, width)
    return Predictions(
        path=path,
        format="jsonl",
        names=pa.array([line.item for line in lines], pa.string()),
        chosen=chosen,
        width=width,
        tied=tied,
        line=number,
        benchmarks=_hashes(line.benchmark for line in lines if line.benchmark is not None),
    )


def _line_numbers(data: bytes, objects: int) -> Ints | None:
    """The numbers of the lines that hold the objects, or None if they do not stand one on a line."""
    letters = np.frombuffer(data, np.uint8)
    starts = np.concatenate([[0], np.flatnonzero(letters == ord("\n")) + 1])
    starts = starts[starts < len(letters)]
    if len(starts) == objects and (letters[starts] == ord("{")).all():
        return np.arange(1, objects + 1)
    number = [n for n, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    return np.array(number, np.int64) if len(number) == objects else None


def _bad_json_line(path: Path, data: bytes) -> UserError:
    """Find the line again: decoding all lines at once is fast but does not say where it stopped."""
    first, bad, good = "", 0, 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            _LINE.decode(line)
            good += 1
        except DECODING_ERRORS as error:
            bad += 1
            first = first or f"{path}, line {number}: {in_words(error)}"
    if not first:  # every line is fine alone: a value stands on several lines, or two on one
        first = f"{path}: not one JSON object per line."
    return UserError(first, f'Each line is {{"item": "...", "scores": [one number per candidate]}}. {_rest(good, bad)}')


def _rest(good: int, bad: int) -> str:
    also = f"{bad - 1:,} more are wrong too; " if bad > 1 else ""
    return f"{also}{good:,} other lines are fine. Nothing was scored."


def read_truth_csv(path: Path, text: str) -> Predictions:
    """NLVR and NLVR2: `identifier,true|false` in any case; for NLVR's images `split-presentation-image-view.png,...`.

    As in the published scripts the comparison ignores case; unlike there, anything but true and false is an error.
    """
    return _read_truth_fast(path, text) or _read_truth_lines(path, text)


def _read_truth_fast(path: Path, text: str) -> Predictions | None:
    """The whole file at once, or None where anything at all is unusual: then it is read line by line."""
    columns = {"id": pa.string(), "label": pa.string()}
    read, parse = arrow_csv.ReadOptions(column_names=list(columns)), arrow_csv.ParseOptions(quote_char=False)
    convert = arrow_csv.ConvertOptions(column_types=columns, strings_can_be_null=False)
    try:
        table = arrow_csv.read_csv(io.BytesIO(text.encode()), read, parse, convert)
    except pa.ArrowInvalid:
        return None
    chosen = pc.index_in(pc.utf8_lower(table["label"]), value_set=pa.array(["false", "true"])).combine_chunks()
    count = text.count("\n") + (not text.endswith("\n"))
    if len(chosen) != count or chosen.null_count or pc.any(pc.equal(table["id"], "")).as_py():
        return None
    return _truths(path, table["id"].combine_chunks(), np.asarray(chosen).astype(np.int64), np.arange(1, count + 1))


def _read_truth_lines(path: Path, text: str) -> Predictions:
    names: list[str] = []
    chosen: list[int] = []
    number: list[int] = []
    wrong: list[tuple[int, str]] = []
    for n, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        cells = line.split(",")
        truth = _TRUTH.get(cells[1].lower()) if len(cells) == 2 and cells[0] else None
        if truth is None:
            wrong.append((n, line))
            continue
        names.append(cells[0])
        chosen.append(truth)
        number.append(n)
    if wrong:
        n, line = wrong[0]
        cells = line.split(",")
        what = f"{cells[1]!r} is neither true nor false" if len(cells) == 2 and cells[0] else f"found {line[:80]!r}"
        raise UserError(
            f"{path}, line {n}: {what}.",
            f"Each line is `identifier,true` or `identifier,false`. {_rest(len(names), len(wrong))}",
        )
    return _truths(path, pa.array(names, pa.string()), np.array(chosen, np.int64), np.array(number, np.int64))


def _truths(path: Path, names: pa.StringArray, chosen: Ints, line: Ints) -> Predictions:
    width, tied = np.full(len(chosen), 2, np.int64), np.zeros(len(chosen), np.bool_)
    return Predictions(path, "truth csv", names, chosen, width, tied, line)


def read_vcr_csv(path: Path, text: str) -> Predictions:
    """VCR's leaderboard file: annot_id and 20 probabilities, columns in any order; `nan` is unreadable."""
    rows = _csv_rows(path, text)
    first, header = next(rows)
    header = [cell.strip() for cell in header]
    missing = [name for name in ("annot_id", *_VCR_COLUMNS) if header.count(name) != 1]
    if missing:
        raise UserError(
            f"{path}, line {first}: {len(missing)} columns are missing or there twice, "
            f"such as {', '.join(missing[:5])}.",
            "The header is annot_id, answer_0 ... answer_3, rationale_conditioned_on_a0_0 ... a3_3.",
        )
    places = [header.index(name) for name in _VCR_COLUMNS]
    name_place = header.index("annot_id")
    names: list[str] = []
    scores: list[list[float]] = []
    number: list[int] = []
    for n, row in rows:
        if len(row) != len(header):
            problem = f"{path}, line {n}: {len(row)} cells where the header has {len(header)}."
            raise UserError(problem, _ROWS)
        try:
            scores.append([float(row[place]) for place in places])
        except ValueError as error:
            fix = "Write a number in each of the 20 columns. Nothing was scored."
            raise UserError(f"{path}, line {n}: {error}.", fix) from None
        names.append(row[name_place])
        number.append(n)
    if not names:
        raise UserError(f"{path} has a header but no predictions.", "Write one row per question.")
    return question_predictions(path, "vcr csv", names, np.array(scores).reshape(-1, 5, 4), np.array(number, np.int64))


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, with their line numbers."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:  # a cell of more than 128 KiB, such as after a quotation mark that is never closed
        raise UserError(f"{path}, line {reader.line_num}: {error}.", _ROWS) from None


def question_predictions(path: Path, format: Format, names: list[str], scores: Doubles, line: Ints) -> Predictions:
    """Predictions per question, (N, 5, 4): the answer, then the rationale given each answer."""
    count, stages, width = scores.shape
    chosen, tied = choose(scores.reshape(-1, width))
    return Predictions(
        path=path,
        format=format,
        names=pa.array(names, pa.string()).take(np.repeat(np.arange(count), stages)),
        chosen=chosen,
        width=np.full(count * stages, width, np.int64),
        tied=tied,
        line=np.repeat(line, stages),
        given=np.tile(np.arange(-1, stages - 1), count),
    )


def choose(scores: Doubles) -> tuple[Ints, Bools]:
    """Row by row the index of the highest score, the first of equals (as numpy's argmax), and whether it has equals.

    A row with a score that is not a number is unreadable: -1.

    >>> choose(np.array([[0.2, 0.8], [0.5, 0.5], [np.nan, 1.0]]))
    (array([ 1,  0, -1]), array([False,  True, False]))
    """
    chosen = scores.argmax(1)  # (N,)
    tied = (scores == scores.max(1, keepdims=True)).sum(1) > 1
    readable = ~np.isnan(scores).any(1)
    return np.where(readable, chosen, -1), tied & readable


def _choose_ragged(flat: Doubles, width: Ints) -> tuple[Ints, Bools]:
    """`choose` for rows of different lengths, which lie one after another in `flat`; empty rows are unreadable."""
    chosen = np.full(len(width), -1, np.int64)
    tied = np.zeros(len(width), np.bool_)
    start = np.cumsum(width) - width
    for size in np.unique(width[width > 0]).tolist():
        rows = np.flatnonzero(width == size)
        block = flat[start[rows][:, None] + np.arange(size)] if len(rows) < len(width) else flat.reshape(-1, size)
        chosen[rows], tied[rows] = choose(block)
    return chosen, tied


_IMAGE_NAME = re.compile(r"^[^-]+-(?P<item>.+)-(?P<view>[0-9]+)(\.[A-Za-z]+)?$")


def image_name(name: str) -> tuple[str, int] | None:
    """The item and view of an official NLVR image name, `split-presentation-image-view.png`.

    >>> image_name("dev-1304-0-3.png")
    ('1304-0', 3)
    """
    match = _IMAGE_NAME.match(name)
    return (match["item"], int(match["view"])) if match else None


def _hashes(said: Iterable[Any]) -> frozenset[str]:
    """Those of some values that are hashes; anything else, such as a benchmark's name, says nothing certain."""
    return frozenset(one for one in said if isinstance(one, str) and _HASH.fullmatch(one))


def said_beside(path: Path) -> frozenset[str]:
    """The benchmark's hash in the notes beside a file, if there are any that can be read."""
    out = []
    for suffix in _NOTES:
        try:
            record = msgspec.json.decode(path.with_name(path.name + suffix).read_bytes())
        except (OSError, ValueError, RecursionError):  # ValueError: also a path without a name, and what is not JSON
            continue
        if isinstance(record, dict):
            about = record.get("benchmark")
            out += [record.get("benchmark_hash"), about.get("hash") if isinstance(about, dict) else about]
    return _hashes(out)
