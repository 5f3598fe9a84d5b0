"""Matrices as items on disk: whole columns at a time, since a benchmark has hundreds of thousands."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa

from veridical.benchmark import tables
from veridical.builders.vprom.deck import CANDIDATES
from veridical.builders.vprom.elements import CELLS, TYPE_OF
from veridical.builders.vprom.matrices import PANELS, Matrices
from veridical.builders.vprom.pool import Pool
from veridical.common.arrays import Bools

TAGS = ("relation", "element", "kind", "property", "label", "held")
YES, NO = "yes", "no"


def item_names(matrices: Matrices, pool: Pool, photographs: pa.Array, part: tuple[str, str]) -> list[str]:
    """The ids of items: scheme, side, number and a digest of what is shown, as in `neutral-test-000012-9f3ac0`.

    The same id is the same matrix of the same pool, so that answers to one build never count for another.
    """
    pooled = hashlib.blake2b(digest_size=16)
    pooled.update("\n".join([*photographs.to_pylist(), *map(repr, pool.elements)]).encode("utf-8", "surrogateescape"))
    for values in (pool.photograph, np.nan_to_num(pool.region, nan=-1.0), pool.shows.starts, pool.shows.values):
        pooled.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    key, prefix = pooled.digest(), "-".join(part)
    crops, size = matrices.crops.astype("<i4").tobytes(), 4 * (PANELS + CANDIDATES)
    rows = (crops[start : start + size] for start in range(0, len(crops), size))
    digests = (hashlib.blake2b(row, digest_size=3, key=key).hexdigest() for row in rows)
    return [f"{prefix}-{number:06d}-{digest}" for number, digest in enumerate(digests)]


def items_table(
    matrices: Matrices, pool: Pool, crop_names: pa.Array, photographs: pa.Array, part: tuple[str, str], bound: Bools
) -> pa.Table:
    """The items of some matrices.

    `crop_names` and `photographs` name the pool's crops and photographs, `part` is the scheme and the side; `bound` are
    the elements that the scheme has a rule about. Tags: relation, element (attribute, object, count), kind (as in
    Table 1), property (super-attribute), label (of the answer), held (whether the scheme's rule binds this matrix).
    """
    size = len(matrices)
    context, candidates = matrices.crops[:, :PANELS], matrices.crops[:, PANELS:]
    names = crop_names.take(pa.array(candidates.ravel()))
    nothing = pa.nulls(size * CANDIDATES, tables.ITEMS.field("candidates").type.value_type.field("raw").type)
    tokens = pa.ListArray.from_arrays(
        np.zeros(size * CANDIDATES + 1, np.int32),
        pa.array([], tables.ITEMS.field("candidates").type.value_type.field("tokens").type.value_type),
    )
    choice = tables.ITEMS.field("candidates").type.value_type
    columns = {
        "id": pa.array(item_names(matrices, pool, photographs, part), pa.string()),
        "task": pa.array(["matrix"] * size, pa.string()),
        "panels": _rows(crop_names.take(pa.array(context.ravel())), PANELS),
        "candidates": _rows(pa.StructArray.from_arrays([nothing, tokens, names], fields=list(choice)), CANDIDATES),
        "answer": pa.array(matrices.answer.astype(np.int8)),
        "origins": _rows(photographs.take(pa.array(pool.photograph[matrices.crops].ravel())), PANELS + CANDIDATES),
        "tags": _tags(matrices, pool, bound),
        "views": _empty(size, "views"),
    }
    return pa.table([columns.get(f.name, pa.nulls(size, f.type)) for f in tables.ITEMS], schema=tables.ITEMS)


def _rows(values: pa.Array, length: int) -> pa.ListArray:
    """Lists of one length."""
    return pa.ListArray.from_arrays(np.arange(0, len(values) + 1, length, dtype=np.int32), values)


def _empty(size: int, column: str) -> pa.ListArray:
    return pa.ListArray.from_arrays(
        np.zeros(size + 1, np.int32), pa.array([], tables.ITEMS.field(column).type.value_type)
    )


def _tags(matrices: Matrices, pool: Pool, bound: Bools) -> pa.ListArray:
    """Relation, element, kind, property, label and held of each matrix."""
    words: list[str] = []

    def codes(values: list[str]) -> np.ndarray:
        words.extend(values)
        return np.arange(len(words) - len(values), len(words))

    relation = codes([r for r, _ in CELLS])[matrices.cell]
    element = codes([TYPE_OF[kind] for _, kind in CELLS])[matrices.cell]
    kind = codes([kind for _, kind in CELLS])[matrices.cell]
    group = codes([e.group for e in pool.elements])[matrices.label]
    label = codes([e.name for e in pool.elements])[matrices.label]
    held = codes([NO, YES])[bound[matrices.label].astype(int)]
    values = np.stack([relation, element, kind, group, label, held], axis=1)  # (N, 6)
    taken = pa.array(words, pa.string()).take(pa.array(values.ravel()))
    names = pa.array(TAGS, pa.string()).take(pa.array(np.tile(np.arange(len(TAGS)), len(matrices))))
    pair = tables.ITEMS.field("tags").type.value_type
    return _rows(pa.StructArray.from_arrays([names, taken], fields=list(pair)), len(TAGS))
