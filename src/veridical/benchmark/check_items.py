"""What `check` asks of the tables: ids, values, references, groups, origins, and how items hang together.

Each function yields (kind, where, message) for errors; whole columns at a time, since a benchmark may have 500,000
items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import tables
from veridical.benchmark.store import Benchmark
from veridical.errors import MOST_NAME, shortened
from veridical.records import JUDGEMENT_KINDS, TASKS

_EXAMPLES = 5  # how many ids a message names
# Token lists in JSON, by what stands between tokens; and letters beyond ASCII, by how they are written.
_TOKEN = r'(?:"(?:[^"\\]|\\.)*"|\[[^\[\]]*\])'
_SPELLINGS = (
    ("with and without spaces", rf"^\[{_TOKEN}(?:, {_TOKEN})+\]$", rf"^\[{_TOKEN}(?:,{_TOKEN})+\]$"),
    ("with and without escapes", r"^\[.*\\u[0-9a-fA-F]{4}.*\]$", r"^\[.*[^\x00-\x7f].*\]$"),
)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    kind: str  # a fixed word: hash, missing-file, image, duplicate-id, origin-leak, hidden-answer ...
    where: str  # file or split
    message: str
    severity: Literal["error", "warning"] = "error"


def some(values: pa.Array | pa.ChunkedArray) -> str:
    """The first few of many, for a message."""
    first = ", ".join(shortened(str(v), MOST_NAME) for v in values[:_EXAMPLES].to_pylist())
    return first if len(values) <= _EXAMPLES else f"{first} and {len(values) - _EXAMPLES:,} more"


def marked(ids: pa.ChunkedArray, bad: pa.ChunkedArray, kind: str, where: str, text: str) -> Iterator[Problem]:
    """One problem with all ids that are marked as bad, if there are any; `text` stands before them."""
    if pc.any(bad).as_py():
        yield Problem(kind, where, f"{text} {some(ids.filter(bad))}")


def check_items(opened: Benchmark) -> Iterator[Problem]:
    """Items of every scheme and split, and the panels they name."""
    panels = opened.panels_table(["id"])["id"]
    yield from duplicates(panels, "panels.parquet", "panel")
    for scheme in opened.schemes:
        parts = {split: opened.items_table(split, scheme) for split in opened.splits_of(scheme)}
        for split, table in parts.items():
            where = f"items-{scheme}-{split}.parquet"
            expected = opened.manifest["counts"]["items"][scheme][split]
            if len(table) != expected:
                yield Problem("count", where, f"{len(table):,} items, the manifest says {expected:,}")
            yield from _values(table, where, opened.task, opened.is_hidden(split))
            candidates = pc.struct_field(pc.list_flatten(table["candidates"]), "panel").drop_null()
            for column in (pc.list_flatten(table["panels"]), candidates):
                unknown = pc.invert(pc.is_in(column, value_set=panels))
                if pc.any(unknown).as_py():
                    yield Problem("missing-panel", where, f"no such panel: {some(pc.unique(column.filter(unknown)))}")
            yield from _spelt(table, where, official=bool(opened.manifest["official"]))
            yield from _views(table, where)
            yield from _families(table, where, opened.is_hidden(split))
        yield from duplicates(pa.chunked_array([c for t in parts.values() for c in t["id"].chunks]), scheme, "item")
        for column in ("origins", "group"):
            yield from _crossing(parts, scheme, column, official=bool(opened.manifest["official"]))


def _count(opened: Benchmark, what: str) -> int:
    """How many the manifest counts; -1 where that is no number, which nothing agrees with."""
    said = opened.manifest["counts"].get(what, 0)
    return said if isinstance(said, int) else -1


def check_panels(opened: Benchmark) -> Iterator[Problem]:
    """Panels: their columns, regions, and object ids."""
    table, where = opened.panels_table(), "panels.parquet"
    expected = _count(opened, "panels")
    if len(table) != expected:
        yield Problem("count", where, f"{len(table):,} panels, the manifest says {expected:,}")
    region = table["region"]
    size = pc.list_value_length(region)
    if pc.any(pc.not_equal(size, 4)).as_py():
        yield from marked(table["id"], pc.not_equal(size, 4), "region", where, "a region is not four numbers:")
    else:
        box = [pc.list_element(region, k) for k in range(4)]
        empty = pc.or_(pc.greater_equal(box[0], box[2]), pc.greater_equal(box[1], box[3]))
        yield from marked(table["id"], empty, "region", where, "an empty region:")
    owners = pc.list_parent_indices(table["objects"])
    names = pc.struct_field(pc.list_flatten(table["objects"]), "id")
    counts = pa.table({"panel": owners, "id": names}).group_by(["panel", "id"]).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts["count_all"], 1))
    if len(twice):
        named = some(table["id"].take(pc.unique(twice["panel"])))
        yield Problem("duplicate-id", where, f"object ids used twice in {named}")


def check_judgements(opened: Benchmark) -> Iterator[Problem]:
    """Judgements: kinds, verdicts, and items that exist."""
    table, where = opened.judgements_table(), "judgements.parquet"
    expected = _count(opened, "judgements")
    if len(table) != expected:
        yield Problem("count", where, f"{len(table):,} judgements, the manifest says {expected:,}")
    bad = pc.invert(pc.is_in(table["kind"], pa.array(JUDGEMENT_KINDS)))
    yield from marked(table["item"], bad, "judgement", where, "unknown kind for")
    bad = pc.invert(pc.match_substring_regex(table["verdict"], r"^(\d{1,2}|nonsense|skip)$"))
    if pc.any(bad).as_py():
        yield from marked(table["item"], bad, "judgement", where, "unknown verdict for")
        return
    parts = [opened.items_table(s, c, ["id", "candidates"]) for c, s in opened.parts]
    items = pa.concat_tables([tables.ITEMS.empty_table().select(["id", "candidates"]), *parts])
    place = pc.index_in(table["item"], value_set=items["id"].combine_chunks())
    choices = pc.list_value_length(items["candidates"]).take(place)
    words = pc.is_in(table["verdict"], pa.array(["nonsense", "skip"]))
    outside = pc.greater_equal(pc.cast(pc.if_else(words, None, table["verdict"]), "int32"), choices)
    yield from marked(table["item"], outside, "judgement", where, "a verdict is not one of the candidates of")
    unknown = pc.and_(pc.is_null(place), pc.invert(pc.is_in(table["item"], value_set=opened.pruned_table()["item"])))
    if pc.any(unknown).as_py():
        named = some(pc.unique(table["item"].filter(unknown)))
        yield Problem("judgement", where, f"about items that are neither here nor pruned: {named}", "warning")


def duplicates(ids: pa.ChunkedArray, where: str, noun: str) -> Iterator[Problem]:
    """Ids that are empty or used more than once."""
    if pc.any(pc.fill_null(pc.equal(ids, ""), True)).as_py():
        yield Problem("empty-id", where, f"a {noun} without an id")
    counts = pc.value_counts(ids)
    twice = counts.filter(pc.greater(pc.struct_field(counts, "counts"), 1))
    if len(twice):
        named = some(pc.struct_field(twice, "values"))
        yield Problem("duplicate-id", where, f"{noun} ids used more than once: {named}")


def _values(table: pa.Table, where: str, task: str, hidden: bool) -> Iterator[Problem]:
    wrong = pc.fill_null(pc.not_equal(table["task"], task), True) if task in TASKS else pc.is_valid(table["id"])
    yield from marked(table["id"], wrong, "task", where, f"not the benchmark's task {task!r}:")
    choices = pc.list_value_length(table["candidates"])
    if pc.any(pc.less(choices, 2)).as_py():
        yield from marked(table["id"], pc.less(choices, 2), "candidates", where, "fewer than two in")
    elif task == "statement":
        texts = pc.struct_field(pc.list_flatten(table["candidates"]), "raw")
        if texts.to_pylist() != ["false", "true"] * len(table):
            yield Problem("candidates", where, "a statement's candidates are false and true, in this order")
    answer = pc.cast(table["answer"], pa.int32())
    outside = pc.or_(pc.less(answer, 0), pc.greater_equal(answer, choices))
    yield from marked(table["id"], outside, "answer-range", where, "answer is not one of the candidates in")
    if not hidden:
        none = pc.and_(pc.is_null(answer), pc.is_null(table["parent"]))
        yield from marked(table["id"], none, "no-answer", where, "no answer in a split that is not hidden:")


def _spelt(table: pa.Table, where: str, official: bool) -> Iterator[Problem]:
    """The choices of an item are written in one way: otherwise their bytes tell which of them was borrowed."""
    raw = pc.struct_field(pc.list_flatten(table["candidates"]), "raw")
    owners = pc.list_parent_indices(table["candidates"]).to_numpy()
    for how, *ways in _SPELLINGS:
        found = [pc.fill_null(pc.match_substring_regex(raw, way), False).to_numpy() for way in ways]
        both = np.logical_and(*(np.bincount(owners[one], minlength=len(table)) > 0 for one in found))
        if both.any():
            text = f"choices of one item are written {how}, which may tell the right one: "
            named = some(table["id"].filter(pa.array(both)))
            yield Problem("spelling", where, text + named, "warning" if official else "error")


def _views(table: pa.Table, where: str) -> Iterator[Problem]:
    """A view shows the item's panels, each once."""
    views = table["views"]
    if not len(pc.list_flatten(views)):
        return
    sizes = dict(zip(table["id"].to_pylist(), pc.list_value_length(table["panels"]).to_pylist(), strict=True))
    bad = [
        item
        for item, orders in zip(table["id"].to_pylist(), views.to_pylist(), strict=True)
        if any(sorted(v["order"]) != list(range(sizes[item])) for v in orders)
    ]
    if bad:
        yield Problem("view", where, f"a view is not an order of the item's panels in {some(pa.array(bad))}")


def _families(table: pa.Table, where: str, hidden: bool) -> Iterator[Problem]:
    """Rationale items hang on an answer item of their split: one for each answer assumed, the right one answered."""
    rows = pc.is_valid(table["parent"])
    if not pc.any(rows).as_py():
        return
    children = table.filter(rows)
    place = pc.index_in(children["parent"], value_set=table["id"].combine_chunks())
    is_top = pc.fill_null(pc.is_null(table["parent"]).take(place), False)
    if not pc.all(is_top).as_py():
        lost = children["parent"].filter(pc.invert(is_top))
        yield Problem("missing-parent", where, f"no such question: {some(pc.unique(lost))}")
        return
    at = place.to_numpy(zero_copy_only=False).astype(np.int64)
    choices = pc.list_value_length(table["candidates"]).to_numpy()
    given = pc.fill_null(children["given"], -1).to_numpy().astype(np.int64)
    ids = children["id"]
    outside = (given < 0) | (given >= choices[at])
    key = at * 128 + given
    repeated = np.isin(key, [k for k, n in zip(*np.unique(key, return_counts=True), strict=True) if n > 1])
    incomplete = np.bincount(at, minlength=len(table))[at] != choices[at]
    for mask, text in (
        (outside, "assumes an answer that is not a candidate"),
        (repeated, "assumes the same answer as another"),
        (incomplete, "is not one of a full set, one for each answer"),
    ):
        if mask.any():
            yield Problem("given", where, f"{some(ids.filter(pa.array(mask)))} {text}")
    if not hidden:
        answer = pc.fill_null(table["answer"], -1).to_numpy().astype(np.int64)[at]
        answered = pc.is_valid(children["answer"]).to_numpy(zero_copy_only=False)
        wrong = pa.array(answered != (answer == given))
        yield from marked(ids, wrong, "given", where, "only the reasons given the right answer have an answer:")


def _crossing(parts: dict[str, pa.Table], scheme: str, column: str, official: bool) -> Iterator[Problem]:
    """Origins, or groups, that are in more than one split."""
    seen: dict[str, str] = {}
    shared: dict[str, set[str]] = {}
    for split, table in parts.items():
        values = pc.list_flatten(table[column]) if column == "origins" else table[column]
        for value in pc.unique(values.drop_null()).to_pylist():
            first = seen.setdefault(value, split)
            if first != split:
                shared.setdefault(value, {first}).add(split)
    if shared:
        each = sorted(shared.items())
        listed = [f"{shortened(value, MOST_NAME)} ({', '.join(sorted(splits))})" for value, splits in each]
        kind, noun = ("origin-leak", "origins") if column == "origins" else ("group-leak", "groups")
        text = f"{len(shared):,} {noun} are in more than one split: {'; '.join(listed[:100])}"
        yield Problem(kind, scheme, text + (" ..." if len(listed) > 100 else ""), "warning" if official else "error")
