"""Scores for people: the tables of `veridical evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from veridical.common.result import Caution, Table

if TYPE_CHECKING:
    from veridical.common.intervals import Estimate
    from veridical.evaluation.metrics import Comparison, Row
    from veridical.evaluation.scores import Scores, Trials

ROWS = 12  # values of a tag that are shown
WORTH_SHOWING = 20  # a tag with many values, none of which has so many items, is only mentioned


def parts(scores: Scores) -> Iterator[Table | str]:
    """One file's scores as tables, and what their numbers mean."""
    examples = f"{scores.examples:,} views of " if scores.per_view else ""
    grouped = scores.groups < scores.examples  # otherwise consistency is accuracy again
    yield Table(
        f"{scores.benchmark}, {scores.split}: {examples}{scores.items:,} items in {scores.groups:,} groups",
        ["%", "accuracy", *(["consistency"] if grouped else [])],
        [row[: 3 if grouped else 2] for row in _main_rows(scores)],
    )
    if scores.staged:
        rows: list[tuple[str, Mapping[str, Estimate | float]]]
        rows = [(scores.predictions.name, scores.staged), *((row.name, row.staged) for row in scores.baselines)]
        lines = [[name, *(_percent(staged.get(stage)) for stage in scores.staged)] for name, staged in rows if staged]
        yield Table("", ["%", *scores.staged], lines)
    yield f"[ ] is a 95% interval: {scores.resamples:,} bootstrap resamples over groups, seed {scores.seed}."
    for row in scores.baselines:
        yield f"{row.name}: {row.rule}."
    yield from _troubles(scores)
    for tag, values in scores.by.items():
        yield from _tag(tag, values, grouped)
    if scores.comparison:
        yield from _comparison(scores.comparison)


def _main_rows(scores: Scores) -> list[list[str]]:
    rows = [[scores.predictions.name, _percent(scores.accuracy), _percent(scores.consistency)]]
    if scores.answered and scores.answered.value != scores.accuracy.value:
        rows.append(["  where answered", _percent(scores.answered), ""])
    for row in scores.baselines:
        spread = f" ± {100 * row.std:.1f}" if row.std is not None else ""
        rows.append([row.name, _percent(row.accuracy) + spread, _percent(row.consistency)])
        if row.skip_rate is not None:
            rows.append(["  skipped", f"{100 * row.skip_rate:.1f}", ""])
            rows.append(["  with skips as wrong", _percent(row.skips_wrong), ""])
    return rows


def _troubles(scores: Scores) -> Iterator[str]:
    meaning = {
        "missing": "without a prediction, counted as not right",
        "unreadable": "cannot be read, counted as not right",
        "duplicated": "predicted more than once; scored once where all agree",
        "extra": "about no item of the split, left out",
    }
    if scores.benchmark_matches is False:
        yield Caution(
            f"Warning: {scores.predictions.name} says it was made for another benchmark than this {scores.benchmark} "
            f"(hash {scores.benchmark_hash[:12]}...). It is scored by the names of items, which may have changed since."
        )
    for name, words in meaning.items():
        counted = getattr(scores, name)
        if counted.count:
            more = ", ..." if counted.count > 3 else ""
            yield f"{name}: {counted.count:,} ({words}): {', '.join(counted.names[:3])}{more}"
    if scores.tied:
        yield f"tied: {scores.tied:,} have equal highest scores; the first candidate counts."


def _tag(tag: str, rows: dict[str, Row], grouped: bool) -> Iterator[Table | str]:
    largest = sorted(rows.items(), key=lambda row: (-row[1].items, row[0]))
    most = largest[0][1].items
    if len(rows) > ROWS and most < WORTH_SHOWING:
        yield f"by {tag}: {len(rows):,} values of at most {most} items: see --json."
        return
    lines = []
    for value, row in largest[:ROWS]:
        # One group alone says nothing about its spread.
        shown = [_percent(e if row.groups > 1 else e.value) for e in (row.accuracy, row.consistency)]
        lines.append([value, f"{row.items:,}", f"{row.groups:,}", *shown])
    columns = ["", "items", "groups", "accuracy", "consistency"]
    keep = columns if grouped else ["", "items", "accuracy"]
    yield Table(f"by {tag}", keep, [[line[columns.index(name)] for name in keep] for line in lines])
    if len(largest) > ROWS:
        yield f"... and {len(largest) - ROWS:,} with fewer items: see --json."


def _comparison(found: Comparison) -> Iterator[Table | str]:
    stages = {"accuracy": found.accuracy, "consistency": found.consistency, **found.staged}
    rows = [[name, f"{100 * e.value:+.1f} [{100 * e.low:+.1f}, {100 * e.high:+.1f}]"] for name, e in stages.items()]
    yield Table(f"difference to {found.against.name}", ["", "difference"], rows)
    one, many = found.sign_test, found.sign_test_groups
    coin = "a fair coin is so one-sided with p ="
    yield f"{one.only_this:,} examples only these get right, {one.only_other:,} only the others: {coin} {one.p:.3g}."
    yield f"{many.only_this:,} groups these get more of, {many.only_other:,} the others: {coin} {many.p:.3g}."
    yield "(Exact two-sided sign tests. Examples of a group are not independent: trust intervals and groups first.)"


def trials_parts(trials: Trials) -> Iterator[Table | str]:
    """Mean and standard deviation over trials, for people."""
    first = trials.each[0]
    columns = {"accuracy": trials.accuracy, "consistency": trials.consistency, **trials.staged}
    rows = [
        [s.predictions.name, _percent(s.accuracy), _percent(s.consistency), *map(_percent, s.staged.values())]
        for s in trials.each
    ]
    rows.append(["mean ± standard deviation", *(f"{100 * c.mean:.1f} ± {100 * c.std:.1f}" for c in columns.values())])
    counted = f"{len(trials.each)} trials, {first.items:,} items in {first.groups:,} groups"
    yield Table(f"{first.benchmark}, {first.split}: {counted}", ["%", *columns], rows)
    for scores in trials.each:
        counts = (scores.missing, scores.unreadable, scores.extra, scores.duplicated)
        if any(counted.count for counted in counts) or scores.benchmark_matches is False:
            yield f"{scores.predictions.name}:"
            yield from _troubles(scores)


def _percent(value: Estimate | float | None) -> str:
    if value is None:
        return ""
    return f"{100 * value:.1f}" if isinstance(value, float) else str(value)
