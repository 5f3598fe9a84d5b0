"""A growing file of vectors by key: what is in it survives kill -9, and nothing in it is computed twice.

After a head line come records of one size (sha256 of the key, checksum, vector), so that it can be memory-mapped as one
array. A record that was being written at a kill is cut off when the file is next written to.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veridical.common.files import locked
from veridical.errors import UserError

_ALIGN = 64  # the head line is filled up to a multiple of this


def key_hash(key: str) -> bytes:
    """What a key is known by in the file."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class VectorLog:
    """Vectors by key; any number of processes may read and append at the same time."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.about = dict(about)

    def read(self) -> tuple[dict[bytes, int], np.ndarray]:
        """Where the vector of each key hash lies, and the vectors, memory-mapped: (N, D)."""
        try:
            with self.path.open("rb") as file:
                head = self._head(file.readline())
        except (FileNotFoundError, NotADirectoryError):
            head = None
        if head is None:
            return {}, np.zeros((0, 0), np.float32)
        start, record = head
        count = self._whole(self.path.stat().st_size, start, record)
        if not count:
            return {}, np.zeros((0, record["vector"].shape[0]), np.float32)
        records = np.memmap(self.path, record, "r", start, (count,))
        while count and not _sound(records[count - 1]):
            count -= 1
        keys = records["key"][:count].tobytes()
        places = {keys[n * 32 : n * 32 + 32]: n for n in range(count)}
        return places, records["vector"][:count]

    def append(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Keep vectors; when this returns, they survive a kill and a power cut."""
        vectors = np.ascontiguousarray(vectors, np.float32)
        records = np.zeros(len(keys), _record(vectors.shape[1]))
        records["vector"] = vectors
        for row, key in enumerate(keys):
            records["key"][row] = np.void(key)
            records["check"][row] = zlib.crc32(vectors[row].tobytes(), zlib.crc32(key))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as descriptor:
                self._recover(descriptor, vectors.shape[1])
                _write(descriptor, records.tobytes())
                os.fsync(descriptor)
        except OSError as error:
            raise UserError(
                f"Vectors cannot be kept in {self.path}: {error.strerror}.",
                "Make its folder writable, or set VERIDICAL_CACHE to a folder for cached texts.",
            ) from None

    def _recover(self, descriptor: int, size: int) -> None:
        """Leave the file with its head and whole records only."""
        with self.path.open("rb") as file:
            head = self._head(file.readline())
        if head is None or head[1] != _record(size):
            os.ftruncate(descriptor, 0)
            line = json.dumps({"vectors": self.about, "size": size}, sort_keys=True).encode()
            _write(descriptor, line + b" " * (-(len(line) + 1) % _ALIGN) + b"\n")
            return
        start, record = head
        count = self._whole(os.fstat(descriptor).st_size, start, record)
        while count and not _sound(np.memmap(self.path, record, "r", start, (count,))[count - 1]):
            count -= 1
        os.ftruncate(descriptor, start + count * record.itemsize)

    def _head(self, line: bytes) -> tuple[int, np.dtype[Any]] | None:
        """Where records begin and what they look like; None where the file is of something else, or torn at birth."""
        if not line.endswith(b"\n"):
            return None
        try:
            head = json.loads(line)
        except ValueError:
            return None
        if not isinstance(head, dict) or head.get("vectors") != self.about or not isinstance(head.get("size"), int):
            return None
        return len(line), _record(head["size"])

    @staticmethod
    def _whole(length: int, start: int, record: np.dtype[Any]) -> int:
        return max(length - start, 0) // record.itemsize


def _record(size: int) -> np.dtype[Any]:
    return np.dtype([("key", "V32"), ("check", "<u4"), ("vector", "<f4", (size,))])


def _sound(record: np.void) -> bool:
    return bool(zlib.crc32(record["vector"].tobytes(), zlib.crc32(record["key"].tobytes())) == record["check"])


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
