"""The records that all four benchmarks share: a scene is a list of panels, an item is a choice among candidates.

Standard library only, so that everything may import this. Records are frozen: a stage reads records and writes new
ones, keyed by item id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Task = Literal["statement", "matrix", "choice"]
Verdict = int | Literal["nonsense", "skip"]
JudgementKind = Literal["selection", "validation", "extra", "human"]
Box = tuple[float, float, float, float]  # left, top, right, bottom in pixels
Pairs = tuple[tuple[str, str], ...]  # (name, value); a name may repeat

TASKS: tuple[Task, ...] = ("statement", "matrix", "choice")
JUDGEMENT_KINDS: tuple[JudgementKind, ...] = ("selection", "validation", "extra", "human")
PROGRAM, GENERATOR = "program", "generator"  # who judges and writes what is generated: no worker, no writer


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One thing in a panel."""

    id: str  # unique within its panel
    category: str  # square, dog, person ...
    attributes: Pairs = ()  # (("color", "black"), ("size", "20")), in the order given
    box: Box | None = None  # within the panel, or None where only the category is known
    score: float | None = None  # a detector's confidence; None for ground truth
    polygons: tuple[tuple[tuple[float, float], ...], ...] = ()  # outlines, in panel pixels

    def attribute(self, name: str) -> str | None:
        """The first value of an attribute, or None.

        >>> SceneObject("0", "square", (("color", "black"),)).attribute("color")
        'black'
        """
        return next((value for key, value in self.attributes if key == name), None)


@dataclass(frozen=True, slots=True)
class Panel:
    """(A region of) an image with the objects in it."""

    id: str
    image: str | None = None  # content address in the image store (sha256, hex), or None: only an address is known
    region: Box | None = None  # the part of the image that is this panel; None means all of it
    width: int | None = None  # of the panel, in pixels
    height: int | None = None
    objects: tuple[SceneObject, ...] = ()
    uri: str | None = None  # where the image came from
    phash: str | None = None  # average hash, as NLVR2 publishes it with the image


@dataclass(frozen=True, slots=True)
class Ref:
    """A token that points at objects of the item's panels; VCR's tags can name several."""

    objects: tuple[str, ...]


_JOINED = re.compile(r" (?=[?.!,;:](?: |$)|n't\b|'(?:s|re|ve|ll|d|m)\b)")  # a space that only tokens have


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence, question, answer or rationale."""

    raw: str  # exactly as it was: a string, or a token list as JSON, so that export is byte-identical
    tokens: tuple[str | Ref, ...] = ()  # words and references; empty where the text is plain and not tokenised

    def words(self, names: dict[str, str] | None = None) -> str:
        """Readable text; `names` says what to call each object.

        >>> Text('["Why", [0], "?"]', ("Why", Ref(("0",)), "?")).words({"0": "person 1"})
        'Why person 1 ?'
        """
        if not self.tokens:
            return self.raw
        names = names or {}
        return " ".join(
            token if isinstance(token, str) else " and ".join(names.get(o, o) for o in token.objects)
            for token in self.tokens
        )

    def readable(self, names: dict[str, str] | None = None) -> str:
        """The same as people write it: tokens without a space before commas and the like.

        >>> Text("", ("Is", "n't", Ref(("0",)), "'s", "coat", "wet", ",", "too", "?")).readable({"0": "person1"})
        "Isn't person1's coat wet, too?"
        """
        return _JOINED.sub("", self.words(names))


@dataclass(frozen=True, slots=True)
class View:
    """Another presentation of the same item: its panels in another order, as another image (NLVR's permutations)."""

    order: tuple[int, ...]  # which of the item's panels stands first, second ...
    image: str | None = None  # content address of the whole picture


@dataclass(frozen=True, slots=True)
class Item:
    """One choice among candidates. True/false items have the two candidates FALSE and TRUE, in this order."""

    id: str
    task: Task
    panels: tuple[str, ...]  # panel ids: what the solver may look at
    query: Text | None = None  # sentence or question; None for matrices
    candidates: tuple[Text, ...] | tuple[str, ...] = ()  # texts, or panel ids
    answer: int | None = None  # index of the right candidate; None where hidden or undefined
    group: str | None = None  # items that count together for consistency
    origins: tuple[str, ...] = ()  # keys that must not cross splits: presentation, image set, movie, photograph
    views: tuple[View, ...] = ()  # a per-view prediction is named `item#k`
    parent: str | None = None  # a rationale item's answer item
    given: int | None = None  # the candidate of the parent that a rationale item assumes
    program: str | None = None  # the program behind a generated statement
    writer: str | None = None
    tags: Pairs = ()  # (("synset", "beer bottle"), ("phenomenon", "negation"), ("phenomenon", "coordination"))

    def tag(self, name: str) -> tuple[str, ...]:
        """All values of one tag."""
        return tuple(value for key, value in self.tags if key == name)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # what candidates are called
FALSE = Text("false")
TRUE = Text("true")
TRUTH: tuple[Text, Text] = (FALSE, TRUE)  # candidate 0 is false, candidate 1 is true


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one person said about one item."""

    item: str
    worker: str
    verdict: Verdict  # a candidate index, "nonsense" or "skip"
    kind: JudgementKind  # the writer's own selection, the validation that made the label, an extra one, a human test
    time: float | None = None  # seconds since the epoch, where known


@dataclass(frozen=True, slots=True)
class Prediction:
    """One score per candidate; no scores means that the answer could not be read."""

    item: str  # item id, or `item#k` for view k
    scores: tuple[float, ...] = ()
    raw: str | None = None  # the generated text the scores were read from


@dataclass(frozen=True, slots=True)
class Pruned:
    """An item that was removed on the way, and why."""

    item: str
    reason: str
    stage: str = ""


def view_id(item: str, view: int) -> str:
    """The name of one view's prediction: `1304-0#3`."""
    return f"{item}#{view}"


def split_view(prediction_item: str) -> tuple[str, int | None]:
    """The item id and view of a prediction's name.

    >>> split_view("1304-0#3"), split_view("dev-850-0-0"), split_view("a#²")
    (('1304-0', 3), ('dev-850-0-0', None), ('a#²', None))
    """
    item, mark, view = prediction_item.rpartition("#")
    is_number = view.isascii() and view.isdigit() and len(view) < 10
    return (item, int(view)) if mark and is_number else (prediction_item, None)


def object_names(panels: Iterable[Panel]) -> dict[str, str]:
    """What tagged objects are called in texts: their category and number, as in the paper (`person1`)."""
    counts: dict[str, int] = {}
    out = {}
    for panel in panels:
        for one in panel.objects:
            counts[one.category] = counts.get(one.category, 0) + 1
            out[one.id] = f"{one.category}{counts[one.category]}"
    return out


def pairs(**values: str | Iterable[str] | None) -> Pairs:
    """Tags or attributes from keywords; an iterable gives one pair per value, None gives none.

    >>> pairs(synset="dog", phenomenon=["negation", "coordination"], query=None)
    (('synset', 'dog'), ('phenomenon', 'negation'), ('phenomenon', 'coordination'))
    """
    out: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, str):
            out.append((name, value))
        elif value is not None:
            out.extend((name, one) for one in value)
    return tuple(out)
