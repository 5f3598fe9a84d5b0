"""Annotated objects of a panel as a list, for models that are otherwise shown pixels: what they would come to if they
saw perfectly. The same list as of slots that were seen (`slots`): where each object lies, and what is said of it.

    o_k = [1; looks of its place; one for its category and for each of its attributes' values]

Which values there are is learned from training; those of other panels that are new are nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from veridical.common.arrays import Floats, Ints
from veridical.errors import UserError
from veridical.records import Panel, SceneObject
from veridical.zoo.architecture import Example
from veridical.zoo.slots import KINDS, LOOKS, SLOT, looks

MOST = 14  # objects of a panel, in its order; the rest is not seen


class GivenObjects:
    """Annotated objects of an item's panels in every view: (V, P) row numbers, looked up as (P, 22 + values, K, 1)."""

    per_view = False
    by_view = True
    state_shape: ClassVar[Any] = list[str]

    def __init__(self, count: int = MOST) -> None:
        self.count = count
        self._values: dict[str, int] = {}
        self._rows: dict[tuple[str, str], int] = {}  # by benchmark and panel; 0 is no panel
        self._slots: list[Floats] = [np.zeros((count, SLOT), np.float32)]
        self._named: list[Floats] = [np.zeros((count, 0), np.float32)]

    def learn(self, examples: Sequence[Example]) -> None:
        """The values that objects of training have."""
        self._values = {}
        self.grow(examples)

    def grow(self, examples: Sequence[Example]) -> None:
        """Add the values that other objects have behind those that are known."""
        found = values_of_all(panel for example in examples for panel in example.panels)
        self.state = [*self._values, *(value for value in found if value not in self._values)]

    def encode(self, example: Example) -> Ints:
        own = np.array([self._row(str(example.folder), panel) for panel in example.panels], np.int64)  # (P,)
        return own[[view.order for view in example.item.views] or [tuple(range(len(own)))]]

    def slots(self, rows: Ints) -> Floats:
        """(...) row numbers -> (..., K, 14), as of seen objects; their kinds are not among these numbers."""
        return np.stack([self._slots[row] for row in rows.ravel().tolist()]).reshape(*rows.shape, self.count, SLOT)

    def look_up(self, rows: Ints) -> Floats:
        """(B, P) -> (B, P, 22 + values, K, 1)."""
        slots = self.slots(rows)  # (B, P, K, 14)
        return listed(
            slots, np.stack([self._named[row] for row in rows.ravel().tolist()]).reshape(*slots.shape[:3], -1)
        )

    @property
    def size(self) -> int:
        return 1 + LOOKS + len(self._values)

    @property
    def state(self) -> list[str]:
        return list(self._values)

    @state.setter
    def state(self, values: list[str]) -> None:
        self._values = {value: number for number, value in enumerate(values)}
        self._named = [np.zeros((self.count, len(values)), np.float32)]
        self._slots, self._rows = self._slots[:1], {}

    def _row(self, folder: str, panel: Panel) -> int:
        key = folder, panel.id
        if key not in self._rows:
            slots, named = np.zeros_like(self._slots[0]), np.zeros_like(self._named[0])
            room = np.tile([panel.width or 1, panel.height or 1], 2)
            for number, one in enumerate(panel.objects[: self.count]):
                slots[number, 0] = 1
                slots[number, 1 + KINDS :] = np.array(one.box or (0, 0, 0, 0)) / room
                known = [self._values[value] for value in values_of(one) if value in self._values]
                named[number, known] = 1
            self._rows[key] = len(self._slots)
            self._slots.append(slots)
            self._named.append(named)
        return self._rows[key]


def listed(slots: Floats, named: Floats) -> Floats:
    """Slots (B, P, K, 14) and what is said of their objects (B, P, K, V) -> (B, P, 22 + V, K, 1)."""
    seen = looks(torch.from_numpy(slots)).numpy() * (slots[..., :1] > 0)
    found = np.concatenate([slots[..., :1], seen, named], axis=3)  # (B, P, K, D)
    return np.ascontiguousarray(found.swapaxes(2, 3)[..., None])


def values_of_all(panels: Iterable[Panel]) -> list[str]:
    """Everything that is said of the objects of some panels."""
    found = {value for panel in panels for one in panel.objects for value in values_of(one)}
    if not found:
        raise UserError("No panel of training has annotated objects.", "Leave out `maps` to learn from pixels.")
    return sorted(found)


def values_of(one: SceneObject) -> Iterator[str]:
    """What is said of an object: its category, and attributes with their values."""
    yield f"category {one.category}"
    yield from (f"{name} {value}" for name, value in one.attributes)
