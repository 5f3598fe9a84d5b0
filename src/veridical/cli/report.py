"""`veridical report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Prediction files, folders of `veridical train`, audits as JSON; NAME=PATH gives a run another name.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The page to write.")],
    benchmark: Annotated[
        list[Path] | None, typer.Option(help="A benchmark the runs are about; may be given several times.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The split, where predictions do not say it by their names.")
    ] = None,
    scheme: Annotated[str | None, typer.Option(help="The scheme of splits, where names do not say it.")] = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write the tables beside it, as Markdown.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Write the tables beside it, as LaTeX.")] = False,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Show answers of hidden splits item by item, where they are here.")
    ] = False,
    examples: Annotated[int, typer.Option(help="Items in each gallery of examples.")] = 6,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples over groups.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print what was written, as JSON.")] = False,
) -> None:
    """Make one self-contained HTML page from runs: the papers' tables beside ours, plots, examples."""
    from veridical.reporting import report

    made = report(
        runs,
        out,
        benchmark=benchmark,
        split=split,
        scheme=scheme,
        title=title,
        markdown=markdown,
        latex=latex,
        hidden=hidden,
        examples=examples,
        resamples=resamples,
        seed=seed,
    )
    if json:
        print_json(made.to_json())
        return
    say(
        f"{made.out}: {made.bytes / 1e6:.1f} MB, {len(made.systems)} systems. Open it in a browser: {made.out.as_uri()}"
    )
    for path in (made.markdown, made.latex):
        if path is not None:
            say(f"{path}")
