"""Predictions as verbs take them: a file in any format, a folder of arrays, a dict, a frame or a column of pandas.

Opened, they know their hash and what lies beside them, and can say which split of a benchmark they are about.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veridical.benchmark import Benchmark
from veridical.common.files import read_bytes
from veridical.errors import UserError
from veridical.evaluation.arrays import are_arrays, read_arrays
from veridical.evaluation.grade import MISSING, AnswerKey, Grades, grade, guess_split, read_key
from veridical.evaluation.notes import Notes, notes_beside
from veridical.evaluation.predictions import Predictions, of_values
from veridical.evaluation.readers import read_predictions
from veridical.evaluation.words import column, known_names
from veridical.records import Prediction

IN_MEMORY = Path("predictions")  # what they are called
_FIX = "Give a file, a dict from ids to answers, or a frame of pandas with ids and a column `prediction`."


@dataclass(frozen=True)
class OpenPredictions:
    """Predictions that were read, or, of arrays, that can be read once their questions are known."""

    path: Path
    digest: Future[str]  # sha256 of the file
    notes: Notes
    read: Predictions | None  # None for arrays

    @property
    def benchmarks(self) -> frozenset[str]:
        """Hashes of the benchmarks that they say they are about."""
        return self.notes.benchmarks | (self.read.benchmarks if self.read is not None else frozenset())

    def part(self, bench: Benchmark, split: str | None, scheme: str | None) -> tuple[str, str]:
        """The scheme and the split that they are about: as told, as notes say, the only one, or by names."""
        noted = self.notes.scheme if self.notes.scheme in bench.schemes else None
        where = bench.certain_scheme(scheme or noted)
        splits = bench.splits_of(where)
        if split is not None:
            return where, split
        if self.notes.split in splits and (noted == where or self.notes.scheme is None):
            return where, str(self.notes.split)
        if self.read is not None:
            return where, guess_split(bench, self.read, where)
        if len(splits) > 1:
            problem = f"{self.path} holds arrays, which do not say which split they are about."
            raise UserError(problem, "Say it with --split.")
        return where, splits[0]

    def grade(self, key: AnswerKey) -> Grades:
        """All of them, marked."""
        return grade(self.read if self.read is not None else read_arrays(self.path, key), key)

    def limit(self, grades: Grades) -> int | None:
        """How many of the first items they are about, where they were made with a limit and hold nothing beyond it."""
        limit, key = self.notes.limit, grades.key
        if limit is None or limit >= int((key.parent < 0).sum()):
            return None
        beyond = ~key.first(limit).scored[grades.item]
        return limit if not (grades.chosen[beyond] != MISSING).any() else None


def open_predictions(given: Any) -> OpenPredictions:
    """Predictions, from wherever they are."""
    if not isinstance(given, str | os.PathLike):
        read = from_memory(given)
        return OpenPredictions(IN_MEMORY, _aside(_content, read), Notes(), read)
    path = Path(given)
    if are_arrays(path):
        files = sorted(path.glob("*.npy")) if path.is_dir() else [path]
        whole = b"".join(read_bytes(file) for file in files)
        return OpenPredictions(path, _aside(_sha256, whole), notes_beside(path), None)
    data = read_bytes(path)
    # hashing lets go of the interpreter, so it costs a second core only
    return OpenPredictions(path, _aside(_sha256, data), notes_beside(path), read_predictions(path, data))


def from_memory(given: Any) -> Predictions:
    """Predictions of a dict, of a frame or a column of pandas, or of records."""
    if isinstance(given, Mapping) or (hasattr(given, "index") and hasattr(given, "items") and not _is_frame(given)):
        return of_values(IN_MEMORY, given.items())
    if _is_frame(given):
        return of_values(IN_MEMORY, _of_frame(given))
    if isinstance(given, Iterable):
        records = list(given)
        if records and all(isinstance(one, Prediction) for one in records):
            return of_values(IN_MEMORY, ((one.item, list(one.scores)) for one in records))
    raise UserError(f"A {type(given).__name__} holds no predictions.", _FIX)


def is_in_memory(given: Any) -> bool:
    """Whether something is predictions by itself, and not the paths of some."""
    if isinstance(given, list | tuple):
        return any(isinstance(one, Prediction) for one in given[:1])
    return isinstance(given, Mapping) or (hasattr(given, "index") and not isinstance(given, str))


def _is_frame(given: Any) -> bool:
    return hasattr(given, "columns") and hasattr(given, "index")


def _of_frame(frame: Any) -> Iterable[tuple[Any, Any]]:
    """The ids and answers of a frame: columns by their names, or its index and its only column."""
    names, known = [str(name) for name in frame.columns], known_names()
    item, said = column(names, known.item), column(names, known.said)
    if {"choices", "answer"} <= set(names) and (said is None or names[said] in ("answer", "label")):
        problem = "The frame has the benchmark's own answers and no column of predictions."
        raise UserError(problem, "Put them into a column `prediction`.")
    others = [place for place in range(len(names)) if place != item]
    if said is None and len(others) == 1:
        said = others[0]
    if said is None:
        raise UserError(f"None of the columns {', '.join(names)} is called `prediction`.", _FIX)
    ids = frame.index if item is None else frame.iloc[:, item]
    return zip(ids.tolist(), frame.iloc[:, said].tolist(), strict=True)


def _aside(work: Any, data: Any) -> Future[str]:
    hasher = ThreadPoolExecutor(1)
    made: Future[str] = hasher.submit(work, data)
    hasher.shutdown(wait=False)
    return made


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _content(read: Predictions) -> str:
    """The hash of predictions that are in no file: of their names, and what they say."""
    words = None if read.word is None else [*read.word.tolist(), *read.words]
    return _sha256(repr((read.names.to_pylist(), words, read.chosen.tolist())).encode())


def read_part(bench: Benchmark, opened: OpenPredictions, split: str | None, scheme: str | None) -> AnswerKey:
    """The answer key of the split that predictions are about."""
    where, name = opened.part(bench, split, scheme)
    return read_key(bench, name, where)
