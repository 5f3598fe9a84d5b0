"""Predictions as columns, whatever they came from: which item each is about, and what was chosen for it.

A prediction gives scores, of which the highest is chosen, or says its choice in a word (true, B, 2). What a word means
depends on the item, so words wait here until `words.understood` knows the items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa

from veridical.common.arrays import Bools, Doubles, Ints
from veridical.errors import UserError

Format = Literal["jsonl", "csv", "vcr csv", "vcr arrays", "memory"]
Said = str | Sequence[float]  # a word, or a score for each candidate; empty where nothing can be read


@dataclass(frozen=True)
class Predictions:
    """Predictions row by row: which item, which candidate was chosen, and where it stood."""

    path: Path
    format: Format
    names: pa.StringArray  # item id, `item#k`, an official image name, or a VCR question
    chosen: Ints  # index of the highest score, the first of equals; -1 where unreadable, or where a word says it
    width: Ints  # how many scores there were; 0 where a word says it
    tied: Bools  # the highest score was reached more than once
    line: Ints  # 1-based
    given: Ints | None = None  # VCR: -1 for the answer, else the answer that the rationale assumes
    benchmarks: frozenset[str] = frozenset()  # hashes of the benchmarks that its lines say they are about
    word: Ints | None = None  # which of `words` says the choice, -1 where none does; None: no word is used
    words: tuple[str, ...] = ()  # each once
    scores: pa.ListArray | None = None  # of each row, as the file gives them; empty where a word says the choice

    def where(self, row: int) -> str:
        """The place of a row, for errors."""
        if self.format == "memory":
            return f"the prediction for {self.names[row].as_py()!r}"
        return f"{self.path}, {'row' if self.format == 'vcr arrays' else 'line'} {int(self.line[row])}"

    def take(self, rows: Ints) -> Predictions:
        """Some of the rows."""
        kept = {name: getattr(self, name)[rows] for name in ("chosen", "width", "tied", "line")}
        given = None if self.given is None else self.given[rows]
        word = None if self.word is None else self.word[rows]
        scores = None if self.scores is None else self.scores.take(pa.array(rows))
        return replace(self, names=self.names.take(rows), given=given, word=word, scores=scores, **kept)


def gather(path: Path, format: Format, names: Sequence[str], said: Sequence[Said], line: Ints) -> Predictions:
    """Predictions of what was said about each name."""
    codes: dict[str, int] = {}
    word = None
    scores: Sequence[Sequence[float]]
    if str in set(map(type, said)):
        numbers = [codes.setdefault(one, len(codes)) if isinstance(one, str) else -1 for one in said]
        word = np.array(numbers, np.int64)
        scores = [() if isinstance(one, str) else one for one in said]
    else:
        scores = cast("Sequence[Sequence[float]]", said)
    width = np.fromiter(map(len, scores), np.int64, len(scores))
    flat = np.fromiter(chain.from_iterable(scores), np.float64, int(width.sum()))
    chosen, tied = _choose_ragged(flat, width)
    given = _lists(flat, width)
    return Predictions(
        path,
        format,
        pa.array(names, pa.string()),
        chosen,
        width,
        tied,
        line,
        word=word,
        words=tuple(codes),
        scores=given,
    )


def said(value: Any) -> Said:
    """What a value of Python or JSON says: true, 2, "B", scores; None and not-a-number say nothing.

    >>> said(True), said(2), said(1.0), said(" B "), said([0.1, 0.9]), said(None)
    ('true', '2', '1', 'B', [0.1, 0.9], '')
    """
    if hasattr(value, "tolist"):  # an array or a number of NumPy or pandas
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        if all(isinstance(score, int | float) and not isinstance(score, bool) for score in value):
            return value
    elif value is None or value != value:  # not a number, or pandas' NaT
        return ""
    elif isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    elif isinstance(value, str):
        return value.strip()
    raise UserError(
        f"{value!r} is no prediction.",
        "Give true or false, the letter, number or text of a candidate, or a list with one score per candidate.",
    )


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
        scores=_lists(scores.reshape(-1), np.full(count * stages, width)),
    )


def _lists(flat: Doubles, width: Ints) -> pa.ListArray:
    """Scores that lie one after another, as a list for each row."""
    ends = np.concatenate([[0], np.cumsum(width)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(flat))


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


def of_values(path: Path, pairs: Iterable[tuple[Any, Any]]) -> Predictions:
    """Predictions of Python's own values, by name."""
    names, values = [], []
    for number, (name, value) in enumerate(pairs, 1):
        names.append(str(name))
        try:
            values.append(said(value))
        except UserError as error:
            raise UserError(f"The prediction for {str(name)!r}, number {number}: {error.problem}", error.fix) from None
    if not names:
        raise UserError(f"{path} holds no predictions.", "Give one for each item.")
    return gather(path, "memory", names, values, np.arange(1, len(names) + 1))
