"""`veridical features`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say


def features(
    encoder: Annotated[
        str,
        typer.Argument(
            help="efficientnet-lite0, thumbnail, a name of a model hub (microsoft/resnet-101, "
            "openai/clip-vit-base-patch32), or a folder with a transformers checkpoint."
        ),
    ],
    benchmark: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    split: Annotated[list[str] | None, typer.Option(help="Only panels of this split (may be repeated).")] = None,
    views: Annotated[bool, typer.Option(help="Also the whole pictures of views (NLVR's permutations).")] = False,
    objects: Annotated[bool, typer.Option(help="Also the box of each object.")] = False,
    normalise: Annotated[bool, typer.Option(help="Store vectors of length 1.")] = False,
    batch_size: Annotated[int, typer.Option(help="Images given to the network at a time.")] = 32,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; by default cuda where it is.")] = None,
    reuse: Annotated[
        list[Path] | None, typer.Option(help="Another benchmark whose vectors may be used (may be repeated).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was stored as JSON.")] = False,
) -> None:
    """Encode a benchmark's panels with a frozen encoder and store the vectors with it.

    Each distinct image or region is encoded once. Stop it at any moment and run it again: it continues.
    """
    from veridical.encoders import features

    found = features(
        encoder,
        benchmark,
        splits=split or None,
        views=views,
        objects=objects,
        normalise=normalise,
        batch_size=batch_size,
        device=device,
        reuse=reuse or (),
    )
    if json:
        print_json({"path": str(found.path), "rows": len(found), "size": found.size, **found.about.to_json()})
    say(f"{found.path}: {len(found):,} vectors of {found.size:,} numbers.")
