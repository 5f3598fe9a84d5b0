"""`veridical get`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say, table


def get(
    release: Annotated[str, typer.Argument(help="What to download: nlvr or nlvr2.")],
    out: Annotated[Path, typer.Option(help="The benchmark to make; the downloaded files lie in OUT.release.")],
    base_url: Annotated[
        str | None, typer.Option(help="A mirror of the authors' repository, instead of the public one.")
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(help="Only this split (train, dev, test; NLVR2: train, dev, test1, test2). Repeatable."),
    ] = None,
    images: Annotated[bool, typer.Option("--images", help="Download the images too, and check them.")] = False,
    max_connections: Annotated[int, typer.Option(help="How many files to fetch at once.")] = 16,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Download an official release, check it, and import it. Run it again to continue or to ask for missing files."""
    from veridical.formats.download import get

    result = get(
        release,
        out,
        base_url=base_url,
        split=split or (),
        images=images,
        max_connections=max_connections,
    )
    if json:
        print_json(result.to_json())
    table("", ("what", "fetched", "had", "missing", "changed"), result.table())
    say(f"Files: {result.folder} (details in .get/report.json). Benchmark: {result.benchmark}")
