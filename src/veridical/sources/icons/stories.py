"""Small stories in the icon world: who does what to what, and where, known exactly because the picture is made from it.

A story has two or three events (somebody holds, watches, flees from or does something), somebody who only stands by,
a number of equal things, and things that play no part: what a picture shows does not tell what happens in it. Objects
stand in random order. `stories.json` says what things are for; edit it to tell other stories.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import msgspec
import numpy as np

from veridical.errors import UserError
from veridical.sources.icons.glyphs import CATEGORIES, PERSON
from veridical.sources.icons.scene import Group, IconScene, Interaction, NoRoom, compose
from veridical.sources.icons.worlds import IconWorld, one_of

Verb = Literal["hold", "watch", "chase", "act"]
Facts = dict[str, dict[str, str]]  # name -> what is known of it, by the words of templates
VERBS: tuple[Verb, ...] = ("hold", "watch", "chase", "act")
ATTEMPTS = 20
MOST_ALIKE = 4  # of the things that can be counted
PROPS = (3, 5)  # things that play no part: so many to so many

# the person's action, and the interaction: subject, predicate, object, counted from the person's group (the thing is
# the next one)
_PARTS = {
    "hold": ("standing", (0, "holding", 1)),
    "watch": ("walking", (0, "looking at", 1)),
    "chase": ("running", (1, "chasing", 0)),
}


@dataclass(frozen=True, slots=True)
class Event:
    """What one person does, or what is done to them."""

    verb: Verb
    person: int  # index of an object of the scene
    other: int | None = None  # what is held, watched, or chases the person


@dataclass(frozen=True, slots=True)
class Story:
    """A scene and what happens in it."""

    scene: IconScene
    events: tuple[Event, ...]
    counted: str  # the category of the equal things


class Tales(msgspec.Struct, frozen=True):
    """The facts that stories are told with: `stories.json`."""

    held: Facts
    watched: Facts
    chasers: Facts
    acts: Facts
    places: Facts
    counted: tuple[str, ...]


@lru_cache(maxsize=1)
def tales() -> Tales:
    """The facts of `stories.json`."""
    return msgspec.json.decode((files("veridical.sources.icons") / "stories.json").read_bytes(), type=Tales)


@dataclass(frozen=True)
class IconStories(IconWorld):
    """Stories as a source; the k-th is a function of the seed and k alone, and of the salt where k is salted."""

    count: int = 1000
    seed: int = 0
    salt: tuple[int, ...] = field(default=(), repr=False)  # of a secret
    salted: frozenset[int] = frozenset()  # the stories that nobody can tell without it

    def __post_init__(self) -> None:
        if self.count < 1 or self.seed < 0:
            raise UserError(f"{self.count} stories of seed {self.seed}.", "Give one or more, and a seed from 0.")

    def begin(self, index: int) -> tuple[Story, np.random.Generator]:
        """A story, and the generator it was drawn with: whoever asks about it draws on."""
        rng = np.random.default_rng([self.seed, index, *(self.salt if index in self.salted else ())])
        return sample_story(rng), rng

    def scene(self, index: int) -> IconScene:
        return self.begin(index)[0].scene

    def label(self, index: int) -> str:
        return f"story-{index}"

    def config(self) -> dict[str, object]:
        """The source alone: a benchmark says its seed and how many photographs it has by itself."""
        return {"source": self.name}


def sample_story(rng: np.random.Generator, *, width: int = 400, height: int = 300) -> Story:
    """A story whose objects all fit into the picture."""
    for _ in range(ATTEMPTS):
        try:
            return _mixed(rng, _sample(rng, width, height))
        except NoRoom:
            continue  # fewer or smaller things may come next time
    raise NoRoom(f"No story fits into {width} x {height} pixels.", "Choose a larger picture, such as 400 x 300.")


def _sample(rng: np.random.Generator, width: int, height: int) -> Story:
    told = tales()
    verbs = [VERBS[k] for k in rng.permutation(len(VERBS))[: 2 + int(rng.random() < 0.5)]]
    parts: dict[Verb, Facts] = {"hold": told.held, "watch": told.watched, "chase": told.chasers}
    groups: list[Group] = []
    interactions: list[Interaction] = []
    events: list[Event] = []
    used = {PERSON}
    for verb in verbs:  # every group here has one object, so that group k is object k
        person = len(groups)
        if verb == "act":
            groups.append(Group(PERSON, 1, (("action", one_of(rng, told.acts)),)))
            events.append(Event(verb, person))
            continue
        action, (subject, predicate, target) = _PARTS[verb]
        thing = one_of(rng, (name for name in parts[verb] if name not in used))
        used.add(thing)
        groups += [Group(PERSON, 1, (("action", action),)), _single(thing)]
        interactions.append(Interaction(person + subject, predicate, person + target))
        events.append(Event(verb, person, person + 1))
    groups.append(Group(PERSON, 1, (("action", "standing"),)))
    counted = one_of(rng, told.counted)
    groups.append(Group(counted, int(rng.integers(1, MOST_ALIKE + 1))))
    used.add(counted)
    props = [name for name in (*told.held, *told.watched, *told.chasers, *told.counted) if name not in used]
    chosen = rng.permutation(len(props))[: int(rng.integers(PROPS[0], PROPS[1] + 1))]
    groups += [_single(props[int(k)]) for k in chosen]
    scene = compose(
        rng, groups, width=width, height=height, background=one_of(rng, told.places), interactions=interactions
    )
    return Story(scene, tuple(events), counted)


def _mixed(rng: np.random.Generator, story: Story) -> Story:
    """The same story with its objects in another order: a number must not tell what part an object plays."""
    order = rng.permutation(len(story.scene.objects))
    place = np.argsort(order).tolist()  # old index -> new index
    scene = replace(
        story.scene,
        objects=tuple(story.scene.objects[int(k)] for k in order),
        interactions=tuple((place[a], predicate, place[b]) for a, predicate, b in story.scene.interactions),
    )
    events = tuple(
        Event(event.verb, place[event.person], None if event.other is None else place[event.other])
        for event in story.events
    )
    return Story(scene, events, story.counted)


def _single(thing: str) -> Group:
    upright = "upright" in CATEGORIES[thing].allows("rotation")
    return Group(thing, 1, (("rotation", "upright"),) if upright else ())
