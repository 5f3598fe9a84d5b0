"""The verbs that open a browser: look at a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from veridical.options import ARGUMENTS, several

if TYPE_CHECKING:
    from veridical.web.explore.export import Exported
    from veridical.web.explore.server import Shown


def show(
    benchmark: Path | str | PathLike[str],
    predictions: Annotated[Sequence[Path | str], ARGUMENTS] = (),
    audit: Path | str | None = None,
    hidden: bool = False,
    export: Path | str | None = None,
    sample: int = 200,
    port: int | None = None,
    open: bool = True,
) -> Shown | Exported:
    """Look at a benchmark in a browser: filter, search, open items, see what solvers said and where they differ.

    It runs on this machine alone, only reads, and ends with Ctrl-C. What is looked at stands in the address, which can
    be kept and passed on.

    Args:
        benchmark: A benchmark folder. Python: an open benchmark, too.
        predictions: Prediction files, folders of `veridical train`, audits as JSON; NAME=PATH gives one another name.
        audit: The JSON that `veridical audit` wrote beside its page.
        hidden: Show hidden answers, too, where DIR.hidden is here.
        export: Write a sample as a folder of pages for any web server instead; never with hidden answers.
        sample: How many items are exported.
        port: Of this machine's loopback; left out: 8740, or any that is free.
        open: Open a browser at once.
    """
    from veridical.web.explore.explorer import Explorer
    from veridical.web.explore.export import export as write
    from veridical.web.explore.server import serve

    explorer = Explorer(benchmark, several(predictions), () if audit is None else (audit,), hidden)
    return serve(explorer, port, open) if export is None else write(explorer, export, sample)
