"""Judgements of a benchmark as arrays: every number about people is a few NumPy lines over them; and pruning by them.

Items that were pruned are kept here beside the others (`kept` is False), so that agreement can be measured before and
after pruning; they have no answer on disk, so theirs is the label the first validator gave.

The papers' rules prune examples on which people disagree. A rule looks at judgements only and gives each item a reason
to remove it, or "" to keep it; builders apply the same functions that measure agreement before and after.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools, Ints
from veridical.errors import UserError
from veridical.records import GENERATOR, JUDGEMENT_KINDS, PROGRAM, Judgement, JudgementKind
from veridical.statistics.agreement import Counts, count_values

NONSENSE, SKIP, UNKNOWN = -1, -2, -3
NO_PEOPLE = pa.array([PROGRAM, GENERATOR])
_WORDS = {"nonsense": NONSENSE, "skip": SKIP}
_NLVR_ID = re.compile(r"(?:.+-)?[0-9]+-([0-3])")


Rule = Literal["nlvr", "nlvr2"]
RULES: dict[Rule, str] = {
    "nlvr": "the majority says nonsense, or fewer than two votes lie between the first two candidates",
    "nlvr2": "two or more extra judgements disagree with the label",
}
NO_REASON = ""
MAJORITY_NONSENSE, SMALL_GAP = "majority nonsense", "gap under two votes"
EXTRA_DISAGREE = "two or more extra judgements disagree"
_MOST_DISAGREEING = 1  # extra judgements that may disagree with the label (NLVR2, section 3.4)
_LEAST_GAP = 2  # votes (NLVR, section 4)

Reasons = NDArray[np.str_]


@dataclass(frozen=True)
class Judged:
    """Items and what people said about them; a judgement is one position of `item`, `worker`, `verdict`, `kind`."""

    ids: tuple[str, ...]  # (N,) items
    answer: Ints  # (N,) the label, or UNKNOWN
    writer: Ints  # (N,) worker number, or UNKNOWN
    kept: Bools  # (N,) False for pruned items
    workers: tuple[str, ...]
    item: Ints  # (J,) item number
    worker: Ints  # (J,) worker number
    verdict: Ints  # (J,) candidate index, NONSENSE or SKIP
    kind: Ints  # (J,) position in JUDGEMENT_KINDS

    @classmethod
    def of(cls, ids: Iterable[str], judgements: Iterable[Judgement], answers: Mapping[str, int] | None = None) -> Self:
        """What was said of some items, their labels where they are known; whoever wrote or judged them is left out."""
        place = {name: number for number, name in enumerate(ids)}
        said = [j for j in judgements if j.item in place]
        return cls(
            ids=tuple(place),
            answer=np.array([(answers or {}).get(name, UNKNOWN) for name in place], np.int64),
            writer=np.full(len(place), UNKNOWN, np.int64),
            kept=np.ones(len(place), bool),
            workers=(),
            item=np.array([place[j.item] for j in said], np.int64),
            worker=np.zeros(len(said), np.int64),
            verdict=np.array([_WORDS[j.verdict] if isinstance(j.verdict, str) else j.verdict for j in said], np.int64),
            kind=np.array([JUDGEMENT_KINDS.index(j.kind) for j in said], np.int64),
        )

    def of_kind(self, *kinds: JudgementKind) -> Bools:
        """(J,) Which judgements are of these kinds."""
        return np.isin(self.kind, [JUDGEMENT_KINDS.index(kind) for kind in kinds])

    def where(self, wanted: Bools) -> Self:
        """The same items with only some of the judgements."""
        parts = {name: getattr(self, name)[wanted] for name in ("item", "worker", "verdict", "kind")}
        return replace(self, **parts)

    @property
    def right(self) -> Bools:
        """(J,) Which judgements give the item's label."""
        return np.equal(self.verdict, self.answer[self.item])

    @property
    def by_writer(self) -> Bools:
        """(J,) Which judgements are about a sentence that the worker wrote."""
        return np.equal(self.worker, self.writer[self.item])

    def counts(self) -> Counts:
        """(N, values) How many judgements give each candidate; nonsense, where it was ever said, is the last value.

        A skip is no judgement and is not counted.
        """
        said = self.verdict != SKIP
        values = max(int(self.verdict.max(initial=1)), int(self.answer.max(initial=1))) + 1
        nonsense = bool((self.verdict == NONSENSE).any())
        value = np.where(self.verdict == NONSENSE, values, self.verdict)
        return count_values(self.item[said], value[said], (len(self.ids), values + nonsense))

    def first(self, kind: JudgementKind) -> Ints:
        """(N,) The position of each item's first judgement of a kind, or UNKNOWN."""
        positions = np.flatnonzero(self.of_kind(kind))
        out = np.full(len(self.ids), UNKNOWN, np.int64)
        out[self.item[positions[::-1]]] = positions[::-1]  # the earliest is written last
        return out

    def said(self, positions: Ints, values: Ints) -> Ints:
        """(N,) `values` (of judgements) at `positions`, UNKNOWN where there is no judgement."""
        if not len(values):
            return np.full(len(positions), UNKNOWN, np.int64)
        return np.where(positions == UNKNOWN, UNKNOWN, values[np.maximum(positions, 0)])


def load_judged(
    benchmark: Benchmark, splits: tuple[str, ...], scheme: str = "main", *, pruned: bool = False, hidden: bool = False
) -> Judged:
    """What people said of items of some splits; with `pruned`, of the benchmark's pruned items too.

    What a program said is no judgement of a person, and what one wrote has no writer.
    """
    columns = ["id", "answer", "writer"]
    parts = [benchmark.items_table(split, scheme, columns, answers=hidden) for split in splits]
    items = pa.concat_tables(parts).combine_chunks()
    ids, kept = items["id"].to_pylist(), items.num_rows
    if pruned:
        known = set(ids)
        ids += [i for i in dict.fromkeys(benchmark.pruned_table()["item"].to_pylist()) if i not in known]
    table = benchmark.judgements_table(hidden)
    table = table.filter(pc.invert(pc.is_in(table["worker"], NO_PEOPLE)))
    items = items.set_column(2, "writer", written_by_people(items["writer"]))
    where = pc.index_in(table["item"], value_set=pa.array(ids, pa.string()))
    table, item = table.filter(where.is_valid()), where.drop_null()
    workers = pc.unique(pa.chunked_array([*table["worker"].chunks, *items["writer"].chunks], pa.string())).drop_null()
    numbers = [
        pc.fill_null(pc.index_in(column, value_set=workers), UNKNOWN).to_numpy().astype(np.int64)
        for column in (table["worker"], items["writer"])
    ]
    more = np.full(len(ids) - kept, UNKNOWN, np.int64)
    judged = Judged(
        ids=tuple(ids),
        answer=np.concatenate([pc.fill_null(items["answer"], UNKNOWN).to_numpy().astype(np.int64), more]),
        writer=np.concatenate([numbers[1], more]),
        kept=np.arange(len(ids)) < kept,
        workers=tuple(workers.to_pylist()),
        item=item.to_numpy().astype(np.int64),
        worker=numbers[0],
        verdict=_numbers(table["verdict"], _WORDS),
        kind=_numbers(table["kind"], {kind: number for number, kind in enumerate(JUDGEMENT_KINDS)}),
    )
    return _labelled(judged) if pruned else judged


def written_by_people(writers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Writers, null where a program wrote."""
    return pc.if_else(pc.is_in(writers, NO_PEOPLE), pa.scalar(None, pa.string()), writers)


def _labelled(judged: Judged) -> Judged:
    """Pruned items get the first validator's label, and the worker who selected as their writer."""
    label = judged.said(judged.first("validation"), judged.verdict)
    writer = judged.said(judged.first("selection"), judged.worker)
    return replace(
        judged,
        answer=np.where(judged.kept, judged.answer, label),
        writer=np.where(judged.writer == UNKNOWN, writer, judged.writer),
    )


def selects_by_id(benchmark: Benchmark) -> bool:
    """Whether what the writer selected is inferred from the released identifiers, as NLVR's release does not say it."""
    return bool(benchmark.manifest["official"]) and benchmark.manifest["config"].get("format") == "nlvr"


def selections(judged: Judged, benchmark: Benchmark) -> Ints:
    """(N,) The label each item was written for, or UNKNOWN.

    A `selection` judgement says it; for the official NLVR release it is inferred from the identifier, taking it that a
    sentence was written to be true of images 0 and 1 of its presentation, and false of 2 and 3.
    """
    said = judged.said(judged.first("selection"), judged.verdict)
    if selects_by_id(benchmark):
        position = [_NLVR_ID.fullmatch(i) for i in judged.ids]
        inferred = np.array([UNKNOWN if m is None else int(int(m[1]) < 2) for m in position], np.int64)
        said = np.where(said == UNKNOWN, inferred, said)
    return said


def _numbers(column: pa.ChunkedArray, words: dict[str, int]) -> Ints:
    """A text column as numbers: words by the table given, digits as they are."""
    found = pc.unique(column)
    values = []
    for word in found.to_pylist():
        if word not in words and not (word.isascii() and word.isdigit()):
            raise UserError(
                f"judgements.parquet has {word!r}, which is no candidate's number and none of: {', '.join(words)}.",
                "Run `veridical check`, then import or build the benchmark again.",
            )
        values.append(words[word] if word in words else int(word))
    return np.asarray(np.array(values, np.int64)[pc.index_in(column, value_set=found).to_numpy()])


def prune_nlvr(judged: Judged) -> Reasons:
    """NLVR, section 4: prune majority nonsense, and where several people judged, a gap of fewer than two votes.

    The gap is between the candidates: nonsense is no class of the label (three times true and twice nonsense stays, as
    it does in the official release).
    """
    votes = judged.where(judged.of_kind("validation"))
    nonsense = np.bincount(votes.item[votes.verdict == NONSENSE], minlength=len(judged.ids))
    chosen = votes.where(votes.verdict >= 0)
    candidates = np.sort(chosen.counts(), axis=1)  # (N, candidates), most votes last
    several = np.bincount(votes.item[votes.verdict != SKIP], minlength=len(judged.ids)) > 1
    small = several & (candidates[:, -1] - candidates[:, -2] < _LEAST_GAP)
    return np.select([nonsense > candidates[:, -1], small], [MAJORITY_NONSENSE, SMALL_GAP], NO_REASON)


def prune_nlvr2(judged: Judged) -> Reasons:
    """NLVR2, section 3.4: prune where two or more extra judgements disagree with the label."""
    known = (judged.verdict != SKIP) & (judged.answer[judged.item] != UNKNOWN)
    disagree = judged.of_kind("extra") & known & ~judged.right
    number = np.bincount(judged.item[disagree], minlength=len(judged.ids))
    return np.where(number > _MOST_DISAGREEING, EXTRA_DISAGREE, NO_REASON)


def rule_for(judged: Judged) -> Rule | None:
    """The rule that fits the judgements: NLVR2's where there are extra ones, NLVR's where several people validated."""
    if judged.of_kind("extra").any():
        return "nlvr2"
    validated = judged.item[judged.of_kind("validation")]
    return "nlvr" if len(validated) and np.bincount(validated).max() > 1 else None


def prune(judged: Judged, rule: Rule) -> Reasons:
    """(N,) The reason to prune each item, or ""."""
    return prune_nlvr2(judged) if rule == "nlvr2" else prune_nlvr(judged)


def rated(judged: Judged) -> Bools:
    """(J,) The judgements that agreement is measured on: validations and extra ones, or a human test's where none."""
    kinds: tuple[JudgementKind, ...] = ("validation", "extra")
    return judged.of_kind(*kinds) if judged.of_kind(*kinds).any() else judged.of_kind("human")
