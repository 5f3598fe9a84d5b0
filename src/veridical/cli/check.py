"""`veridical check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say


def check(
    benchmark: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    images: Annotated[bool, typer.Option(help="Decode every image, not only hash the files they lie in.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Prove a benchmark whole: hashes, ids, origins, every image, and that hidden answers are hidden.

    Exit code 0: whole. 1: damaged or leaking. 2: not a benchmark.
    """
    from veridical.benchmark.check import check

    report = check(benchmark, images=images)
    if json:
        print_json(report.to_json())
    for problem in report.problems:
        say(f"{problem.severity:7}  {problem.kind:15}  {problem.where}: {problem.message}")
    errors = sum(p.severity == "error" for p in report.problems)
    found = f"{report.files} files, {report.items:,} items, {report.images:,} images"
    say(f"{report.benchmark}: {'whole' if report.ok else f'{errors} errors'} ({found}).")
    if not report.ok:
        raise typer.Exit(1)
