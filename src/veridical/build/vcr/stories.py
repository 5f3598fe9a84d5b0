"""Small stories in the icon world: who does what to what, and where, known exactly because the picture is made from it.

A story has two or three events (somebody holds, watches, flees from or does something), somebody who only stands by,
and a number of equal things. `stories.json` says what things are for; edit it to tell other stories.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from veridical.sources.icons import CATEGORIES, PERSON, Group, IconScene, Interaction, NoRoom, compose

EventKind = Literal["hold", "watch", "chase", "act"]
KINDS: tuple[EventKind, ...] = ("hold", "watch", "chase", "act")
ATTEMPTS = 20
MOST_ALIKE = 5  # of the things that can be counted


@dataclass(frozen=True, slots=True)
class Event:
    """What one person does, or what is done to them."""

    kind: EventKind
    person: int  # index of an object of the scene
    other: int | None = None  # what is held, watched, or chases the person


@dataclass(frozen=True, slots=True)
class Story:
    """A scene and what happens in it."""

    scene: IconScene
    events: tuple[Event, ...]
    counted: str  # the category of the equal things


@lru_cache(maxsize=1)
def tales() -> dict[str, Any]:
    """The facts that stories are told with."""
    loaded: dict[str, Any] = json.loads((files("veridical.build.vcr") / "stories.json").read_text(encoding="utf-8"))
    return loaded


def sample_story(rng: np.random.Generator, *, width: int = 400, height: int = 300) -> Story:
    """A story whose objects all fit into the picture."""
    for _ in range(ATTEMPTS):
        try:
            return _sample(rng, width, height)
        except NoRoom:
            continue  # fewer or smaller things may come next time
    raise NoRoom(f"No story fits into {width} x {height} pixels.", "Choose a larger picture, such as 400 x 300.")


def _sample(rng: np.random.Generator, width: int, height: int) -> Story:
    told = tales()
    kinds = [KINDS[k] for k in rng.permutation(len(KINDS))[: 2 + int(rng.random() < 0.5)]]
    groups: list[Group] = []
    interactions: list[Interaction] = []
    events: list[Event] = []
    used = {PERSON}
    for kind in kinds:  # every group here has one object, so that group k is object k
        person = len(groups)
        if kind == "act":
            groups.append(Group(PERSON, 1, (("action", _one(rng, told["acts"])),)))
            events.append(Event(kind, person))
            continue
        thing = _one(rng, [name for name in told[_PLURAL[kind]] if name not in used])
        used.add(thing)
        groups += [Group(PERSON, 1, (("action", _ACTION[kind]),)), Group(thing, 1, _upright(thing))]
        subject, predicate, target = _LINK[kind]
        interactions.append(Interaction(person + subject, predicate, person + target))
        events.append(Event(kind, person, person + 1))
    groups.append(Group(PERSON, 1, (("action", "standing"),)))
    counted = _one(rng, [name for name in told["crowd"] if name not in used])
    groups.append(Group(counted, int(rng.integers(1, MOST_ALIKE + 1))))
    scene = compose(
        rng, groups, width=width, height=height, background=_one(rng, told["places"]), interactions=interactions
    )
    return Story(scene, tuple(events), counted)


_PLURAL = {"hold": "held", "watch": "watched", "chase": "chasers"}
_ACTION = {"hold": "standing", "watch": "walking", "chase": "running"}
# subject, predicate, object of the interaction, counted from the person's group; the thing is the next one
_LINK = {"hold": (0, "holding", 1), "watch": (0, "looking at", 1), "chase": (1, "chasing", 0)}


def _upright(thing: str) -> tuple[tuple[str, str], ...]:
    return (("rotation", "upright"),) if "upright" in CATEGORIES[thing].allows("rotation") else ()


def _one(rng: np.random.Generator, names: Any) -> str:
    listed = list(names)
    return str(listed[int(rng.integers(len(listed)))])
