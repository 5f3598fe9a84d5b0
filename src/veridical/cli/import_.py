"""`veridical import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say, table


def import_release(
    format: Annotated[
        str, typer.Argument(help="The release's format: nlvr, nlvr2, or vcr (visual commonsense reasoning).")
    ],
    path: Annotated[Path, typer.Argument(help="A file of the release (dev.json), or its folder.")],
    out: Annotated[Path, typer.Option(help="The benchmark to make.")],
    images: Annotated[Path | None, typer.Option(help="The folder of images, where it is not beside the files.")] = None,
    split: Annotated[str | None, typer.Option(help="Only this split of a folder, or the name for a file's.")] = None,
    hide: Annotated[
        list[str] | None, typer.Option(help="Hide this split's answers; may be given several times.")
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Import everything but the lines and images that are wrong.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Turn an official release into a benchmark."""
    from veridical.formats.releases import import_release

    result = import_release(format, path, out, split=split, images=images, hide=hide or (), keep_going=keep_going)
    if json:
        print_json(result.to_json())
    rows = [(f"items, {name}", f"{count:,}") for name, count in sorted(result.counts["items"]["main"].items())]
    others = ((name.replace("_", " "), count) for name, count in result.counts.items() if name != "items")
    table("", ("what", "count"), rows + [(name, f"{count:,}") for name, count in others])
    for left in result.left_out:
        say(f"left out: {left}")
    say(f"Benchmark: {result.benchmark}" + (f" ({len(result.left_out):,} left out)" if result.left_out else ""))
