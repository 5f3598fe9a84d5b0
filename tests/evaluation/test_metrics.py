"""Laws of the measures, on made-up benchmarks whose numbers are counted again in plain Python."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.benchmark import BenchmarkWriter
from veridical.common.intervals import Estimate, unanimous
from veridical.evaluation import evaluate
from veridical.records import TRUTH, Item, Text, pairs

ROWS = st.lists(
    st.tuples(
        st.integers(0, 1),  # answer
        st.sampled_from("uvwxyz"),  # group
        st.lists(st.sampled_from(["red", "blue"]), max_size=3),  # tags
        st.sampled_from([0, 1, None]),  # prediction
    ),
    min_size=1,
    max_size=30,
).filter(lambda rows: any(row[3] is not None for row in rows))  # nothing is scored where nothing can be read


def run(rows: list, order: list[int] | None = None, perfect: bool = False):
    """Evaluate items given as (answer, group, tags, prediction), with the predictions in some order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.jsonl"
        with BenchmarkWriter(Path(folder) / "b", name="b", task="statement") as writer:
            writer.add_items(
                "dev",
                [
                    Item(
                        str(n),
                        "statement",
                        ("p",),
                        Text("s"),
                        TRUTH,
                        answer=answer,
                        group=group,
                        tags=pairs(colour=tags),
                    )
                    for n, (answer, group, tags, _) in enumerate(rows)
                ],
            )
        lines = []
        for n in order or range(len(rows)):
            choice = rows[n][0] if perfect else rows[n][3]
            if choice is not None:
                lines.append({"item": str(n), "scores": [float(choice == 0), float(choice == 1)]})
        path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
        return evaluate(Path(folder) / "b", path, resamples=50)


@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_the_numbers_are_those_counted_by_hand(rows: list) -> None:
    scores = run(rows)
    right = [answer == choice for answer, _, _, choice in rows]
    groups: dict[str, list[bool]] = defaultdict(list)
    for (_, group, _, _), good in zip(rows, right, strict=True):
        groups[group].append(good)
    assert scores.accuracy.value == sum(right) / len(right)
    assert scores.consistency.value == sum(map(all, groups.values())) / len(groups)
    assert scores.groups == len(groups)
    assert scores.missing.count + scores.unreadable.count == sum(choice is None for *_, choice in rows)
    for colour in ("red", "blue"):
        having = [(good, row[1]) for row, good in zip(rows, right, strict=True) if colour in row[2]]
        if not having:
            assert colour not in scores.by.get("colour", {})
            continue
        row = scores.by["colour"][colour]
        parts: dict[str, list[bool]] = defaultdict(list)
        for good, group in having:
            parts[group].append(good)
        assert (row.items, row.groups) == (len(having), len(parts))
        assert row.accuracy.value == sum(good for good, _ in having) / len(having)
        assert row.consistency.value == sum(map(all, parts.values())) / len(parts)
        assert 0 <= row.accuracy.low <= row.accuracy.high <= 1


@settings(max_examples=25, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_predictions_does_not_matter(rows: list, random) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)
    one, two = run(rows).to_json(), run(rows, order).to_json()
    for scores in (one, two):
        scores.pop("predictions")
        scores["names"].pop("extra")
    assert one == two


@settings(max_examples=25, deadline=None)
@given(ROWS)
def test_perfect_predictions(rows: list) -> None:
    scores = run(rows, perfect=True)
    sure = Estimate(1, *unanimous(True, scores.groups))  # as far as so few can be
    assert (scores.accuracy, scores.consistency) == (sure, sure)
    assert all(row.accuracy.value == row.consistency.value == 1 for tag in scores.by.values() for row in tag.values())


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=12))
def test_groups_of_one_size_are_never_more_consistent_than_accurate(groups: list[list[bool]]) -> None:
    rows = [(1, str(n), [], int(good)) for n, group in enumerate(groups) for good in group]
    scores = run(rows)
    assert scores.consistency.value <= scores.accuracy.value
    # ... and at least as consistent as the union bound says
    assert scores.consistency.value >= 1 - 3 * (1 - scores.accuracy.value) - 1e-12


def test_intervals_contain_the_value_and_widen_with_groups(write_benchmark, write_lines, statement) -> None:
    """Items of a group that stand and fall together say less than the same number of independent items."""
    rows = [(f"{n}", [0.0, 1.0] if n // 10 % 3 else [1.0, 0.0]) for n in range(600)]
    path = write_lines(rows)
    alone = evaluate(write_benchmark({"dev": [statement(n, 1) for n, _ in rows]}), path)
    grouped = evaluate(write_benchmark({"dev": [statement(n, 1, group=str(int(n) // 10)) for n, _ in rows]}), path)
    for scores in (alone, grouped):
        assert scores.accuracy.low < scores.accuracy.value < scores.accuracy.high
    assert alone.accuracy.value == grouped.accuracy.value
    narrow, wide = (s.accuracy.high - s.accuracy.low for s in (alone, grouped))
    assert wide / narrow == pytest.approx(10**0.5, rel=0.15)
