"""Folders to write in, beside what is made, and copies of folders that somebody else may have filled.

A workplace is locked for as long as it is in use: one that nobody holds was left by a kill, and goes when the same
thing is made again. A copy takes files alone: a link would take along what lies elsewhere on this disk, a pipe would be
waited at for ever, and a device has no end.
"""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from veridical.common.files import is_abandoned, locked
from veridical.errors import NO_SPACE, UserError


@dataclass(frozen=True)
class Workplace:
    """A folder to write in, beside what is made. It is locked while it is used: one that is not, a kill left there."""

    path: Path
    lock: int  # the open descriptor that holds it

    def remove(self) -> None:
        """The work is done, or given up."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def hold(out: Path) -> Workplace:
    """Remove what killed processes left of the same thing, and make a folder to work in."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with locked(out.parent):  # nobody sweeps between making a folder and holding it
        sweep(out)
        path = Path(tempfile.mkdtemp(prefix=_prefix(out), dir=out.parent))
        lock = os.open(path, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return Workplace(path, lock)


@contextmanager
def beside(out: Path) -> Iterator[Path]:
    """A workplace for as long as the block takes."""
    work = hold(out)
    try:
        yield work.path
    finally:
        work.remove()


def sweep(out: Path) -> None:
    """Remove what a killed process that made the same thing left behind."""
    for left in out.parent.glob(glob.escape(_prefix(out)) + "*"):
        if is_abandoned(left):
            shutil.rmtree(left, ignore_errors=True)


def _prefix(out: Path) -> str:
    return f".{out.name}.building-"


def refuse_links(folder: Path) -> None:
    """Refuse a folder in which something is neither a file nor a folder, and what is neither itself."""
    inside = sorted(folder.rglob("*")) if folder.is_dir() else []
    for path in (Path(os.path.realpath(folder)), *inside):  # the user may well name a link
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            what = "a link" if path.is_symlink() else "a pipe or a device" if path.exists() else "not there"
            raise UserError(f"{path} is {what}: only files are copied.", "Put the file itself there, or remove it.")


def copy_files(source: Path, target: Path, *, but: str = "") -> None:
    """Copy a folder, or a file, to a place that is free; `but` is the name of what is left out."""
    refuse_links(source)
    try:
        if source.is_file():
            shutil.copyfile(source, target)
        else:
            ignored = shutil.ignore_patterns(but) if but else None
            shutil.copytree(source, target, ignore=ignored, copy_function=shutil.copyfile, dirs_exist_ok=True)
    except shutil.Error as error:  # of several files, each with what was said of it
        path, _, said = error.args[0][0]
        raise UserError(f"{path} cannot be copied: {said}.", "Check the path, its permissions, and the disk.") from None
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        raise UserError(f"{source} cannot be copied: {error.strerror}.", "Check the path.") from None
