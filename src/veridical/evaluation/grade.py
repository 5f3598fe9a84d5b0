"""The answer key of a split, and predictions against it: right, missing, extra, twice or unreadable.

Of the items only a few Parquet columns are read (of the candidates and views only how many there are), and everything
after this works on item numbers instead of names. An example is an item, or one view of it where predictions are per
view (NLVR's images: six examples per item). Rows are joined to items by name. Missing and unreadable examples are not
right, and are counted apart.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools, Ints
from veridical.errors import UserError
from veridical.evaluation.predictions import Format, Predictions
from veridical.evaluation.words import nearest, understood
from veridical.records import view_id

_COLUMNS = ("id", "answer", "group", "parent", "given", "tags")
# Of these lists only one narrow leaf is read: their lengths are all that counts.
_LEAVES = ("candidates.list.element.panel", "views.list.element.order.list.element")
NAMED = 20  # how many missing, extra ... predictions are named

_NOWHERE, _NOT_ASKED = -1, -2  # row of a file: no such item; a stage that the benchmark does not have
MISSING, UNREADABLE = -2, -1  # choice of an example
_VIEW = re.compile(r"(?P<item>.+)#(?P<view>[0-9]{1,9})")
_IMAGE = re.compile(r"(?P<item>.+)-(?P<view>[0-9]{1,9})(\.[A-Za-z]+)?")


@dataclass(frozen=True)
class Tags:
    """All tags of a split, one row per (item, name, value), no row twice."""

    item: Ints  # item number
    pair: Ints  # number of the (name, value) pair
    pairs: tuple[tuple[str, str], ...]  # sorted


@dataclass(frozen=True)
class AnswerKey:
    """The items of a split by number, in the order of the file."""

    benchmark: Benchmark
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

    @cached_property
    def candidate_texts(self) -> list[list[str]]:
        """Of each item the texts of its candidates, in small letters; empty texts where they are pictures."""
        rows = self.benchmark.items_table(self.split, self.scheme, ["candidates"])["candidates"].to_pylist()
        return [[(one["raw"] or "").strip().lower() for one in row] for row in rows]

    def first(self, limit: int) -> AnswerKey:
        """The same where only the first items count: of questions, with their rationales."""
        among = np.zeros(len(self.ids), np.bool_)
        among[np.flatnonzero(self.parent < 0)[:limit]] = True
        among |= (self.parent >= 0) & among[np.maximum(self.parent, 0)]
        return self.only(among)

    def only(self, among: Bools) -> AnswerKey:
        """The same where only some items count."""
        return replace(self, answer=np.where(among, self.answer, -1))

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
    return (split,) if scheme == "main" or "main" not in benchmark.schemes else tuple(benchmark.splits_of("main"))


def read_key(benchmark: Benchmark, split: str, scheme: str = "main", tags: bool = True) -> AnswerKey:
    """Read a split's answer key, without `tags` if only marks are wanted; `DIR.hidden` has the hidden answers."""
    columns = _COLUMNS if tags else _COLUMNS[:-1]
    table = benchmark.items_table(split, scheme, columns=columns, answers=True).combine_chunks()
    if not table.num_rows:
        raise UserError(f"Split {split!r} of {benchmark.name} has no items.", "Evaluate another split.")
    lists = _lists(benchmark, split, scheme)
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
        benchmark=benchmark,
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
        tags=tags_of(table["tags"]) if tags else Tags(np.zeros(0, np.int64), np.zeros(0, np.int64), ()),
    )


def _lists(benchmark: Benchmark, split: str, scheme: str) -> pa.Table:
    """The lists of candidates and views, of which only the lengths are wanted: the smallest column in each is read."""
    path = benchmark.trusted(benchmark.directory / f"items-{scheme}-{split}.parquet")
    with contextlib.suppress(OSError, pa.ArrowException):
        found = pq.ParquetFile(path).read(columns=list(_LEAVES))
        if all(name in found.column_names and pa.types.is_list(found[name].type) for name in ("candidates", "views")):
            return found
    return benchmark.items_table(split, scheme, ["candidates", "views"])  # which says what is wrong


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numbers(column: pa.ChunkedArray | pa.Array) -> Ints:
    """Integers with -1 for null."""
    return np.asarray(pc.fill_null(_one(column).cast(pa.int64()), -1))


def _lengths(column: pa.ChunkedArray) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(_one(column)), 0)).astype(np.int64)


def tags_of(column: pa.ChunkedArray) -> Tags:
    """The tags of a split, from its column."""
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


@dataclass(frozen=True)
class Grades:
    """One prediction file, graded."""

    key: AnswerKey
    per_view: bool
    examples: Ints  # per item: how many examples of it are scored (0, 1, or the number of its views)
    chosen: Ints  # per example: the candidate chosen; -1 unreadable, -2 missing
    duplicated: Bools  # per example: predicted more than once
    tied: int  # examples whose highest score was shared (the first candidate counts)
    extra: tuple[str, ...]  # names that are no item of the split, each once
    read: Predictions  # what was marked
    row: Ints  # per example: the row of `read` that is about it; -1 where none is

    def scores(self, example: int) -> list[float]:
        """The scores that were given for an example; none where a word said its choice, or nothing did."""
        row, given = int(self.row[example]), self.read.scores
        return [] if row < 0 or given is None else list(given[row].as_py())

    @cached_property
    def item(self) -> Ints:
        """Per example: its item."""
        return np.repeat(np.arange(len(self.examples)), self.examples)

    @cached_property
    def right(self) -> Bools:
        """Per example: whether the right candidate was chosen."""
        return np.equal(self.chosen, self.key.answer[self.item])

    def at_views(self, views: Grades) -> Grades:
        """These predictions of items, each as one of every view that others predict."""
        if self.per_view:
            return self
        place = (np.cumsum(self.examples) - self.examples)[views.item]
        own = {name: getattr(self, name)[place] for name in ("chosen", "duplicated", "row")}
        return replace(self, per_view=True, examples=views.examples, **own)

    def names(self, which: Bools) -> tuple[str, ...]:
        """The names of the first of some examples."""
        first = np.flatnonzero(which)[:NAMED]
        item = self.item[first]
        start = np.cumsum(self.examples) - self.examples
        ids = self.key.ids.take(item).to_pylist()
        if not self.per_view:
            return tuple(ids)
        views = (first - start[item]).tolist()
        return tuple(
            view_id(name, view) if self.key.views[i] else name
            for name, view, i in zip(ids, views, item.tolist(), strict=True)
        )


def grade(predictions: Predictions, key: AnswerKey) -> Grades:
    """Join predictions to the key by name and mark them."""
    item, view = _locate(predictions, key)
    found = np.flatnonzero(item >= 0)
    if not len(found):
        name = predictions.names[len(predictions.names) - 1].as_py()  # the first may be a header
        near = nearest(name, key.ids.to_pylist())
        per_image = "; names of images start with the split" if key.views.any() else ""
        raise UserError(
            f"{predictions.path}: none of its {len(item):,} predictions is about an item of split {key.split!r}; the "
            f"last is about {name!r}, and an item is called {(near or key.ids[0].as_py())!r}.",
            f"Give predictions for this benchmark and split{per_image}. Nothing was scored.",
        )
    lines = len(item)
    predictions, item = understood(predictions, key, item)
    view = view[lines - len(item) :]  # without a header
    found = np.flatnonzero(item >= 0)
    _check_width(predictions, key, found, item)
    per_view = bool((view >= 0).any())
    if per_view:
        _refuse_mixture(predictions, key, item, view)
    many = key.views if per_view else np.zeros_like(key.views)
    examples = np.where(key.scored, np.maximum(many, 1), 0)
    start = np.cumsum(examples) - examples
    rows = found[key.scored[item[found]]]
    place = start[item[rows]] + np.maximum(view[rows], 0)
    chosen = np.full(int(examples.sum()), MISSING, np.int64)
    chosen[place] = predictions.chosen[rows]
    row = np.full(len(chosen), -1, np.int64)
    row[place] = rows
    # Rows of one example that disagree leave no choice to score.
    chosen[place[chosen[place] != predictions.chosen[rows]]] = UNREADABLE
    return Grades(
        key=key,
        per_view=per_view,
        examples=examples,
        chosen=chosen,
        duplicated=np.bincount(place, minlength=len(chosen)) > 1,
        tied=len(np.unique(place[predictions.tied[rows]])),
        extra=tuple(pc.unique(predictions.names.take(np.flatnonzero(item == _NOWHERE))).to_pylist()),
        read=predictions,
        row=row,
    )


def _locate(predictions: Predictions, key: AnswerKey) -> tuple[Ints, Ints]:
    """For each row its item (or -1, -2) and view (or -1)."""
    if predictions.given is not None:
        item, view = _join(predictions, key.ids)
        return _rationales(item, predictions.given, key), view
    if not (key.views > 0).any():
        return _join(predictions, key.ids)
    item, view = _join(predictions, key.ids, key.words)
    item[view >= key.views[item]] = _NOWHERE
    return item, np.where(item >= 0, view, -1)


def _join(predictions: Predictions, ids: pa.StringArray, words: tuple[str, ...] = ()) -> tuple[Ints, Ints]:
    """For each row the item (or -1) and view (or -1) that it names; with `words`, the splits in official names."""
    item = _index(predictions.names, ids)
    view = np.full(len(item), -1, np.int64)
    rest = np.flatnonzero(item < 0)
    if not words or not len(rest):
        return item, view
    meanings = [_meanings(name, predictions.format, words) for name in predictions.names.take(rest).to_pylist()]
    for place in range(max(map(len, meanings))):
        tried = [one[place] if place < len(one) else (None, -1) for one in meanings]
        found = _index(pa.array([name for name, _ in tried], pa.string()), ids)
        good = (found >= 0) & (item[rest] < 0)
        item[rest[good]], view[rest[good]] = found[good], np.array([number for _, number in tried], np.int64)[good]
    return item, view


def _index(names: pa.StringArray, ids: pa.StringArray) -> Ints:
    return np.asarray(pc.fill_null(pc.index_in(names, value_set=ids, skip_nulls=True), -1)).astype(np.int64)


def _meanings(name: str, format: Format, words: tuple[str, ...]) -> list[tuple[str, int]]:
    """Items and views (-1: all of it) that a name which is no item's id could mean, the likeliest first.

    `item#k` is a view. Official names are an identifier or an image's name, and the split may stand before either in
    the file, in the benchmark, or in both; an image of another split means nothing.

    >>> _meanings("dev-1304-0-3.png", "csv", ("dev",))
    [('1304-0-3.png', -1), ('dev-1304-0', 3), ('1304-0', 3)]
    >>> _meanings("1304-0", "csv", ("dev",))
    [('dev-1304-0', -1)]
    """
    out = []
    if match := _VIEW.fullmatch(name):
        out.append((match["item"], int(match["view"])))
    for word in [f"{split}-" for split in words if format in ("csv", "memory")]:
        if name.startswith(word):
            out.append((name.removeprefix(word), -1))
        elif len(words) == 1:  # otherwise it could be an item of several
            out.append((word + name, -1))
        if (match := _IMAGE.fullmatch(name)) and match["item"].startswith(word):
            view = int(match["view"])
            out += [(match["item"], view), (match["item"].removeprefix(word), view)]
    return out


def guess_split(benchmark: Benchmark, predictions: Predictions, scheme: str = "main") -> str:
    """The split that the predictions are about: the only one, or the one that has nearly all names that any has."""
    splits = benchmark.splits_of(scheme)
    if len(splits) == 1:
        return splits[0]
    found = {}
    for split in splits:
        ids = benchmark.items_table(split, scheme, ["id"])["id"].combine_chunks()
        found[split] = int((_join(predictions, ids, split_words(benchmark, split, scheme))[0] >= 0).sum())
    best = max(splits, key=lambda split: found[split])
    if found[best] == 0 or found[best] < 0.9 * sum(found.values()):
        counts = ", ".join(f"{split} {found[split]:,}" for split in splits)
        raise UserError(
            f"Cannot tell which split of {benchmark.name} {predictions.path} is for (names found: {counts}).",
            f"Say so with --split, one of: {', '.join(splits)}.",
        )
    return best


def _rationales(question: Ints, given: Ints, key: AnswerKey) -> Ints:
    """Items of VCR rows, which name a question and a stage."""
    questions, table = key.questions(), key.rationales()
    item = question.copy()
    rows = np.flatnonzero((question >= 0) & (given >= 0))
    if not table.size:
        item[rows] = _NOT_ASKED
        return item
    place = np.minimum(np.searchsorted(questions, question[rows]), len(questions) - 1)
    known = (questions[place] == question[rows]) & (given[rows] < table.shape[1])
    item[rows] = np.where(known, table[place, np.minimum(given[rows], table.shape[1] - 1)], _NOT_ASKED)
    item[item == -1] = np.where(question[item == -1] >= 0, _NOT_ASKED, _NOWHERE)
    return item


def _check_width(predictions: Predictions, key: AnswerKey, rows: Ints, item: Ints) -> None:
    """A prediction has a score for every candidate, or none at all."""
    wrong = rows[(predictions.width[rows] > 0) & (predictions.width[rows] != key.candidates[item[rows]])]
    if len(wrong):
        row = int(wrong[0])
        name, count = predictions.names[row].as_py(), int(key.candidates[item[row]])
        raise UserError(
            f"{predictions.where(row)}: {int(predictions.width[row])} scores for {name}, which has {count} candidates.",
            f"Give one score per candidate. {len(wrong):,} predictions are wrong like this. Nothing was scored.",
        )


def _refuse_mixture(predictions: Predictions, key: AnswerKey, item: Ints, view: Ints) -> None:
    """Predictions are per item or per view: a mixture has no one meaning."""
    whole = np.flatnonzero((item >= 0) & (view < 0) & (key.views[item] > 0))
    if len(whole):
        row = int(whole[0])
        raise UserError(
            f"{predictions.where(row)}: {predictions.names[row].as_py()} is a whole item, others are single views.",
            "Predict every item once, or each of its views; not both in one file. Nothing was scored.",
        )
