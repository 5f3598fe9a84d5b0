"""A hash of any value by its content: the same in every process, unlike `hash` and unlike a pickle's bytes.

A pickle of equal values can differ (sets follow the hash seed, shared strings are written once), which would lose
finished work; a too simple key would reuse work of another config. Here types are part of the hash, sets are sorted and
objects are taken apart as pickle takes them apart.
"""

from __future__ import annotations

import functools
import hashlib
import marshal
import struct
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

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
    kind = type(value)
    simple = _SIMPLE.get(kind)
    if simple is not None:
        data = simple(value)
        feed(b"%b%d:" % (kind.__name__[:2].encode(), len(data)))
        feed(data)
    elif kind in (tuple, list):
        if _SIMPLE.keys() >= set(map(type, value)):  # flat data, by far the most frequent: marshal is much faster,
            data = marshal.dumps(value, 2)  # and its version 2, unlike later ones, depends on nothing but the content
            feed(b"flat%d:" % len(data))
            feed(data)
        else:
            _sequence(kind.__name__, value, feed)
    elif kind is dict:
        _sequence("dict", [part for pair in value.items() for part in pair], feed)
    elif kind in (set, frozenset):
        _sequence(kind.__name__, sorted(fingerprint(part) for part in value), feed)
    elif isinstance(value, type | FunctionType | BuiltinFunctionType):
        _sequence("name", (value.__module__, value.__qualname__), feed)
    elif isinstance(value, functools.partial):
        _sequence("partial", (value.func, value.args, sorted(value.keywords.items())), feed)
    elif is_dataclass(value):
        _sequence("record", (kind, *(getattr(value, field.name) for field in fields(value))), feed)
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
