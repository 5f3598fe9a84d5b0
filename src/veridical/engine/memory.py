"""Finished batches on disk: what a killed run had done, found again by the next.

A result lies under a key of what it depends on: the batch, the function, its config, the code of this package and of
every file that the function or a function in its config comes from. A result of another config or of such code before
an edit is never used; edits to further files that those import are not seen. It is written beside its place and
renamed, and carries its own hash: a file is whole, or it is not there, or it is noticed. It is data (MessagePack, read
as the type that the function says it returns): a folder from a stranger can give wrong results, but runs nothing.

A key is a hash of a value by its content (`fingerprint`): the same in every process, unlike `hash` and unlike a
pickle's bytes, which differ for equal values (sets follow the hash seed, shared strings are written once). Types are
part of it, sets are sorted, and objects are taken apart as pickle takes them apart.
"""

from __future__ import annotations

import functools
import hashlib
import marshal
import pickle
import struct
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from io import BytesIO
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any, get_origin, get_type_hints

from veridical import __version__
from veridical.common.files import atomic, remove_parts

_DIGEST = 32  # bytes of SHA-256 before the result


class Damaged(Exception):
    """A remembered result that cannot be read; it is computed again."""


def common_key(function: object) -> str:
    """A hash of what decides all results of a function: the function, its config, the code.

    The code is this package's files and the files of all functions and classes that the function carries.
    """
    found = _Modules()
    found.dump(function)
    files = set(Path(__file__).parents[1].rglob("*.py"))
    files |= {Path(file) for name in found.names if (file := getattr(sys.modules.get(name), "__file__", None))}
    code = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files) if path.is_file()}
    return fingerprint((__version__, function, code))


class _Modules(pickle.Pickler):
    """Notes the modules that a worker will import when it gets what is dumped; the pickle itself is thrown away."""

    def __init__(self) -> None:
        super().__init__(BytesIO(), protocol=5)
        self.names: set[str] = set()

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            self.names.add(value.__module__ or "")
        return NotImplemented


def place(work: Path, common: str, batch: object) -> Path:
    """Where the result of a batch lies; 256 folders, so that none gets too large."""
    name = fingerprint((common, batch))
    return work / name[:2] / f"{name[2:]}.result"


Decode = Callable[[bytes], Any]


def decoder_of(function: Any) -> Decode:
    """Reads the results of a function as the type that it says it returns; where it says none, as plain data."""
    import msgspec

    while isinstance(function, functools.partial):
        function = function.func
    hints = get_type_hints(function) if isinstance(function, FunctionType) else {}
    return msgspec.msgpack.Decoder(hints.get("return", Any), dec_hook=_decoded).decode


def encode(result: object) -> bytes:
    """A result as data."""
    import msgspec

    return msgspec.msgpack.encode(result, enc_hook=_encoded)


def write(path: Path, payload: bytes) -> None:
    """Write an encoded result, wholly or not at all."""
    with atomic(path, quick=True) as file:
        file.write(hashlib.sha256(payload).digest())
        file.write(payload)


def load(path: Path, decode: Decode) -> Any:
    """Read a result."""
    import msgspec

    try:
        data = path.read_bytes()
        if hashlib.sha256(memoryview(data)[_DIGEST:]).digest() != data[:_DIGEST]:
            raise Damaged(f"{path} does not have the content that was written")
        return decode(data[_DIGEST:])
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise Damaged(str(error)) from None


def _encoded(value: Any) -> Any:
    """Arrays by type, shape and bytes; NumPy's numbers as Python's."""
    import numpy as np

    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject and value.dtype.names is None:
        return value.dtype.str, value.shape, value.tobytes()
    raise TypeError(f"{type(value).__name__} cannot be written as a result")


def _decoded(type_: Any, value: Any) -> Any:
    import numpy as np

    if (get_origin(type_) or type_) is not np.ndarray:
        raise NotImplementedError(f"{type_} cannot be read as a result")
    try:
        dtype, shape, data = value
        return np.frombuffer(data, dtype).reshape(shape).copy()
    except TypeError as error:
        raise ValueError(str(error)) from None


def clean_up(work: Path) -> None:
    """Remove half-written results of processes that are gone."""
    for folder in work.glob("??"):
        remove_parts(folder)


Feed = Callable[[bytes], object]


def fingerprint(value: object) -> str:
    """SHA-256 of a value's content, in hex.

    >>> fingerprint({"seed": 1}) == fingerprint({"seed": 1}), fingerprint(1) == fingerprint(True)
    (True, False)
    """
    digest = hashlib.sha256()
    _feed(value, digest.update)
    return digest.hexdigest()


def _feed(value: Any, feed: Feed) -> None:
    type_ = type(value)
    simple = _SIMPLE.get(type_)
    if simple is not None:
        data = simple(value)
        feed(b"%b%d:" % (type_.__name__[:2].encode(), len(data)))
        feed(data)
    elif type_ in (tuple, list):
        if _SIMPLE.keys() >= set(map(type, value)):  # flat data, by far the most frequent: marshal is much faster,
            data = marshal.dumps(value, 2)  # and its version 2, unlike later ones, depends on nothing but the content
            feed(b"flat%d:" % len(data))
            feed(data)
        else:
            _sequence(type_.__name__, value, feed)
    elif type_ is dict:
        _sequence("dict", [part for pair in value.items() for part in pair], feed)
    elif type_ in (set, frozenset):
        _sequence(type_.__name__, sorted(fingerprint(part) for part in value), feed)
    elif isinstance(value, type | FunctionType | BuiltinFunctionType):
        _sequence("name", (value.__module__, value.__qualname__), feed)
    elif isinstance(value, functools.partial):
        _sequence("partial", (value.func, value.args, sorted(value.keywords.items())), feed)
    elif is_dataclass(value):
        _sequence("record", (type_, *(getattr(value, field.name) for field in fields(value))), feed)
    elif not _arrays(value, feed):
        _taken_apart(value, feed)


def _sequence(name: str, values: Any, feed: Feed) -> None:
    feed(b"%b[%d:" % (name.encode(), len(values)))
    for value in values:
        _feed(value, feed)


_SIMPLE: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"",
    bool: lambda value: b"1" if value else b"0",
    int: lambda value: b"%d" % value,
    float: lambda value: struct.pack("<d", value),
    str: lambda value: value.encode("utf-8", "surrogatepass"),
    bytes: lambda value: value,
}


def _arrays(value: Any, feed: Feed) -> bool:
    """Arrays and Arrow tables by their bytes. A value can only be one where its package has been imported."""
    numpy, arrow = sys.modules.get("numpy"), sys.modules.get("pyarrow")
    if numpy is not None and isinstance(value, numpy.ndarray):
        plain = not value.dtype.hasobject
        content = numpy.ascontiguousarray(value).tobytes() if plain else value.tolist()
        _sequence("array", (value.dtype.str, value.shape, content), feed)
        return True
    if arrow is not None and isinstance(value, arrow.Table | arrow.RecordBatch):
        table = value if isinstance(value, arrow.Table) else arrow.Table.from_batches([value])
        sink = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        _sequence("table", (sink.getvalue().to_pybytes(),), feed)
        return True
    return False


def _taken_apart(value: Any, feed: Feed) -> None:
    parts = value.__reduce_ex__(4)
    if isinstance(parts, str):
        _sequence("global", (type(value), parts), feed)
        return
    make, arguments, *rest = parts
    state = rest[0] if rest else None
    items, pairs = (list(rest[i]) if len(rest) > i and rest[i] is not None else [] for i in (1, 2))
    _sequence("object", (make, arguments, state, items, pairs), feed)
