"""Where a benchmark is put: in a temporary sibling while it is written, then in place with one rename.

Nothing that is not ours is ever replaced: a folder must be a benchmark, with nothing else in it, to make room for a
new one. A build killed at any moment leaves the old benchmark or none, and the next build removes what it left.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veridical.common.files import is_running, locked
from veridical.errors import UserError

MANIFEST = "benchmark.json"
HIDDEN_MANIFEST = "hidden.json"


def hidden_dir(directory: Path) -> Path:
    """Where the hidden part of a benchmark lies: a sibling, so that uploading DIR cannot publish it."""
    return directory.with_name(directory.name + ".hidden")


def check_free(out: Path) -> None:
    """Refuse to write `out` where it would replace what is not ours: long builds ask before they begin."""
    if not out.name:
        raise UserError(f"{out} cannot be replaced.", "Choose another --out.")
    _refuse_foreign(out, MANIFEST, may_have=("features-",))
    _refuse_foreign(hidden_dir(out), HIDDEN_MANIFEST)
    if out == Path.cwd():
        raise UserError(f"{out} is the folder you are in, and it would be replaced.", "Choose another --out.")


def start(out: Path) -> Path:
    """Check that `out` may be written, remove what killed builds of it left, and make a folder to work in."""
    check_free(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    sweep(out)
    return Path(tempfile.mkdtemp(prefix=_prefix(out), suffix=f"-{os.getpid()}", dir=out.parent))


def put_in_place(work: Path, public: Path, secret: Path | None, out: Path) -> None:
    """The old benchmark goes first, the new public part comes last; where a step fails, the old one comes back."""
    with locked(out.parent):  # one process at a time renames in a folder
        moved: list[tuple[Path, Path]] = []
        try:
            for old in (out, hidden_dir(out)):
                if os.path.lexists(old):
                    old.rename(work / f"old-{old.name}")
                    moved.append((old, work / f"old-{old.name}"))
            if secret is not None:
                secret.rename(hidden_dir(out))
            public.rename(out)
        except OSError:
            for place, kept in moved:
                shutil.rmtree(place, ignore_errors=True)
                kept.rename(place)
            raise
        _sync(out.parent)


def keep_private(folder: Path) -> None:
    """Let nobody but the user read what is hidden."""
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    folder.chmod(0o700)


def sync_files(folder: Path) -> None:
    """Have every file of a folder on disk before it is put in place."""
    for path in folder.rglob("*"):
        if path.is_file():
            _sync(path)


def sweep(out: Path) -> None:
    """Remove what a killed build of the same benchmark left behind."""
    for left in out.parent.glob(glob.escape(_prefix(out)) + "*"):
        pid = left.name.rpartition("-")[2]
        if not (pid.isdigit() and is_running(int(pid))):
            shutil.rmtree(left, ignore_errors=True)


def _refuse_foreign(folder: Path, manifest: str, may_have: tuple[str, ...] = ()) -> None:
    """Never replace what is not one of our folders, or has something else in it."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise UserError(f"{folder} is a file or a link, and a benchmark is a folder.", "Choose another --out.")
    names = {p.name for p in folder.iterdir()}
    if not names:
        return
    try:
        listed = set(json.loads((folder / manifest).read_bytes())["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(
            f"{folder} exists and is not a benchmark: it has no {manifest} of ours.", "Choose another --out."
        ) from None
    foreign = sorted(n for n in names - listed - {manifest} if not n.startswith(may_have or "\0"))
    if foreign:
        raise UserError(
            f"{folder} would be replaced, and {foreign[0]!r} in it is not part of the benchmark.",
            "Move it away, or choose another --out.",
        )


def _prefix(out: Path) -> str:
    return f".{out.name}.building-"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def outside(out: Path | str, benchmark: Path) -> Path:
    """The absolute path of an export; one within the benchmark would damage it, or publish what is hidden."""
    target = Path(os.path.abspath(out))
    for folder in (benchmark, hidden_dir(benchmark)):
        if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(folder)):
            raise UserError(f"{target} is within the benchmark {folder}.", "Choose another --out.")
    return target


@contextmanager
def staging(target: Path, *others: Path) -> Iterator[Path]:
    """A folder to write in, beside the target; what a killed export of the same target left is removed."""
    for folder in (target, *others):
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f"{folder} exists and is not an empty folder.", "Choose another --out.")
    work = start(target)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
