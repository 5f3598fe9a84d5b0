"""Where a benchmark is put: in a temporary sibling while it is written, then in place with one rename.

Nothing that is not ours is ever replaced: a folder must be a benchmark, with nothing else in it, to make room for a
new one. One with hidden answers or vectors, which would be lost, makes room only where that was asked for
(`replacing`), and even then its hidden folder is kept under another name. A build killed at any moment leaves the old
benchmark or none, and the next build removes what it left.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from veridical.common.files import locked
from veridical.common.workplaces import Workplace, hold
from veridical.errors import UserError

MANIFEST = "benchmark.json"
HIDDEN_MANIFEST = "hidden.json"
# the files that a benchmark and its hidden folder may hold
OURS = re.compile(
    r"(items|answers|raw)-[A-Za-z0-9_.-]+\.parquet|images-\d+\.arrow|(panels|judgements|pruned|photographs)\.parquet"
    r"|README\.md|croissant\.json|secret\.txt"
)


def hidden_dir(directory: Path) -> Path:
    """Where the hidden part of a benchmark lies: a sibling, so that uploading DIR cannot publish it."""
    return directory.with_name(directory.name + ".hidden")


_replace: ContextVar[bool] = ContextVar("replace", default=False)


@contextmanager
def replacing(asked: bool, out: Path | str | None = None) -> Iterator[None]:
    """Whether what is written meanwhile may take the place of a benchmark that cannot be had again.

    Where it is known that `out` will be written, it is checked before any work.
    """
    token = _replace.set(asked)
    try:
        if out is not None:
            check_free(Path(os.path.abspath(out)))
        yield
    finally:
        _replace.reset(token)


def check_free(out: Path) -> None:
    """Refuse to write `out` where it would replace what is not ours: long builds ask before they begin."""
    if not out.name:
        raise UserError(f"{out} cannot be replaced.", "Choose another --out.")
    hidden = hidden_dir(out)
    _refuse_foreign(out, MANIFEST)
    _refuse_foreign(hidden, HIDDEN_MANIFEST)
    if out == Path.cwd():
        raise UserError(f"{out} is the folder you are in, and it would be replaced.", "Choose another --out.")
    vectors = sorted(path.name for path in out.glob("features-*.arrow"))
    lost = [f"the hidden answers in {hidden}"] if hidden.is_dir() and any(hidden.iterdir()) else []
    lost += [f"the vectors {', '.join(vectors)}"] if vectors else []
    if lost and not _replace.get():
        raise UserError(
            f"{out} is a benchmark; making it again would lose {' and '.join(lost)}.",
            "Choose another --out, or say --replace: the hidden folder is then kept under another name.",
        )


def refuse_other(out: Path, name: str, task: str) -> None:
    """Refuse to put a benchmark where another one stands, unless that was asked for."""
    try:
        found = json.loads((out / MANIFEST).read_bytes())
        other = (found["name"], found["task"])
    except (OSError, ValueError, KeyError, TypeError):
        return  # there is none, or nothing that may be replaced at all
    if other != (name, task) and not _replace.get():
        raise UserError(
            f"{out} is another benchmark, {other[0]!r}, which {name!r} would replace.",
            "Choose another --out, or say --replace.",
        )


def start(out: Path) -> Workplace:
    """Check that `out` may be written, remove what killed builds of it left, and make a folder to work in."""
    check_free(out)
    return hold(out)


def put_in_place(work: Path, public: Path, secret: Path | None, out: Path) -> None:
    """The old benchmark goes first, the new public part comes last; where a step fails, the old one comes back."""
    with locked(out.parent):  # one process at a time renames in a folder
        moved: list[tuple[Path, Path]] = []
        try:
            for old, kept in ((out, work / f"old-{out.name}"), (hidden_dir(out), _kept(out, secret, work))):
                if os.path.lexists(old):
                    old.rename(kept)
                    moved.append((old, kept))
            if secret is not None:
                secret.rename(hidden_dir(out))
            public.rename(out)
        except OSError:
            for place, kept in moved:
                shutil.rmtree(place, ignore_errors=True)
                kept.rename(place)
            raise
        _sync(out.parent)


def _kept(out: Path, secret: Path | None, work: Path) -> Path:
    """Where the hidden folder of the benchmark that is replaced goes: away, only where the new one says the same."""
    old, new = _hidden_text(hidden_dir(out)), None if secret is None else _hidden_text(secret)
    if old == new:
        return work / "old-hidden"
    path = out / MANIFEST
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "unknown"
    name = f"{out.name}.hidden-{digest[:8]}"  # after the benchmark it belongs to
    kept, number = out.with_name(name), 2
    while os.path.lexists(kept):
        kept, number = out.with_name(f"{name}-{number}"), number + 1
    return kept


def _hidden_text(folder: Path) -> bytes | None:
    """The manifest of a hidden folder, which has the hash of each of its files."""
    path = folder / HIDDEN_MANIFEST
    return path.read_bytes() if path.is_file() else None


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


def _refuse_foreign(folder: Path, manifest: str) -> None:
    """Never replace what is not one of our folders, or has something else in it."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise UserError(f"{folder} is a file or a link, and a benchmark is a folder.", "Choose another --out.")
    names = {p.name for p in folder.iterdir()}
    if not names:
        return
    try:
        found = json.loads((folder / manifest).read_bytes())
        listed = {name for name in found["files"] if OURS.fullmatch(name)}
        if not {"veridical", "format", "counts"} <= found.keys() and manifest == MANIFEST:
            raise KeyError(manifest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{folder} exists and is not a benchmark: it has no {manifest} of ours.", "Choose another --out."
        ) from None
    foreign = sorted(n for n in names - listed - {manifest} if not _is_vectors(folder / n))
    if foreign:
        raise UserError(
            f"{folder} would be replaced, and {foreign[0]!r} in it is not part of the benchmark.",
            "Move it away, or choose another --out.",
        )


def _is_vectors(path: Path) -> bool:
    """Whether a file is one of `veridical features`, and not merely called so."""
    if not (path.name.startswith("features-") and path.suffix == ".arrow" and path.is_file()):
        return False
    with path.open("rb") as file:
        return file.read(6) == b"ARROW1"


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
    if not target.name:
        raise UserError(f"{target} cannot be written.", "Choose another --out.")
    for folder in (target, *others):
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
            raise UserError(f"{folder} exists and is not an empty folder.", "Choose another --out.")
    work = start(target)
    try:
        yield work.path
    finally:
        work.remove()
