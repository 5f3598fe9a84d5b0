"""Summaries: accuracy by wording and order, position bias, flips, totals; and merging variants into predictions."""

from __future__ import annotations

import pytest

from veridical.records import TRUTH, Item, Text
from veridical.solvers.vlm.answers import Asked, Usage, merge, summarise

FOUR = tuple(Text(x) for x in "wxyz")
ITEMS = {
    "a": Item("a", "choice", (), None, FOUR, answer=0),
    "b": Item("b", "choice", (), None, FOUR, answer=2),
    "h": Item("h", "choice", (), None, FOUR),  # its answer is hidden
}


def said(item: str, candidate: int | None, wording: int = 0, order: int = 0, cost: float | None = None) -> Asked:
    scores = [] if candidate is None else [float(k == candidate) for k in range(4)]
    reason = "" if scores else "no answer"
    return Asked(item, wording, order, f"{candidate}", scores, reason=reason, usage=Usage(10, 1, 0, cost))


def test_accuracy_counts_unreadable_as_wrong_and_leaves_hidden_out() -> None:
    s = summarise([said("a", 0), said("b", None), said("h", 3)], ITEMS, letters=True)
    assert (s.accuracy.count, s.accuracy.of) == (1, 2)
    assert (s.asked, s.unreadable, s.reasons) == (3, 1, {"no answer": 1})
    assert s.flipped is None
    assert s.reworded is None


def test_places_follow_the_order_in_which_candidates_were_shown() -> None:
    # Order 1 shows candidates 2, 3, 0, 1: candidate 0 stands at C, candidate 2 at A.
    s = summarise([said("a", 2, order=1), said("b", 2, order=1)], ITEMS, letters=True)
    by_place = {p.place: p for p in s.positions}
    assert by_place["A"].chosen.value == 1.0
    assert by_place["C"].right.value == 0.5
    assert by_place["C"].accuracy.value == 0.0
    assert by_place["A"].accuracy.value == 1.0


def test_flips_are_counted_over_orders_and_wordings_apart() -> None:
    asked = [said("a", 0), said("a", 1, order=1), said("a", 0, wording=1), said("a", 1, wording=1, order=1)]
    s = summarise([*asked, said("b", 2), said("b", 2, order=1)], ITEMS, letters=True)
    assert s.flipped is not None
    assert s.reworded is not None
    assert (s.flipped.count, s.flipped.of) == (2, 3)
    assert (s.reworded.count, s.reworded.of) == (0, 2)
    spread = s.to_json()["orders"]
    assert spread["0"]["value"] == 1.0
    assert spread["1"]["value"] == pytest.approx(1 / 3)
    assert spread["mean"] == pytest.approx(2 / 3)


def test_costs_are_only_of_what_has_a_price() -> None:
    s = summarise([said("a", 0, cost=0.25), said("b", 0)], ITEMS, letters=True)
    assert (s.cost, s.priced) == (0.25, 1)
    assert s.tokens == {"input": 20, "output": 2, "reasoning": 0}
    assert summarise([said("a", 0)], ITEMS, letters=True).cost is None


def test_true_and_false_are_told_from_first_and_second() -> None:
    items = {"t": Item("t", "statement", (), Text("x"), TRUTH, answer=1)}
    asked = [Asked("t", 0, 0, "true", [0.0, 1.0]), Asked("t", 0, 1, "true", [0.0, 1.0])]
    s = summarise(asked, items, letters=False)
    assert s.answers["true"].value == 1.0
    assert {p.place: p.chosen.value for p in s.positions} == {"first": 0.5, "second": 0.5}


def test_views_belong_to_their_item() -> None:
    items = {"t": Item("t", "statement", (), Text("x"), TRUTH, answer=1)}
    assert summarise([Asked("t#3", 0, 0, "true", [0.0, 1.0])], items, letters=False).accuracy.value == 1.0


def test_merging_averages_what_is_readable() -> None:
    asked = [said("a", 1, order=1), said("a", 0), said("a", None, wording=1), said("b", None)]
    first, second = merge(asked, ["a", "b", "missing"])
    assert first.scores == (0.5, 0.5, 0.0, 0.0)
    assert first.raw == "0\n---\n1\n---\nNone"
    assert (second.item, second.scores, second.raw) == ("b", (), "None")
