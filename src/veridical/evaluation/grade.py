"""Predictions against the answer key: which examples are right, and which were missing, extra, twice or unreadable.

An example is an item, or one view of it where predictions are per view (NLVR's images: six examples per item). Rows
are joined to items by name. Missing and unreadable examples are not right, and are counted apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools, Ints
from veridical.errors import UserError
from veridical.evaluation.key import AnswerKey, split_words
from veridical.evaluation.readers import Format, Predictions
from veridical.records import view_id

NAMED = 20  # how many missing, extra ... predictions are named

_NOWHERE, _NOT_ASKED = -1, -2  # row of a file: no such item; a stage that the benchmark does not have
_MISSING, _UNREADABLE = -2, -1  # choice of an example
_VIEW = re.compile(r"(?P<item>.+)#(?P<view>[0-9]{1,9})")
_IMAGE = re.compile(r"(?P<item>.+)-(?P<view>[0-9]{1,9})(\.[A-Za-z]+)?")


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

    @cached_property
    def item(self) -> Ints:
        """Per example: its item."""
        return np.repeat(np.arange(len(self.examples)), self.examples)

    @cached_property
    def right(self) -> Bools:
        """Per example: whether the right candidate was chosen."""
        return np.equal(self.chosen, self.key.answer[self.item])

    @property
    def missing(self) -> Bools:
        return np.equal(self.chosen, _MISSING)

    @property
    def unreadable(self) -> Bools:
        return np.equal(self.chosen, _UNREADABLE)

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
        raise UserError(
            f"{predictions.path}: none of its {len(item):,} predictions is about an item of split {key.split!r}; the "
            f"first is about {predictions.names[0].as_py()!r}, and an item is called {key.ids[0].as_py()!r}.",
            "Give predictions for this benchmark and split; names of images start with the split. Nothing was scored.",
        )
    _check_width(predictions, key, found, item)
    per_view = bool((view >= 0).any())
    if per_view:
        _refuse_mixture(predictions, key, item, view)
    many = key.views if per_view else np.zeros_like(key.views)
    examples = np.where(key.scored, np.maximum(many, 1), 0)
    start = np.cumsum(examples) - examples
    rows = found[key.scored[item[found]]]
    place = start[item[rows]] + np.maximum(view[rows], 0)
    chosen = np.full(int(examples.sum()), _MISSING, np.int64)
    chosen[place] = predictions.chosen[rows]
    # Rows of one example that disagree leave no choice to score.
    chosen[place[chosen[place] != predictions.chosen[rows]]] = _UNREADABLE
    return Grades(
        key=key,
        per_view=per_view,
        examples=examples,
        chosen=chosen,
        duplicated=np.bincount(place, minlength=len(chosen)) > 1,
        tied=len(np.unique(place[predictions.tied[rows]])),
        extra=tuple(pc.unique(predictions.names.take(np.flatnonzero(item == _NOWHERE))).to_pylist()),
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

    >>> _meanings("dev-1304-0-3.png", "truth csv", ("dev",))
    [('1304-0-3.png', -1), ('dev-1304-0', 3), ('1304-0', 3)]
    >>> _meanings("1304-0", "truth csv", ("dev",))
    [('dev-1304-0', -1)]
    """
    out = []
    if match := _VIEW.fullmatch(name):
        out.append((match["item"], int(match["view"])))
    for word in [f"{split}-" for split in words if format == "truth csv"]:
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
    splits = benchmark.splits(scheme)
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
