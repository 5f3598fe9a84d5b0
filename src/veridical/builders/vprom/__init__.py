"""`veridical build vprom`: matrices of photographs, and seven ways to test generalisation (Teney et al. 2020).

Elements are mined from annotated photographs; photographs are dealt to training and test for each scheme; matrices are
drawn within each side and kept where one candidate alone completes them under the simplest explanation.

    build.py      the steps of a build, in order; what is given to it, checked
    elements.py   elements, relations, and the lists (lists/) by which annotators' words become elements
    mining.py     from annotated photographs to crops and what they show: the paper's five principles
    pool.py       all crops as arrays, and the seven schemes that divide them into training and test
    matrices.py   the matrices of one side of a scheme, balanced and unambiguous
    draw.py       kernels: drawing matrices      explain.py   kernels: which candidates a relation explains
    storing.py    crops as panels, matrices as items
    collected.py  the options of the build whose items people answered

From outside: `build_vprom`, and `pool.SCHEMES`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.common.places import anywhere
from veridical.options import gathered
from veridical.options.building import Mining, VPROMOptions
from veridical.options.running import Workers

if TYPE_CHECKING:
    from veridical.builders import BuildReport


@anywhere
def build_vprom(
    out: Path | str,
    options: VPROMOptions = VPROMOptions(),
    mining: Mining = Mining(),
    workers: Workers = Workers(),
    replace: bool = False,
    **fields: Any,
) -> BuildReport:
    """V-PROM: a matrix of photographs with the ninth missing, eight candidates; seven schemes of splits.

    Args:
        out: The benchmark to make.
        options: What decides the benchmark.
        mining: Which visual elements are taken.
        workers: Who does the work.
        replace: Make it anew even where a benchmark with hidden answers or vectors stands at OUT.
    """
    from veridical.benchmark.place import replacing
    from veridical.builders.vprom import build as room

    options, mining, workers = gathered((options, mining, workers), fields)
    with replacing(replace):
        return room.build(out, options, mining, workers=workers)
