"""One item as a prompt: words and pictures in the order in which they are sent, and which candidate each label means.

The prompt knows nothing of Inspect. A candidate order is a rotation, so that over all rotations each candidate stands
in each place once; a rationale item is conditioned on the answer it assumes, as the rules of VCR demand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.options.running import Asking
from veridical.records import Item, Ref, SceneObject, Text
from veridical.solvers.vlm.pictures import Picture, Pictures

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TRUTH_LABELS = ("false", "true")
_Later = Callable[[], Picture]  # blind prompts must not need their pictures


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


@dataclass(frozen=True)
class Wording:
    """What stands before and after an item, and what its parts are called."""

    opening: str  # `{pictures}` is what is shown
    query: str  # the name of the sentence or question
    ask: str  # the task in one sentence; `{choices}` is how the answer is to be written


def _wordings(*parts: tuple[str, str]) -> tuple[Wording, ...]:
    """One after each of the same openings."""
    openings = "Look at {pictures}.", "You are shown {pictures}.", "Here: {pictures}.", "Study {pictures} carefully."
    return tuple(Wording(opening, query, ask) for opening, (query, ask) in zip(openings, parts, strict=True))


STATEMENT = _wordings(
    ("Statement", "Is the statement true or false of what is shown?"),
    ("Sentence", "Decide whether the sentence describes this correctly."),
    ("Claim", "Check every part of the claim against what you see. Does it hold?"),
    ("Caption", "Judge whether the caption is an accurate description."),
)
MATRIX = _wordings(
    ("Matrix", "The ninth panel of the 3x3 matrix is missing. Which candidate completes it?"),
    ("Puzzle", "The first two rows follow a rule. Which candidate makes the third row follow the same rule?"),
    (
        "Matrix",
        "Find what the panels of each row share or how they change along it, and choose the missing last panel.",
    ),
    ("Problem", "Pick the one candidate that belongs in the empty place."),
)
ANSWER, RATIONALE = (
    _wordings(*(("Question", ask) for ask in asks))
    for asks in (
        (
            "Which answer is right?",
            "Choose the most likely answer given the whole situation.",
            "Pick the answer that fits what is happening.",
            "Exactly one answer is correct. Which?",
        ),
        (
            "Which reason best explains why this answer is right?",
            "Choose the rationale that justifies the given answer.",
            "Assume the answer is right. Pick the reason for it.",
            "Exactly one reason supports the answer. Which?",
        ),
    )
)

DIRECT = "Answer with {choices} only, and nothing else."
REASON = 'Think step by step. Then write the answer on the last line as "Answer: X", where X is {choices}.'
COUNT = len(STATEMENT)  # wordings of every task


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


class Prompter:
    """Makes the prompts of one benchmark."""

    def __init__(self, benchmark: Benchmark, asking: Asking) -> None:
        self.benchmark = benchmark
        self.asking = asking
        self._pictures = Pictures(benchmark)

    def prompt(self, item: Item, variant: Variant, *, view: int | None = None, parent: Item | None = None) -> Prompt:
        """The prompt of an item (of one of its views); `parent` is the answer item of a rationale item."""
        if not item.candidates:
            raise UserError(f"Item {item.id} has no candidates.", "Run `veridical check` on the benchmark.")
        if item.task == "statement":
            return self._statement(item, variant, view)
        if item.task == "matrix":
            return self._matrix(item, variant)
        return self._choice(item, variant, parent)

    def _statement(self, item: Item, variant: Variant, view: int | None) -> Prompt:
        letters = self.asking.answers == "letter"
        # True is offered first; without letters, only the order in which the two words are offered changes.
        order = tuple((k + 1) % len(item.candidates) for k in rotation(len(item.candidates), variant.order))
        labels = tuple(LETTERS[: len(order)]) if letters else tuple(TRUTH_LABELS[k] for k in order)
        together = self.asking.layout == "together" if self.asking.layout else bool(item.views)
        count = len(item.panels)
        if together:
            what, shown = self._pictured("the picture", [("", lambda: self._pictures.whole(item, view))])
        else:
            panels = item.panels
            if item.views and view is not None:
                panels = tuple(item.panels[k] for k in item.views[view].order)
            names = _places(count)
            what, shown = self._pictured(
                f"the {number_word(count)} pictures" if count > 1 else "the picture",
                [(name, partial(self._pictures.panel, p)) for name, p in zip(names, panels, strict=True)],
            )
        wording = STATEMENT[variant.wording]
        query = item.query.words() if item.query else ""
        texts = tuple(TRUTH_LABELS[k] for k in order)
        lines = [f"{wording.query}: {query}"]
        if letters:
            lines += [f"{label}. {text.capitalize()}" for label, text in zip(labels, texts, strict=True)]
        return self._finish(wording, what, shown, lines, labels, order, texts)

    def _matrix(self, item: Item, variant: Variant) -> Prompt:
        order = rotation(len(item.candidates), variant.order)
        labels = tuple(LETTERS[: len(order)])
        wording = MATRIX[variant.wording]
        if self.asking.layout == "together":
            what, shown = self._pictured(
                "the matrix of pictures and the lettered candidates below it",
                [("", lambda: self._pictures.matrix(item, labels, order))],
            )
        else:
            named = [
                (f"Row {n // 3 + 1}, column {n % 3 + 1}:", partial(self._pictures.panel, p))
                for n, p in enumerate(item.panels)
            ]
            named += [
                (f"Candidate {label}:", partial(self._pictures.panel, str(item.candidates[k])))
                for label, k in zip(labels, order, strict=True)
            ]
            what, shown = self._pictured("these pictures: a 3x3 matrix without its last panel, and candidates", named)
        return self._finish(wording, what, shown, [], labels, order, ("",) * len(order))

    def _choice(self, item: Item, variant: Variant, parent: Item | None) -> Prompt:
        order = rotation(len(item.candidates), variant.order)
        labels = tuple(LETTERS[: len(order)])
        names = self._names(item)
        mentioned = _mentioned(item, parent, names)
        candidates = tuple(_words(item.candidates[k], names) for k in order)
        wording = (ANSWER if item.given is None else RATIONALE)[variant.wording]
        drawn = self.asking.boxes == "drawn" and bool(mentioned)
        many = len(item.panels) > 1
        what, shown = self._pictured(
            f"the {number_word(len(item.panels))} pictures" if many else "the picture",
            [
                (label, partial(self._boxed, p, mentioned) if drawn else partial(self._pictures.panel, p))
                for label, p in zip(_places(len(item.panels)), item.panels, strict=True)
            ],
        )
        lines = []
        if self.asking.boxes == "coordinates" and not self.asking.blind:
            lines += self._coordinates(item, mentioned)
        lines.append(f"{wording.query}: {_words(item.query, names) if item.query else ''}")
        if item.given is not None:
            if parent is None:
                raise UserError(f"Rationale item {item.id} has no answer item.", "Run `veridical check`.")
            lines.append(f"Answer: {_words(parent.candidates[item.given], names)}")
        lines += [f"{label}. {text}" for label, text in zip(labels, candidates, strict=True)]
        return self._finish(wording, what, shown, lines, labels, order, candidates)

    def _pictured(self, what: str, named: Sequence[tuple[str, _Later]]) -> tuple[str, list[str | Picture]]:
        """What is shown, in words, and the pictures with their names; nothing of it where the model is blind."""
        if self.asking.blind:
            return "", []
        out: list[str | Picture] = []
        for name, picture in named:
            out += [name, picture()] if name else [picture()]
        return what, out

    def _finish(
        self,
        wording: Wording,
        what: str,
        shown: list[str | Picture],
        lines: list[str],
        labels: tuple[str, ...],
        order: tuple[int, ...],
        texts: tuple[str, ...],
    ) -> Prompt:
        choices = f"{', '.join(labels[:-1])} or {labels[-1]}" if len(labels) > 1 else labels[0]
        if labels[0] in LETTERS:
            choices = f"one letter ({choices})"
        ending = (REASON if self.asking.reasoning else DIRECT).format(choices=choices)
        opening = [wording.opening.format(pictures=what)] if what else []
        parts = (*opening, *shown, "\n".join([*lines, wording.ask, ending]))
        return Prompt(parts, labels, order, texts)

    def _boxed(self, panel: str, mentioned: Mapping[str, str]) -> Picture:
        return self._pictures.boxed(panel, mentioned)

    def _names(self, item: Item) -> dict[str, str]:
        """What the objects of the picture are called, numbered from 1 over all of them as VCR's pages do."""
        return {
            one.id: f"[{one.category}{number}]"
            for name in item.panels
            for number, one in enumerate(self._objects(name), 1)
        }

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


def number_word(count: int) -> str:
    """
    >>> number_word(2)
    'two'
    """
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[count] if count < len(words) else str(count)


def _places(count: int) -> tuple[str, ...]:
    """Names of pictures shown one by one."""
    if count == 1:
        return ("",)
    if count == 2:
        return ("Left picture:", "Right picture:")
    if count == 3:
        return ("Left picture:", "Middle picture:", "Right picture:")
    return tuple(f"Picture {k + 1}:" for k in range(count))


def _words(text: Text | str, names: dict[str, str]) -> str:
    return tidy(text if isinstance(text, str) else text.words(names))


def tidy(text: str) -> str:
    """Words that were tokens, as people write them.

    >>> tidy("Is n't [person1] 's coat wet , or is it ?")
    "Isn't [person1]'s coat wet, or is it?"
    """
    return re.sub(r" (?=[?.!,;:](?: |$)|n't\b|'(?:s|re|ve|ll|d|m)\b)", "", text)


def _mentioned(item: Item, parent: Item | None, names: dict[str, str]) -> dict[str, str]:
    """The objects that the texts refer to: only these are drawn, since a scene can have dozens."""
    texts = [item.query, *item.candidates]
    if parent is not None:
        texts += [parent.query, *parent.candidates]
    used = {
        o for t in texts if isinstance(t, Text) for token in t.tokens if isinstance(token, Ref) for o in token.objects
    }
    return {one: names[one] for one in names if one in used}
