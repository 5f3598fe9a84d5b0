"""Scores for people: the tables of `veridical evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from veridical.common.result import Caution, Table
from veridical.errors import MOST_NAME, shortened

if TYPE_CHECKING:
    from veridical.common.intervals import Estimate
    from veridical.evaluation.metrics import Comparison, Row
    from veridical.evaluation.scores import Compared, Scores, Trials

ROWS = 12  # values of a tag that are shown
WORTH_SHOWING = 20  # a tag with many values, none of which has so many items, is only mentioned


def parts(scores: Scores) -> Iterator[Table | str]:
    """One file's scores as tables, and what their numbers mean."""
    yield from _main(scores)
    yield interval_rule(scores.resamples, scores.seed)
    for row in scores.baselines:
        yield f"{row.name}: {row.rule}."
    yield from _troubles(scores)
    for tag, values in scores.by.items():
        yield from _tag(tag, values, _is_grouped(scores))
    if scores.comparison:
        yield from _comparison(scores.comparison)


def interval_rule(resamples: int, seed: int) -> str:
    """What the brackets mean."""
    drawn = f"{resamples:,} bootstrap resamples over groups, seed {seed}"
    return f"[ ] is a 95% interval: {drawn}; exact where all are right or none."


def _is_grouped(scores: Scores) -> bool:
    return scores.groups < scores.examples  # otherwise consistency is accuracy again


def _main(scores: Scores) -> Iterator[Table]:
    examples = f"{scores.examples:,} views of " if scores.per_view else ""
    grouped = _is_grouped(scores)
    groups = f" in {scores.groups:,} groups" if grouped else ""
    yield Table(
        f"{scores.benchmark}, {scores.split}: {examples}{scores.items:,} items{groups}",
        ["%", "accuracy", *(["consistency"] if grouped else [])],
        [row[: 3 if grouped else 2] for row in _main_rows(scores)],
    )
    if scores.staged:
        rows: list[tuple[str, Mapping[str, Estimate | float]]]
        rows = [(scores.predictions.name, scores.staged), *((row.name, row.staged) for row in scores.baselines)]
        lines = [[name, *(_percent(staged.get(stage)) for stage in scores.staged)] for name, staged in rows if staged]
        yield Table("", ["%", *scores.staged], lines)


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
        "unreadable": "cannot be read or contradict each other, counted as not right",
        "duplicated": "predicted more than once; scored once where all agree",
        "extra": "about no item of the split, left out",
    }
    if scores.benchmark_matches is False:
        yield Caution(
            f"Warning: {scores.predictions.name} says it was made for another benchmark than this {scores.benchmark} "
            f"(hash {scores.benchmark_hash[:12]}...). It is scored by the names of items, which may have changed since."
        )
    if scores.limit is not None:
        yield Caution(
            f"{scores.predictions.name} was made with --limit {scores.limit}: it is scored on the first "
            f"{scores.items:,} of the {scores.split_items:,} items of {scores.split}, and on no others."
        )
    for name, words in meaning.items():
        counted = getattr(scores, name)
        if counted.count:
            more = ", ..." if counted.count > 3 else ""
            named = ", ".join(_named(one, scores.meant.get(one)) for one in counted.names[:3])
            yield f"{name}: {counted.count:,} ({words}): {named}{more}"
    if scores.tied:
        yield f"tied: {scores.tied:,} have equal highest scores; the first candidate counts."


def _named(name: str, meant: str | None) -> str:
    """A name that a stranger gave, which may be of any length, and the one that was probably meant."""
    short = shortened(name, MOST_NAME)
    return short if meant is None else f"{short} (meant: {shortened(meant, MOST_NAME)}?)"


def _tag(tag: str, rows: dict[str, Row], grouped: bool) -> Iterator[Table | str]:
    tag = shortened(tag, MOST_NAME)
    largest = sorted(rows.items(), key=lambda row: (-row[1].items, row[0]))
    most = largest[0][1].items
    if len(rows) > ROWS and most < WORTH_SHOWING:
        yield f"by {tag}: {len(rows):,} values of at most {most} items: see --json."
        return
    lines = []
    for value, row in largest[:ROWS]:
        # One group alone says nothing about its spread.
        shown = [_percent(e if row.groups > 1 else e.value) for e in (row.accuracy, row.consistency)]
        lines.append([shortened(value, MOST_NAME), f"{row.items:,}", f"{row.groups:,}", *shown])
    columns = ["", "items", "groups", "accuracy", "consistency"]
    keep = columns if grouped else ["", "items", "accuracy"]
    yield Table(f"by {tag}", keep, [[line[columns.index(name)] for name in keep] for line in lines])
    if len(largest) > ROWS:
        yield f"... and {len(largest) - ROWS:,} with fewer items: see --json."


def _comparison(found: Comparison) -> Iterator[Table | str]:
    yield _differences(found, f"difference to {found.against.name}")
    yield from _shared(found)
    yield from _tests(found, "these get", "the others")


def _shared(found: Comparison) -> Iterator[Caution]:
    """A warning where one of two files lacks what the other has."""
    if found.common < found.examples:
        yield Caution(
            f"Warning: only {found.common:,} of {found.examples:,} examples are predicted by both. They are compared "
            "on these alone; in the accuracy of each, what is missing counts as not right."
        )


def _differences(found: Comparison, title: str) -> Table:
    stages = {"accuracy": found.accuracy, "consistency": found.consistency, **found.staged}
    rows = [[name, f"{100 * e.value:+.1f} [{100 * e.low:+.1f}, {100 * e.high:+.1f}]"] for name, e in stages.items()]
    return Table(title, ["", "difference"], rows)


def _tests(found: Comparison, this: str, other: str) -> Iterator[str]:
    one, many = found.sign_test, found.sign_test_groups
    coin = "a fair coin is so one-sided with p ="
    yield f"{one.only_this:,} examples only {this} right, {one.only_other:,} only {other}: {coin} {one.p:.3g}."
    yield f"{many.only_this:,} groups {this} more of, {many.only_other:,} {other}: {coin} {many.p:.3g}."
    yield "(Exact two-sided sign tests. Examples of a group are not independent: trust intervals and groups first.)"


def verdict(compared: Compared, names: tuple[str, str] | None = None) -> str:
    """Which of two systems is better, if that is certain; they are called by their files, unless names are given."""
    found, names = compared.found, names or shown_names(compared)
    what = "answers and rationales together" if found.staged else "accuracy"
    points = f"{100 * found.difference.value:+.1f} points [{100 * found.difference.low:+.1f}, "
    few = found.common < found.examples
    points += f"{100 * found.difference.high:+.1f}] of {what}"
    points += f" on the {found.common:,} of {found.examples:,} examples that both predict" if few else ""
    if not found.sign_test.only_this and not found.sign_test.only_other:
        which = f" of the {found.common:,} that both predict" if few else ""
        return f"{names[0]} and {names[1]} are right on the same examples{which}: there is no difference."
    if found.verdict in ("better", "worse"):
        return f"{names[0]} is {found.verdict} than {names[1]}: {points}."
    why = "0 lies in the interval" if found.verdict == "cannot be told apart" else "the test over groups does not agree"
    return f"{names[0]} and {names[1]} {'are ' if why[0] == 't' else ''}{found.verdict}: {points}; {why}."


def shown_names(compared: Compared) -> tuple[str, str]:
    """What the two are called: by their files, and with their folders where these are called alike."""
    paths = compared.one.predictions, compared.other.predictions
    if paths[0].name != paths[1].name:
        return paths[0].name, paths[1].name
    return (str(paths[0]), str(paths[1])) if paths[0] != paths[1] else ("A", "B")


def compared_parts(compared: Compared) -> Iterator[Table | str]:
    """The verdict first, then the numbers of both and of their difference."""
    names = shown_names(compared)
    yield Table("", [compared.verdict], [])
    yield from _shared(compared.found)
    both = (compared.one, compared.other)
    columns = {"accuracy": [s.accuracy for s in both]}
    if _is_grouped(compared.one):
        columns["consistency"] = [s.consistency for s in both]
    columns |= {stage: [s.staged[stage] for s in both] for stage in compared.one.staged}
    rows = [[name, *(_percent(values[k]) for values in columns.values())] for k, name in enumerate(names)]
    one = compared.one
    yield Table(f"{one.benchmark}, {one.split}: {one.items:,} items in {one.groups:,} groups", ["%", *columns], rows)
    yield _differences(compared.found, f"{names[0]} minus {names[1]}")
    yield from _tests(compared.found, f"{names[0]} gets", names[1])
    for scores in both:
        yield from _named_troubles(scores)


def _named_troubles(scores: Scores) -> Iterator[str]:
    counts = (scores.missing, scores.unreadable, scores.extra, scores.duplicated)
    if any(counted.count for counted in counts) or scores.benchmark_matches is False or scores.limit is not None:
        yield f"{scores.predictions.name}:"
        yield from _troubles(scores)


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
    yield (
        f"The {len(trials.each)} files are taken as trials of one system, and averaged. To compare two systems: "
        "veridical compare BENCHMARK A B."
    )
    for scores in trials.each:
        yield from _named_troubles(scores)


def _percent(value: Estimate | float | None) -> str:
    if value is None:
        return ""
    return f"{100 * value:.1f}" if isinstance(value, float) else str(value)
