"""`veridical stats`: what is in a benchmark, how people did on it, how much they agree, and how its language looks.

Everything is counted per split and over all splits; pruned items belong to no split, so that they count only in the
whole: agreement before pruning and validation rates are measured there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.common.arrays import Bools, Ints
from veridical.common.files import Json
from veridical.common.result import Result, Table
from veridical.records import JUDGEMENT_KINDS
from veridical.statistics import judgements
from veridical.statistics.agreement import Agreement, AgreementAfterPruning, measure
from veridical.statistics.human import HumanPerformance, human_performance
from veridical.statistics.judgements import NONSENSE, UNKNOWN, Judged, load_judged
from veridical.statistics.language import Lengths, benchmark_lengths, compare_lengths

SEED = 0  # of the bootstrap and of the random raters
INFERRED = "inferred from the released ids: images 0 and 1 of a presentation as selected, 2 and 3 as not"
NEUTRAL = "neutral"  # the scheme of V-PROM that is looked at unless another is named
SYNSETS_SHOWN = 5  # most and least common ones, as NLVR2's section 4 lists them


@dataclass(frozen=True)
class Share:
    """How often something holds."""

    rate: float | None  # None of nothing
    of: int


@dataclass(frozen=True)
class Validation:
    """How often labels and validators differ from what the writer selected."""

    items: int
    reported_nonsense: int
    selection: str | None  # how it is known what the writer selected
    relabelled: Share  # the label differs from the writer's selection
    disagreement: Share  # the first validator differs from the writer's selection
    self_validated: Share  # the first validator is the writer
    self_agreement: Share
    other_agreement: Share
    extra_agreement: dict[str, Share]  # extra judgements against the label, by who gave them


@dataclass(frozen=True)
class Synsets:
    """NLVR2's synsets, by the items that are about them."""

    number: int
    mean: float  # items of one
    std: float
    most: dict[str, int]  # the most common ones -> items
    least: dict[str, int]


@dataclass(frozen=True)
class SplitStats:
    """The numbers of one split, or of all together."""

    items: int
    groups: int
    hidden: bool  # the labels are hidden, and nothing that needs them is known
    labels: dict[str, int]  # candidate -> items whose answer it is
    single_label_groups: int | None  # groups whose items all have one label: a blind guess can get these consistent
    items_per_group: float | None
    human: HumanPerformance | None
    agreement: Agreement | None  # of all judgements, and of what the pruning rule leaves
    validation: Validation | None
    lengths: dict[str, Lengths]
    synsets: Synsets | None
    writers: int
    workers: int
    judgements: dict[str, int]  # kind -> number

    def to_json(self) -> dict[str, object]:
        out: Json = msgspec.to_builtins(self, str_keys=True)
        out["human"] = out["human"] or {"mean": None, "std": None, "workers": 0}
        out["agreement"] = out["agreement"] or {"alpha": None, "kappa": None}
        return out


@dataclass(frozen=True)
class Stats(Result):
    """The statistics of a benchmark."""

    benchmark: str
    hash: str  # of the benchmark's manifest: its exact content
    scheme: str
    total: SplitStats  # over the splits below
    splits: dict[str, SplitStats]
    pruned: dict[str, int]  # reason -> items removed while the benchmark was built
    compare: tuple[Lengths, ...] = ()
    mined: Json | None = None  # V-PROM's Table 1: visual elements, their images, what each principle removed
    seed: int = SEED
    collection: Json = field(default_factory=dict)  # how it came about: sets, images, what it cost

    def parts(self) -> Iterator[Table | str]:
        from veridical.statistics.shown import parts

        return parts(self)

    def to_json(self) -> dict[str, object]:
        """Fractions, not percent; the whole at the top, each split under `splits`."""
        return {
            "benchmark": self.benchmark,
            "hash": self.hash,
            "scheme": self.scheme,
            **self.total.to_json(),
            "pruned": self.pruned,
            "collection": self.collection,
            "splits": {name: summary.to_json() for name, summary in self.splits.items()},
            "compare": msgspec.to_builtins(self.compare, str_keys=True),
            **({"mined": self.mined} if self.mined else {}),
            "seed": self.seed,
        }


def stats(
    benchmark: Path | str,
    *,
    split: str | None = None,
    scheme: str | None = None,
    compare: Sequence[Path | str] = (),
    hidden: bool = False,
) -> Stats:
    """Count a benchmark: items, labels, human performance, agreement, sentence lengths, vocabulary.

    `compare` names files of sentences (one per line) to set beside it; `hidden` also reads the answers of hidden splits
    from `DIR.hidden`.
    """
    opened = Benchmark(benchmark)
    scheme = NEUTRAL if scheme is None and NEUTRAL in opened.schemes else opened.certain_scheme(scheme)
    others = compare_lengths([Path(file) for file in compare])
    names = opened.splits_of(scheme) if split is None else (split,)
    parts = {name: _summary(opened, (name,), scheme, hidden=hidden) for name in names}
    has_pruned = split is None and opened.pruned_table().num_rows > 0
    whole = len(parts) != 1 or has_pruned
    total = _summary(opened, names, scheme, hidden=hidden, pruned=has_pruned) if whole else parts[names[0]]
    config = opened.manifest["config"]
    made = {"collection": config.get("collection", {}), "mined": config.get("mined")}
    rows = opened.pruned_table().group_by(["stage", "reason"]).aggregate([("item", "count")]).to_pylist()
    named = {f"{r['stage']}: {r['reason']}" if r["stage"] else r["reason"]: r["item_count"] for r in rows}
    removed = dict(sorted(named.items(), key=lambda pair: (-pair[1], pair[0])))  # by reason, most first
    return Stats(opened.name, opened.hash, scheme, total, parts, removed, others, **made)


def _summary(
    benchmark: Benchmark, splits: tuple[str, ...], scheme: str, *, hidden: bool, pruned: bool = False
) -> SplitStats:
    columns = ["id", "answer", "group", "writer", "tags", "candidates"]
    if benchmark.task != "statement":
        columns.remove("candidates")
    table = pa.concat_tables([benchmark.items_table(s, scheme, columns, answers=hidden) for s in splits])
    judged = load_judged(benchmark, splits, scheme, pruned=pruned, hidden=hidden)
    keys = pc.coalesce(table["group"], table["id"])  # an item without a group is its own
    groups = np.asarray(pc.index_in(keys, value_set=pc.unique(keys)), np.int64)  # (N,) the number of each item's group
    number = int(groups.max(initial=-1)) + 1
    split = splits[0] if len(splits) == 1 and not pruned else None
    return SplitStats(
        items=table.num_rows,
        groups=number,
        hidden=not hidden and any(benchmark.is_hidden(s) for s in splits),
        labels=_labels(table),
        single_label_groups=_single_label(groups, table),
        items_per_group=table.num_rows / number if number else None,
        human=human_performance(benchmark, split, scheme=scheme, hidden=hidden),
        agreement=agreement(judged),
        validation=validation(judged, benchmark),
        lengths=benchmark_lengths(benchmark, splits, scheme, hidden=hidden),
        synsets=_synsets(table),
        writers=pc.count_distinct(judgements.written_by_people(table["writer"])).as_py(),
        workers=len(np.unique(judged.worker)),
        judgements={kind: int(judged.of_kind(kind).sum()) for kind in JUDGEMENT_KINDS if judged.of_kind(kind).any()},
    )


def agreement(judged: Judged, seed: int = SEED) -> Agreement | None:
    """Agreement on all judged items and, as `after`, on those that the fitting rule keeps; None without any."""
    raters = judged.where(judgements.rated(judged))
    before = measure(raters.counts(), np.random.default_rng(seed))
    if not before.items:
        return None
    rule = judgements.rule_for(judged)
    if rule is None:
        return before
    reasons = judgements.prune(judged, rule)
    seen = np.bincount(raters.item, minlength=len(judged.ids)) > 0
    why, number = np.unique(reasons[(reasons != "") & seen], return_counts=True)
    left = before if not len(why) else measure(raters.counts()[reasons == ""], np.random.default_rng(seed))
    removed = {str(reason): int(n) for reason, n in zip(why, number, strict=True)}
    after = AgreementAfterPruning(**msgspec.structs.asdict(left), rule=judgements.RULES[rule], removed=removed)
    return msgspec.structs.replace(before, after=after)


def validation(judged: Judged, benchmark: Benchmark) -> Validation | None:
    """Self-validation and relabelling: how often labels and validators differ from what the writer selected.

    NLVR re-labels (section 4: 8.2%), NLVR2 removes what the validator sees otherwise (section 4: 8.5%) and reports how
    often validators were the writers, and agreed with themselves (11.5%, 96.7%; others 90.8%).
    """
    first = judged.first("validation")
    validated = first != UNKNOWN
    if not validated.any():
        return None
    said, validator = judged.said(first, judged.verdict), judged.said(first, judged.worker)
    selected = judgements.selections(judged, benchmark)
    how = INFERRED if judgements.selects_by_id(benchmark) else "recorded"
    reported = validated & (said == NONSENSE)
    known = validated & ~reported & (selected != UNKNOWN)
    written = validated & (judged.writer != UNKNOWN)
    own = written & (validator == judged.writer)
    labelled = (judged.answer >= 0) & (selected != UNKNOWN)
    extra = judged.where(judged.of_kind("extra"))
    again = extra.worker == validator[extra.item]
    return Validation(
        items=int(validated.sum()),
        reported_nonsense=int(reported.sum()),
        selection=how if (selected != UNKNOWN).any() else None,
        relabelled=_rate(judged.answer != selected, labelled),
        disagreement=_rate(said != selected, known),
        self_validated=_rate(own, written),
        self_agreement=_rate(said == selected, known & own),
        other_agreement=_rate(said == selected, known & written & ~own),
        extra_agreement={
            "writer": _rate(extra.right, extra.by_writer),
            "first_validator": _rate(extra.right, again),
            "others": _rate(extra.right, ~again & ~extra.by_writer),
        },
    )


def _rate(hit: Bools, of: Bools) -> Share:
    number = int(of.sum())
    return Share(float(hit[of].mean()) if number else None, number)


def _labels(table: pa.Table) -> dict[str, int]:
    answers = table["answer"].drop_null().to_numpy()
    names: list[str] = []
    if "candidates" in table.column_names and table.num_rows:
        names = [candidate["raw"] for candidate in table["candidates"][0].as_py()]
    counts = np.bincount(answers, minlength=len(names)) if len(answers) else np.empty(0, int)
    return {names[i] if i < len(names) else str(i): int(n) for i, n in enumerate(counts)}


def _single_label(groups: Ints, table: pa.Table) -> int | None:
    """Groups of known labels with one label only; None where no label is known."""
    if table["answer"].null_count == table.num_rows:
        return None
    answers = pc.fill_null(table["answer"], UNKNOWN).to_numpy().astype(np.int64)
    size = int(groups.max()) + 1
    low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, UNKNOWN)
    np.minimum.at(low, groups, answers)
    np.maximum.at(high, groups, answers)
    return int(((low == high) & (low >= 0)).sum())


def _synsets(table: pa.Table) -> Synsets | None:
    tags = pc.list_flatten(table["tags"])
    values = pc.struct_field(tags, "value").filter(pc.equal(pc.struct_field(tags, "name"), "synset"))
    if not len(values):
        return None
    numbers = [(v["values"], v["counts"]) for v in pc.value_counts(values).to_pylist()]
    found = sorted(numbers, key=lambda pair: (-pair[1], pair[0]))
    counts = np.array([number for _, number in found])
    most, least = dict(found[:SYNSETS_SHOWN]), dict(found[: -SYNSETS_SHOWN - 1 : -1])
    return Synsets(len(found), float(counts.mean()), float(counts.std()), most, least)
