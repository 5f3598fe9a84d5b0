"""Where an export is written: beside its target until it is whole, never in a benchmark, never over anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veridical.benchmark import place
from veridical.errors import UserError


def outside(out: Path | str, benchmark: Path) -> Path:
    """The absolute path of an export; one within the benchmark would damage it, or publish what is hidden."""
    target = Path(os.path.abspath(out))
    for folder in (benchmark, place.hidden_dir(benchmark)):
        if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(folder)):
            raise UserError(f"{target} is within the benchmark {folder}.", "Choose another --out.")
    return target


@contextmanager
def staging(target: Path, *others: Path) -> Iterator[Path]:
    """A folder to write in, beside the target; what a killed export of the same target left is removed."""
    for folder in (target, *others):
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f"{folder} exists and is not an empty folder.", "Choose another --out.")
    work = place.start(target)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
