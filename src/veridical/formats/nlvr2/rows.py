"""The lines of NLVR2's files as columns, checked: identifiers, labels, duplicates, addresses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.common.arrays import Ints
from veridical.formats import columns
from veridical.formats.lines import Problems, TextFile, decode_chunks, find_duplicates

_IDENTIFIER = r"^[A-Za-z0-9_.]+(-[A-Za-z0-9_.]+)*-\d+-\d+-\d+$"
_EXPECTED = {
    "label": '"True" or "False"',
    "validation": 'a judgement "True" or "False" for each worker',
    "extra_validations": 'a judgement "True" or "False" for each worker',
}

_Truth = Literal["True", "False"]


class _Line(msgspec.Struct, gc=False):
    identifier: str
    sentence: str
    left_url: str
    right_url: str
    label: _Truth | None = None
    writer: str | None = None
    synset: str | None = None
    query: str | None = None
    validation: dict[str, _Truth] = {}
    extra_validations: dict[str, _Truth] = {}
    directory: int | str | None = None  # the numbered folder of a training photograph; photographs are found by name


@dataclass
class Rows:
    """The lines of a file in columns: the fields, `line` (counted from 0), and lists of judgements."""

    file: TextFile
    table: pa.Table
    dropped: set[int]

    def __getitem__(self, name: str) -> pa.Array:
        return self.table[name].combine_chunks()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def drop(self, wrong: Mapping[int, str], problems: Problems) -> None:
        """Report rows that are wrong, and leave their lines out."""
        if not wrong:
            return
        numbers = self["line"].to_pylist()
        for index in sorted(wrong):
            problems.found(self.file.name, numbers[index] + 1, wrong[index])
            self.dropped.add(numbers[index])
        keep = np.ones(len(self), bool)
        keep[list(wrong)] = False
        self.table = self.table.filter(pa.array(keep)).combine_chunks()


@dataclass
class Names:
    """What the identifiers of a split say, in columns."""

    set: pa.Array  # dev-850
    pair: pa.Array  # dev-850-0
    group: pa.Array  # dev-850-1: the identifier without the pair


_TEXTS = ("identifier", "sentence", "left_url", "right_url", "label", "writer", "synset", "query")
_JUDGED = pa.list_(pa.struct([("worker", pa.string()), ("verdict", pa.string())]))


def read_rows(file: TextFile, problems: Problems) -> Rows:
    schema = pa.schema([(name, pa.string()) for name in _TEXTS])
    schema = schema.append(pa.field("line", pa.int64()))
    for name in ("validation", "extra_validations"):
        schema = schema.append(pa.field(name, _JUDGED))
    parts, dropped = [], set()
    for lines in decode_chunks(file, msgspec.json.Decoder(_Line), problems, _EXPECTED):
        records = lines.records
        texts = (
            [r.identifier for r in records],
            [r.sentence for r in records],
            [r.left_url for r in records],
            [r.right_url for r in records],
            [r.label for r in records],
            [r.writer for r in records],
            [r.synset for r in records],
            [r.query for r in records],
        )
        arrays = [pa.array(values, pa.string()) for values in texts]
        arrays.append(pa.array(lines.numbers))
        arrays.append(_judged([r.validation for r in records]))
        arrays.append(_judged([r.extra_validations for r in records]))
        parts.append(pa.Table.from_arrays(arrays, schema=schema))
        dropped |= lines.dropped
    table = pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()
    return Rows(file, table, dropped)


def _judged(judged: Sequence[dict[str, _Truth]]) -> pa.Array:
    """Judgements by worker as a list column."""
    workers = pa.array(list(itertools.chain.from_iterable(judged)), pa.string())
    verdicts = pa.array(list(itertools.chain.from_iterable(map(dict.values, judged))), pa.string())
    flat = pa.StructArray.from_arrays([workers, verdicts], fields=list(_JUDGED.value_type))
    return columns.lists(flat, np.fromiter(map(len, judged), np.int64, len(judged)), _JUDGED)


def check_rows(rows: Rows, labelled: bool, problems: Problems) -> Names:
    """Leave out, or refuse, lines that have the right types and are wrong all the same; what the others are called."""
    if labelled:
        rows.drop(
            _where(rows["label"].is_null(), lambda _: "the field 'label' is missing; other lines have one."), problems
        )
    ids = rows["identifier"]
    good = pc.match_substring_regex(ids, _IDENTIFIER)
    what = "expected split-set-pair-sentence, such as dev-850-0-1."
    rows.drop(_where(pc.invert(good), lambda i: f"the identifier is {ids[i].as_py()!r}; {what}"), problems)
    if pc.count_distinct(rows["identifier"]).as_py() != len(rows):
        rows.drop(find_duplicates(rows["identifier"].to_pylist(), rows["line"].to_numpy()), problems)
    names = _names(rows["identifier"])
    if wrong := _other_addresses(rows, names.pair):
        rows.drop(wrong, problems)
        names = _names(rows["identifier"])
    return names


def _where(wrong: pa.Array, problem: Callable[[int], str]) -> dict[int, str]:
    """What is wrong with each row that is marked."""
    return {index: problem(index) for index in np.flatnonzero(np.asarray(wrong)).tolist()}


def _other_addresses(rows: Rows, pair: pa.Array) -> dict[int, str]:
    """Rows whose pair has other addresses than on an earlier line."""
    codes = pair.dictionary_encode()
    before = pa.array(first_places(codes)).take(codes.indices)
    left, right = rows["left_url"], rows["right_url"]
    other = pc.or_(pc.not_equal(left, left.take(before)), pc.not_equal(right, right.take(before)))
    return _where(
        other,
        lambda i: (
            f"the pair {pair[i].as_py()} has other addresses on line {rows['line'][before[i].as_py()].as_py() + 1}."
        ),
    )


def differences(subset: Rows, whole: Rows) -> dict[int, str]:
    """Rows of a subset's file that the split's file has not, or has otherwise."""
    place = pc.index_in(subset["identifier"], value_set=whole["identifier"])
    same = pc.is_valid(place)
    for name in ("sentence", "label", "left_url", "right_url"):
        same = pc.and_(same, pc.fill_null(pc.equal(subset[name], whole[name].take(place)), False))
    ids = subset["identifier"]
    return _where(
        pc.invert(same), lambda i: f"{ids[i].as_py()!r} is not in {whole.file.name}, or is not the same there."
    )


def _names(ids: pa.Array) -> Names:
    parts = pc.split_pattern(ids, "-", max_splits=2, reverse=True).flatten()
    start = np.arange(len(ids)) * 3
    image_set, pair, sentence = (parts.take(pa.array(start + k)) for k in range(3))
    return Names(
        image_set,
        pc.binary_join_element_wise(image_set, pair, "-"),
        pc.binary_join_element_wise(image_set, sentence, "-"),
    )


def first_places(codes: pa.DictionaryArray) -> Ints:
    """Where each different value comes first."""
    first = np.empty(len(codes.dictionary), np.int64)
    first[codes.indices.to_numpy()[::-1]] = np.arange(len(codes))[::-1]
    return first
