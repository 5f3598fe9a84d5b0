"""The lines of NLVR2's files, both ways: read as columns and checked, and written as the official release writes them.

A split is `<split>.json`, `<split>_hashes.json` and `images/<split>/`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.common.arrays import Ints
from veridical.formats import columns
from veridical.formats.lines import Problems, TextFile, decode_chunks, find_duplicates
from veridical.formats.releases import items_to_write, judgements_of
from veridical.records import Item, Panel

_IDENTIFIER = r"^[A-Za-z0-9_.]+(-[A-Za-z0-9_.]+)*-\d+-\d+-\d+$"
_EXPECTED = {
    "label": '"True" or "False"',
    "validation": 'a judgement "True" or "False" for each worker',
    "extra_validations": 'a judgement "True" or "False" for each worker',
}

_Truth = Literal["True", "False"]


class _PairLine(msgspec.Struct, gc=False):
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
_JUDGEMENTS = ("validation", "extra_validations")
_JUDGED = pa.list_(pa.struct([("worker", pa.string()), ("verdict", pa.string())]))


def read_rows(file: TextFile, problems: Problems) -> Rows:
    fields = [*((name, pa.string()) for name in _TEXTS), ("line", pa.int64()), *((n, _JUDGED) for n in _JUDGEMENTS)]
    schema = pa.schema(fields)
    parts, dropped = [], set()
    for lines in decode_chunks(file, msgspec.json.Decoder(_PairLine), problems, _EXPECTED):
        arrays = [pa.array(list(map(attrgetter(name), lines.records)), pa.string()) for name in _TEXTS]
        arrays.append(pa.array(lines.numbers))
        arrays += [_judged(list(map(attrgetter(name), lines.records))) for name in _JUDGEMENTS]
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
    return Names(image_set, *(pc.binary_join_element_wise(image_set, part, "-") for part in (pair, sentence)))


def first_places(codes: pa.DictionaryArray) -> Ints:
    """Where each different value comes first."""
    first = np.empty(len(codes.dictionary), np.int64)
    first[codes.indices.to_numpy()[::-1]] = np.arange(len(codes))[::-1]
    return first


_OWN = re.compile(r"[A-Za-z0-9_.]+(?:-[A-Za-z0-9_.]+)*-\d+-\d+-\d+")
_WORDS = {"0": "False", "1": "True"}


def encode(benchmark: Benchmark, split: str, out: Path) -> None:
    """Write one split."""
    items = items_to_write(benchmark, split)
    judged = judgements_of(benchmark, _WORDS)
    hashes: dict[str, str] = {}
    photographs: dict[str, str] = {}
    with (out / f"{split}.json").open("w", encoding="utf-8", newline="\n") as file:
        for item, identifier in zip(items, _identifiers(items, split), strict=True):
            panels = [benchmark.panels[name] for name in item.panels]
            file.write(json.dumps(_fields(item, identifier, panels, judged)) + "\n")
            pair = identifier.rpartition("-")[0]
            for side, panel in enumerate(panels):
                name = f"{pair}-img{side}.png"
                if panel.phash is not None:
                    hashes[name] = panel.phash
                if panel.image is not None:
                    photographs[name] = panel.image
    if hashes:
        (out / f"{split}_hashes.json").write_text(json.dumps(hashes), encoding="utf-8")
    if photographs:
        folder = out / "images" / split
        folder.mkdir(parents=True)
        for name, address in photographs.items():
            (folder / name).write_bytes(benchmark.image(address))


def _fields(item: Item, identifier: str, panels: list[Panel], judged: dict[tuple[str, str], dict[str, str]]) -> Any:
    fields: dict[str, object] = {"validation": judged.get((item.id, "validation"), {})}
    fields["sentence"] = item.query.raw if item.query else ""
    fields["left_url"] = panels[0].uri or ""
    if item.writer is not None:
        fields["writer"] = item.writer
    if item.answer is not None:
        fields["label"] = ("False", "True")[item.answer]
    fields["right_url"] = panels[1].uri or ""
    fields |= {name: item.tag(name)[0] for name in ("synset", "query") if item.tag(name)}
    fields["identifier"] = identifier
    if extra := judged.get((item.id, "extra")):
        fields["extra_validations"] = extra
    return fields


def _identifiers(items: list[Item], split: str) -> list[str]:
    """Official identifiers: the items' own where all have one, otherwise sets, pairs and sentences in their order."""
    if all(_OWN.fullmatch(item.id) for item in items):
        return [item.id for item in items]
    sets: dict[str, int] = {}
    pairs: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    sentences: dict[str, dict[str, int]] = defaultdict(dict)
    out = []
    for item in items:
        origin = item.origins[0] if item.origins else item.id
        number = sets.setdefault(origin, len(sets))
        pair = pairs[origin].setdefault(item.panels, len(pairs[origin]))
        sentence = sentences[origin].setdefault(item.group or item.id, len(sentences[origin]))
        out.append(f"{split}-{number}-{pair}-{sentence}")
    return out
