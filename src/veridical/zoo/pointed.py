"""Pointing as a lesson: while a model trains on statements whose programs are known, it also learns which of the things
it sees belong to each set of the program, and in which panels a condition of it holds.

A count (`counted`) says that a set is wrong, pointing says which thing is. As there, the lesson has no weights of its
own: a model names numbers that it has anyway. Items without a program (all that people wrote) give no lesson, and
where a model answers no program is read or run: `wanted` is there in training alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from torch import Tensor
from torch.nn import functional

from veridical.common.arrays import Floats, Ints, Pixels
from veridical.language.programs.domain import Domain, domain_of
from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import Term, parse, term
from veridical.records import Panel
from veridical.zoo.architecture import Example
from veridical.zoo.counted import SETS
from veridical.zoo.slots import KINDS, SIDE

TRUTHS = 2  # conditions of panels that are pointed at
NEAR = 8.0  # pixels: how far the middle of a slot may lie from that of the thing it shows
Lesson = Pixels  # bytes: UNKNOWN, OUT or IN
UNKNOWN, OUT, IN = 0, 1, 2  # what the lesson says of a thing or of a panel


@lru_cache(maxsize=1 << 16)
def sets_of(program: str) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The sets of things and of panels that a program speaks of, in its order: what is kept, and what holds of `every`.

    >>> [len(found) for found in sets_of("(every (keep (is color blue) (things)) (is size large))")]
    [2, 0]
    """
    things: dict[Term, None] = {}
    panels: dict[Term, None] = {}
    waiting = [parse(program)]
    while waiting:
        node = waiting.pop()
        parts = [arg for arg in node.args if isinstance(arg, Term)]
        if node.op == "keep":
            things[node] = None
        elif node.op == "where":
            panels[node] = None
        elif node.op == "every":
            of_panels = parts[0].type == "groups"
            held = term("where" if of_panels else "keep", parts[1], parts[0])
            (panels if of_panels else things)[held] = None
        waiting += reversed(parts)
    return tuple(things)[:SETS], tuple(panels)[:TRUTHS]


class Listed(Protocol):
    """An input that keeps a list of things of each picture: seen (`slots`) or annotated (`given`)."""

    count: int

    def encode(self, example: Example) -> Ints: ...

    def slots(self, rows: Ints) -> Floats: ...


class Pointed:
    """What is meant, panel by panel: (V, P) row numbers, looked up as (P, K + 1, 4).

    The first K lines say of each slot to which sets it belongs, the last in which conditions the panel holds.
    """

    per_view = False
    by_view = True
    lesson = True
    state: None = None
    size = SETS

    def __init__(self, slots: Listed) -> None:
        self.slots = slots
        self._domains: dict[tuple[str, ...], Domain] = {}
        self._shown: dict[tuple[int, str], Ints] = {}  # by picture and panel: which thing each slot is
        self._lessons: list[Lesson] = [np.full((slots.count + 1, SETS), UNKNOWN, np.uint8)]
        self._table = np.stack(self._lessons)

    def learn(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def encode(self, example: Example) -> Ints:
        rows = self.slots.encode(example)  # (V, P)
        out = np.zeros_like(rows)
        if example.item.program is None:
            return out
        members, truths = self._meant(example, example.item.program)
        views = [view.order for view in example.item.views] or [tuple(range(len(example.panels)))]
        made: dict[tuple[int, int], int] = {}
        for own, row, order in zip(out, rows.tolist(), views, strict=True):
            for place, (picture, number) in enumerate(zip(row, order, strict=True)):
                if (picture, number) not in made:
                    shown = self._things(picture, example.panels[number])
                    made[picture, number] = self._add(shown, members[number], truths[number])
                own[place] = made[picture, number]
        return out

    def look_up(self, rows: Ints) -> Lesson:
        """(B, P) -> (B, P, K + 1, 4)."""
        if len(self._table) < len(self._lessons):
            self._table = np.stack(self._lessons)
        return self._table[rows]

    def _meant(self, example: Example, program: str) -> tuple[list[Lesson], Lesson]:
        """Of each panel: to which sets its things belong (O, sets), and what holds in it (P, 4)."""
        scene = str(example.folder), *example.item.panels
        if scene not in self._domains:
            self._domains[scene] = domain_of(example.panels)
        things, panels = sets_of(program)
        members = [np.full((len(panel.objects), len(things)), OUT, np.uint8) for panel in example.panels]
        truths = np.full((len(members), SETS), UNKNOWN, np.uint8)
        for number, held in enumerate(things):
            for thing in compiled(held)(self._domains[scene]):
                members[thing.panel][thing.at, number] = IN
        for number, held in enumerate(panels):
            truths[:, number] = OUT
            for group in compiled(held)(self._domains[scene]):
                truths[group.panels[0][0], number] = IN
        return members, truths

    def _things(self, picture: int, panel: Panel) -> Ints:
        """Which thing of a panel each slot of its picture shows, (K,): -1 none of them, -2 the slot is empty."""
        known = picture, panel.id
        if known not in self._shown:
            slots = self.slots.slots(np.array([picture]))[0]  # (K, 14)
            self._shown[known] = nearest(slots, panel)
        return self._shown[known]

    def _add(self, shown: Ints, members: Lesson, truths: Lesson) -> int:
        lesson = np.full((len(shown) + 1, SETS), UNKNOWN, np.uint8)
        sets = members.shape[1]
        lesson[:-1][shown > -2, :sets] = OUT
        lesson[:-1][shown > -1, :sets] = members[shown[shown > -1]]
        lesson[-1] = truths
        self._lessons.append(lesson)
        return len(self._lessons) - 1


def nearest(slots: Floats, panel: Panel) -> Ints:
    """Which thing of a panel each slot (K, 14) shows: its number, -1 none, -2 nothing is there."""
    middles = SIDE * (slots[:, 1 + KINDS : 3 + KINDS] + slots[:, 3 + KINDS :]) / 2  # (K, 2)
    out = np.where(slots[:, 0] > 0, -1, -2)
    boxes = np.array([one.box or (0, 0, 0, 0) for one in panel.objects], np.float64).reshape(-1, 4)
    if not len(boxes):
        return out
    room = np.array([panel.width or SIDE, panel.height or SIDE])
    own = SIDE * (boxes[:, :2] + boxes[:, 2:]) / 2 / room  # (O, 2)
    away = np.linalg.norm(middles[:, None] - own[None], axis=2)  # (K, O)
    found = away.argmin(1)
    return np.where((out == -1) & (away.min(1) < NEAR), found, out)


def astray(things: Tensor, panels: Tensor, wanted: Tensor) -> Tensor:
    """How far logits of what belongs to each set (B, P, K, 4) and of what holds in each panel (B, P, 2) are from the
    lesson (B, P, K + 1, 4): the mean cross-entropy of what is known, of the one and of the other added, (B,)."""
    return _wrong(things, wanted[:, :, :-1]) + _wrong(panels, wanted[:, :, -1, :TRUTHS])


def _wrong(said: Tensor, wanted: Tensor) -> Tensor:
    known = (wanted != UNKNOWN).to(said.dtype)
    each = functional.binary_cross_entropy_with_logits(said, (wanted == IN).to(said.dtype), reduction="none") * known
    mean: Tensor = each.flatten(1).sum(1) / known.flatten(1).sum(1).clamp(min=1)
    return mean
