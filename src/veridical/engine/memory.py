"""Finished batches on disk: what a killed run had done, found again by the next.

A result lies under a key of what it depends on: the batch, the function, its config, the code of this package and of
every file that the function or a function in its config comes from. A result of another config or of such code before
an edit is never used; edits to further files that those import are not seen. It is written beside its place and
renamed, and carries its own hash: a file is whole, or it is not there, or it is noticed.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

from veridical import __version__
from veridical.common.files import atomic, remove_parts
from veridical.engine.fingerprint import fingerprint

_DIGEST = 32  # bytes of SHA-256 before the pickle


class Damaged(Exception):
    """A remembered result that cannot be read; it is computed again."""


class Keys:
    """Names of results: a hash of all that decides each."""

    def __init__(self, function: object) -> None:
        self._common = fingerprint((__version__, function, _code(function)))

    def of(self, batch: object) -> str:
        return fingerprint((self._common, batch))


def _code(function: object) -> dict[str, str]:
    """Hashes of this package's files and of the files of all functions and classes that the function carries."""
    found = _Modules()
    found.dump(function)
    files = set(Path(__file__).parents[1].rglob("*.py"))
    for name in found.names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            files.add(Path(file))
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files) if path.is_file()}


class _Modules(pickle.Pickler):
    """Notes the modules that a worker will import when it gets what is dumped; the pickle itself is thrown away."""

    def __init__(self) -> None:
        super().__init__(_Nowhere(), protocol=5)
        self.names: set[str] = set()

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            self.names.add(value.__module__ or "")
        return NotImplemented


class _Nowhere:
    def write(self, data: Any) -> int:
        return len(data)


def place(work: Path, name: str) -> Path:
    """Where a result lies; 256 folders, so that none gets too large."""
    return work / name[:2] / f"{name[2:]}.result"


def save(path: Path, payload: bytes) -> None:
    """Write a pickled result, wholly or not at all."""
    with atomic(path, quick=True) as file:
        file.write(hashlib.sha256(payload).digest())
        file.write(payload)


def load(path: Path) -> object:
    """Read a result."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Damaged(str(error)) from None
    payload = memoryview(data)[_DIGEST:]
    if hashlib.sha256(payload).digest() != data[:_DIGEST]:
        raise Damaged(f"{path} does not have the content that was written")
    return pickle.loads(payload)


def clean_up(work: Path) -> None:
    """Remove half-written results of processes that are gone."""
    for folder in work.glob("??"):
        remove_parts(folder)
