"""Small benchmarks for the tests of the zoo: statements about drawn boxes, and questions with texts to choose from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, Ref, SceneObject, Text, View
from veridical.sources.boxes.scenes import ORDERS, presentations
from veridical.training.batches import examples_of
from veridical.zoo.architecture import Example

COLORS = ("black", "blue", "yellow")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def statement(panels: tuple[Panel, ...], rng: np.random.Generator, truth: bool) -> str:
    """A sentence about the number of objects of a colour, true or false of the panels, with a word of its own."""
    color = COLORS[int(rng.integers(3))]
    count = sum(o.attribute("color") == color for panel in panels for o in panel.objects)
    number = count if truth else count + 1 + int(rng.integers(3))
    said = NUMBERS[number] if number < len(NUMBERS) else str(number)
    name = "".join(rng.choice(list("abcdefghij"), 8))
    return f"There are exactly {said} {color} {'objects' if rng.integers(2) else 'items'}, says {name}."


def write_statements(out: Path, count: int = 12, seed: int = 0, stored: bool = False) -> Path:
    """4 x `count` training items and `count` for dev; with `stored`, the pictures of dev are in the benchmark."""
    rng = np.random.default_rng(seed)
    with BenchmarkWriter(out, name="boxes", task="statement", seed=seed) as writer:
        for number, presentation in enumerate(presentations(count + count // 4, seed)):
            split = "train" if number < count else "dev"
            for index, scene in enumerate(presentation.scenes):
                name = f"{number}-{index}"
                images = [None] * 6
                if stored and split == "dev":
                    from veridical.sources.boxes.drawings import draw_views

                    images = [writer.add_image(data) for data in draw_views(scene)]
                views = tuple(View(order, image) for order, image in zip(ORDERS, images, strict=True))
                truth = bool((number + index) % 2)
                item = Item(
                    id=name,
                    task="statement",
                    panels=tuple(panel.id for panel in scene),
                    query=Text(statement(scene, rng, truth)),
                    candidates=TRUTH,
                    answer=int(truth),
                    group=str(number),
                    origins=(str(number),),
                    views=views,
                )
                writer.add_items(split, [item])
                writer.add_panels(scene)
    return out


def write_choices(out: Path, count: int = 60, seed: int = 0, candidates: tuple[int, ...] = (4,)) -> Path:
    """Questions whose right answer holds the word 'because': response-only can learn it."""
    rng = np.random.default_rng(seed)
    places = ("kitchen", "garden", "car", "street", "office")
    with BenchmarkWriter(out, name="questions", task="choice", seed=seed) as writer:
        writer.add_panels([Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "dog")))])
        for split, many in (("train", count), ("dev", count // 3)):
            items = []
            for number in range(many):
                own = candidates[number % len(candidates)]
                right = int(rng.integers(own))
                texts = tuple(
                    Text("", (Ref(("0", "1")), "is", "because" if i == right else "near", str(rng.choice(places))))
                    for i in range(own)
                )
                items.append(
                    Item(
                        id=f"{split}-{number}",
                        task="choice",
                        panels=("p",),
                        query=Text(f"Why is the dog in the {rng.choice(places)} {split} {number}?"),
                        candidates=texts,
                        answer=right,
                        origins=(f"{split}-{number}",),
                    )
                )
            writer.add_items(split, items)
    return out


def examples(folder: Path, split: str = "train") -> list[Example]:
    """The examples of a split."""
    bench = Benchmark(folder)
    return examples_of(bench, bench.items(split))
