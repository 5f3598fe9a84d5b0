"""Which questions a benchmark's items make, and each as a prompt: words and pictures in the order they are sent.

There is a question per item, view, wording and order, and VCR's follow-ups. The prompt knows nothing of Inspect. A
candidate order is a rotation, so that over all rotations each candidate stands in each place once; a rationale item is
conditioned on the answer it assumes, as the rules of VCR demand. The wordings are `wordings.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files

import msgspec

from veridical.benchmark import Benchmark
from veridical.benchmark.pictures import PICTURES_FIX
from veridical.benchmark.shown import Picture, Pictures, mentioned_in, object_names
from veridical.errors import UserError
from veridical.language.english import NUMBER_WORDS
from veridical.options.running import Asking
from veridical.records import LETTERS, Item, SceneObject, Text, view_id

TRUTH_LABELS = ("false", "true")
DIRECT = "Answer with {choices} only, and nothing else."
REASON = 'Think step by step. Then write the answer on the last line as "Answer: X", where X is {choices}.'
PLACES = {  # names of pictures shown one by one, by how many there are
    1: ("",),
    2: ("Left picture:", "Right picture:"),
    3: ("Left picture:", "Middle picture:", "Right picture:"),
}
_Named = Sequence[tuple[str, Callable[[], Picture]]]  # names and pictures; a blind prompt must not need its pictures


@dataclass(frozen=True, order=True)
class Variant:
    """One of the wordings and orders of an asking."""

    wording: int = 0
    order: int = 0

    @property
    def name(self) -> str:
        return f"wording{self.wording}-order{self.order}"


def variants(asking: Asking) -> tuple[Variant, ...]:
    """All wordings in all orders.

    >>> [v.name for v in variants(Asking(wordings=2, orders=2))]
    ['wording0-order0', 'wording0-order1', 'wording1-order0', 'wording1-order1']
    """
    return tuple(Variant(w, o) for w in range(asking.wordings) for o in range(asking.orders))


class Wording(msgspec.Struct, frozen=True):
    """What stands before and after an item, and what its parts are called."""

    opening: str  # `{pictures}` is what is shown
    query: str  # the name of the sentence or question
    ask: str  # the task in one sentence; `{choices}` is how the answer is to be written


# By task; those of choices by stage.
WORDINGS: dict[str, tuple[Wording, ...]] = msgspec.json.decode(
    files(__package__).joinpath("wordings.json").read_bytes(), type=dict[str, tuple[Wording, ...]]
)
COUNT = len(WORDINGS["statement"])  # of every task


@dataclass(frozen=True)
class Prompt:
    """What is sent, and how the reply is to be read."""

    parts: tuple[str | Picture, ...]
    labels: tuple[str, ...]  # what may be answered, in the order shown: true/false, or letters
    order: tuple[int, ...]  # candidate index of each label
    texts: tuple[str, ...]  # the candidate texts in the order shown; empty strings for pictures

    @property
    def text(self) -> str:
        """The words alone."""
        return "\n".join(part if isinstance(part, str) else "[picture]" for part in self.parts)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return tuple(part for part in self.parts if isinstance(part, Picture))


@dataclass(frozen=True)
class Question:
    """One request: an item (or a view of it) in one wording and order."""

    item: Item
    variant: Variant
    view: int | None = None
    parent: Item | None = None  # a rationale item's answer item

    @property
    def name(self) -> str:
        """What its prediction is called: `1304-0`, or `1304-0#3` for a view."""
        return self.item.id if self.view is None else view_id(self.item.id, self.view)

    @property
    def key(self) -> tuple[str, int, int]:
        return self.name, self.variant.wording, self.variant.order

    @property
    def id(self) -> str:
        """Its name in logs: as the prediction's, with the variant behind it where it is not the first."""
        return self.name if self.variant == Variant() else f"{self.name}/{self.variant.name}"


class SplitQuestions:
    """The questions of one split."""

    def __init__(self, benchmark: Benchmark, split: str, asking: Asking, scheme: str = "main") -> None:
        self.benchmark, self.split, self.scheme, self.asking = benchmark, split, scheme, asking
        self.items = {item.id: item for item in benchmark.items(split, scheme)}
        if not self.items:
            raise UserError(f"Split {split!r} of {benchmark.name} has no items.", "Choose another split.")
        if asking.answers == "truth" and benchmark.task != "statement":
            raise UserError(f"The items of {benchmark.name} are not true or false.", "Leave out --answers.")
        if asking.wordings > COUNT:
            raise UserError(f"There are {COUNT} wordings, not {asking.wordings}.", f"Ask for 1 to {COUNT} wordings.")
        self._rationales = {(i.parent, i.given): i for i in self.items.values() if i.parent is not None}
        self._pictures = Pictures(benchmark)

    def first(self, limit: int | None = None) -> Iterator[Question]:
        """Everything that can be asked at once; `limit` counts items (of VCR: questions with all their rationales)."""
        roots = [item for item in self.items.values() if item.parent is None]
        for item in roots[:limit]:
            yield from self._of(item)
            for k in range(len(item.candidates) if self.asking.rationales == "all" else 0):
                if (item.id, k) in self._rationales:
                    yield from self._of(self._rationales[item.id, k])

    def follow_up(self, question: Question, chosen: int) -> Question | None:
        """The rationale question given the predicted answer, where only that one is to be asked."""
        if self.asking.rationales != "predicted" or question.item.parent is not None:
            return None
        rationale = self._rationales.get((question.item.id, chosen))
        return None if rationale is None else Question(rationale, question.variant, parent=question.item)

    def need_pictures(self, asked: Iterable[Question]) -> None:
        """Refuse questions whose pictures are not here, before the first of them is sent."""
        items = {question.item.id: question for question in asked}
        lacking = [name for name, question in items.items() if not self._has_pictures(question)]
        if lacking:
            raise UserError(
                f"Pictures of {len(lacking):,} of {len(items):,} items are not in the benchmark, such as those of "
                f"{lacking[0]}: only their addresses are known. Nothing was asked.",
                PICTURES_FIX,
            )

    def _has_pictures(self, question: Question) -> bool:
        item = question.item
        if item.task == "statement" and item.views and self.asking.layout != "separate":
            addresses = [item.views[question.view or 0].image]
        else:
            names = (*item.panels, *(one for one in item.candidates if isinstance(one, str)))
            panels = (self.benchmark.panels.get(name) for name in names)
            addresses = [None if panel is None else panel.image for panel in panels]
        return all(address is not None and self.benchmark.has_image(address) for address in addresses)

    def _of(self, item: Item) -> Iterator[Question]:
        if item.parent is not None and item.parent not in self.items:
            raise UserError(f"Item {item.id} belongs to {item.parent}, which is not there.", "Run `veridical check`.")
        parent = self.items[item.parent] if item.parent is not None else None
        views: list[int | None] = [None]
        if item.views and self.asking.views == "all":
            views = list(range(len(item.views)))
        for view in views:
            for variant in variants(self.asking):
                if variant.order < len(item.candidates):  # there are only so many rotations
                    yield Question(item, variant, view, parent)

    def prompt(self, question: Question) -> Prompt:
        """What to send for a question."""
        item = question.item
        if not item.candidates:
            raise UserError(f"Item {item.id} has no candidates.", "Run `veridical check` on the benchmark.")
        order = shown_order(item, question.variant.order)
        labels = tuple(LETTERS[: len(order)])
        if item.task == "statement" and self.asking.answers != "letter":
            labels = tuple(TRUTH_LABELS[k] for k in order)
        stage = ("answer" if item.given is None else "rationale") if item.task == "choice" else item.task
        wording = WORDINGS[stage][question.variant.wording]
        if item.task == "statement":
            what, named, lines, texts = self._statement(question, wording, labels, order)
        elif item.task == "matrix":
            what, named, lines, texts = *self._matrix(item, labels, order), [], ("",) * len(order)
        else:
            what, named, lines, texts = self._choice(question, wording, labels, order)
        choices = f"{', '.join(labels[:-1])} or {labels[-1]}" if len(labels) > 1 else labels[0]
        if labels[0] in LETTERS:
            choices = f"one letter ({choices})"
        ending = (REASON if self.asking.reasoning else DIRECT).format(choices=choices)
        shown: list[str | Picture] = []
        if named and not self.asking.blind:
            shown.append(wording.opening.format(pictures=what))
            for name, picture in named:
                shown += [name, picture()] if name else [picture()]
        return Prompt((*shown, "\n".join([*lines, wording.ask, ending])), labels, order, texts)

    # Each says what is shown, in words and in pictures; the lines below; and the candidates' texts.

    def _statement(
        self, question: Question, wording: Wording, labels: tuple[str, ...], order: tuple[int, ...]
    ) -> tuple[str, _Named, list[str], tuple[str, ...]]:
        item, view = question.item, question.view
        named: _Named
        if self.asking.layout == "together" if self.asking.layout else item.views:
            what, named = "the picture", [("", partial(self._pictures.whole, item, view))]
        else:
            panels = item.panels
            if item.views and view is not None:
                panels = tuple(item.panels[k] for k in item.views[view].order)
            what, named = _one_by_one(panels, self._pictures.panel)
        texts = tuple(TRUTH_LABELS[k] for k in order)
        lines = [f"{wording.query}: {item.query.words() if item.query else ''}"]
        if labels != texts:
            lines += [f"{label}. {text.capitalize()}" for label, text in zip(labels, texts, strict=True)]
        return what, named, lines, texts

    def _matrix(self, item: Item, labels: tuple[str, ...], order: tuple[int, ...]) -> tuple[str, _Named]:
        if self.asking.layout == "together":
            whole = partial(self._pictures.matrix, item, labels, order)
            return "the matrix of pictures and the lettered candidates below it", [("", whole)]
        names = {f"Row {n // 3 + 1}, column {n % 3 + 1}:": panel for n, panel in enumerate(item.panels)}
        names |= {f"Candidate {label}:": str(item.candidates[k]) for label, k in zip(labels, order, strict=True)}
        named = [(name, partial(self._pictures.panel, panel)) for name, panel in names.items()]
        return "these pictures: a 3x3 matrix without its last panel, and candidates", named

    def _choice(
        self, question: Question, wording: Wording, labels: tuple[str, ...], order: tuple[int, ...]
    ) -> tuple[str, _Named, list[str], tuple[str, ...]]:
        item, parent = question.item, question.parent
        names = object_names(item, self.benchmark.panels)
        mentioned = mentioned_in(item, parent, names)
        draw = partial(self._pictures.boxed, names=mentioned)
        drawn = self.asking.boxes == "drawn" and mentioned
        what, named = _one_by_one(
            item.panels, draw if drawn else self._pictures.panel, item.query.raw if item.query else ""
        )
        lines = []
        if self.asking.boxes == "coordinates" and not self.asking.blind:
            lines += self._coordinates(item, mentioned)
        lines.append(f"{wording.query}: {_words(item.query, names) if item.query else ''}")
        if item.given is not None:
            if parent is None:
                raise UserError(f"Rationale item {item.id} has no answer item.", "Run `veridical check`.")
            lines.append(f"Answer: {_words(parent.candidates[item.given], names)}")
        texts = tuple(_words(item.candidates[k], names) for k in order)
        lines += [f"{label}. {text}" for label, text in zip(labels, texts, strict=True)]
        return what, named, lines, texts

    def _coordinates(self, item: Item, mentioned: Mapping[str, str]) -> list[str]:
        """The boxes as text; pixels from the top left corner, and the size that they are relative to."""
        out = []
        for name in item.panels:
            panel = self.benchmark.panels.get(name)
            boxes = [(mentioned[o.id], o.box) for o in self._objects(name) if o.id in mentioned and o.box]
            if panel and boxes:
                size = f" of a picture {panel.width} wide and {panel.height} high" if panel.width else ""
                out.append(f"Objects (left, top, right, bottom in pixels{size}):")
                out += [f"{called} ({', '.join(str(round(edge)) for edge in box)})" for called, box in boxes]
        return out

    def _objects(self, panel: str) -> tuple[SceneObject, ...]:
        found = self.benchmark.panels.get(panel)
        return found.objects if found else ()


def rotation(count: int, order: int) -> tuple[int, ...]:
    """Candidate order number `order`: rotations, each as far as can be from those before it; the first is none.

    >>> [rotation(4, k) for k in range(4)]
    [(0, 1, 2, 3), (2, 3, 0, 1), (1, 2, 3, 0), (3, 0, 1, 2)]
    """
    bits = max(1, (count - 1).bit_length())
    starts = [s for s in (int(f"{k:0{bits}b}"[::-1], 2) for k in range(1 << bits)) if s < count]
    start = starts[order % count]
    return tuple((start + k) % count for k in range(count))


def shown_order(item: Item, order: int) -> tuple[int, ...]:
    """The candidate at each place: a rotation; of a statement, true is offered first."""
    first, count = int(item.task == "statement"), len(item.candidates)
    return tuple((k + first) % count for k in rotation(count, order))


def _one_by_one(panels: Sequence[str], picture: Callable[[str], Picture], query: str = "") -> tuple[str, _Named]:
    """Panels shown after each other, in words and with their names: those that the query calls them by, if it does."""
    count = len(panels)
    names = tuple(f"<image {k + 1}>:" for k in range(count)) if "<image " in query else ()
    names = names or PLACES.get(count) or tuple(f"Picture {k + 1}:" for k in range(count))
    number = NUMBER_WORDS[count] if count < 10 else str(count)
    what = f"the {number} pictures" if count > 1 else "the picture"
    return what, [(name, partial(picture, panel)) for name, panel in zip(names, panels, strict=True)]


def _words(text: Text | str, names: dict[str, str]) -> str:
    return text if isinstance(text, str) else text.readable(names)
