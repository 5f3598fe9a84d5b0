"""`veridical train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say, table


def train(
    model: Annotated[str, typer.Argument(help="A model of `veridical models`.")],
    benchmark: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    out: Annotated[Path, typer.Option("--out", help="The run folder to write, or to continue.")],
    option: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the model or of training; repeat for more."),
    ] = None,
    split: Annotated[str, typer.Option(help="The split to train on.")] = "train",
    validate: Annotated[
        str | None,
        typer.Option(help="The split to choose weights on; otherwise a part of training that shares no sentence."),
    ] = None,
    scheme: Annotated[str, typer.Option(help="The scheme of splits.")] = "main",
    seed: Annotated[int, typer.Option(help="Of the first trial; trial k has seed + k.")] = 0,
    trials: Annotated[int, typer.Option(help="How many times to train, from different random weights.")] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1 ...")] = "cpu",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a model of the zoo; stopped at any moment, the same command continues where it was.

    RUN/trial-K/model.safetensors holds the best weights, RUN/curves.svg the learning curves, RUN/trial-K/logs the
    TensorBoard events. `veridical solve RUN DIR --split dev` uses it.
    """
    from veridical.training import train

    done = train(
        model,
        benchmark,
        out,
        config=options_of(option),
        split=split,
        validate=validate,
        scheme=scheme,
        seed=seed,
        trials=trials,
        device=device,
    )
    if json:
        print_json(done.to_json())
    rows = [(t["seed"], t["epochs"], t["best_epoch"], f"{100 * t['best']:.2f}") for t in done.trials]
    table(f"{model} on {benchmark.name}", ("seed", "epochs", "best epoch", "validation accuracy, %"), rows)
    say(f"{out}: validation accuracy {100 * done.mean:.2f} ± {100 * done.std:.2f} % over {len(rows)} trials.")


def options_of(given: list[str] | None) -> dict[str, str]:
    """Options as `--set NAME=VALUE` gives them."""
    from veridical.errors import UserError

    out: dict[str, str] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"--set {text!r} is not NAME=VALUE.", "Write, for example, --set epochs=20.")
        out[name] = value
    return out
