"""What programs look at: the objects in view with their geometry, and how they stand to each other and to the border.

A domain is the whole image, one panel, or one tower. Objects of two panels never touch and are never above one another,
and nothing but the operator `panel` sees the order of the panels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from veridical.records import Panel, SceneObject

NEAR = 5.0  # pixels of a 100-pixel panel: closer than this is "nearly touching"
CORNER = 2.0  # pixels of a 100-pixel panel: people accept this much when they say "touching the corner"
TOUCH = 0.03  # of the panel's width: drawn objects with a smaller gap look as if they touch


class Thing:
    """An object in a panel, with the numbers that tests ask for."""

    __slots__ = ("at", "bottom", "left", "middle", "object", "panel", "right", "room", "top", "values")

    def __init__(self, panel: int, at: int, obj: SceneObject, room: tuple[float, float]) -> None:
        self.panel, self.at, self.object, self.room = panel, at, obj, room
        self.left, self.top, self.right, self.bottom = obj.box or (0.0, 0.0, 0.0, 0.0)
        self.middle = (self.top + self.bottom) / 2
        self.values = {"category": obj.category, **dict(reversed(obj.attributes))}


class Domain:
    """The objects in view, by panel (position in the image, its things)."""

    def __init__(self, panels: tuple[tuple[int, tuple[Thing, ...]], ...]) -> None:
        self.panels = panels

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        return self.panels[0][1] if len(self.panels) == 1 else tuple(t for _, ts in self.panels for t in ts)

    @cached_property
    def by_panel(self) -> tuple[Domain, ...]:
        return (self,) if len(self.panels) == 1 else tuple(Domain((p,)) for p in self.panels)

    @cached_property
    def by_tower(self) -> tuple[Domain, ...]:
        return tuple(Domain(((panel, stack),)) for panel, things in self.panels for stack in stacks(things))

    def beside(self, thing: Thing) -> tuple[Thing, ...]:
        """The things in view in the same panel."""
        return next((things for panel, things in self.panels if panel == thing.panel), ())


def domain_of(panels: Sequence[Panel]) -> Domain:
    """All objects of an image, prepared for execution."""
    out = []
    for index, panel in enumerate(panels):
        room = (float(panel.width or 0), float(panel.height or 0))
        out.append((index, tuple(Thing(index, at, obj, room) for at, obj in enumerate(panel.objects))))
    return Domain(tuple(out))


def stacks(things: tuple[Thing, ...]) -> list[tuple[Thing, ...]]:
    """The towers of a panel, each from its bottom up: things that stand on the floor, and what stands on them."""
    found = []
    for base in things:
        if not touches(base, "bottom"):
            continue
        tower, grown = [base], True
        while grown:
            above = next((t for t in things if t not in tower and on(t, tower[-1])), None)
            grown = above is not None
            if above is not None:
                tower.append(above)
        found.append(tuple(tower))
    return found


def _slack(thing: Thing) -> float:
    return TOUCH * (thing.room[0] or 100.0)


def on(a: Thing, b: Thing) -> bool:
    """`a` stands on `b`: no visible gap, at least half of the narrower one supported."""
    if a.panel != b.panel or abs(b.top - a.bottom) > _slack(a):
        return False
    return min(a.right, b.right) - max(a.left, b.left) >= min(a.right - a.left, b.right - b.left) / 2


def gap(a: Thing, b: Thing) -> float:
    """The distance between two boxes; circles are taken as discs where both are."""
    if a.values.get("category") == "circle" == b.values.get("category"):
        dx = (a.left + a.right - b.left - b.right) / 2
        return float((dx * dx + (a.middle - b.middle) ** 2) ** 0.5 - (a.right - a.left + b.right - b.left) / 2)
    dx = max(0.0, max(a.left, b.left) - min(a.right, b.right))
    dy = max(0.0, max(a.top, b.top) - min(a.bottom, b.bottom))
    return float((dx * dx + dy * dy) ** 0.5)


RELATE: dict[str, Callable[[Thing, Thing], bool]] = {
    "above": lambda a, b: a.middle < b.middle,
    "on": on,
    "below": lambda a, b: a.middle > b.middle,
    "under": lambda a, b: on(b, a),
    "left": lambda a, b: a.left + a.right < b.left + b.right,
    "right": lambda a, b: a.left + a.right > b.left + b.right,
    "touch": lambda a, b: gap(a, b) <= _slack(a),
    "near": lambda a, b: gap(a, b) <= NEAR * (a.room[0] or 100.0) / 100,
    "well-above": lambda a, b: a.middle < b.middle and a.bottom <= b.top,
    "well-below": lambda a, b: a.middle > b.middle and a.top >= b.bottom,
    "well-left": lambda a, b: a.left + a.right < b.left + b.right and a.right <= b.left,
    "well-right": lambda a, b: a.left + a.right > b.left + b.right and a.left >= b.right,
}


def touches(thing: Thing, place: str, slack: float = 0.5) -> bool:
    """Whether a thing touches a part of its panel's border, within `slack` pixels."""
    if thing.object.box is None or not thing.room[0]:
        return False
    width, height = thing.room
    away = {"left": thing.left, "top": thing.top, "right": width - thing.right, "bottom": height - thing.bottom}
    if place in away:
        return away[place] <= slack
    if place == "corner":
        slack = max(slack, CORNER * thing.room[0] / 100)
    beside = away["left"] <= slack or away["right"] <= slack
    level = away["top"] <= slack or away["bottom"] <= slack
    return {"wall": beside or level, "side": beside, "corner": beside and level}[place]


def at_height(thing: Thing, height: str, view: tuple[Thing, ...]) -> bool:
    """Whether a thing is the highest of those in view, the lowest, or between."""
    highest, lowest = min(t.middle for t in view), max(t.middle for t in view)
    if height == "middle":
        return highest < thing.middle < lowest
    return thing.middle == (highest if height == "top" else lowest)


def is_nth(thing: Thing, place: int, height: str, view: tuple[Thing, ...]) -> bool:
    """Whether a thing is the n-th from the top, or from the bottom."""
    passed = (t.middle < thing.middle if height == "top" else t.middle > thing.middle for t in view)
    return sum(passed) == place - 1
