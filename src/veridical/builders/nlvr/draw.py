"""Six drawings of every item, and its rows: what a process makes of a batch of labelled presentations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from veridical.benchmark import tables
from veridical.benchmark.writer import content_address
from veridical.builders.nlvr.scenes import Example, unpack_boxes
from veridical.records import TRUTH, Item, Panel, Text, View, pairs
from veridical.sources.boxes.drawings import draw_boxes
from veridical.sources.boxes.scene import ORDERS, panel


@dataclass(frozen=True, slots=True)
class Labelled:
    """A presentation, the split it is in, and the labels of A, B, C and D; None where an item was removed."""

    example: Example
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


def _item(name: str, one: Example, label: int, panels: Sequence[str], addresses: Sequence[str]) -> Item:
    return Item(
        id=name,
        task="statement",
        panels=tuple(panels),
        query=Text(one.sentence),
        candidates=TRUTH,
        answer=label,
        group=one.presentation,
        origins=(one.presentation,),
        views=tuple(View(order, address) for order, address in zip(ORDERS, addresses, strict=True)),
        program=one.program,
        writer=one.writer,
        tags=pairs(scene=one.kind, phenomenon=one.phenomena),
    )
