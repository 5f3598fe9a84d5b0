"""Human performance by each paper's rule."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.benchmark import Benchmark
from veridical.records import Item, Judgement, Pruned, Text, pairs
from veridical.statistics import human_performance
from veridical.statistics.human import (
    BEFORE_PRUNING,
    EXTRA_ALL,
    EXTRA_OTHERS,
    SKIPPING,
    TESTED,
    VALIDATIONS,
    VOTED,
    SkippingScores,
)


def extra(item: str, worker: str, verdict: int | str) -> Judgement:
    return Judgement(item, worker, verdict, "extra")


def test_nlvr2_development_split_as_published(nlvr2):
    """96.2 +- 2.1 in the paper: without first validators, and with the population's standard deviation."""
    found = human_performance(Benchmark(nlvr2), "dev")
    assert found.rule == EXTRA_OTHERS
    assert (f"{100 * found.mean:.1f}", f"{100 * found.std:.1f}") == ("96.2", "2.1")
    assert (round(100 * found.mean, 2), round(100 * found.std, 2), found.workers) == (96.25, 2.12, 51)
    everything = found.variants[EXTRA_ALL]
    assert (round(100 * everything.mean, 2), round(100 * everything.std, 2), everything.workers) == (96.28, 2.13, 51)
    assert everything.std * np.sqrt(51 / 50) > 0.0215  # the sample's would round to 2.2


def test_nlvr_development_split(nlvr):
    found = human_performance(Benchmark(nlvr), "dev")
    assert found.rule == VALIDATIONS
    assert (round(100 * found.mean, 2), found.workers) == (94.57, 10)
    assert human_performance(Benchmark(nlvr), "train") is None  # one judgement, which is the label


def test_nlvr2_rule_on_known_numbers(make, statement):
    """Two workers count (100 judgements each), a third has 99; own sentences and first validators stay out."""
    items = [statement(f"{n}", 1, writer="writer") for n in range(100)]
    judgements = [Judgement(i.id, "first", 1, "validation") for i in items]
    judgements += [extra(i.id, "good", 1) for i in items]
    judgements += [extra(i.id, "poor", int(n >= 20)) for n, i in enumerate(items)]
    judgements += [extra(i.id, "few", 0) for i in items[:99]]
    judgements += [extra(i.id, "writer", 0) for i in items]
    judgements += [extra(i.id, "first", 0) for i in items]
    found = human_performance(make(items, judgements), "dev")
    assert (found.mean, found.std, found.workers, found.judgements) == (0.9, pytest.approx(0.1), 2, 200)
    everything = found.variants[EXTRA_ALL]
    assert (everything.mean, everything.workers) == (pytest.approx(0.6), 3)


def test_before_pruning_counts_pruned_items(make, statement):
    """A pruned item has the label of its first validator, and the writer who selected it."""
    items = [statement(f"{n}", 1, writer="v") for n in range(100)]
    pruned = [f"p{n}" for n in range(25)]
    judgements = [extra(i.id, "w", 1) for i in items]
    judgements += [Judgement(p, "v", 1, "validation") for p in pruned] + [extra(p, "w", 0) for p in pruned]
    judgements += [Judgement("p0", "w", 1, "selection")]
    benchmark = make(items, judgements, pruned=[Pruned(p, "disagree") for p in pruned])
    found = human_performance(benchmark)
    assert (found.mean, found.judgements) == (1, 100)
    assert found.variants[BEFORE_PRUNING].mean == pytest.approx(100 / 124)
    assert BEFORE_PRUNING not in human_performance(benchmark, "dev").variants


def test_nonsense_is_wrong_and_no_worker_is_none(make, statement):
    items = [statement(f"{n}", 1) for n in range(100)]
    some = [extra(i.id, "w", "nonsense" if n < 5 else 1) for n, i in enumerate(items)]
    assert human_performance(make(items, some), "dev").mean == 0.95
    few = human_performance(make(items, some[:50]), "dev")
    assert (few.mean, few.std, few.workers) == (None, None, 0)


def test_without_judgements_or_labels_there_is_none(make, statement):
    assert human_performance(make([statement("a")]), "dev") is None
    assert human_performance(make([statement("a", None)], [extra("a", "w", 1)]), "dev") is None


def test_hidden_labels_need_leave(make, statement):
    items = [statement(f"{n}", 1) for n in range(100)]
    benchmark = make({"test": items}, [extra(i.id, "w", 1) for i in items], hidden=["test"])
    assert human_performance(benchmark, "test") is None
    assert human_performance(benchmark, "test", hidden=True).mean == 1


def test_a_human_test_of_statements_counts_every_worker(make, statement):
    judgements = [Judgement("a", "w", 1, "human"), Judgement("a", "v", 0, "human")]
    found = human_performance(make([statement("a")], judgements), "dev")
    assert (found.rule, found.mean, found.std, found.workers) == (TESTED, 0.5, 0.5, 2)


def question(name: str, answer: int, rationale: int) -> list[Item]:
    """An answer item and its four rationale items."""
    choices = tuple(Text(f"choice {n}") for n in range(4))
    reasons = [
        Item(f"{name}-r{n}", "choice", (), Text("why"), choices, rationale, parent=name, given=n) for n in range(4)
    ]
    return [Item(name, "choice", (), Text("what"), choices, answer), *reasons]


def cast(item: str, verdicts: str, first: int = 0) -> list[Judgement]:
    return [Judgement(item, f"w{first + n}", int(v), "human") for n, v in enumerate(verdicts)]


def test_vcr_votes(make):
    """Three questions: both right, the answer wrong, the rationale wrong; other workers choose rationales."""
    items = question("a", 2, 1) + question("b", 0, 3) + question("c", 1, 1)
    judgements = cast("a", "22201") + cast("a-r2", "11133", 5)
    judgements += cast("b", "11102") + cast("b-r0", "33331", 5)
    judgements += cast("c", "11111") + cast("c-r1", "00012", 5)
    judgements += cast("a-r0", "00000", 5)  # given a wrong answer: no part of QA->R
    found = human_performance(make(items, judgements, task="choice"), "dev")
    assert found.rule == VOTED
    assert found.staged == pytest.approx({"answer": 2 / 3, "rationale": 2 / 3, "both": 1 / 3})
    assert (found.mean, found.std) == (found.staged["answer"], None)
    assert (found.workers, found.voters, found.ties, found.left_out) == (10, 5, 0, 0)


def test_vcr_leaves_out_rationale_votes_of_those_who_answered(make):
    items = question("a", 2, 1)
    judgements = cast("a", "22222") + cast("a-r2", "000", 0) + cast("a-r2", "11", 5)
    found = human_performance(make(items, judgements, task="choice"), "dev")
    assert (found.staged["rationale"], found.left_out, found.workers) == (1, 3, 7)


def test_vcr_tie_is_scored_by_its_chance(make):
    found = human_performance(make(question("a", 2, 1), cast("a", "2233"), task="choice"), "dev")
    assert (found.staged, found.ties) == ({"answer": 0.5, "rationale": None, "both": None}, 1)


def test_vcr_right_candidate_that_nobody_chose(make):
    found = human_performance(make(question("a", 3, 1), cast("a", "001"), task="choice"), "dev")
    assert found.mean == 0


def test_vprom_counts_skips(make):
    panels = tuple(f"p{n}" for n in range(8))
    items = [
        Item(f"{n}", "matrix", (), None, panels, 7, tags=pairs(relation="and" if n < 10 else "or")) for n in range(20)
    ]
    said = [7] * 14 + [1] * 4 + ["skip"] * 2
    judgements = [Judgement(i.id, f"w{n % 2}", v, "human") for n, (i, v) in enumerate(zip(items, said, strict=True))]
    found = human_performance(make(items, judgements, task="matrix"), "dev")
    assert (found.rule, found.mean, found.skip_rate, found.skips_wrong) == (SKIPPING, 14 / 18, 0.1, 0.7)
    assert (found.workers, found.judgements) == (2, 20)
    assert found.by["relation"]["and"].accuracy == 1
    assert found.by["relation"]["or"] == SkippingScores(accuracy=0.5, skip_rate=0.2, skips_wrong=0.4, judgements=10)
