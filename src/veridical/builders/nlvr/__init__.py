"""NLVR: three drawn boxes and a sentence (Suhr et al. 2017, sections 4 and 5).

    build       the build: presentations, statements, judgements, drawings, splits
    scenes      presentations: four scenes each, the statements that are true of two and false of two, six drawings
    people      what people wrote and judged, and the label that follows

From outside: `build_nlvr`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical.common.places import anywhere
from veridical.options import gathered
from veridical.options.building import NLVROptions
from veridical.options.running import Workers

if TYPE_CHECKING:
    from veridical.builders import BuildReport


@anywhere
def build_nlvr(
    out: Path | str,
    options: NLVROptions = NLVROptions(),
    until: Literal["all", "presentations"] = "all",
    workers: Workers = Workers(),
    replace: bool = False,
    **fields: Any,
) -> BuildReport:
    """NLVR: three boxes and a sentence, true or false; from nothing but a seed, or from people's sentences.

    The same seed and options give the same bytes, hidden answers too: for a benchmark that others compete on, have a
    secret mixed into the seed of what is hidden ("random" draws one, kept in OUT.hidden).

    Args:
        out: The benchmark to make.
        options: What decides the benchmark.
        until: Stop after presentations: what people look at when they write; or all.
        workers: Who does the work.
        replace: Make it anew even where a benchmark with hidden answers or vectors stands at OUT.
    """
    from veridical.benchmark.place import replacing
    from veridical.builders.nlvr import build as room

    with replacing(replace, out if until == "all" else None):
        options, workers = gathered((options, workers), fields)
        return room.build(out, options, until=until, workers=workers)
