"""Questions with their right answers, as they are matched: from a file or a benchmark of choices, dealt to folds.

A file is CSV, JSON lines or Parquet with a question and an answer, maybe a rationale, group and fold. The first bad row
is an error with its line and the count of the others; nothing is matched before every row is whole. A benchmark's right
answers are matched anew, with its photographs, splits and tags. Groups stay together, and responses never leave their
fold (VCR, section 4).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from veridical.benchmark import Benchmark
from veridical.benchmark.splits import blocks, split_by_origin, vcr_folds, vcr_splits
from veridical.benchmark.writer import check_names
from veridical.common.files import of_cell
from veridical.errors import UserError
from veridical.formats.table.files import SUFFIXES, open_file
from veridical.options.building import Columns
from veridical.records import Item, Panel, Text
from veridical.records import Pairs as Tags

LIKELY_GROUPS = ("group", "movie", "video", "video_id", "video_name", "image", "image_id", "img_id", "scene")
REASON = re.compile(r".*:r[0-9]+", re.DOTALL)  # the ids of rationale items; a question's may not look so
FOLDS = 11
LEAST, ROOM = 50, 3000  # questions of a fold, where the number of folds is ours: of three, and of more than three
LARGEST = 30_000  # questions of one matching: larger splits of a benchmark are matched in folds


@dataclass(frozen=True)
class AnsweredQuestion:
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
class Questions:
    """What there is to match."""

    rows: list[AnsweredQuestion]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # problems of rows that were left out
    benchmark: Benchmark | None = None  # that they are from, if it is one


def read_table(path: Path | str, columns: Columns | None = None, *, keep_going: bool = False) -> Questions:
    """Read a question/answer file. Bad rows are an error; with `keep_going` they are left out and listed."""
    path = Path(path)
    file = open_file(path)
    names, lines = file.columns, file.rows()
    used = _choose(path, names, columns or Columns())
    rows: list[AnsweredQuestion] = []
    bad: list[str] = []
    seen: dict[str, int] = {}
    for number, values in lines:
        problem, row = _from_line(values, used, str(number))
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
    return Questions(rows, tuple(notes), tuple(bad))


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
    for what, other in combinations(used, 2):
        if used[what] == used[other]:
            problem = f"The column {used[what]!r} is named for both {what} and {other}."
            raise UserError(problem, "Name a column of its own for each.")
    return used


def _from_line(
    values: Mapping[str, Any] | str, used: Mapping[str, str], number: str
) -> tuple[str, AnsweredQuestion | None]:
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
    return "", AnsweredQuestion(
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
    file = open_file(path)
    names, lines = file.columns, file.rows()
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
        out.setdefault(weight, {}).setdefault(of_cell(str(row["id"])), []).append(choice)
    return out


def read_benchmark(folder: Path | str) -> Questions:
    """Read the right answer (and rationale) of every question; the fold of a question is its split."""
    opened = Benchmark(folder)
    if opened.task != "choice":
        raise UserError(
            f"{opened.name} is a benchmark of {opened.task}s.", "Only questions with choices can be matched."
        )
    rows: list[AnsweredQuestion] = []
    skipped = 0
    for split in opened.splits:
        reveal = opened.is_hidden(split)
        items = list(opened.items(split, answers=reveal))
        reasons = {item.parent: item for item in items if item.parent is not None and item.answer is not None}
        found = [_from_item(opened, item, reasons.get(item.id), split) for item in items if item.parent is None]
        kept = [row for row in found if row is not None]
        skipped += len(found) - len(kept)
        rows += _folded(kept, split)
    if not rows:
        raise UserError(f"{opened.name} has no question whose answer is known and written.", "Give another benchmark.")
    with_reasons = sum(row.rationale is not None for row in rows)
    if 0 < with_reasons < len(rows):
        raise UserError(
            f"{with_reasons:,} of {len(rows):,} questions have a rationale.", "Give all of them one, or none."
        )
    notes = (f"Left out: {skipped:,} questions without a known answer.",) if skipped else ()
    return Questions(rows, notes, benchmark=opened)


def _from_item(opened: Benchmark, item: Item, reason: Item | None, split: str) -> AnsweredQuestion | None:
    if item.answer is None or item.query is None:
        return None
    answer = item.candidates[item.answer]
    why = reason.candidates[reason.answer] if reason is not None and reason.answer is not None else None
    if not isinstance(answer, Text) or isinstance(why, str):
        return None
    tags = tuple((name, value) for name, value in item.tags if name != "borrowed")
    panel = opened.panels.get(item.panels[0]) if len(item.panels) == 1 else None
    return AnsweredQuestion(
        item.id, item.query, answer, why, item.origins, split, panel, tags, item.panels, item.writer
    )


def _folded(rows: list[AnsweredQuestion], split: str) -> list[AnsweredQuestion]:
    """One fold for a split, or several by origin where it is large; `split:0` is a fold of `split`."""
    parts = -(-len(rows) // LARGEST)
    if parts <= 1:
        return rows
    block = [str(one) for one in blocks([row.origins or (row.id,) for row in rows])]
    dealt = vcr_folds(block, np.random.default_rng(0), parts)
    return [replace(row, fold=f"{split}:{fold}") for row, fold in zip(rows, dealt, strict=True)]


def deal(
    rows: Sequence[AnsweredQuestion], folds: int | None, splits: Mapping[str, float] | None, seed: int
) -> list[AnsweredQuestion]:
    """Give every row its fold: as the file says; one for each split that was asked for; or numbered ones by group."""
    rng = np.random.default_rng([seed, 0])
    if any(row.fold is not None for row in rows):
        if folds is not None or splits:
            raise UserError("The file names folds, and --folds or --split asks for others.", "Choose one of them.")
        _check_groups(rows)
        return list(rows)
    origins = [row.origins or (f"question {row.id}",) for row in rows]
    if splits:
        if folds is not None:
            raise UserError("Both --folds and --split were given.", "Choose one of them.")
        for name, share in splits.items():
            check_names(name)
            if not (math.isfinite(share) and share > 0):
                raise UserError(f"The share of {name} is {share}.", "Give each split a positive number.")
        names = split_by_origin(origins, dict(splits), rng)
        return [replace(row, fold=name) for row, name in zip(rows, names, strict=True)]
    block = [str(one) for one in blocks(origins)]
    number = folds if folds is not None else _usual_folds(len(rows), len(set(block)))
    if number < 1:
        raise UserError(f"{number} folds were asked for.", "Ask for one or more.")
    if number > len(set(block)):
        raise UserError(f"{len(set(block)):,} groups cannot fill {number} folds.", "Use fewer folds, or more groups.")
    if number < 3:  # too few to hold out both a validation and a test fold
        shares = {"train": 1.0} if number == 1 else {"train": 1.0, "val": 1.0}
        return deal(rows, None, shares, seed)
    dealt = vcr_folds(block, rng, number)
    return [replace(row, fold=str(fold)) for row, fold in zip(rows, dealt, strict=True)]


def _usual_folds(rows: int, groups: int) -> int:
    """How many folds there are unless told: a large fold has more responses that fit a question as its own does.

    >>> [_usual_folds(rows, rows) for rows in (90, 200, 5_000, 13_000, 290_000)]
    [1, 3, 3, 4, 11]
    """
    return max(1, min(FOLDS, groups, rows // LEAST, max(3, rows // ROOM)))


def split_of(row: AnsweredQuestion) -> str:
    """The split of a row's fold: fold 0 is validation, fold 1 test, other numbers training; a name is a split itself.

    A large split of a benchmark is matched in folds `split:0`, `split:1` ...
    """
    fold = (row.fold or "train").partition(":")[0]
    if fold.isascii() and fold.isdigit():
        return vcr_splits([int(fold)])[0]
    return fold


def _check_groups(rows: Sequence[AnsweredQuestion]) -> None:
    """A file's own folds may not share a group."""
    seen: dict[str, str] = {}
    for row in rows:
        check_names(split_of(row))
        for origin in row.origins:
            if seen.setdefault(origin, row.fold or "") != (row.fold or ""):
                raise UserError(
                    f"The group {origin!r} is in the folds {seen[origin]} and {row.fold}.",
                    "Put each group into one fold, so that nothing leaks between them.",
                )
