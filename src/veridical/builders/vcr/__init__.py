"""Visual commonsense reasoning (VCR; Zellers et al. 2019): questions about tagged photographs, answers and reasons.

`build_vcr` chooses photographs, takes the questions that people wrote (or tells stories of the icon world), and makes
four-way choices by Adversarial Matching, answers and rationales apart, within folds that share no photograph.

    build.py         the steps of a build, in order
    written.py       photographs worth asking about, what people wrote about them, and the rows that are matched
    questions.py     questions about stories of the icon world, from the templates of questions.json

From outside: `build_vcr`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.options import gathered
from veridical.options.building import Matching, VCROptions

if TYPE_CHECKING:
    from veridical.builders import BuildReport


def build_vcr(
    out: Path | str,
    options: VCROptions = VCROptions(),
    matching: Matching = Matching(),
    processes: int | None = None,
    **fields: Any,
) -> BuildReport:
    """Visual commonsense reasoning (VCR): a tagged photograph and a question, four answers, four reasons.

    Args:
        out: The benchmark to make.
        options: What decides the benchmark.
        matching: How wrong choices are found.
        processes: Processes; all processors unless given.
    """
    from veridical.builders.vcr import build as room

    return room.build(out, *gathered((options, matching), fields), processes=processes)
