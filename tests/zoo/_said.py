"""Statements about drawn boxes with their programs, in which every module of a module network has something to do; and
pairs of pictures with objects, for models of detected objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from veridical.benchmark import BenchmarkWriter
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import parse
from veridical.records import TRUTH, Item, Panel, SceneObject, Text, View
from veridical.sources.boxes.scenes import ORDERS, presentations

STATEMENTS = {
    "There is a box with two blue circles above a black square.":
        "(count (at-least 1) (where (count (exactly 2) (keep (and (is color blue) (is category circle) "
        "(related above (at-least 1) (keep (and (is color black) (is category square)) things))) things)) panels))",
    "There is a yellow item touching a wall.":
        "(count (at-least 1) (keep (and (is color yellow) (touching wall)) things))",
    "There are exactly two boxes with more blue items than black items.":
        "(count (exactly 2) (where (count (more-than (size (keep (is color black) things))) "
        "(keep (is color blue) things)) panels))",
    "There is a box with items of one color.":
        "(count (at-least 1) (where (values color (exactly 1) things) panels))",
    "Every box has a blue item or a yellow item.":
        "(every panels (or (count (at-least 1) (keep (is color blue) things)) "
        "(count (at-least 1) (keep (is color yellow) things))))",
    "There is one box with only black items.":
        "(count (exactly 1) (where (every things (is color black)) panels))",
    "All the boxes are different.": "(count (at-least 2) (where (values color (exactly 2) things) panels))",
}  # fmt: skip


def write(out: Path, count: int = 3, seed: int = 0) -> Path:
    """Every statement about 4 x `count` scenes, for training; some more for dev."""
    programs = [(said, parse(text)) for said, text in STATEMENTS.items()]
    with BenchmarkWriter(out, name="said", task="statement", seed=seed) as writer:
        for number, presentation in enumerate(presentations(count + 1, seed)):
            split = "train" if number < count else "dev"
            for index, scene in enumerate(presentation.scenes):
                writer.add_panels(scene)
                writer.add_items(
                    split,
                    [
                        Item(
                            id=f"{number}-{index}-{kind}",
                            task="statement",
                            panels=tuple(panel.id for panel in scene),
                            query=Text(said),
                            candidates=TRUTH,
                            answer=int(execute(program, scene)),
                            group=str(number),
                            origins=(str(number),),
                            views=tuple(View(order, None) for order in ORDERS),
                            program=str(program),
                        )
                        for kind, (said, program) in enumerate(programs)
                    ],
                )
    return out


def write_pairs(out: Path, count: int = 40, seed: int = 0) -> Path:
    """Pairs of pictures, known by their objects alone: "The left image has two dogs"."""
    rng = np.random.default_rng(seed)
    words = ("no", "one", "two", "three", "four")
    with BenchmarkWriter(out, name="pairs", task="statement", seed=seed) as writer:
        for number in range(count + count // 4):
            kind = ("dog", "cat")[int(rng.integers(2))]
            counts = rng.integers(0, 4, 2).tolist()
            side = int(rng.integers(2))
            truth = bool(number % 2)
            asked = counts[side] if truth else (counts[side] + 1 + int(rng.integers(3))) % 5
            panels = [
                Panel(f"{number}-{n}", objects=tuple(SceneObject(str(k), kind, score=0.9) for k in range(many)))
                for n, many in enumerate(counts)
            ]
            writer.add_panels(panels)
            item = Item(
                id=str(number),
                task="statement",
                panels=tuple(panel.id for panel in panels),
                query=Text(f"The {('left', 'right')[side]} image has {words[asked]} {kind}s."),
                candidates=TRUTH,
                answer=int(truth),
                group=str(number),
                origins=(str(number),),
            )
            writer.add_items("train" if number < count else "dev", [item])
    return out
