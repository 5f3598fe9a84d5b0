"""Visual commonsense reasoning (VCR; Zellers et al. 2019): questions about tagged photographs, answers and reasons.

`build_vcr` chooses photographs, takes the questions that people wrote, and makes four-way choices by Adversarial
Matching, answers and rationales apart, within folds that share no photograph. Stories of the icon world come in fours,
whose questions are each other's wrong choices by construction.

    build.py         the steps of a build, in order
    photographs.py   photographs worth asking about, and sheets for those who write
    written.py       what people wrote, checked, and the rows that are matched
    collected.py     what a collection hands over
    questions.py     questions about quartets of the icon world, from the templates of questions.json

From outside: `build_vcr`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical.common.places import anywhere
from veridical.options import gathered
from veridical.options.building import Matching, VCROptions
from veridical.options.running import Workers

if TYPE_CHECKING:
    from veridical.builders import BuildReport


@anywhere
def build_vcr(
    out: Path | str,
    options: VCROptions = VCROptions(),
    matching: Matching = Matching(),
    until: Literal["all", "sheets"] = "all",
    workers: Workers = Workers(),
    replace: bool = False,
    **fields: Any,
) -> BuildReport:
    """Visual commonsense reasoning (VCR): a tagged photograph and a question, four answers, four reasons.

    Args:
        out: The benchmark to make.
        options: What decides the benchmark.
        matching: How wrong choices are found.
        until: Stop after sheets: the photographs worth asking about, with named boxes, and a form for writers; or all.
        workers: Who does the work.
        replace: Make it anew even where a benchmark with hidden answers or vectors stands at OUT.
    """
    from veridical.benchmark.place import replacing
    from veridical.builders.vcr import build as room

    options, matching, workers = gathered((options, matching, workers), fields)
    with replacing(replace, out if until == "all" else None):
        return room.build(out, options, matching, until=until, workers=workers)
