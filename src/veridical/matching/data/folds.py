"""Folds and splits of questions: groups stay together, and responses never leave their fold (VCR, section 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from veridical.benchmark.splits import blocks, split_by_origin, vcr_folds, vcr_splits
from veridical.benchmark.writer import check_names
from veridical.errors import UserError
from veridical.matching.data.questions import AnsweredQuestion

FOLDS = 11
LEAST = 50  # questions of a fold, where the number of folds is ours to choose


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
    number = folds if folds is not None else max(1, min(FOLDS, len(set(block)), len(rows) // LEAST))
    if number < 1:
        raise UserError(f"{number} folds were asked for.", "Ask for one or more.")
    if number > len(set(block)):
        raise UserError(f"{len(set(block)):,} groups cannot fill {number} folds.", "Use fewer folds, or more groups.")
    if number < 3:  # too few to hold out both a validation and a test fold
        shares = {"train": 1.0} if number == 1 else {"train": 1.0, "val": 1.0}
        return deal(rows, None, shares, seed)
    dealt = vcr_folds(block, rng, number)
    return [replace(row, fold=str(fold)) for row, fold in zip(rows, dealt, strict=True)]


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
