"""The most instructive items: what everybody gets wrong, what only one gets right, where two systems differ.

Among equals, items that people agree on come first (a model's error on them is the model's, not the item's), then a
fixed shuffle by name; one item per group, so that no sentence fills the page. An item with several views counts as
right if all are, and as wrong if at least half are wrong. Each is shown as a card, with what each system said.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark.tables import items_from
from veridical.common.arrays import Bools
from veridical.common.files import read_lines
from veridical.evaluation.grade import AnswerKey
from veridical.pages import cards
from veridical.pages.cards import CandidateLine, Gallery, ItemCard, ItemPictures, SystemAnswer
from veridical.pages.drawing import shorten
from veridical.pages.plots import colour
from veridical.records import LETTERS, Item, Text, object_names, split_view
from veridical.reporting.studies import Part, Study, System

RAW = 220  # letters of what a solver wrote
SHOWN_TAGS = ("phenomenon", "synset", "relation", "element", "scene", "family")


class People(NamedTuple):
    """What people said about an item."""

    agree: int
    asked: int


@dataclass(frozen=True)
class ChosenItems:
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
        doubt = {n: 1 - said.agree / said.asked for n, said in self.people.items()}
        order = sorted(numbers, key=lambda n: (doubt.get(n, 0.5), zlib.crc32(names[n].encode()), names[n]))
        out: dict[int, int] = {}
        for number in sorted(order, key=lambda n: int(self.key.group[n]) in self._shown):  # new ones first
            out.setdefault(int(self.key.group[number]), number)
            if len(out) == self.many:
                break
        self._shown.update(out)
        return tuple(out.values())

    def gallery(self, title: str, lead: str, which: Bools) -> ChosenItems | None:
        which = which & self.asked
        count = int(which.sum())
        return ChosenItems(title, lead, count, self.choose(which)) if count else None

    def everybody_wrong(self) -> ChosenItems | None:
        which = np.all(list(self.failed.values()), axis=0)
        if len(self.systems) == 1:
            lead = "Items it gets wrong; those that people agree on come first."
            return self.gallery(f"What {self.systems[0].quoted} gets wrong", lead, which)
        lead = "No system gets these right: what is missing in all of them? Those that people agree on come first."
        return self.gallery("What everybody gets wrong", lead, which)

    def everybody_right(self) -> ChosenItems | None:
        which = np.all(list(self.solved.values()), axis=0)
        if len(self.systems) == 1:
            return self.gallery(f"What {self.systems[0].quoted} gets right", "", which)
        return self.gallery("What everybody gets right", "", which)

    def only(self, system: System) -> ChosenItems | None:
        others = [wrong for name, wrong in self.failed.items() if name != system.name]
        which = self.solved[system.name] & np.all(others, axis=0)
        return self.gallery(f"What only {system.quoted} gets right", "Every other system is wrong.", which)

    def differ(self, one: System, other: System) -> list[ChosenItems]:
        found = []
        for right, wrong in ((one, other), (other, one)):
            which = self.solved[right.name] & self.failed[wrong.name]
            found.append(self.gallery(f"{right.quoted} right, {wrong.quoted} wrong", "", which))
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
    return [int(one) for one in grades.chosen[start : start + int(grades.examples[number])]]


class WrittenAnswer(msgspec.Struct):
    """A line of predictions, as far as a card shows it."""

    item: str
    raw: str | None = None


def raw_texts(system: System, part: Part, ids: Sequence[str]) -> dict[str, str]:
    """What a solver wrote for some items (a model's words, a program), where its file keeps it."""
    path = system.results[part].runs[0].path
    if not path.is_file() or path.suffix != ".jsonl":
        return {}
    wanted = set(ids)
    out: dict[str, str] = {}
    for line in read_lines(path, WrittenAnswer):
        item = split_view(line.item)[0] if line.item not in wanted else line.item
        if line.raw and item in wanted:
            out.setdefault(item, line.raw)
    return out


# --- as cards --------------------------------------------------------------------------------------------------------


class Cards:
    """Makes the cards of one part of a study."""

    def __init__(self, chooser: Chooser, pictures: ItemPictures) -> None:
        self.chooser, self.pictures = chooser, pictures
        key = chooser.key
        self._rationales: dict[int, dict[int, int]] = {}  # of each question, by the answer they assume
        for number in np.flatnonzero((key.parent >= 0) & (key.given >= 0)).tolist():
            self._rationales.setdefault(int(key.parent[number]), {})[int(key.given[number])] = number
        self._raw: dict[str, dict[str, str]] = {}  # system -> item -> what it wrote

    def galleries(self, chosen: Mapping[str, Sequence[ChosenItems]]) -> dict[str, list[Gallery]]:
        """Galleries of cards, under the names of the sections they stand in; their items are read together.

        Cards are made in turn, one for each gallery and then the next, so that where room for pictures is short every
        gallery has some. A card is whole or left out, and a gallery without any is left out.
        """
        flat = [(section, one) for section, some in chosen.items() for one in some]
        numbers = list(dict.fromkeys(n for _, g in flat for n in g.items))
        both = list(dict.fromkeys([*numbers, *(r for n in numbers if (r := self._rationale(n)) is not None)]))
        records = self.chooser.records(both)
        self.pictures.load(records.values())
        ids = [item.id for item in records.values()]
        self._raw = {s.name: raw_texts(s, self.chooser.part, ids) for s in self.chooser.systems}
        made: list[list[ItemCard]] = [[] for _ in flat]
        for turn in range(max((len(g.items) for _, g in flat), default=0)):
            for row, (_, gallery) in zip(made, flat, strict=True):
                card = self._card(gallery.items[turn], records) if turn < len(gallery.items) else None
                row += [card] if card is not None else []
        keys: list[tuple[str, str]] = []
        if any(item.task == "choice" for item in records.values()):  # there a dot stands for what a system chose
            keys = [(f"chosen by {s.quoted}", colour(s.place)) for s in self.chooser.systems]
        out: dict[str, list[Gallery]] = {section: [] for section in chosen}
        for (section, g), row in zip(flat, made, strict=True):
            out[section] += [Gallery(g.title, g.lead, g.count, tuple(row), keys)] if row else []
        return out

    def _rationale(self, number: int) -> int | None:
        """The rationale item given the right answer."""
        return self._rationales.get(number, {}).get(int(self.chooser.key.answer[number]))

    def _card(self, number: int, records: dict[int, Item]) -> ItemCard | None:
        item = records[number]
        written = (raw for by in self._raw.values() if (raw := by.get(item.id)))
        program = item.program or next(filter(cards.is_program, written), None)
        names = object_names(self.pictures.panels(item))
        choice = item.task == "choice"
        rationale = self._rationale(number) if choice else None
        asked = [item] if rationale is None else [item, records[rationale]]
        tagged = cards.referenced(asked) if choice else ()
        picture = self.pictures.whole(item, program, tagged)
        if picture is None:
            return None
        people = self.chooser.people.get(number)
        tags = [value for name in SHOWN_TAGS for value in item.tag(name)]
        return ItemCard(
            id=item.id,
            picture=picture,
            query=None if item.query is None else cards.tagged_text(item.query, names, tagged),
            candidates=self._candidates(item, number, names, tagged) if choice else (),
            rationales=() if rationale is None else self._candidates(records[rationale], rationale, names, tagged),
            label=candidate_name(item, item.answer) if item.answer is not None else "not shown",
            answers=tuple(self._answer(system, item, number, program) for system in self.chooser.systems),
            people=f"{people.agree} of {people.asked} people agree with the label" if people else "",
            tags=tuple(tags[:6]),
        )

    def _answer(self, system: System, item: Item, number: int, program: str | None) -> SystemAnswer:
        """What a system said, and its words unless they are the program that is drawn."""
        chosen = choices(system, self.chooser.part, number)
        good = sum(c == item.answer for c in chosen)
        grade = "right" if good == len(chosen) else "wrong" if good == 0 else "right in some views"
        raw = self._raw.get(system.name, {}).get(item.id)
        words = shorten(" ".join(raw.split()), RAW) if raw and raw != program else ""
        return SystemAnswer(
            system.name,
            colour(system.place),
            said_in_words(item, chosen),
            grade,
            words,
            bool(words) and cards.is_program(raw or ""),
        )

    def _candidates(
        self, item: Item, number: int, names: dict[str, str], tagged: Sequence[str]
    ) -> tuple[CandidateLine, ...]:
        """The candidates with a letter, each with the systems that chose it."""
        chosen = [(s, choices(s, self.chooser.part, number)) for s in self.chooser.systems]
        return tuple(
            CandidateLine(
                letter=LETTERS[k],
                text=cards.tagged_text(candidate, names, tagged) if isinstance(candidate, Text) else str(candidate),
                right=k == item.answer,
                chosen_by=tuple((s.name, colour(s.place)) for s, own in chosen if k in own),
            )
            for k, candidate in enumerate(item.candidates)
        )


def candidate_name(item: Item, chosen: int) -> str:
    """What a candidate is called: true, false, or its letter; also for no readable or no prediction."""
    if chosen < 0:
        return "unreadable" if chosen == -1 else "missing"
    candidate = item.candidates[chosen] if chosen < len(item.candidates) else None
    return candidate.raw if item.task == "statement" and isinstance(candidate, Text) else LETTERS[chosen]


def said_in_words(item: Item, chosen: Sequence[int]) -> str:
    """The answer, or for several views how often each was given."""
    counts = Counter(chosen)
    if len(counts) == 1 or len(chosen) == 1:
        return candidate_name(item, chosen[0]) if chosen else "not asked"
    return ", ".join(f"{candidate_name(item, c)} ×{n}" for c, n in sorted(counts.items(), key=lambda p: (-p[1], p[0])))
