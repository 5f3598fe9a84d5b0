"""`veridical audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli.output import print_json, say, table

if TYPE_CHECKING:
    from veridical.auditing import Audit, Finding


def audit(
    benchmark: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    out: Annotated[Path, typer.Option(help="The page to write; its numbers go beside it as JSON.")] = Path(
        "audit.html"
    ),
    check: Annotated[list[str] | None, typer.Option(help="Run only this check; can be given again.")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Leave this check out; can be given again.")] = None,
    scheme: Annotated[str, typer.Option(help="The scheme of splits.")] = "main",
    corpus: Annotated[
        list[Path] | None, typer.Option(help="A text file to look for the benchmark in (.gz too); can be given again.")
    ] = None,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Also use the answers of hidden splits (DIR.hidden).")
    ] = False,
    items: Annotated[int, typer.Option(help="Most items that blind models are trained and tested on.")] = 15_000,
    neural: Annotated[
        bool, typer.Option("--neural", help="Also train blind neural models (an LSTM, a CNN); slow, needs torch.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of folds, plants and the bootstrap.")] = 0,
    processes: Annotated[int | None, typer.Option(help="How many; all processors if left out.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Can this benchmark be passed without doing the task? Blind models with controls, biases, leaks, agreement.

    Exit code 0: nothing failed. 1: a check failed. 2: bad input.
    """
    from veridical.auditing import audit

    result = audit(
        benchmark, out=out, checks=check or (), skip=skip or (), scheme=scheme, corpus=corpus or (), hidden=hidden,
        items=items, neural=neural, seed=seed, processes=processes,
    )  # fmt: skip
    if json:
        print_json(result.to_json())
    else:
        show(result)
    say(f"Open {out} to read it.")
    if result.failed:
        raise typer.Exit(1)


def show(result: Audit) -> None:
    """A table for people, the worst first."""
    from veridical.auditing.findings import ORDER

    listed = sorted(result.findings, key=lambda f: ORDER.index(f.verdict))
    rows = [[f.title, f.verdict, _number(f), _reference(f), _seen(f)] for f in listed if f.verdict != "not applicable"]
    columns = ["check", "verdict", "found [95%]", "expected", "would see"]
    table(f"{result.benchmark}: {result.verdict} ({result.seconds:.0f} s)", columns, rows)
    for f in listed:
        if f.verdict in ("fail", "cannot tell", "warn"):
            say(f"{f.verdict}: {f.title}. {f.says} {f.do}")


def _number(f: Finding) -> str:
    if f.number is None:
        return ""
    if f.unit in ("count", "alpha"):
        return f"{f.number:,.0f}" if f.unit == "count" else f"{f.number:.3f}"
    between = "" if f.low is None or f.high is None else f" [{100 * f.low:.1f}, {100 * f.high:.1f}]"
    return f"{100 * f.number:.1f}%{between}"


def _reference(f: Finding) -> str:
    if f.reference is None or f.unit == "count":
        return f.reference_name
    return f"{f.reference:.2f}" if f.unit == "alpha" else f"{100 * f.reference:.1f}%"


def _seen(f: Finding) -> str:
    return f"{100 * f.power.smallest:.1f}%" if f.power and f.power.smallest else ""
