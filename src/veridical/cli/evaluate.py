"""`veridical evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli.output import print_json, say, table

if TYPE_CHECKING:
    from veridical.common.intervals import Estimate
    from veridical.evaluation import Comparison, Row, Scores, Trials

ROWS = 12  # values of a tag that are shown
WORTH_SHOWING = 20  # a tag with many values, none of which has so many items, is only mentioned


def evaluate(
    benchmark: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    predictions: Annotated[
        list[Path],
        typer.Argument(
            help="Our JSONL, NLVR or NLVR2 CSV, visual commonsense reasoning (VCR) CSV or arrays; several files are "
            "trials of one system."
        ),
    ],
    split: Annotated[
        str | None, typer.Option(help="The split they are about; guessed from the names if left out.")
    ] = None,
    scheme: Annotated[str, typer.Option(help="The scheme of splits.")] = "main",
    against: Annotated[Path | None, typer.Option(help="Other predictions to compare with, example by example.")] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples over groups.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    official: Annotated[bool, typer.Option("--official", help="Print what the published script prints.")] = False,
) -> None:
    """Score predictions: accuracy, consistency, staged accuracy, per tag, with 95% intervals over groups."""
    from veridical.evaluation import evaluate, evaluate_trials, official_output

    if len(predictions) == 1:
        scores = evaluate(
            benchmark, predictions[0], split=split, scheme=scheme, against=against, resamples=resamples, seed=seed
        )
        if official:
            typer.echo(official_output(scores), nl=False)
        elif json:
            _warn(scores)
            print_json(scores.to_json())
        else:
            show(scores)
        return
    trials = evaluate_trials(
        benchmark, predictions, split=split, scheme=scheme, against=against, resamples=resamples, seed=seed
    )
    if official:
        typer.echo("".join(official_output(scores) for scores in trials.each), nl=False)
    elif json:
        for scores in trials.each:
            _warn(scores)
        print_json(trials.to_json())
    else:
        show_trials(trials)


def show(scores: Scores) -> None:
    """Tables for people."""
    examples = f"{scores.examples:,} views of " if scores.per_view else ""
    grouped = scores.groups < scores.examples  # otherwise consistency is accuracy again
    table(
        f"{scores.benchmark}, {scores.split}: {examples}{scores.items:,} items in {scores.groups:,} groups",
        ["%", "accuracy", *(["consistency"] if grouped else [])],
        [row[: 3 if grouped else 2] for row in _main_rows(scores)],
    )
    if scores.staged:
        rows: list[tuple[str, Mapping[str, Estimate | float]]]
        rows = [(scores.predictions.name, scores.staged), *((row.name, row.staged) for row in scores.baselines)]
        lines = [[name, *(_percent(staged.get(stage)) for stage in scores.staged)] for name, staged in rows if staged]
        table("", ["%", *scores.staged], lines)
    say(f"[ ] is a 95% interval: {scores.resamples:,} bootstrap resamples over groups, seed {scores.seed}.")
    for row in scores.baselines:
        say(f"{row.name}: {row.rule}.")
    _show_troubles(scores)
    for tag, values in scores.by.items():
        say("")
        _show_tag(tag, values, grouped)
    if scores.comparison:
        say("")
        _show_comparison(scores.comparison)


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


def _show_troubles(scores: Scores) -> None:
    meaning = {
        "missing": "without a prediction, counted as not right",
        "unreadable": "cannot be read, counted as not right",
        "duplicated": "predicted more than once; scored once where all agree",
        "extra": "about no item of the split, left out",
    }
    _warn(scores)
    for name, words in meaning.items():
        counted = getattr(scores, name)
        if counted.count:
            more = ", ..." if counted.count > 3 else ""
            say(f"{name}: {counted.count:,} ({words}): {', '.join(counted.names[:3])}{more}")
    if scores.tied:
        say(f"tied: {scores.tied:,} have equal highest scores; the first candidate counts.")


def _warn(scores: Scores) -> None:
    if scores.benchmark_matches is False:
        say(
            f"Warning: {scores.predictions.name} says it was made for another benchmark than this {scores.benchmark} "
            f"(hash {scores.benchmark_hash[:12]}...). It is scored by the names of items, which may have changed since."
        )


def _show_tag(tag: str, rows: dict[str, Row], grouped: bool) -> None:
    largest = sorted(rows.items(), key=lambda row: (-row[1].items, row[0]))
    most = largest[0][1].items
    if len(rows) > ROWS and most < WORTH_SHOWING:
        say(f"by {tag}: {len(rows):,} values of at most {most} items: see --json.")
        return
    lines = []
    for value, row in largest[:ROWS]:
        # One group alone says nothing about its spread.
        shown = [_percent(e if row.groups > 1 else e.value) for e in (row.accuracy, row.consistency)]
        lines.append([value, f"{row.items:,}", f"{row.groups:,}", *shown])
    columns = ["", "items", "groups", "accuracy", "consistency"]
    keep = columns if grouped else ["", "items", "accuracy"]
    table(f"by {tag}", keep, [[line[columns.index(name)] for name in keep] for line in lines])
    if len(largest) > ROWS:
        say(f"... and {len(largest) - ROWS:,} with fewer items: see --json.")


def _show_comparison(found: Comparison) -> None:
    stages = {"accuracy": found.accuracy, "consistency": found.consistency, **found.staged}
    table(
        f"difference to {found.against.name}",
        ["", "difference"],
        [[name, _points(estimate)] for name, estimate in stages.items()],
    )
    one, many = found.items, found.groups
    coin = "a fair coin is so one-sided with p ="
    say(f"{one.only_this:,} examples only these get right, {one.only_other:,} only the others: {coin} {one.p:.3g}.")
    say(f"{many.only_this:,} groups these get more of, {many.only_other:,} the others: {coin} {many.p:.3g}.")
    say("(Exact two-sided sign tests. Examples of a group are not independent: trust intervals and groups first.)")


def show_trials(trials: Trials) -> None:
    """Mean and standard deviation over trials, for people."""
    first = trials.each[0]
    columns = {"accuracy": trials.accuracy, "consistency": trials.consistency, **trials.staged}
    rows = [
        [s.predictions.name, _percent(s.accuracy), _percent(s.consistency), *map(_percent, s.staged.values())]
        for s in trials.each
    ]
    rows.append(["mean ± standard deviation", *(f"{100 * c.mean:.1f} ± {100 * c.std:.1f}" for c in columns.values())])
    title = (
        f"{first.benchmark}, {first.split}: {len(trials.each)} trials, {first.items:,} items in {first.groups:,} groups"
    )
    table(title, ["%", *columns], rows)
    for scores in trials.each:
        counts = (scores.missing, scores.unreadable, scores.extra, scores.duplicated)
        if any(counted.count for counted in counts) or scores.benchmark_matches is False:
            say(f"{scores.predictions.name}:")
            _show_troubles(scores)


def _percent(value: Estimate | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{100 * value:.1f}"
    return f"{100 * value.value:.1f} [{100 * value.low:.1f}, {100 * value.high:.1f}]"


def _points(value: Estimate) -> str:
    return f"{100 * value.value:+.1f} [{100 * value.low:+.1f}, {100 * value.high:+.1f}]"
