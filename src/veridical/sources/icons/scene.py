"""Scenes of the icon world: which icons stand where, with the truth about each.

`compose` draws the free attributes, then looks for places. Things that interact (a man holding a key, a dog chasing a
cat) are placed as one piece. Ink never overlaps: places are tested on a coarse grid of what is covered already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from veridical.errors import UserError
from veridical.records import Box, Pairs, Panel, SceneObject
from veridical.sources import Relationship
from veridical.sources.icons.glyphs import CATEGORIES, PERSON, SIZES, Category, Pose, category, poses
from veridical.sources.icons.place import LAYOUTS, Piece, place, together
from veridical.sources.icons.sprites import Look, outline, sprite

BACKGROUNDS = ("plain", "gradient", "paper", "grass", "sand", "sky", "tiles", "wood", "water")
INTERACTIONS = ("next to", "holding", "chasing", "looking at", "on")
ATTEMPTS = 12  # each with new free sizes, smaller and smaller
PIXELS = {"small": 36, "medium": 54, "large": 78}  # side of the area of an icon, in a picture of 400 x 300
ANGLES = {"upright": (-5, 0, 0, 5), "tilted": (-50, -40, 40, 50), "upside-down": (175, 180, 180, 185)}
NATURAL_SIZES = {"holding": ("large", "small"), "on": ("medium", "large")}  # of subject and object, where free
SIDEWAYS = ("chasing", "looking at")  # interactions whose subject must be seen from the side


class NoRoom(UserError):
    """The objects do not fit into the picture."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some objects of one category; the attributes given hold for all of them, the others are free."""

    category: str
    count: int = 1
    attributes: Pairs = ()


@dataclass(frozen=True, slots=True)
class Interaction:
    """The k-th object of one group does something to the k-th of another; both groups have the same count."""

    subject: int  # index of a group
    predicate: str  # one of INTERACTIONS
    object: int  # index of another group


@dataclass(frozen=True, slots=True)
class PlacedIcon:
    """One icon in a scene."""

    category: str
    attributes: Pairs  # all that can be seen
    look: Look
    x: int  # left of its ink
    y: int  # top of its ink
    tone: int = 0  # which skin and hair a person has
    distractor: bool = False


@dataclass(frozen=True, slots=True)
class IconScene:
    """A picture's plan: drawing it needs nothing else."""

    width: int
    height: int
    background: str
    layout: str
    texture: int  # decides the background's tint and place, the noise and the blur
    objects: tuple[PlacedIcon, ...]
    interactions: tuple[tuple[int, str, int], ...] = ()  # indices of objects

    def box(self, index: int) -> Box:
        """The box of an object's ink."""
        one = self.objects[index]
        drawn = sprite(one.look)
        return (float(one.x), float(one.y), float(one.x + drawn.width), float(one.y + drawn.height))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An object before its free attributes are drawn."""

    category: Category
    fixed: dict[str, str]
    distractor: bool = False


def compose(
    rng: np.random.Generator,
    groups: Sequence[Group],
    *,
    width: int = 400,
    height: int = 300,
    distractors: int = 0,
    background: str | None = None,
    layout: str | None = None,
    interactions: Sequence[Interaction] = (),
) -> IconScene:
    """A scene of these groups, with `distractors` more objects of other categories; NoRoom where they do not fit."""
    _check(width, height, background, layout, distractors)
    wanted, links = _wanted(groups, interactions)
    used = {group.category for group in groups}
    others = [entry for name, entry in CATEGORIES.items() if name not in used]
    wanted += [_Wanted(others[int(rng.integers(len(others)))], {}, distractor=True) for _ in range(distractors)]
    if layout == "facing":
        wanted, links = _face_to_face(wanted, links)
    background = background or str(rng.choice(BACKGROUNDS))
    unit = (width * height / (400 * 300)) ** 0.5
    for attempt in range(ATTEMPTS):
        # turned icons need more room
        upright = 0.8 if attempt < ATTEMPTS // 4 else 1.0
        placed = [_drawn(rng, one, _sizes(rng, len(wanted), attempt), unit, upright) for one in wanted]
        pieces = _pieces(rng, placed, () if layout == "facing" else links)
        chosen = layout or _layout(rng, len(pieces), attempt)
        spots = place(rng, pieces, width, height, chosen)
        if spots is not None:
            objects = tuple(replace(one, x=x, y=y) for one, (x, y) in zip(placed, spots, strict=True))
            return IconScene(width, height, background, chosen, int(rng.integers(2**31)), objects, links)
    raise NoRoom(
        f"{len(wanted)} objects do not fit into {width} x {height} pixels{f' as {layout}' if layout else ''}.",
        "Ask for fewer or smaller objects, a larger picture or another layout.",
    )


def _check(width: int, height: int, background: str | None, layout: str | None, distractors: int) -> None:
    if not (64 <= width <= 2048 and 64 <= height <= 2048):
        raise UserError(f"A picture of {width} x {height} pixels was asked for.", "Choose 64 to 2,048 for each side.")
    if distractors < 0:
        raise UserError(f"{distractors} distractors were asked for.", "Give 0 or more.")
    for name, value, known in (("background", background, BACKGROUNDS), ("layout", layout, LAYOUTS)):
        if value is not None and value not in known:
            raise UserError(f"There is no {name} {value!r}.", f"Choose one of: {', '.join(known)}.")


def _wanted(
    groups: Sequence[Group], interactions: Sequence[Interaction]
) -> tuple[list[_Wanted], tuple[tuple[int, str, int], ...]]:
    """The objects of all groups, and the interactions between them by index."""
    fixed = [_fixed(group) for group in groups]
    links: list[tuple[int, str, int]] = []
    starts = np.cumsum([0, *(group.count for group in groups)])
    taken: set[int] = set()
    for one in interactions:
        _check_interaction(one, groups, taken)
        if one.predicate in SIDEWAYS:
            _set_sideways(fixed[one.subject], groups[one.subject], one.predicate)
        if one.predicate == "chasing":
            _set_sideways(fixed[one.object], groups[one.object], one.predicate)
        for index, size in zip((one.subject, one.object), NATURAL_SIZES.get(one.predicate, ()), strict=False):
            fixed[index].setdefault("size", size)
        for index in (one.subject, one.object):
            fixed[index].setdefault("rotation", "upright")
        links += [
            (int(starts[one.subject]) + k, one.predicate, int(starts[one.object]) + k)
            for k in range(groups[one.subject].count)
        ]
    wanted = [
        _Wanted(category(group.category), values)
        for group, values in zip(groups, fixed, strict=True)
        for _ in range(group.count)
    ]
    return wanted, tuple(links)


def _fixed(group: Group) -> dict[str, str]:
    """A group's attributes, checked."""
    entry = category(group.category)
    if group.count < 0:
        raise UserError(f"A group of {group.count} {entry.plural} was asked for.", "Give a count of 0 or more.")
    values = dict(group.attributes)
    for name, value in group.attributes:
        allowed = entry.allows(name)
        if value not in allowed or values[name] != value:
            raise UserError(
                f"A {entry.name} cannot have the {name} {value!r}.",
                f"It can be: {', '.join(allowed)}." if allowed else f"Its category has no {name}.",
            )
    if entry.poses and not _poses(values):
        raise UserError(
            f"No icon shows a person with {', '.join(f'{name} {value}' for name, value in group.attributes)}.",
            "Leave one of these attributes free.",
        )
    return values


def _poses(values: dict[str, str]) -> tuple[Pose, ...]:
    """The poses that fit the attributes given so far."""
    found = poses(values.get("age"), values.get("gender"), values.get("action"))
    return tuple(pose for pose in found if "facing" not in values or pose.glyph.facing)


def _check_interaction(one: Interaction, groups: Sequence[Group], taken: set[int]) -> None:
    if one.predicate not in INTERACTIONS:
        raise UserError(f"There is no interaction {one.predicate!r}.", f"Choose one of: {', '.join(INTERACTIONS)}.")
    pair = {one.subject, one.object}
    if len(pair) < 2 or not all(0 <= index < len(groups) for index in pair) or pair & taken:
        raise UserError(
            f"The interaction {one} does not join two of the {len(groups)} groups that no other one joins.",
            "Give the indices of two different groups; each group may be in one interaction.",
        )
    if groups[one.subject].count != groups[one.object].count:
        raise UserError(f"The groups of {one} differ in count.", "Give both the same count.")
    if one.predicate == "holding" and groups[one.subject].category != PERSON:
        raise UserError(f"A {groups[one.subject].category} holds nothing.", "Let a person hold it.")
    taken |= pair


def _set_sideways(values: dict[str, str], group: Group, predicate: str) -> None:
    """Make a group one that is seen from the side; which side is drawn later, with its partner's."""
    entry = category(group.category)
    if not entry.allows("facing") or (entry.poses and not _poses({**values, "facing": "right"})):
        raise UserError(
            f"{entry.plural.capitalize()} as asked for are not seen from the side, so {predicate!r} cannot be shown.",
            "Choose a category with the attribute 'facing', and for people an action such as running.",
        )
    values.setdefault("facing", "")


def _face_to_face(
    wanted: list[_Wanted], links: tuple[tuple[int, str, int], ...]
) -> tuple[list[_Wanted], tuple[tuple[int, str, int], ...]]:
    """Two objects that look at each other, the first one on the left."""
    if len(wanted) != 2 or links:
        raise UserError(
            f"The layout 'facing' was asked for {len(wanted)} objects and {len(links)} interactions.",
            "Give it two objects and no interaction.",
        )
    turned = []
    for one, facing in zip(wanted, ("right", "left"), strict=True):
        _set_sideways(one.fixed, Group(one.category.name), "facing")
        if one.fixed["facing"] not in ("", facing):
            raise UserError(f"The {one.category.name} cannot face both ways.", "Leave 'facing' free in this layout.")
        turned.append(replace(one, fixed={**one.fixed, "facing": facing}))
    return turned, ((0, "looking at", 1), (1, "looking at", 0))


def _sizes(rng: np.random.Generator, count: int, attempt: int) -> str:
    """A free size: the fuller the picture and the more often it failed, the smaller."""
    crowd = count + 3 * attempt
    weights = (0.15, 0.4, 0.45) if crowd <= 4 else (0.3, 0.5, 0.2) if crowd <= 8 else (0.5, 0.5, 0.0)
    return SIZES[int(np.searchsorted(np.cumsum(weights if crowd <= 18 else (1.0, 1.0, 1.0)), rng.random()))]


def _drawn(rng: np.random.Generator, wanted: _Wanted, size: str, unit: float, upright: float) -> PlacedIcon:
    """An object with its free attributes drawn, not yet placed."""
    entry, values = wanted.category, dict(wanted.fixed)

    def choose(name: str, usual: str | None = None, often: float = 0.0) -> str:
        options = entry.allows(name)
        if usual is not None and rng.random() < often:
            return usual
        return options[int(rng.integers(len(options)))]

    glyph, age, gender = entry.glyph, None, None
    if entry.poses:
        options = _poses(values)
        # by action, so that the five ways of standing count as one
        actions = list(dict.fromkeys(pose.action for pose in options))
        values["action"] = actions[int(rng.integers(len(actions)))]
        options = tuple(pose for pose in options if pose.action == values["action"])
        pose = options[int(rng.integers(len(options)))]
        age = values.setdefault("age", pose.ages[int(rng.integers(len(pose.ages)))])
        gender = values.setdefault("gender", pose.genders[int(rng.integers(len(pose.genders)))])
        glyph = pose.glyph
    if glyph is None:
        raise ValueError(f"the category {entry.name} has neither a glyph nor poses")
    if glyph.facing and not values.get("facing"):
        values["facing"] = ("left", "right")[int(rng.integers(2))]
    for name, usual, often in (("color", None, 0.0), ("pattern", "solid", 0.5), ("rotation", "upright", upright)):
        if name not in values:
            values[name] = choose(name, usual, often)
    values.setdefault("size", size)
    jitter = (0.97, 1.03)[int(rng.integers(2))]
    angles = ANGLES[values["rotation"]]
    look = Look(
        glyph,
        round(PIXELS[values["size"]] * unit * jitter),
        0 if entry.poses else angles[int(rng.integers(len(angles)))],
        bool(glyph.facing) and values["facing"] != glyph.facing,
        age,
        gender,
    )
    names = ("color", "pattern", "size", "rotation", "facing", "age", "gender", "action")
    attributes = tuple((name, values[name]) for name in names if name in values)
    return PlacedIcon(entry.name, attributes, look, 0, 0, int(rng.integers(2**16)), wanted.distractor)


def _pieces(rng: np.random.Generator, placed: list[PlacedIcon], links: tuple[tuple[int, str, int], ...]) -> list[Piece]:
    """What is placed as one: an interacting pair, or a single object. Turns the partners to each other in `placed`."""
    pieces, joined = [], set()
    for subject, predicate, target in links:
        facing = dict(placed[subject].attributes).get("facing") or ("left", "right")[int(rng.integers(2))]
        if predicate == "chasing":
            chased = placed[target]
            attributes = tuple((name, facing if name == "facing" else value) for name, value in chased.attributes)
            look = replace(chased.look, mirrored=facing != chased.look.glyph.facing)
            placed[target] = replace(chased, attributes=attributes, look=look)
        joined |= {subject, target}
        first, second = ((index, sprite(placed[index].look)) for index in (subject, target))
        pieces.append(together(rng, predicate, facing, first, second))
    singles = [Piece.single(k, sprite(one.look)) for k, one in enumerate(placed) if k not in joined]
    return pieces + singles


def _layout(rng: np.random.Generator, pieces: int, attempt: int) -> str:
    if attempt >= ATTEMPTS // 2:
        return "grid" if attempt % 2 else "scattered"
    options = ["scattered", "scattered", "scattered", "cluster", "grid"] + ["row"] * (2 <= pieces <= 5)
    return options[int(rng.integers(len(options)))]


def panel(scene: IconScene, id: str) -> Panel:
    """The truth about a scene: its objects "0", "1" ..., with the exact boxes of their ink and their outlines."""
    objects = tuple(
        SceneObject(str(k), one.category, one.attributes, scene.box(k), polygons=outline(one.look, one.x, one.y))
        for k, one in enumerate(scene.objects)
    )
    return Panel(id=id, width=scene.width, height=scene.height, objects=objects)


def relationships(scene: IconScene) -> tuple[Relationship, ...]:
    """The interactions that were composed, and for every two objects where the one stands to the other."""
    found = [Relationship(str(a), predicate, str(b)) for a, predicate, b in scene.interactions]
    boxes = [scene.box(k) for k in range(len(scene.objects))]
    close = 0.06 * (scene.width + scene.height)
    for a, (left, top, right, bottom) in enumerate(boxes):
        for b, other in enumerate(boxes):
            if a == b:
                continue
            apart = (max(other[0] - right, left - other[2], 0.0), max(other[1] - bottom, top - other[3], 0.0))
            facts = {
                "left of": right <= other[0],
                "right of": left >= other[2],
                "above": bottom <= other[1],
                "below": top >= other[3],
                "near": float(np.hypot(*apart)) <= close,
            }
            found += [Relationship(str(a), predicate, str(b)) for predicate, holds in facts.items() if holds]
    return tuple(found)
