"""A page of the items whose label hangs on something close to a threshold, for a person to keep or remove.

No label depends on things that are too small to count, cut off, hidden or of a doubtful category (`visible`). Here the
thresholds are set wider: an item that would not have been written then is shown, with what it hangs on in boxes.
Beside the page lies a file of judgements. Whoever looks removes its line, or corrects its verdict, and gives the file
back with `--judgements`: the item goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from veridical.benchmark import Benchmark
from veridical.builders.nlvr2.collection import Collection
from veridical.builders.nlvr2.pairs import WRITER
from veridical.builders.nlvr2.people import Kept, Validated
from veridical.builders.nlvr2.photographs import fetch
from veridical.builders.nlvr2.visible import MERGED, visible
from veridical.builders.nlvr2.work import Verdict
from veridical.common.files import write_lines, write_whole
from veridical.language.programs.terms import Term, parse
from veridical.language.writing.pairs.doubts import DOUBTFUL, PERHAPS, SEVERAL, words_of, worlds
from veridical.language.writing.pairs.statements import execute_pair
from veridical.pages.cards import Gallery, ItemCard, ItemPictures
from veridical.pages.markup import Chapter, Paragraph, Section, page
from veridical.records import Panel, SceneObject

PAGE, FILE = "doubtful.html", "keep.jsonl"
MARGIN = 2.0  # how many times as large a thing must be so that nobody has to look
BUDGET = 24_000_000  # bytes of all pictures of the page
LEAD = (
    "Each of these labels would not be certain if a thing had to be twice as large to count, or if boxes with less in "
    "common were of one thing. What it hangs on is in a box. Look, and where the label is wrong or nobody can tell, "
    "delete the item's line in {file}, or correct its verdict and put your name in place of the worker's. Then build "
    "again with --judgements {file}."
)


@dataclass(frozen=True)
class DoubtfulItem:
    """An item whose label would change if its photographs were seen otherwise."""

    kept: Kept
    things: tuple[tuple[SceneObject, ...], tuple[SceneObject, ...]]  # what it hangs on, left and right

    @property
    def why(self) -> tuple[str, ...]:
        found = (f"{one.category}: {reason}" for side in self.things for one in side for reason in reasons(one))
        return tuple(dict.fromkeys(found))


def reasons(thing: SceneObject) -> list[str]:
    """Why a thing may be seen otherwise than it is annotated."""
    out = []
    for name, value in thing.attributes:
        if name in (DOUBTFUL, SEVERAL):
            out.append(value)
        elif name == PERHAPS:
            out.append(f"or {value}")
        elif name == MERGED:
            out.append("annotated twice")
    return out


def find_doubtful(items: list[Kept], panels: Mapping[str, Panel]) -> list[DoubtfulItem]:
    """The items whose labels change in some world of these panels, which are marked with a margin."""
    out = []
    for one in items:
        if one.sentence.program is None:
            continue
        program = parse(one.sentence.program)
        left, right = (panels[name] for name in one.task.pairs[one.pair])
        words = words_of(program)
        if not _changes(program, (left, right), words, bool(one.label)):
            continue
        things = tuple(
            tuple(o for o in panel.objects if reasons(o) and words & {o.category, *(v for _, v in o.attributes)})
            for panel in (left, right)
        )
        out.append(DoubtfulItem(one, (things[0], things[1])))
    return out


def _changes(program: Term, pair: tuple[Panel, Panel], words: frozenset[str], label: bool) -> bool:
    found = worlds(pair, words)
    return found is None or any(execute_pair(program, world[0], world[1]) != label for world in found)


def write_doubtful(made: Collection, done: Validated, out: Path) -> int:
    """Write the page and the file into the work folder; how many items are doubtful."""
    if made.exact or made.source is None or made.judged_by_people:
        return 0
    names = {name for k in done.items for name in k.task.pairs[k.pair]}
    coverage, raw = made.coverage, fetch(made.source, names, made.workers)
    doubtful = find_doubtful(done.items, {name: visible(raw[name], coverage, MARGIN).panel for name in raw})
    shown = {one.kept.id for one in doubtful}
    rows = sorted(done.items, key=lambda k: k.id not in shown)  # those to look at first
    write_lines(made.work.path(FILE), [Verdict(k.id, WRITER, bool(k.label)) for k in rows])
    opened = Benchmark(out)
    pictures, panels = ItemPictures(opened, BUDGET), opened.whole_panels
    cards = []
    for item in doubtful:
        k = item.kept
        pair = [panels[name] for name in k.task.pairs[k.pair]]
        picture = pictures.boxed(pair, [[o.id for o in side] for side in item.things])
        cards.append(ItemCard(k.id, picture, k.sentence.sentence, label=("false", "true")[k.label], tags=item.why))
    lead = LEAD.format(file=made.work.path(FILE).name)
    gallery = Gallery("Labels to look at", lead, len(done.items), tuple(cards))
    text = Paragraph(f"{len(cards):,} of {len(done.items):,} items hang on something close to a threshold.", "lead")
    chapter = Chapter("Doubtful items", (), (Section("Photographs", (gallery,)),))
    write_whole(made.work.path(PAGE), page("NLVR2", "Doubtful items", (text,), (chapter,)))
    return len(cards)
