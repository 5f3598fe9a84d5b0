"""Prediction files of every format as columns: JSON, CSV of answers, VCR's CSV.

Many spellings are read, but no line is guessed at: one that does not say what it should ends in one error with file
and line, and nothing is scored. What is well formed but says nothing (no scores, or a score that is not a number) is
kept as unreadable and counted later. The format is recognised by content, not by name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from veridical.common.arrays import Ints
from veridical.common.files import DECODING_ERRORS, UTF8_MARK, Json, decoded, in_words, read_bytes
from veridical.errors import UserError
from veridical.evaluation.csv_files import ROWS, csv_rows, read_csv
from veridical.evaluation.notes import hashes
from veridical.evaluation.predictions import Predictions, Said, gather, of_values, question_predictions, said
from veridical.evaluation.words import column, known_names

ANSWER_COLUMNS = tuple(f"answer_{j}" for j in range(4))
RATIONALE_COLUMNS = tuple(f"rationale_conditioned_on_a{i}_{j}" for i in range(4) for j in range(4))
_VCR_COLUMNS = ANSWER_COLUMNS + RATIONALE_COLUMNS


class PredictionLine(msgspec.Struct, gc=False):
    """The part of a JSONL line that is scored; `raw` and further keys are skipped without being built."""

    item: str
    scores: list[float] | None = None
    benchmark: Any = None  # its hash, in the lines of `veridical solve`


class _AnyLine(msgspec.Struct, gc=False):
    """The same, where an answer in words may stand instead of scores; keys of other names are looked for later."""

    item: str | int | None = None
    scores: list[float] | None = None
    prediction: Any = None
    answer: Any = None
    benchmark: Any = None


_LINE = msgspec.json.Decoder(_AnyLine)
_OBJECT = msgspec.json.Decoder(Json)


def read_predictions(path: Path, data: bytes | None = None) -> Predictions:
    """Read a text file of predictions, whatever its format. Arrays are read by `veridical.evaluation.arrays`."""
    if data is None:
        data = read_bytes(path, "Give a file of predictions.")
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        raise UserError(f"{path} has no predictions.", _EXPECTED)
    if start[:1] in b"{[":
        return read_jsonl(path, data)
    text = decoded(data, path)
    header = text.lstrip().split("\n", 1)[0]
    return read_vcr_csv(path, text) if "answer_0" in header or "answer_1" in header else read_csv(path, text)


_EXPECTED = (
    'Give JSONL with {"item": ..., "scores": [...]} per line, CSV with `identifier,true` per line, '
    "or the CSV of visual commonsense reasoning (VCR) with annot_id and 20 probabilities."
)


def read_jsonl(path: Path, data: bytes) -> Predictions:
    """Our own format: {"item": id, "scores": [one per candidate], "raw": text}; no scores means unreadable.

    Instead of scores there may be an answer in words. One JSON object of names and answers will do, too.
    """
    data = data.removeprefix(UTF8_MARK)
    if not data.isascii():
        decoded(data, path)  # the decoder passes over what it does not need, whatever its bytes
    try:
        lines = _LINE.decode_lines(data)
    except DECODING_ERRORS:
        lines = []
    number = _line_numbers(data, len(lines)) if lines else None
    names = [line.item for line in lines]
    if number is None or None in names:
        return _read_whole(path, data) or _read_named(path, data)
    values: list[Said] = [line.scores or () for line in lines]
    if not all(values):  # of some, words say the answer, perhaps under another name
        if any(not line.scores and line.prediction is None and line.answer is None for line in lines):
            return _read_named(path, data)
        values = _said(path, lines, number)
    read = gather(path, "jsonl", list(map(str, names)), values, number)
    return replace(read, benchmarks=hashes(line.benchmark for line in lines if line.benchmark is not None))


def _said(path: Path, lines: list[_AnyLine], number: Ints) -> list[Said]:
    out: list[Said] = []
    for place, line in enumerate(lines):
        value = line.scores or (line.prediction if line.prediction is not None else line.answer)
        out.append(value if isinstance(value, list) else _in_line(path, int(number[place]), value))
    return out


def _in_line(path: Path, number: int, value: Any) -> Said:
    try:
        return said(value)
    except UserError as error:
        raise UserError(f"{path}, line {number}: {error.problem}", error.fix) from None


def _read_whole(path: Path, data: bytes) -> Predictions | None:
    """One JSON document: an object of names and what was answered, or a list of lines; None if it is neither."""
    try:
        whole = msgspec.json.decode(data)
    except DECODING_ERRORS:
        return None
    if isinstance(whole, list) and whole and all(isinstance(one, dict) for one in whole):
        return _read_named(path, b"\n".join(map(msgspec.json.encode, whole)))
    if not isinstance(whole, dict) or column(list(whole), known_names().item) is not None:
        return None
    return of_values(path, whole.items())


def _read_named(path: Path, data: bytes) -> Predictions:
    """Line by line, with keys of other names: an `id` and its `prediction`."""
    names: list[str] = []
    values: list[Said] = []
    number: list[int] = []
    homes: list[Any] = []
    problems: list[str] = []
    for n, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found = _OBJECT.decode(line)
            _LINE.decode(line)  # for its words about scores that are none
        except DECODING_ERRORS as error:
            problems.append(f"{path}, line {n}: {in_words(error)}")
            continue
        keys = list(found)
        item, answer = column(keys, known_names().item), column(keys, known_names().said)
        name = None if item is None else found[keys[item]]
        if not isinstance(name, str | int) or isinstance(name, bool):
            problems.append(f"{path}, line {n}: it names no item.")
            continue
        names.append(str(name))
        value = None if answer is None else found[keys[answer]]
        values.append(_in_line(path, n, found.get("scores") or value))
        number.append(n)
        homes.append(found.get("benchmark"))
    if problems or not names:
        rest = f"{len(problems) - 1:,} more are wrong too; " if len(problems) > 1 else ""
        fix = f'Each line is {{"item": "...", "scores": [one number per candidate]}}. {rest}{len(names):,} other lines '
        raise UserError(
            problems[0] if problems else f"{path} has no predictions.", f"{fix}are fine. Nothing was scored."
        )
    read = gather(path, "jsonl", names, values, np.array(number, np.int64))
    return replace(read, benchmarks=hashes(homes))


def _line_numbers(data: bytes, objects: int) -> Ints | None:
    """The numbers of the lines that hold the objects, or None if they do not stand one on a line."""
    letters = np.frombuffer(data, np.uint8)
    starts = np.concatenate([[0], np.flatnonzero(letters == ord("\n")) + 1])
    starts = starts[starts < len(letters)]
    if len(starts) == objects and (letters[starts] == ord("{")).all():
        return np.arange(1, objects + 1)
    number = [n for n, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    return np.array(number, np.int64) if len(number) == objects else None


def read_vcr_csv(path: Path, text: str) -> Predictions:
    """VCR's leaderboard file: annot_id and 20 probabilities, columns in any order; `nan` is unreadable."""
    rows = csv_rows(path, text)
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
            raise UserError(problem, ROWS)
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


_IMAGE_NAME = re.compile(r"^[^-]+-(?P<item>.+)-(?P<view>[0-9]+)(\.[A-Za-z]+)?$")


def image_name(name: str) -> tuple[str, int] | None:
    """The item and view of an official NLVR image name, `split-presentation-image-view.png`.

    >>> image_name("dev-1304-0-3.png")
    ('1304-0', 3)
    """
    match = _IMAGE_NAME.match(name)
    return (match["item"], int(match["view"])) if match else None
