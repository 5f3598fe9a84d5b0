"""How well people do, as each paper measures it.

NLVR2 (section 5) averages over workers, VCR (section 5) lets five workers vote on each question and five others on its
rationale, V-PROM (section 3.3) lets people skip. Which rule applies follows from the judgements that are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.common.arrays import Array, Bools
from veridical.statistics.judgements import SKIP, UNKNOWN, Judged, load_judged

LEAST_JUDGEMENTS = 100  # a worker needs as many to count (NLVR2, section 5)

EXTRA_ALL = "all extra judgements"
EXTRA_OTHERS = "extra judgements without those by the item's first validator"
BEFORE_PRUNING = "before pruning, without those by the item's first validator"
VALIDATIONS = "validations against the label they made together"
TESTED = "a human test, worker by worker"
VOTED = "majority vote of a human test; other workers for rationales"
SKIPPING = "a human test with skips, pooled over workers"


@dataclass(frozen=True)
class WorkerScores:
    """Mean and standard deviation of the accuracy over workers: the population's, which gives NLVR2's published 2.1."""

    mean: float | None
    std: float | None
    workers: int
    judgements: int


@dataclass(frozen=True)
class SkippingScores:
    """How people did who could skip, pooled over them."""

    accuracy: float | None  # of what they answered
    skip_rate: float | None
    skips_wrong: float | None  # accuracy with skips counted as wrong
    judgements: int


@dataclass(frozen=True)
class HumanPerformance:
    """The accuracy of people on a split, as a fraction."""

    mean: float | None  # over workers; over items for a vote; over judgements where people could skip
    std: float | None  # over workers; None for a vote
    workers: int
    judgements: int
    rule: str  # what `mean` is, in words
    least: int  # judgements a worker needs to count
    variants: dict[str, WorkerScores] = field(default_factory=dict)  # other readings of the same rule
    staged: dict[str, float | None] = field(default_factory=dict)  # "answer", "rationale", "both" (VCR's three columns)
    skip_rate: float | None = None
    skips_wrong: float | None = None  # accuracy with skips counted as wrong
    ties: int = 0  # votes without a winner, scored by the chance of the right one among the first
    voters: float | None = None  # mean number of votes per item
    left_out: int = 0  # rationale votes by workers who had answered the question
    by: dict[str, dict[str, SkippingScores]] = field(default_factory=dict)  # per tag value, where people could skip


def human_performance(
    benchmark: Benchmark, split: str | None = None, *, scheme: str = "main", hidden: bool = False
) -> HumanPerformance | None:
    """Human performance on a split (or on all), or None where there are no judgements or no labels to compare with.

    Over all splits, NLVR2's rule is also applied with the pruned items, as its section 5 reports both.
    """
    splits = (split,) if split is not None else benchmark.splits_of(scheme)
    judged = load_judged(benchmark, splits, scheme, hidden=hidden)
    judged = judged.where(judged.answer[judged.item] != UNKNOWN)
    if judged.of_kind("human").any():
        test = judged.where(judged.of_kind("human"))
        if benchmark.task == "choice":
            tables = [benchmark.items_table(name, scheme, ["id", "parent", "given"]) for name in splits]
            return _voted(test, pa.concat_tables(tables).combine_chunks())
        if benchmark.task == "matrix" or (test.verdict == SKIP).any():
            return _skipping(test, _tags(benchmark, splits, scheme, hidden))
        return _of_workers(test, TESTED, least=1)
    if judged.of_kind("extra").any():
        found = _extra(judged)
        if split is None and benchmark.pruned_table().num_rows:
            everything = load_judged(benchmark, splits, scheme, pruned=True, hidden=hidden)
            everything = everything.where(everything.answer[everything.item] >= 0)
            found.variants[BEFORE_PRUNING] = _extra(everything).variants[EXTRA_OTHERS]
        return found
    several = np.bincount(judged.item[judged.of_kind("validation")], minlength=len(judged.ids)) > 1
    validations = judged.where(judged.of_kind("validation") & several[judged.item])
    return _of_workers(validations, VALIDATIONS, LEAST_JUDGEMENTS) if len(validations.item) else None


def worker_scores(judged: Judged, wanted: Bools | None = None, least: int = LEAST_JUDGEMENTS) -> WorkerScores:
    """Accuracy per worker over judgements that are not about their own sentences, for workers with `least` of them."""
    use = ~judged.by_writer & (judged.verdict != SKIP)
    use = use if wanted is None else use & wanted
    number = np.bincount(judged.worker[use], minlength=len(judged.workers))
    right = np.bincount(judged.worker[use & judged.right], minlength=len(judged.workers))
    counted = number >= max(least, 1)
    if not counted.any():
        return WorkerScores(None, None, 0, 0)
    accuracy = right[counted] / number[counted]
    return WorkerScores(float(accuracy.mean()), float(accuracy.std()), len(accuracy), int(number[counted].sum()))


def _of_workers(judged: Judged, rule: str, least: int) -> HumanPerformance:
    scores = worker_scores(judged, least=least)
    return HumanPerformance(scores.mean, scores.std, scores.workers, scores.judgements, rule, least, {rule: scores})


def _extra(judged: Judged) -> HumanPerformance:
    """NLVR2, section 5. The label is the first validator's, so that an extra judgement by the same worker compares
    them with themselves: without those the development split gives the published 96.2, with them 96.3."""
    extra = judged.of_kind("extra")
    validator = judged.said(judged.first("validation"), judged.worker)
    variants = {
        EXTRA_OTHERS: worker_scores(judged, extra & (judged.worker != validator[judged.item])),
        EXTRA_ALL: worker_scores(judged, extra),
    }
    main = variants[EXTRA_OTHERS]
    of_main = (main.mean, main.std, main.workers, main.judgements)
    return HumanPerformance(*of_main, EXTRA_OTHERS, LEAST_JUDGEMENTS, variants)


def _voted(judged: Judged, items: pa.Table) -> HumanPerformance:
    """Majority votes on answers, on rationales given the right answer, and on both together."""
    place = pc.index_in(items["parent"], value_set=items["id"].combine_chunks(), skip_nulls=True)
    # (N,) the item number of a rationale item's answer item, and the answer it assumes; or UNKNOWN
    parent, given = (pc.fill_null(c, UNKNOWN).to_numpy().astype(np.int64) for c in (place, items["given"]))
    own = parent[judged.item]
    answered = judged.item * len(judged.workers) + judged.worker
    repeated = (own != UNKNOWN) & np.isin(own * len(judged.workers) + judged.worker, answered)
    judged = judged.where(~repeated & (judged.verdict != SKIP))
    counts = judged.counts()  # (N, values)
    most = counts.max(axis=1)
    first = counts == most[:, None]  # (N, values) the leading verdicts of each item
    voted = most > 0
    label = np.clip(judged.answer, 0, None)
    score = np.where(first[np.arange(len(label)), label] & voted, 1 / first.sum(axis=1), 0.0)
    is_answer = parent == UNKNOWN
    is_reason = ~is_answer & (given == judged.answer[np.maximum(parent, 0)])
    both = np.flatnonzero(is_reason & voted & voted[np.maximum(parent, 0)])
    staged = {
        "answer": _mean(score[is_answer & voted]),
        "rationale": _mean(score[is_reason & voted]),
        "both": _mean(score[both] * score[parent[both]]),
    }
    used = voted & (is_answer | is_reason)
    alone = worker_scores(judged, is_answer[judged.item], least=1)
    return HumanPerformance(
        mean=staged["answer"],
        std=None,
        workers=len(np.unique(judged.worker)),
        judgements=len(judged.item),
        rule=VOTED,
        least=1,
        variants={"answers, worker by worker": alone},
        staged=staged,
        ties=int((first.sum(axis=1)[used] > 1).sum()),
        voters=_mean(counts.sum(axis=1)[used]),
        left_out=int(repeated.sum()),
    )


def _skipping(judged: Judged, tags: dict[str, list[tuple[int, str]]]) -> HumanPerformance:
    """V-PROM: accuracy over the instances that were answered, and how many were skipped."""
    each = worker_scores(judged, least=1)
    total = _pooled(judged, np.ones(len(judged.item), bool))
    by = {}
    for tag, places in tags.items():
        values = sorted({value for _, value in places})
        members = {value: np.array([i for i, v in places if v == value]) for value in values}
        found = {value: _pooled(judged, np.isin(judged.item, items)) for value, items in members.items()}
        by[tag] = {value: numbers for value, numbers in found.items() if numbers.judgements}
    return HumanPerformance(
        mean=total.accuracy,
        std=each.std,
        workers=len(np.unique(judged.worker)),
        judgements=total.judgements,
        rule=SKIPPING,
        least=1,
        variants={"worker by worker": each},
        skip_rate=total.skip_rate,
        skips_wrong=total.skips_wrong,
        by={tag: values for tag, values in by.items() if values},
    )


def _pooled(judged: Judged, wanted: Bools) -> SkippingScores:
    shown, skipped = int(wanted.sum()), int((wanted & (judged.verdict == SKIP)).sum())
    right = int((wanted & judged.right).sum())
    return SkippingScores(
        accuracy=right / (shown - skipped) if shown > skipped else None,
        skip_rate=skipped / shown if shown else None,
        skips_wrong=right / shown if shown else None,
        judgements=shown,
    )


def _tags(benchmark: Benchmark, splits: tuple[str, ...], scheme: str, hidden: bool) -> dict[str, list[tuple[int, str]]]:
    """Where each value of V-PROM's tags stands: {"relation": [(item number, "and"), ...]}."""
    tables = [benchmark.items_table(split, scheme, ["id", "tags"], answers=hidden) for split in splits]
    out: dict[str, list[tuple[int, str]]] = {"relation": [], "element": []}
    for number, tags in enumerate(pa.concat_tables(tables)["tags"].to_pylist()):
        for tag in tags:
            if tag["name"] in out:
                out[tag["name"]].append((number, tag["value"]))
    return out


def _mean(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None
