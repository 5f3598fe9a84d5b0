"""The most instructive items: what everybody gets wrong, what only one gets right, where two systems differ.

Among equals, items that people agree on come first (a model's error on them is the model's, not the item's), then a
fixed shuffle by name; one item per group, so that no sentence fills the page. An item with several views counts as
right if all are, and as wrong if at least half are wrong.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark.tables import items_from
from veridical.common.arrays import Bools
from veridical.common.files import read_lines
from veridical.evaluation.key import AnswerKey
from veridical.records import Item, split_view
from veridical.reporting.studies import Part, Study, System


@dataclass(frozen=True)
class People:
    """What people said about an item."""

    agree: int
    asked: int


@dataclass(frozen=True)
class Gallery:
    """Some items that show one thing."""

    title: str
    lead: str  # what to see in them
    count: int  # how many such items there are
    items: tuple[int, ...]  # those shown, by number


class Chooser:
    """Chooses items of one part of a study."""

    def __init__(self, study: Study, part: Part, per_gallery: int) -> None:
        self.study, self.part, self.many = study, part, per_gallery
        self.systems = study.on(part)
        self.key: AnswerKey = self.systems[0].results[part].grades.key
        self.solved = {s.name: s.results[part].solved() for s in self.systems}
        self.failed = {s.name: s.results[part].failed() for s in self.systems}
        self._shown: set[int] = set()  # groups that stand on the page already
        self.asked = self.key.scored & (self.key.parent < 0)  # rationales are shown with their question
        self.people = _people(study, self.key)

    def choose(self, which: Bools) -> tuple[int, ...]:
        """The most instructive of some items."""
        numbers = np.flatnonzero(which).tolist()
        names = dict(zip(numbers, self.key.ids.take(pa.array(numbers, pa.int64())).to_pylist(), strict=True))
        order = sorted(numbers, key=lambda n: (self._doubt(n), zlib.crc32(names[n].encode()), names[n]))
        out: dict[int, int] = {}
        for number in sorted(order, key=lambda n: int(self.key.group[n]) in self._shown):  # new ones first
            out.setdefault(int(self.key.group[number]), number)
            if len(out) == self.many:
                break
        self._shown.update(out)
        return tuple(out.values())

    def _doubt(self, number: int) -> float:
        said = self.people.get(number)
        return 1 - said.agree / said.asked if said else 0.5

    def gallery(self, title: str, lead: str, which: Bools) -> Gallery | None:
        which = which & self.asked
        count = int(which.sum())
        return Gallery(title, lead, count, self.choose(which)) if count else None

    def everybody_wrong(self) -> Gallery | None:
        which = np.all(list(self.failed.values()), axis=0)
        if len(self.systems) == 1:
            lead = "Items it gets wrong; those that people agree on come first."
            return self.gallery(f"What {self.systems[0].name} gets wrong", lead, which)
        lead = "No system gets these right: what is missing in all of them? Those that people agree on come first."
        return self.gallery("What everybody gets wrong", lead, which)

    def only(self, system: System) -> Gallery | None:
        others = [wrong for name, wrong in self.failed.items() if name != system.name]
        which = self.solved[system.name] & np.all(others, axis=0)
        return self.gallery(f"What only {system.name} gets right", "Every other system is wrong.", which)

    def differ(self, one: System, other: System) -> list[Gallery]:
        found = []
        for right, wrong in ((one, other), (other, one)):
            which = self.solved[right.name] & self.failed[wrong.name]
            found.append(self.gallery(f"{right.name} right, {wrong.name} wrong", "", which))
        return [g for g in found if g is not None]

    def records(self, numbers: Sequence[int]) -> dict[int, Item]:
        """The items themselves, and nothing hidden unless it may be shown."""
        scheme, split = self.part
        table = self.study.benchmark.items_table(split, scheme, answers=self.study.open_to_view(self.part))
        chosen = table.take(pa.array(list(numbers), pa.int64()))
        return dict(zip(numbers, items_from(chosen), strict=True))


def _people(study: Study, key: AnswerKey) -> dict[int, People]:
    """How many people gave the right answer to each item, where several were asked."""
    table = study.benchmark.judgements_table(hidden=study.show_hidden and study.benchmark.hidden_directory.is_dir())
    if not table.num_rows:
        return {}
    numbers = np.asarray(pc.fill_null(pc.index_in(table["item"], value_set=key.ids), -1)).astype(np.int64)
    verdicts = table["verdict"].to_pylist()
    counts: dict[int, list[int]] = {}
    for number, verdict in zip(numbers.tolist(), verdicts, strict=True):
        if number >= 0 and verdict != "skip":
            tally = counts.setdefault(number, [0, 0])
            tally[0] += verdict == str(int(key.answer[number]))
            tally[1] += 1
    return {number: People(agree, asked) for number, (agree, asked) in counts.items() if asked > 1}


def choices(system: System, part: Part, number: int) -> list[int]:
    """What a system chose for an item: one candidate, or one for each view; -1 unreadable, -2 missing."""
    grades = system.results[part].grades
    start = int(grades.examples[:number].sum())
    return grades.chosen[start : start + int(grades.examples[number])].tolist()


class _RawLine(msgspec.Struct):
    item: str
    raw: str | None = None


def raw_texts(system: System, part: Part, ids: Sequence[str]) -> dict[str, str]:
    """What a solver wrote for some items (a model's words, a program), where its file keeps it."""
    path = system.results[part].runs[0].path
    if not path.is_file() or path.suffix != ".jsonl":
        return {}
    wanted = set(ids)
    out: dict[str, str] = {}
    for line in read_lines(path, _RawLine):
        item = split_view(line.item)[0] if line.item not in wanted else line.item
        if line.raw and item in wanted:
            out.setdefault(item, line.raw)
    return out


def rationale_numbers(key: AnswerKey) -> dict[int, dict[int, int]]:
    """For each question its rationale items by the answer they assume."""
    out: dict[int, dict[int, int]] = {}
    for number in np.flatnonzero((key.parent >= 0) & (key.given >= 0)).tolist():
        out.setdefault(int(key.parent[number]), {})[int(key.given[number])] = number
    return out
