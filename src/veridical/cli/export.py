"""`veridical export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say


def export(
    kind: Annotated[str, typer.Argument(help="What to write: hf, croissant, official or submission.")],
    benchmark: Annotated[Path, typer.Argument(help="A benchmark folder.")],
    out: Annotated[Path, typer.Option(help="Where to write it.")],
    predictions: Annotated[Path | None, typer.Option(help="submission: the predictions (JSON lines).")] = None,
    split: Annotated[str | None, typer.Option(help="submission: the split they are for.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a benchmark for others: a Hugging Face data set, Croissant metadata, or the official release's files.

    `submission` writes predictions as the official leaderboard takes them: lines of true and false, or VCR's twenty
    probabilities for each question.
    """
    from veridical.formats.releases import export

    if kind == "submission":
        _submission(benchmark, predictions, split, out, json)
        return

    result = export(kind, benchmark, out)
    if json:
        print_json(result.to_json())
    say(f"Wrote {result.files:,} files ({result.bytes:,} bytes) to {result.out}")
    if result.hidden is not None:
        say(
            f"Wrote {result.hidden_files:,} files ({result.hidden_bytes:,} bytes) that tell hidden answers to "
            f"{result.hidden}: do not publish them."
        )


def _submission(benchmark: Path, predictions: Path | None, split: str | None, out: Path, json: bool) -> None:
    from veridical.errors import UserError
    from veridical.evaluation.submission import write_submission

    if predictions is None or split is None:
        raise UserError("A submission is of predictions for a split.", "Give --predictions FILE and --split NAME.")
    rows = write_submission(benchmark, predictions, out, split=split)
    if json:
        print_json({"out": str(out), "rows": rows})
    say(f"Wrote {rows:,} rows to {out}")
