"""`veridical tag`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from veridical.cli.output import print_json, say, table


def tag(
    sentences: Annotated[Path, typer.Argument(help="A text file, one sentence a line.")],
    json: Annotated[
        bool, typer.Option("--json", help="Print a list of {sentence, phenomena, pair_reasoning, inference}.")
    ] = False,
) -> None:
    """Tag sentences with the papers' linguistic phenomena, and questions with the inference they ask for."""
    from veridical.language.phenomena.tagger import tag_file

    tagged = tag_file(sentences)
    if json:
        print_json([asdict(one) for one in tagged])
        return
    for one in tagged[:20]:
        say(f"{one.sentence}\n    {', '.join((*one.phenomena, *one.pair_reasoning, *one.inference)) or '(none)'}")
    counts = Counter(name for one in tagged for name in one.phenomena)
    rows = [(name, count, f"{count / len(tagged):.1%}") for name, count in counts.most_common()]
    table(f"{len(tagged):,} sentences", ["phenomenon", "sentences", "share"], rows)
