"""NLVR presentations on their way to a benchmark: sampled, perhaps written about, and kept small.

A scene is packed into a few bytes an object, so that a million presentations fit into memory and cost little to send
between processes. Presentation n has its own random generator: it is the same whichever process makes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veridical.language.writing.boxes.statements import make_plan, present, write
from veridical.sources.boxes.sample import ARRANGEMENTS, Arrangement
from veridical.sources.boxes.scene import COLORS, SHAPES, SIZES, Figure, Placed, Scene, panel, placed

GENERATOR = "generator"  # the writer of generated statements
_COLORS, _SIZES = tuple(COLORS), tuple(SIZES.values())
_FIELDS = 3  # bytes an object: y, x, and what it is
_CODES = {
    Figure(shape, color, size): 9 * s + 3 * c + z
    for s, shape in enumerate(SHAPES)
    for c, color in enumerate(_COLORS)
    for z, size in enumerate(_SIZES)
}
_THINGS = tuple(_CODES)


@dataclass(frozen=True, slots=True)
class Example:
    """A presentation and what was written about it."""

    presentation: str  # its number
    kind: Arrangement
    ids: tuple[str, ...]  # the items of A, B, C and D: `n-m`, where m tells nothing of the letter
    scenes: tuple[bytes, ...]  # A, B, C, D, packed
    sentence: str = ""
    program: str | None = None
    phenomena: tuple[str, ...] = ()
    writer: str | None = None


@dataclass(frozen=True)
class Sampling:
    """What decides presentations and generated statements."""

    seed: int
    phenomena: tuple[tuple[str, float], ...] | None = None  # shares asked for; None: the paper's
    secret: str = ""  # mixed into the seed of hidden presentations

    def rng(self, number: int, hidden: bool = False) -> np.random.Generator:
        key = hashlib.sha256(self.secret.encode("utf-8", "surrogateescape")).digest() if hidden and self.secret else b""
        return np.random.default_rng([self.seed, number, *np.frombuffer(key, np.uint32).tolist()])


def pack(scene: Scene) -> bytes:
    """A scene as bytes: for each box the number of its objects, then three bytes for each."""
    out = bytearray()
    for one in scene:
        things = placed(one)
        out.append(len(things))
        for y, x, thing in things:
            out += bytes((y, x, _CODES[thing]))
    return bytes(out)


def unpack(data: bytes, name: str = "") -> Scene:
    """The scene that was packed."""
    return tuple(panel(box, index, name) for index, box in enumerate(unpack_boxes(data)))


def unpack_boxes(data: bytes) -> list[list[Placed]]:
    """The boxes of a scene that was packed; packing has checked them."""
    boxes, at = [], 0
    while at < len(data):
        end = at + 1 + _FIELDS * data[at]
        parts = [data[k : k + _FIELDS] for k in range(at + 1, end, _FIELDS)]
        boxes.append([Placed(y, x, _THINGS[code]) for y, x, code in parts])
        at = end
    return boxes


def present_batch(sampling: Sampling, numbers: Sequence[tuple[int, bool]]) -> list[Example]:
    """Presentations for people to write about."""
    out = []
    for number, hidden in numbers:
        rng = sampling.rng(number, hidden)
        kind = kind_of_number(number)
        scenes = present(rng, kind).scenes
        out.append(Example(str(number), kind, _ids(rng, number), tuple(map(pack, scenes))))
    return out


def write_batch(sampling: Sampling, numbers: Sequence[tuple[int, bool]]) -> list[Example]:
    """Presentations with generated statements; each is given as its number and whether its answers will be hidden."""
    plan = make_plan(None if sampling.phenomena is None else dict(sampling.phenomena))
    out = []
    for number, hidden in numbers:
        rng = sampling.rng(number, hidden)
        kind = kind_of_number(number)
        made = write(rng, plan, kind)
        said = made.statement
        out.append(
            Example(
                presentation=str(number),
                kind=kind,
                ids=_ids(rng, number),
                scenes=tuple(map(pack, made.presentation.scenes)),
                sentence=said.sentence,
                program=str(said.program),
                phenomena=said.phenomena,
                writer=GENERATOR,
            )
        )
    return out


def kind_of_number(number: int) -> Arrangement:
    """Scatter and tower scenes in equal number."""
    return ARRANGEMENTS[number % len(ARRANGEMENTS)]


def _ids(rng: np.random.Generator, number: int) -> tuple[str, ...]:
    """Item ids in a random order: whoever sees an id must not see a label."""
    return tuple(f"{number}-{place}" for place in rng.permutation(4).tolist())
