"""Where vectors are kept: features-<encoder>.arrow in a benchmark, memory-mapped, tied to images and encoder; and,
while they are made, a log that survives kill -9.

A key is the content address of an image, with the region where a panel is only a part of it: `9f2c...@0,0,100,100`.
The file says which images and which weights it was made from, and loading it checks that.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark
from veridical.common.addresses import fetch_beside, is_address
from veridical.common.files import Json, atomic, locked, refuse_endless
from veridical.common.result import Result, Table
from veridical.encoders.encoder import Encoder, Identity, slug, unit
from veridical.errors import UserError
from veridical.records import Box, Panel

FORMAT = 1
_ABOUT = b"veridical"  # the schema's metadata key
_ALIGN = 64  # the head line of a log is filled up to a multiple of this
_LONGEST_HEAD, _LARGEST = 1 << 16, 1 << 24  # bytes of the head line, numbers of a vector


def region_key(address: str, region: Box | None = None) -> str:
    """The key of (a region of) an image.

    >>> region_key("9f2c"), region_key("9f2c", (150.0, 0, 250.5, 100))
    ('9f2c', '9f2c@150,0,250.5,100')
    """
    return address if region is None else f"{address}@{','.join(f'{edge:.12g}' for edge in region)}"


def panel_key(panel: Panel) -> str | None:
    """The key of a panel's vector; None where its image is not in the benchmark."""
    return None if panel.image is None else region_key(panel.image, panel.region)


def object_regions(panel: Panel) -> list[Box]:
    """Where a panel's objects lie in its image: boxes are local to the panel, regions are not."""
    left, top = panel.region[:2] if panel.region else (0.0, 0.0)
    boxes = [o.box for o in panel.objects if o.box is not None]
    return [(left + b[0], top + b[1], left + b[2], top + b[3]) for b in boxes]


def images_hash(benchmark: Benchmark) -> str:
    """What the vectors are tied to: a hash over the benchmark's image files."""
    files = {n: f["sha256"] for n, f in benchmark.manifest["files"].items() if n.startswith("images-")}
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class About:
    """What a file of vectors says about itself."""

    identity: Identity
    images: str  # `images_hash` of the benchmark
    normalised: bool  # vectors have length 1
    vectors: str  # sha256 of keys and vectors

    def to_json(self) -> dict[str, object]:
        out = asdict(self)
        return {"format": FORMAT, **out.pop("identity"), **out}

    @classmethod
    def from_json(cls, found: Json) -> About:
        if found["format"] != FORMAT:
            raise ValueError(f"it has format {found['format']!r}, and this version reads format {FORMAT}")
        identity = Identity(found["encoder"], found["weights"], found["recipe"])
        return cls(identity, found["images"], bool(found["normalised"]), found["vectors"])


class Features(Result):
    """Vectors by key, memory-mapped: nothing is read before it is asked for."""

    def __init__(self, path: Path, about: About, keys: pa.Array, matrix: np.ndarray, normalise: bool = False) -> None:
        self.path = path
        self.about = about
        self.identity = about.identity
        self.keys = keys  # (N,), sorted
        self.matrix = matrix  # (N, D) float32 as stored: a view of the file
        self.normalised = normalise or about.normalised  # whether `rows` gives vectors of length 1

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    @property
    def size(self) -> int:
        """Numbers in a vector."""
        return int(self.matrix.shape[1])

    def parts(self) -> Iterator[Table | str]:
        yield Table("", ("stored in", "vectors", "numbers each"), [(self.path, f"{len(self):,}", f"{self.size:,}")])

    def to_json(self) -> dict[str, object]:
        return {"path": str(self.path), "rows": len(self), "size": self.size, **self.about.to_json()}

    def places(self, keys: Sequence[str]) -> np.ndarray:
        """The row of each key in `matrix`: (K,) int64."""
        known = self._places
        try:
            return np.fromiter((known[key] for key in keys), np.int64, len(keys))
        except KeyError:
            missing = sorted({key for key in keys if key not in known})
            again = f"`veridical features {self.identity.encoder} {self.path.parent}"
            boxes = (
                f" Vectors of objects' boxes come with {again} --objects`."
                if any("@" in key for key in missing)
                else ""
            )
            raise UserError(
                f"{self.path.name} has no vector for {len(missing):,} of the images asked for, such as {missing[0]}.",
                f"Run {again}`: it adds what is missing.{boxes}",
            ) from None

    def rows(self, keys: Sequence[str]) -> np.ndarray:
        """Vectors of keys, in their order: (K, D). Keys that follow each other in the file are not copied."""
        places = self.places(keys)
        follow = len(places) > 0 and bool(np.all(np.diff(places) == 1))
        found = self.matrix[places[0] : places[-1] + 1] if follow else self.matrix[places]
        return unit(found) if self.normalised and not self.about.normalised else found

    def panels(self, panels: Iterable[Panel]) -> np.ndarray:
        """Vectors of panels, in their order."""
        keys = [panel_key(panel) for panel in panels]
        return self.rows([key if key is not None else "(no image)" for key in keys])

    def verify(self) -> None:
        """Hash every key and vector: an error where a byte is not the one that was written."""
        if vectors_hash(self.keys, self.matrix) != self.about.vectors:
            raise _damaged(self.path, "its bytes are not the ones that were written")

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: row for row, key in enumerate(self.keys.to_pylist())}


def feature_path(directory: Path, encoder: str | Encoder) -> Path:
    """Where an encoder's vectors lie in a benchmark."""
    if isinstance(encoder, str) and Path(encoder).is_dir():
        from veridical.encoders.encoder import open_encoder

        encoder = open_encoder(encoder)
    return directory / f"features-{slug(encoder) if isinstance(encoder, str) else encoder.slug}.arrow"


def vectors_path(opened: Benchmark, encoder: str | Encoder) -> Path:
    """Where an encoder's vectors of a benchmark lie, if there are any; of an address they are fetched, once."""
    path = feature_path(opened.directory, encoder)
    if not path.exists() and is_address(opened.address):
        fetch_beside(opened.address, path)
    return path


def load(
    benchmark: Benchmark | Path | str, encoder: str | Encoder, *, normalise: bool = False, verify: bool = False
) -> Features:
    """The vectors of a benchmark by one encoder, checked to be of its images (and of the weights of an open encoder).

    With `normalise`, `rows` gives vectors of length 1; with `verify`, every byte is hashed.
    """
    opened = benchmark if isinstance(benchmark, Benchmark) else Benchmark(benchmark)
    path = vectors_path(opened, encoder)
    name = encoder if isinstance(encoder, str) else encoder.name
    boxes = " --objects" if opened.task == "choice" else ""  # questions point at objects of their photographs
    again = f"Run `veridical features {name} {opened.address}{boxes}`"
    if not path.exists():
        others = sorted(p.name[9:-6] for p in opened.directory.glob("features-*.arrow"))
        here = f" (there are vectors of: {', '.join(others)})" if others else ""
        raise UserError(f"{opened.directory} has no vectors of the encoder {name}{here}.", f"{again}.")
    features = open_features(path, normalise=normalise)
    if features.about.images != images_hash(opened):
        raise UserError(
            f"{path.name} was made from other images than those of {opened.directory}.",
            f"{again}: vectors of images that are still there are kept.",
        )
    if isinstance(encoder, Encoder) and encoder.identity != features.identity:
        raise UserError(f"{path.name} was made with other weights or another version of {name}.", f"{again}.")
    if verify:
        features.verify()
    return features


def open_features(path: Path, *, normalise: bool = False) -> Features:
    """A file of vectors, whatever benchmark it lies in."""
    refuse_endless(path)
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        about = About.from_json(json.loads(reader.schema.metadata[_ABOUT]))
        batch = reader.get_batch(0)
        batch.validate(full=True)  # without it, one flipped bit may end the process
        vectors = batch.column("vector")
        wanted = pa.list_(pa.float32(), vectors.type.list_size) if pa.types.is_fixed_size_list(vectors.type) else None
        if vectors.type != wanted or batch.column("address").type != pa.string() or vectors.flatten().null_count:
            raise ValueError("it has other columns than a file of vectors")
        if batch.column("address").null_count or vectors.null_count:
            raise ValueError("it has holes")
        matrix = vectors.flatten().to_numpy(zero_copy_only=True).reshape(len(batch), vectors.type.list_size)
        return Features(path, about, batch.column("address"), matrix, normalise)
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from None


def write_features(path: Path, keys: Sequence[str], matrix: np.ndarray, about: About) -> None:
    """Write all vectors as one batch, so that reading gives one array; the file is there whole or not at all."""
    addresses = pa.array(keys, pa.string())
    # the numbers of the C-contiguous matrix are not copied: it may be larger than memory
    numbers = pa.Array.from_buffers(pa.float32(), matrix.size, [None, pa.py_buffer(matrix.reshape(-1))])
    vectors = pa.FixedSizeListArray.from_arrays(numbers, matrix.shape[1])
    metadata = {_ABOUT: json.dumps(about.to_json(), sort_keys=True).encode()}
    schema = pa.schema([("address", pa.string()), ("vector", vectors.type)], metadata)
    options = pa.ipc.IpcWriteOptions(allow_64bit=True)
    with atomic(path) as file, pa.ipc.new_file(file, schema, options=options) as writer:
        writer.write_batch(pa.record_batch([addresses, vectors], schema=schema))


def vectors_hash(keys: Sequence[str] | pa.Array, matrix: np.ndarray) -> str:
    """A hash over keys and vectors, in their order."""
    names = keys.to_pylist() if isinstance(keys, pa.Array) else keys
    digest = hashlib.sha256("\n".join(names).encode())
    step = max(1, (16 << 20) // max(matrix.shape[1] * 4, 1))
    for start in range(0, len(matrix), step):
        digest.update(np.ascontiguousarray(matrix[start : start + step]).data)
    return digest.hexdigest()


def _damaged(path: Path, problem: str) -> UserError:
    return UserError(
        f"{path} is damaged: {next(iter(problem.splitlines()), '')}.",
        "Remove it and run `veridical features` again.",
    )


def key_hash(key: str) -> bytes:
    """What a key is known by in a log."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class VectorLog:
    """A growing file of vectors by key; any number of processes may read and append at the same time.

    After a head line come records of one size (sha256 of the key, checksum, vector), so that it can be memory-mapped as
    one array. A record that was being written at a kill is cut off when the file is next written to; one that does not
    fit its checksum is passed over.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.about = dict(about)

    def read(self) -> tuple[dict[bytes, int], np.ndarray]:
        """Where the vector of each key hash lies, and the vectors, memory-mapped: (N, D)."""
        found = self._records()
        if found is None:
            return {}, np.zeros((0, 0), np.float32)
        _, records = found
        keys = records["key"].tobytes()
        return {keys[n * 32 : n * 32 + 32]: n for n, one in enumerate(records) if _is_whole(one)}, records["vector"]

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
        """Leave the file with its head and its records, up to the last whole one."""
        found = self._records()
        if found is None or found[1].dtype != _record(size):
            os.ftruncate(descriptor, 0)
            line = json.dumps({"vectors": self.about, "size": size}, sort_keys=True).encode()
            _write(descriptor, line + b" " * (-(len(line) + 1) % _ALIGN) + b"\n")
        else:
            start, records = found
            os.ftruncate(descriptor, start + records.nbytes)

    def _records(self) -> tuple[int, np.ndarray] | None:
        """Where records begin, and all up to the last whole one; None where the file is of something else, or torn at
        birth."""
        try:
            with self.path.open("rb") as file:
                line = file.readline(_LONGEST_HEAD)
            head = json.loads(line)
        except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
            return None
        if not line.endswith(b"\n") or not isinstance(head, dict):
            return None
        if head.get("vectors") != self.about or not isinstance(head.get("size"), int):
            return None
        if not 0 <= head["size"] <= _LARGEST:
            return None
        record = _record(head["size"])
        count = max(self.path.stat().st_size - len(line), 0) // record.itemsize
        records = np.memmap(self.path, record, "r", len(line), (count,)) if count else np.zeros(0, record)
        while count and not _is_whole(records[count - 1]):
            count -= 1
        return len(line), records[:count]


def _record(size: int) -> np.dtype[Any]:
    return np.dtype([("key", "V32"), ("check", "<u4"), ("vector", "<f4", (size,))])


def _is_whole(record: np.void) -> bool:
    """Whether a record is the one that was written."""
    return bool(zlib.crc32(record["vector"].tobytes(), zlib.crc32(record["key"].tobytes())) == record["check"])


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
