"""`veridical export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say


def export(
    kind: Annotated[str, typer.Argument(help="What to write: hf, croissant or official.")],
    benchmark: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    out: Annotated[Path, typer.Option(help="Where to write it.")],
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a benchmark for others: a Hugging Face data set, Croissant metadata, or the official release's files."""
    from veridical.formats import export

    result = export(kind, benchmark, out)
    if json:
        print_json(result.to_json())
    say(f"Wrote {result.files:,} files ({result.bytes:,} bytes) to {result.out}")
    if result.hidden is not None:
        say(
            f"Wrote {result.hidden_files:,} files ({result.hidden_bytes:,} bytes) that tell hidden answers to "
            f"{result.hidden}: do not publish them."
        )
