"""The answer key of one split: what evaluation needs of its items, as arrays, and nothing more.

Only a few Parquet columns are read (of the candidates and views only how many there are), and everything after this
works on item numbers instead of names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools, Ints
from veridical.errors import UserError

_COLUMNS = ("id", "answer", "group", "parent", "given", "tags")
# Of these lists only one narrow leaf is read: their lengths are all that counts.
_LEAVES = ("candidates.list.element.panel", "views.list.element.order.list.element")


@dataclass(frozen=True)
class Tags:
    """All tags of a split, one row per (item, name, value), no row twice."""

    item: Ints  # item number
    pair: Ints  # number of the (name, value) pair
    pairs: tuple[tuple[str, str], ...]  # sorted


@dataclass(frozen=True)
class AnswerKey:
    """The items of a split by number, in the order of the file."""

    split: str
    scheme: str
    words: tuple[str, ...]  # what official names of its items may start with
    ids: pa.StringArray
    answer: Ints  # index of the right candidate; -1 where the item is never scored
    candidates: Ints  # how many
    views: Ints  # how many; 0 where the item has only one picture
    group: Ints  # group number
    groups: int
    parent: Ints  # item number of a rationale item's answer item; -1
    given: Ints  # the parent's candidate that a rationale item assumes; -1
    tags: Tags

    @property
    def scored(self) -> Bools:
        return self.answer >= 0

    def questions(self) -> Ints:
        """Item numbers of the answer items that have rationale items, in the order of the file."""
        return np.unique(self.parent[(self.parent >= 0) & (self.given >= 0)])

    def rationales(self) -> Ints:
        """For each question (row) and assumed answer (column) the item number of the rationale item, or -1."""
        questions = self.questions()
        width = int(self.given.max(initial=-1)) + 1
        out = np.full((len(questions), max(width, 0)), -1, np.int64)
        children = np.flatnonzero((self.parent >= 0) & (self.given >= 0))
        out[np.searchsorted(questions, self.parent[children]), self.given[children]] = children
        return out


def split_words(benchmark: Benchmark, split: str, scheme: str) -> tuple[str, ...]:
    """The splits that official names of a split's items may name: itself, or any main split in another scheme."""
    return (split,) if scheme == "main" or "main" not in benchmark.schemes else tuple(benchmark.splits("main"))


def read_key(benchmark: Benchmark, split: str, scheme: str = "main") -> AnswerKey:
    """Read a split's answer key; the answers of a hidden split come from `DIR.hidden`, if it is here."""
    table = benchmark.items_table(split, scheme, columns=_COLUMNS, answers=True).combine_chunks()
    if not table.num_rows:
        raise UserError(f"Split {split!r} of {benchmark.name} has no items.", "Evaluate another split.")
    path = benchmark.directory / f"items-{scheme}-{split}.parquet"
    lists = pq.ParquetFile(path).read(columns=list(_LEAVES))
    ids = _one(table["id"])
    answer = _numbers(table["answer"])
    if (answer < 0).all():
        raise UserError(
            f"No item of split {split!r} of {benchmark.name} has an answer.",
            "Its answers were not released: score another split, or send the predictions to whoever holds them.",
        )
    parent = _numbers(pc.index_in(table["parent"], value_set=ids))
    # Items without a group are their own group; a question and its rationales belong together.
    names = pc.coalesce(table["group"], table["parent"], table["id"])
    group = _one(names).dictionary_encode()
    return AnswerKey(
        split=split,
        scheme=scheme,
        words=split_words(benchmark, split, scheme),
        ids=ids,
        answer=answer,
        candidates=_lengths(lists["candidates"]),
        views=_lengths(lists["views"]),
        group=_numbers(group.indices),
        groups=len(group.dictionary),
        parent=parent,
        given=_numbers(table["given"]),
        tags=_tags(table["tags"]),
    )


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numbers(column: pa.ChunkedArray | pa.Array) -> Ints:
    """Integers with -1 for null."""
    return np.asarray(pc.fill_null(_one(column).cast(pa.int64()), -1))


def _lengths(column: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(_one(column)), 0)).astype(np.int64)


def _tags(column: pa.ChunkedArray) -> Tags:
    rows = _one(column)
    item = np.asarray(pc.list_parent_indices(rows)).astype(np.int64)
    flat = pc.list_flatten(rows)
    name = pc.struct_field(flat, "name").dictionary_encode()
    value = pc.struct_field(flat, "value").dictionary_encode()
    names, values = name.dictionary.to_pylist(), value.dictionary.to_pylist()
    code = _numbers(name.indices) * max(len(values), 1) + _numbers(value.indices)
    present = np.flatnonzero(np.bincount(code, minlength=1))
    pairs = [(names[c // len(values)], values[c % len(values)]) for c in present.tolist()]
    order = sorted(range(len(pairs)), key=pairs.__getitem__)
    rank = np.zeros(len(names) * len(values) + 1, np.int64)
    rank[present[order]] = np.arange(len(order))
    pair = rank[code]
    # Sorted by pair, then item; two bytes are sorted in linear time.
    sort = np.argsort(pair.astype(np.uint16) if len(pairs) < 1 << 16 else pair, kind="stable")
    item, pair = item[sort], pair[sort]
    twice = np.zeros(len(item), np.bool_)  # an item may carry the same pair twice
    twice[1:] = (item[1:] == item[:-1]) & (pair[1:] == pair[:-1])
    return Tags(item=item[~twice], pair=pair[~twice], pairs=tuple(pairs[i] for i in order))
