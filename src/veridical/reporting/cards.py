"""One item as a card: what it shows, what is asked, what is right, and what each system said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from veridical.pages.drawing import LETTERS, Pictures, is_program, object_names
from veridical.pages.markup import Markup, element, join
from veridical.pages.plots import colour, legend, shorten
from veridical.records import Item, Text
from veridical.reporting.examples import Chooser, Gallery, choices, rationale_numbers, raw_texts
from veridical.reporting.studies import System

RAW = 220  # letters of what a solver wrote
SHOWN_TAGS = ("phenomenon", "synset", "relation", "element", "scene", "family")


class Cards:
    """Draws the cards of one part of a study."""

    def __init__(self, chooser: Chooser, pictures: Pictures) -> None:
        self.chooser, self.pictures = chooser, pictures
        self._rationales = rationale_numbers(chooser.key)
        self._raw: dict[str, dict[str, str]] = {}  # system -> item -> what it wrote

    def galleries(self, galleries: Sequence[Gallery]) -> list[Markup]:
        """Galleries under their titles; their items are read together."""
        numbers = list(dict.fromkeys(n for g in galleries for n in g.items))
        both = list(dict.fromkeys([*numbers, *(r for n in numbers if (r := self._rationale(n)) is not None)]))
        records = self.chooser.records(both)
        self.pictures.load(records.values())
        ids = [item.id for item in records.values()]
        self._raw = {s.name: raw_texts(s, self.chooser.part, ids) for s in self.chooser.systems}
        return [self._gallery(gallery, records) for gallery in galleries]

    def _gallery(self, gallery: Gallery, records: dict[int, Item]) -> Markup:
        cards = [self._card(number, records) for number in gallery.items]
        count = element("span", f"{len(gallery.items)} of {gallery.count:,}", class_="count")
        lead = [element("p", gallery.lead, class_="lead")] if gallery.lead else []
        if any(records[n].task == "choice" for n in gallery.items):  # there a dot stands for what a system chose
            lead.append(legend([(f"chosen by {s.name}", colour(s.place)) for s in self.chooser.systems]))
        return element("div", element("h4", gallery.title, " ", count), *lead, element("div", *cards, class_="cards"))

    def _written(self, item: Item) -> list[str]:
        """What solvers wrote for an item."""
        return [raw for by in self._raw.values() if (raw := by.get(item.id))]

    def _rationale(self, number: int) -> int | None:
        """The rationale item given the right answer."""
        return self._rationales.get(number, {}).get(int(self.chooser.key.answer[number]))

    def _card(self, number: int, records: dict[int, Item]) -> Markup:
        item = records[number]
        program = item.program or next(filter(is_program, self._written(item)), None)
        parts = [self.pictures.item(item, program)]
        names = object_names(self.pictures.panels(item))
        if item.query is not None:
            parts.append(element("p", item.query.words(names), class_="query"))
        if item.task == "choice":
            parts.append(self._options(item, number, names))
            rationale = self._rationale(number)
            if rationale is not None:
                parts.append(element("p", "… because", class_="because"))
                parts.append(self._options(records[rationale], rationale, names))
        else:
            parts.append(self._verdicts(item, number, program))
        parts.append(self._foot(item, number))
        return element("article", *parts, class_="card")

    def _verdicts(self, item: Item, number: int, program: str | None) -> Markup:
        """The label, then what each system said, and its words unless they are the program that is drawn."""
        right = candidate_name(item, item.answer) if item.answer is not None else "not shown"
        rows = [element("div", element("span", "label"), element("b", right), class_="label")]
        for system in self.chooser.systems:
            chosen = choices(system, self.chooser.part, number)
            good = sum(c == item.answer for c in chosen)
            mark = "✓" if good == len(chosen) else "✗" if good == 0 else "~"
            said = _said(item, chosen)
            kind = {"✓": "good", "✗": "bad", "~": "half"}[mark]
            title = {"✓": "right", "✗": "wrong", "~": "right in some views"}[mark]
            dot = element("i", style=f"background:{colour(system.place)}")
            answer = element("b", said, " ", element("span", mark, title=title), class_=kind)
            rows.append(element("div", element("span", dot, system.name), answer))
            raw = self._raw.get(system.name, {}).get(item.id)
            if raw and raw != program:
                rows.append(element("div", element("q", shorten(" ".join(raw.split()), RAW)), class_="raw"))
        return element("div", *rows, class_="verdicts")

    def _options(self, item: Item, number: int, names: dict[str, str]) -> Markup:
        """The candidates with a letter; the right one stands out, and each system's dot stands by its choice."""
        rows = []
        for k, candidate in enumerate(item.candidates):
            text = candidate.words(names) if isinstance(candidate, Text) else candidate
            dots = [_dot(s) for s in self.chooser.systems if k in choices(s, self.chooser.part, number)]
            letter = element("b", LETTERS[k])
            right = k == item.answer
            told = [element("span", "right", class_="tag")] if right else []
            rows.append(
                element("li", letter, element("span", text, " ", *told), join(dots), class_="right" if right else None)
            )
        return element("ol", *rows, class_="options")

    def _foot(self, item: Item, number: int) -> Markup:
        people = self.chooser.people.get(number)
        parts: list[object] = [element("code", item.id)]
        if people is not None:
            parts.append(element("span", f"{people.agree} of {people.asked} people agree with the label"))
        tags = [value for name in SHOWN_TAGS for value in item.tag(name)]
        parts += [element("span", value, class_="tag") for value in tags[:6]]
        return element("footer", *parts)


def _dot(system: System) -> Markup:
    return element("i", style=f"background:{colour(system.place)}", title=system.name, class_="dot")


def candidate_name(item: Item, chosen: int) -> str:
    """What a candidate is called: true, false, or its letter; also for no readable or no prediction."""
    if chosen < 0:
        return "unreadable" if chosen == -1 else "missing"
    candidate = item.candidates[chosen] if chosen < len(item.candidates) else None
    return candidate.raw if item.task == "statement" and isinstance(candidate, Text) else LETTERS[chosen]


def _said(item: Item, chosen: Sequence[int]) -> str:
    """The answer, or for several views how often each was given."""
    counts = Counter(chosen)
    if len(counts) == 1 or len(chosen) == 1:
        return candidate_name(item, chosen[0]) if chosen else "not asked"
    return ", ".join(f"{candidate_name(item, c)} ×{n}" for c, n in sorted(counts.items(), key=lambda p: (-p[1], p[0])))
