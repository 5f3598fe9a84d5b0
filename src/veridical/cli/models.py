"""`veridical models`."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from veridical.cli.output import print_json, say


def models(
    json: Annotated[bool, typer.Option("--json", help="Print the models and their options as JSON.")] = False,
) -> None:
    """List the models of the zoo: what each looks at, for which tasks, and where it is described."""
    from veridical.zoo import models

    found = models()
    if json:
        print_json(
            [
                {
                    "name": m.name,
                    "summary": m.summary,
                    "paper": m.paper,
                    "tasks": m.tasks,
                    "sees": m.sees,
                    "options": {f.name: f.default for f in dataclasses.fields(m.config)},
                }
                for m in found
            ]
        )
    for m in found:
        say(f"{m.name:14} {', '.join(m.tasks):26} {m.summary} ({m.paper})")
