"""Items as the cards of `veridical.pages`, and everything that an item's own page shows.

Where pictures and pages are found is somebody else's: a server has addresses, an exported site has files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from veridical.benchmark.item import BenchmarkItem
from veridical.pages.cards import (
    CandidateLine,
    ItemCard,
    ItemPicture,
    ItemPictures,
    SystemAnswer,
    is_program,
    referenced,
    tagged_text,
)
from veridical.pages.drawing import shorten
from veridical.pages.shown import Chosen, candidate_lines, item_card
from veridical.records import LETTERS, Box, Panel, object_names
from veridical.reporting.examples import candidate_name, said_in_words
from veridical.web.explore.catalogue import Catalogue, Place
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.filters import ItemFilter
from veridical.web.explore.findings import ItemFinding
from veridical.web.explore.pictures import LARGE_SIDES
from veridical.web.explore.solvers import GRADES, NOT_ASKED, ExploredSolver

RAW = 2_000  # letters of what a solver wrote
MOST_OBJECTS = 400  # that a page names


class Addresses(Protocol):
    """Where things are found from the page that is made."""

    def grid(self, wanted: ItemFilter, **more: object) -> str: ...
    def item(self, name: str, wanted: ItemFilter) -> str: ...
    def picture(self, address: str, region: Box | None, side: int) -> str: ...


def grid_cards(
    explorer: Explorer, catalogue: Catalogue, numbers: Sequence[int], wanted: ItemFilter, addresses: Addresses
) -> list[ItemCard]:
    """The cards of some items, in their order."""
    places = catalogue.places(numbers)
    items = catalogue.items(places.values())
    pictures = ItemPictures(explorer.benchmark, link=addresses.picture, read=catalogue.panels)
    pictures.load(items.values())
    out = []
    for number in numbers:
        place = places[number]
        item = items[place.split, place.row]
        solvers = explorer.on((catalogue.scheme, place.split))
        said = [solver_answer(solver, catalogue.scheme, place, item) for solver in solvers]
        chosen = chosen_by(solvers, catalogue.scheme, place)
        link = addresses.item(item.id, wanted)
        out.append(item_card(item, pictures, answers=said, chosen=chosen, link=link, people=""))
    return out


def chosen_by(solvers: Sequence[ExploredSolver], scheme: str, place: Place) -> list[Chosen]:
    """What each solver chose for an item, for the dots beside candidates."""
    return [((one.name, one.colour), one.files[scheme, place.split].chosen(place.row)) for one in solvers]


def solver_answer(
    solver: ExploredSolver, scheme: str, place: Place, item: BenchmarkItem, raw: str = ""
) -> SystemAnswer:
    """What a solver said about an item, and how `evaluate` marks it."""
    file = solver.files[scheme, place.split]
    chosen = file.chosen(place.row)
    mark = int(file.marks[place.row])
    grade = GRADES[mark] if mark != NOT_ASKED else "not asked"
    return SystemAnswer(solver.name, solver.colour, said_in_words(item, chosen), grade, raw)


# --- an item's own page ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreRow:
    """One candidate, or one view, with what each solver gave it."""

    name: str
    right: bool
    cells: tuple[tuple[str, bool], ...]  # a score or an answer in words, and whether it was chosen


@dataclass(frozen=True)
class Stage:
    """A choice with its candidates and every solver's scores: the answer, or a rationale given an answer."""

    title: str
    candidates: tuple[CandidateLine, ...]
    scores: tuple[ScoreRow, ...]
    answers: tuple[SystemAnswer, ...]


@dataclass(frozen=True)
class ItemPage:
    """Everything that is known about an item."""

    item: BenchmarkItem
    split: str
    query: str | None
    picture: ItemPicture
    explained: ItemPicture | None  # what decides its program
    objects: ItemPicture | None  # all boxes
    named: tuple[tuple[str, str], ...]  # objects: what they are called, and what is known of them
    stages: tuple[Stage, ...]
    solvers: tuple[ExploredSolver, ...]
    judged: tuple[tuple[str, str, str], ...]  # worker, what they said, in which role
    findings: tuple[ItemFinding, ...]
    label: str


class PageMaker:
    """Makes the page of one item."""

    def __init__(self, explorer: Explorer, catalogue: Catalogue, place: Place, addresses: Addresses) -> None:
        self.explorer, self.catalogue, self.place = explorer, catalogue, place
        below = catalogue.children(catalogue.items([place])[place.split, place.row].id)
        items = catalogue.items([place, *below.values()])
        self.item = items[place.split, place.row]
        self.rationales = {given: (one, items[one.split, one.row]) for given, one in below.items()}
        link, read = addresses.picture, catalogue.panels
        self.pictures = ItemPictures(explorer.benchmark, link=link, read=read, sides=LARGE_SIDES)
        self.pictures.load([self.item])
        self.panels: list[Panel] = self.pictures.panels(self.item)
        self.names = object_names(self.panels)
        self.solvers = tuple(explorer.on((catalogue.scheme, place.split)))
        self.tagged = referenced([self.item, *(one for _, one in self.rationales.values())])

    def page(self) -> ItemPage:
        item = self.item
        written = {
            s.name: s.files[self.catalogue.scheme, self.place.split].written(self.place.row) for s in self.solvers
        }
        program = item.program or next(filter(is_program, filter(None, written.values())), None)
        named = [(self.names[one.id], " ".join([*(v for _, v in one.attributes), one.category]))
                 for panel in self.panels for one in panel.objects]  # fmt: skip
        boxed = [one.id for panel in self.panels if panel.image is not None for one in panel.objects if one.box]
        explained = self.pictures.item(item, program) if program and item.task == "statement" else None
        return ItemPage(
            item=item,
            split=self.place.split,
            query=None if item.query is None else tagged_text(item.query, self.names, self.tagged),
            picture=replace(
                self.pictures.item(item, None, self.tagged if item.task == "choice" else ()),
                right="" if item.answer is None else LETTERS[item.answer],
            ),
            explained=explained if explained is not None and explained.program else None,
            objects=self.pictures.item(item, None, boxed)
            if boxed and not item.views and item.task != "matrix"
            else None,
            named=tuple(named[:MOST_OBJECTS]),
            stages=tuple(self._stages(written)),
            solvers=self.solvers,
            judged=self._judged(),
            findings=tuple(self.explorer.findings.get(item.id, ())) if self._open else (),
            label="hidden" if item.answer is None else candidate_name(item, item.answer),
        )

    @property
    def _open(self) -> bool:
        return self.catalogue.shows_answers(self.place.split)

    def _stages(self, written: Mapping[str, str]) -> list[Stage]:
        first = "Answer" if self.rationales else "Candidates"
        out = [self._stage(first, self.place, self.item, written)]
        order = sorted(self.rationales, key=lambda given: (given != self.item.answer, given))
        for given in order:
            place, item = self.rationales[given]
            title = f"Rationale, given that the answer is {LETTERS[given]}"
            out.append(self._stage(title, place, item, {}))
        return out

    def _stage(self, title: str, place: Place, item: BenchmarkItem, written: Mapping[str, str]) -> Stage:
        scheme = self.catalogue.scheme
        chosen = chosen_by(self.solvers, scheme, place)
        answers = [
            solver_answer(s, scheme, place, item, shorten(" ".join(written.get(s.name, "").split()), RAW))
            for s in self.solvers
        ]
        lines = candidate_lines(item, self.names, self.tagged, chosen) if item.task == "choice" else ()
        return Stage(title, lines, tuple(self._scores(place, item)), tuple(answers))

    def _scores(self, place: Place, item: BenchmarkItem) -> list[ScoreRow]:
        """Candidates as rows; where predictions are for views, views."""
        files = [solver.files[self.catalogue.scheme, place.split] for solver in self.solvers]
        if not files:
            return []
        given = [(file.chosen(place.row), file.scores(place.row)) for file in files]
        views = max(len(chosen) for chosen, _ in given)
        if views > 1:
            return [
                ScoreRow(f"view {view + 1}", False, tuple(_of_view(item, view, *one) for one in given))
                for view in range(views)
            ]
        return [
            ScoreRow(candidate_name(item, k), k == item.answer, tuple(_of_candidate(k, *one) for one in given))
            for k in range(len(item.candidates))
        ]

    def _judged(self) -> tuple[tuple[str, str, str], ...]:
        found = self.catalogue.judgements(self.item.id) if self._open else []
        return tuple(
            (
                one.worker,
                candidate_name(self.item, one.verdict) if isinstance(one.verdict, int) else one.verdict,
                one.kind,
            )
            for one in found
        )


def _of_candidate(k: int, chosen: Sequence[int], scores: Sequence[Sequence[float]]) -> tuple[str, bool]:
    mine = scores[0] if scores else ()
    return (f"{mine[k]:.3g}" if k < len(mine) else ""), k in chosen


def _of_view(
    item: BenchmarkItem, view: int, chosen: Sequence[int], scores: Sequence[Sequence[float]]
) -> tuple[str, bool]:
    if not chosen:
        return "", False
    place = view if view < len(chosen) else 0  # one answer for all views
    said, given = chosen[place], scores[place]
    number = f" {given[said]:.3g}" if 0 <= said < len(given) else ""
    return f"{candidate_name(item, said)}{number}", said == item.answer
