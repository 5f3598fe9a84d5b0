"""NLVR presentations on their way to a benchmark: sampled, perhaps written about, kept small, and drawn at last.

A scene is packed into a few bytes an object, so that a million presentations fit into memory and cost little to send
between processes. Presentation n has its own random generator: it is the same whichever process makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from veridical.benchmark import tables
from veridical.benchmark.splits import secret_words
from veridical.benchmark.writer import content_address
from veridical.language.writing.boxes.statements import make_plan, present, write
from veridical.records import GENERATOR, TRUTH, Item, Panel, Text, View, pairs
from veridical.sources.boxes import scenes as box_scenes
from veridical.sources.boxes.drawings import draw_boxes
from veridical.sources.boxes.scenes import Arrangement, Figure, Placed, Scene, panel, placed

_COLORS, _SIZES = tuple(box_scenes.COLORS), tuple(box_scenes.SIZES.values())
_FIELDS = 3  # bytes an object: y, x, and what it is
_CODES = {
    Figure(shape, color, size): 9 * s + 3 * c + z
    for s, shape in enumerate(box_scenes.SHAPES)
    for c, color in enumerate(_COLORS)
    for z, size in enumerate(_SIZES)
}
_FIGURES = tuple(_CODES)


@dataclass(frozen=True, slots=True)
class Packed:
    """A presentation, its scenes packed, and what was written about it."""

    presentation: str  # its number
    arrangement: Arrangement
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
        return np.random.default_rng([self.seed, number, *(secret_words(self.secret) if hidden else ())])


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
        boxes.append([Placed(y, x, _FIGURES[code]) for y, x, code in parts])
        at = end
    return boxes


def present_batch(sampling: Sampling, numbers: Sequence[tuple[int, bool]]) -> list[Packed]:
    """Presentations for people to write about; each is given as its number and whether its answers will be hidden."""
    out = []
    for number, hidden in numbers:
        rng = sampling.rng(number, hidden)
        out.append(_packed(number, present(rng, arrangement_of(number)).scenes, rng))
    return out


def write_batch(sampling: Sampling, numbers: Sequence[tuple[int, bool]]) -> list[Packed]:
    """Presentations with generated statements."""
    plan = make_plan(None if sampling.phenomena is None else dict(sampling.phenomena))
    out = []
    for number, hidden in numbers:
        rng = sampling.rng(number, hidden)
        made = write(rng, plan, arrangement_of(number))
        said = made.statement
        bare = _packed(number, made.presentation.scenes, rng)
        written = replace(bare, sentence=said.sentence, program=str(said.program), phenomena=said.phenomena)
        out.append(replace(written, writer=GENERATOR))
    return out


def arrangement_of(number: int) -> Arrangement:
    """Scatter and tower scenes in equal number."""
    return box_scenes.ARRANGEMENTS[number % len(box_scenes.ARRANGEMENTS)]


def _packed(number: int, scenes: Sequence[Scene], rng: np.random.Generator) -> Packed:
    """A presentation with its items' ids in a random order: whoever sees an id must not see a label."""
    ids = tuple(f"{number}-{place}" for place in rng.permutation(4).tolist())
    return Packed(str(number), arrangement_of(number), ids, tuple(map(pack, scenes)))


@dataclass(frozen=True, slots=True)
class Labelled:
    """A presentation, the split it is in, and the labels of A, B, C and D; None where an item was removed."""

    example: Packed
    split: str
    labels: tuple[int | None, ...]


@dataclass(frozen=True)
class Drawn:
    """The rows and images of a batch."""

    items: dict[str, pa.Table]  # by split
    panels: pa.Table
    images: list[bytes]


def draw_batch(batch: Sequence[Labelled]) -> Drawn:
    """Draw every kept item in its six orders of boxes."""
    items: dict[str, list[Item]] = {}
    panels: list[Panel] = []
    images: list[bytes] = []
    for labelled in batch:
        one = labelled.example
        for name, packed, label in sorted(zip(one.ids, one.scenes, labelled.labels, strict=True), key=lambda t: t[0]):
            if label is None:
                continue
            boxes = unpack_boxes(packed)
            drawings = draw_boxes(boxes)
            addresses = [content_address(drawing) for drawing in drawings]
            images += drawings
            scene = [panel(box, index, name, addresses[0]) for index, box in enumerate(boxes)]
            panels += scene
            item = _item(name, one, label, [box.id for box in scene], addresses)
            items.setdefault(labelled.split, []).append(item)
    by_split = {split: tables.items_table(rows) for split, rows in items.items()}
    return Drawn(by_split, tables.panels_table(panels), images)


def _item(name: str, one: Packed, label: int, panels: Sequence[str], addresses: Sequence[str]) -> Item:
    return Item(
        id=name,
        task="statement",
        panels=tuple(panels),
        query=Text(one.sentence),
        candidates=TRUTH,
        answer=label,
        group=one.presentation,
        origins=(one.presentation,),
        views=tuple(View(order, address) for order, address in zip(box_scenes.ORDERS, addresses, strict=True)),
        program=one.program,
        writer=one.writer,
        tags=pairs(scene=one.arrangement, phenomenon=one.phenomena),
    )
