"""NLVR2: two photographs and a sentence (Suhr et al. 2019, section 3), from generated sentences or people's.

    build          section 3 in order: the steps, then items and splits; what a build reports
    steps          each step: a file in the work folder, made from the files before it
    collected      what `collect export` hands over
    collection     what a build is given (options, checked or from a file; a source), and what its steps made
    work           the work folder: records of its files, when each is made again
    photographs    3.1: looking at every photograph once
    queries        3.1: synsets and the four heuristics of Table 1    word_vectors    how near texts are
    search         3.1: similar photographs, in a source or in what an image search answered
    sets           3.1: pruning, interesting photographs, sets of eight
    pairs          3.2: pairs, generated sentences, and the guidelines for writers
    people         what people mark, write and judge; 3.3 and 3.4: what is kept, and in which split
    store          the benchmark, and what it says of itself
    visible        what can be seen of annotated things: boxes of one thing merged, what may not count marked
    sheets         contact sheets of sets and sentences    doubtful    labels that a person should look at
    takedown       the same benchmark without some photographs

From outside: `build_nlvr2`, `collection.read_config`, `takedown.takedown` and `pairs.check_sentence`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.common.places import anywhere
from veridical.errors import UserError
from veridical.options import gathered, given_names
from veridical.options.building import NLVR2Options
from veridical.options.running import Workers

if TYPE_CHECKING:
    from veridical.builders import BuildReport
    from veridical.builders.nlvr2.takedown import TakedownReport


@anywhere
def build_nlvr2(
    out: Path | str,
    options: NLVR2Options = NLVR2Options(),
    config: Path | str | None = None,
    until: str = "all",
    work: Path | str | None = None,
    sheets: bool = False,
    takedown: Path | str | None = None,
    workers: Workers = Workers(),
    replace: bool = False,
    **fields: Any,
) -> BuildReport | TakedownReport:
    """NLVR2: two photographs and a sentence, true or false; from icons, your photographs, or what people wrote.

    Each step's file is kept in the work folder, where it can be looked at, changed and replaced.

    Args:
        out: The benchmark to make, or the one to take photographs from.
        options: What decides the benchmark.
        config: A JSON or TOML file with options; those given here win.
        until: Stop after: photographs, queries, found, pruned, sets, tasks, sentences, judgements, extra; or all.
        work: Where each step's file is kept; OUT.work unless given.
        sheets: Write contact sheets into the work folder.
        takedown: Remove these photographs, one a line, from OUT, and do nothing else.
        workers: Who does the work.
        replace: Make it anew even where a benchmark with hidden answers or vectors stands at OUT.
    """
    from veridical.benchmark.place import replacing
    from veridical.builders.nlvr2 import build as room
    from veridical.builders.nlvr2.collected import taken_over
    from veridical.builders.nlvr2.collection import read_config
    from veridical.builders.nlvr2.takedown import takedown as take_down

    made, workers = gathered((options, workers), fields)
    if config is not None:
        made = read_config(config, made)
    if made.from_collection is not None:
        made = taken_over(made, Path(out), None if work is None else Path(work))
    if takedown is None:
        with replacing(replace, out if until == "all" else None):
            return room.build(out, made, until=until, work=work, sheets=sheets, workers=workers)
    if given_names(made) or until != "all" or sheets or replace:
        raise UserError("--takedown removes photographs and does nothing else.", "Leave the other options out.")
    return take_down(out, takedown, work=work)
