"""`veridical sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say, table


def sweep(
    benchmark: Annotated[Path, typer.Argument(help="A benchmark of matrices, with `veridical features`.")],
    out: Annotated[Path, typer.Option("--out", help="The folder of all runs, to write or to continue.")],
    models: Annotated[
        str | None, typer.Option(help="Models with commas, or all: the paper's eleven; left out: its best seven.")
    ] = None,
    schemes: Annotated[str | None, typer.Option(help="Schemes with commas; left out: all of the benchmark.")] = None,
    features: Annotated[str, typer.Option(help="Encoders with commas.")] = "efficientnet-lite0",
    auxiliary: Annotated[
        str, typer.Option(help="no, yes, or both: with the auxiliary loss of relation and element type.")
    ] = "no",
    fractions: Annotated[
        str, typer.Option(help="Shares of the training data with commas (figure 7), on the first scheme.")
    ] = "",
    controls: Annotated[
        bool, typer.Option(help="Also test on contexts of other items and on shuffled ones, and train the lower bound.")
    ] = True,
    bound: Annotated[
        str | None,
        typer.Option(help="The model of the lower bound; left out: the relation network, or the last of the models."),
    ] = None,
    bounds: Annotated[
        str, typer.Option(help="first, all: schemes to train the lower bound (contexts of other items) on.")
    ] = "first",
    option: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of models or training; repeat for more."),
    ] = None,
    split: Annotated[str, typer.Option(help="The split to train on.")] = "train",
    test: Annotated[str, typer.Option(help="The split to test on.")] = "test",
    seed: Annotated[int, typer.Option(help="Of the first trial; trial k has seed + k.")] = 0,
    trials: Annotated[int, typer.Option(help="How many times to train each model.")] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 ...")] = "cpu",
    processes: Annotated[int | None, typer.Option(help="Runs at the same time; left out: all cores.")] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples of the intervals.")] = 2000,
    json: Annotated[bool, typer.Option("--json", help="Print the scores of all runs as JSON.")] = False,
) -> None:
    """Models x schemes x features on matrices: V-PROM's tables 2, 4 and 5 and figure 7.

    Every combination is trained, solved and scored, with controls.

    Stopped at any moment, the same command continues; with other models or schemes it adds them. OUT/sweep.html shows
    everything, OUT/sweep.md and OUT/sweep.tex hold the tables, OUT/runs/* are runs of `veridical train`. A run that
    fails stops no other; the exit code is then 1.
    """
    from veridical.cli.train import options_of
    from veridical.reporting.sweep import ALL, MODELS, sweep

    done = sweep(
        benchmark,
        out,
        models=ALL if models == "all" else _list(models) if models else MODELS,
        schemes=_list(schemes) if schemes else None,
        features=_list(features),
        auxiliary=_auxiliary(auxiliary),
        fractions=[_fraction(text) for text in _list(fractions)],
        controls=controls,
        bound=bound,
        bounds=bounds,
        split=split,
        test=test,
        config=options_of(option),
        seed=seed,
        trials=trials,
        device=device,
        processes=processes,
        resamples=resamples,
    )
    if json:
        print_json(done.to_json())
    rows = []
    for point in done.points:
        other, shuffled = (point["controls"].get(name) for name in ("other", "shuffled"))
        rows.append((point["title"], point["scheme"], *(_percent(one) for one in (point["accuracy"], other, shuffled))))
    rows += [(point["title"], point["scheme"], "failed", "", "") for point in done.failed]
    columns = ("system", "scheme", "accuracy, %", "other item's context", "shuffled")
    table(f"{benchmark.name}, {test}", columns, rows)
    say(f"{len(done.points)} runs in {done.seconds:,.0f} s. Tables and figures: {done.page.as_uri()}")
    for point in done.failed:
        say(f"{point['title']}, {point['scheme']} failed: {point['problem']} {point['fix']}")
    if done.failed:
        raise typer.Exit(1)


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _auxiliary(text: str) -> list[bool]:
    from veridical.errors import UserError

    known = {"no": [False], "yes": [True], "both": [False, True]}
    if text not in known:
        raise UserError(f"--auxiliary is {text!r}.", f"Choose one of: {', '.join(known)}.")
    return known[text]


def _fraction(text: str) -> float:
    from veridical.errors import UserError

    try:
        return float(text)
    except ValueError:
        raise UserError(f"--fractions has {text!r}.", "Write, for example, --fractions 0.1,0.25,0.5.") from None


def _percent(one: dict[str, float] | None) -> str:
    return "" if one is None else f"{100 * one['value']:.1f} [{100 * one['low']:.1f}, {100 * one['high']:.1f}]"
