"""Arrow columns made directly, without a record per item: constants, texts, pairs, lists by lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veridical.benchmark import tables
from veridical.records import TRUTH

ITEM = {field.name: field.type for field in tables.ITEMS}
PANEL = {field.name: field.type for field in tables.PANELS}
OBJECT = {field.name: field.type for field in PANEL["objects"].value_type}
TRUTH_ROW: list[tuple[Any, ...]] = [(text.raw, [], None) for text in TRUTH]


def constant(value: Any, dtype: pa.DataType, n: int) -> pa.Array:
    """One value n times."""
    if pa.types.is_list(dtype) and not pa.types.is_large_list(dtype):  # repeating a nested scalar is slow in Arrow
        values = pa.array(value, dtype.value_type)
        tiled = values.take(pa.array(np.tile(np.arange(len(values)), n)))
        return fixed_or_empty(tiled, len(values), n, dtype)
    return pa.repeat(pa.array([value], dtype)[0], n) if n else pa.array([], dtype)


def fixed_or_empty(values: pa.Array, length: int, n: int, dtype: pa.DataType) -> pa.Array:
    """A list column of n lists of one length, which may be 0."""
    return pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(length)), values, type=dtype)


def texts(raw: Sequence[str] | pa.Array) -> pa.Array:
    """Plain texts, not tokenised."""
    dtype = ITEM["query"]
    return pa.StructArray.from_arrays(
        [
            raw if isinstance(raw, pa.Array) else pa.array(raw, pa.string()),
            constant([], dtype.field("tokens").type, len(raw)),
        ],
        fields=list(dtype),
    )


def lists(values: pa.Array, lengths: npt.ArrayLike, dtype: pa.DataType) -> pa.Array:
    """A list column from its flat values and the length of each list."""
    offsets = np.zeros(np.size(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=dtype)


def fixed(values: pa.Array, length: int, dtype: pa.DataType) -> pa.Array:
    """A list column whose lists all have one length."""
    return fixed_or_empty(values, length, len(values) // length, dtype)


def interleave(columns: Sequence[pa.Array]) -> pa.Array:
    """First values of all columns, then second values ..."""
    n, k = len(columns[0]), len(columns)
    order = np.arange(n * k).reshape(k, n).T.ravel()
    return pa.concat_arrays(columns).take(pa.array(order))


def pairs(names: pa.Array, values: pa.Array, lengths: npt.ArrayLike) -> pa.Array:
    """Tags or attributes from flat names and values and how many each has."""
    dtype = ITEM["tags"]
    struct = pa.StructArray.from_arrays([names, values], fields=list(dtype.value_type))
    return lists(struct, lengths, dtype)


def table(schema: pa.Schema, n: int, columns: dict[str, pa.Array]) -> pa.Table:
    """A table of a schema; columns that are not given are null, or empty lists (a region may be null)."""
    arrays = [
        columns[field.name]
        if field.name in columns
        else constant([], field.type, n)
        if pa.types.is_list(field.type) and field.name != "region"
        else pa.nulls(n, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def judgements(items: pa.Array, workers: pa.Array, verdicts: pa.Array, kind: str) -> pa.Table:
    """Judgements of one kind."""
    kinds = constant(kind, pa.string(), len(items))
    found = {"item": items, "worker": workers, "verdict": verdicts, "kind": kinds}
    return table(tables.JUDGEMENTS, len(items), found)


def sparse_lists(values: Sequence[pa.Array], dtype: pa.DataType) -> pa.Array:
    """A list column of the first value of each row, its second ...; nulls are left out."""
    lengths = np.sum([np.asarray(column.is_valid()) for column in values], axis=0)
    return lists(interleave(values).drop_null(), lengths, dtype)


def sparse_pairs(tags: Sequence[tuple[str, pa.Array]]) -> pa.Array:
    """Tags or attributes from a column for each name; nulls are left out. A name may repeat."""
    valid = np.stack([np.asarray(column.is_valid()) for _, column in tags], axis=1)  # (n, tags)
    which = np.broadcast_to(np.arange(len(tags)), valid.shape)[valid]
    names = pa.array([name for name, _ in tags], pa.string()).take(pa.array(which))
    return pairs(names, interleave([column for _, column in tags]).drop_null(), valid.sum(axis=1))
