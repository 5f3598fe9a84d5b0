"""The papers' pruning rules, on votes where they decide and on the official releases they made."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.benchmark import Benchmark
from veridical.records import Judgement
from veridical.statistics.judgements import EXTRA_DISAGREE, MAJORITY_NONSENSE, SMALL_GAP, load_judged, prune, rule_for


def votes(item: str, verdicts: str, kind: str = "validation") -> list[Judgement]:
    said = {"t": 1, "f": 0, "n": "nonsense", "s": "skip"}
    return [Judgement(item, f"{kind}{n}", said[v], kind) for n, v in enumerate(verdicts)]


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [
        ("ttttt", ""),
        ("ttttf", ""),
        ("tttff", SMALL_GAP),
        ("tttnf", ""),
        ("tttnn", ""),  # nonsense is no class of the label
        ("ttnnn", MAJORITY_NONSENSE),
        ("ttffn", SMALL_GAP),
        ("nnttf", SMALL_GAP),
        ("t", ""),  # training items have one judgement: no gap to ask for
        ("n", MAJORITY_NONSENSE),
        ("ts", ""),  # a skip is no second judgement
    ],
)
def test_nlvr_rule(make, statement, verdicts, reason):
    judged = load_judged(make([statement("a"), statement("b")], votes("a", verdicts) + votes("b", "ttttt")), ("dev",))
    assert prune(judged, "nlvr").tolist() == [reason, ""]


@pytest.mark.parametrize(
    ("label", "extra", "reason"),
    [
        (1, "tttt", ""),
        (1, "tttf", ""),
        (1, "ttff", EXTRA_DISAGREE),
        (0, "ttff", EXTRA_DISAGREE),
        (0, "fffn", ""),
        (1, "ttnf", EXTRA_DISAGREE),
        (None, "ffff", ""),
    ],
)
def test_nlvr2_rule(make, statement, label, extra, reason):
    judged = load_judged(make([statement("a", label)], votes("a", extra, "extra")), ("dev",))
    assert prune(judged, "nlvr2").tolist() == [reason]


def test_rule_for(make, statement):
    items = [statement("a")]
    assert rule_for(load_judged(make(items, votes("a", "t")), ("dev",))) is None
    assert rule_for(load_judged(make(items, votes("a", "tt")), ("dev",))) == "nlvr"
    assert rule_for(load_judged(make(items, votes("a", "t") + votes("a", "t", "extra")), ("dev",))) == "nlvr2"


def test_official_nlvr_is_what_its_rule_keeps(nlvr):
    """All 989 development items passed, the five with three votes against two nonsense ones among them."""
    judged = load_judged(Benchmark(nlvr), ("dev",))
    assert (prune(judged, "nlvr") == "").all()
    assert sorted(np.unique(judged.counts().max(axis=1)).tolist()) == [3, 4, 5]


def test_official_nlvr2_has_one_item_that_its_rule_removes(nlvr2):
    judged = load_judged(Benchmark(nlvr2), ("dev",))
    assert (prune(judged, "nlvr2") == EXTRA_DISAGREE).sum() == 1
