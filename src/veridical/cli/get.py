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
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Import everything but the lines and images that are wrong.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Download an official release, check it, and import it. Run it again to continue or to ask for missing files."""
    from veridical.formats.download import Fetched, get

    def show(fetched: Fetched) -> None:
        table("", ("what", "fetched", "had", "missing", "changed"), fetched.table())
        say(f"Files: {fetched.folder} (details in .get/report.json).")

    result = get(
        release,
        out,
        base_url=base_url,
        split=split or (),
        images=images,
        max_connections=max_connections,
        keep_going=keep_going,
        on_fetched=show,
    )
    if json:
        print_json(result.to_json())
    for left in result.left_out:
        say(f"left out: {left}")
    say(f"Benchmark: {result.benchmark}" + (f" ({len(result.left_out):,} left out)" if result.left_out else ""))
