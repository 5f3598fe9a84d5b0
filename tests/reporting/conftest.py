"""Small benchmarks, prediction files and run folders to report on."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Judgement, Panel, Ref, SceneObject, Text, View, pairs

Write = Callable[..., Path]


class Page(HTMLParser):
    """A page taken apart: its elements with attributes, and its text outside of style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.cells: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)
            if {"td", "th"} & set(self.open):
                self.cells[-1] += data

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture
def read_page() -> Callable[[Path], Page]:
    return lambda path: Page(path.read_text(encoding="utf-8"))


def picture(shade: int) -> bytes:
    """A small photograph."""
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (40, 30), (shade, 90, 120)).save(out, "PNG")
    return out.getvalue()


def statements(
    count: int, sentence: Callable[[int], str], phenomena: Sequence[str] = ("negation", "coordination")
) -> list[Item]:
    """True/false items about scenes, four to a group, half of them true."""
    orders = list(itertools.permutations(range(3)))
    return [
        Item(
            id=f"{n // 4}-{n % 4}",
            task="statement",
            panels=(f"p{n % 5}",) * 3,
            query=Text(sentence(n // 4)),
            candidates=TRUTH,
            answer=n % 2,
            group=str(n // 4),
            origins=(str(n // 4),),
            views=tuple(View(order) for order in orders),
            tags=pairs(phenomenon=phenomena[(n // 4) % len(phenomena)], scene="scatter"),
        )
        for n in range(count)
    ]


@pytest.fixture
def nlvr(tmp_path: Path) -> Write:
    """Write an NLVR-like benchmark: `nlvr(sentence=..., hidden=("test-u",), program=...)`."""

    def write(
        name: str = "NLVR",
        count: int = 48,
        sentence: Callable[[int], str] = lambda n: f"There are {n} black squares.",
        hidden: Sequence[str] = (),
        program: str | None = None,
        folder: str = "nlvr",
        seed: int = 0,
    ) -> Path:
        square = SceneObject("0", "square", (("color", "black"), ("size", "medium")), (10, 10, 30, 30))
        panels = [Panel(f"p{k}", None, (0, 0, 100, 100), 100, 100, (square,)) for k in range(5)]
        with BenchmarkWriter(
            tmp_path / folder, name=name, task="statement", config={"format": "nlvr"}, seed=seed, hidden=hidden
        ) as writer:
            writer.add_panels(panels)
            for split in ("dev", *hidden):
                items = statements(count, sentence)
                if split != "dev":
                    items = [_moved(item, split) for item in items]
                writer.add_items(split, [_with_program(item, program) for item in items])
                writer.add_judgements(
                    Judgement(item.id, f"w{k}", item.answer or 0, "extra") for item in items for k in range(3)
                )
        return tmp_path / folder

    return write


def _moved(item: Item, split: str) -> Item:
    from dataclasses import replace

    group = f"{split}{item.group}"
    return replace(item, id=f"{split}-{item.id}", group=group, origins=(group,))


def _with_program(item: Item, program: str | None) -> Item:
    from dataclasses import replace

    return replace(item, program=program)


@pytest.fixture
def vcr(tmp_path: Path) -> Write:
    """Write a VCR-like benchmark of questions with rationales, or without, on one photograph each."""

    def write(
        count: int = 12, folder: str = "vcr", official: bool = False, rationales: bool = True, split: str = "val"
    ) -> Path:
        with BenchmarkWriter(tmp_path / folder, name="VCR", task="choice", official=official) as writer:
            items: list[Item] = []
            people = tuple(SceneObject(str(k), "person", box=(5 + 15 * k, 5, 15 + 15 * k, 25)) for k in range(2))
            for n in range(count):
                panel = Panel(f"photo{n}", writer.add_image(picture(n)), None, 40, 30, people)
                writer.add_panels([panel])
                words = ("What will", "do next ?") if n % 2 else ("Why is", "here ?")
                query = Text("", (*words[0].split(), Ref(("0",)), *words[1].split()))
                four = tuple(Text(f"answer {k} to {n}") for k in range(4))
                reasons = tuple(Text(f"reason {k} for {n}") for k in range(4))
                about = {"task": "choice", "panels": (panel.id,), "query": query, "group": f"q{n}"}
                items.append(Item(id=f"q{n}", candidates=four, answer=n % 4, **about))
                for given in range(4 if rationales else 0):
                    right = 1 if given == n % 4 else None
                    items.append(
                        Item(
                            id=f"q{n}/r{given}", candidates=reasons, answer=right, parent=f"q{n}", given=given, **about
                        )
                    )
            writer.add_items(split, items)
        return tmp_path / folder

    return write


@pytest.fixture
def vprom(tmp_path: Path) -> Write:
    """Write matrices in two schemes of splits."""

    def write(count: int = 16, folder: str = "vprom") -> Path:
        with BenchmarkWriter(tmp_path / folder, name="V-PROM", task="matrix") as writer:
            address = writer.add_image(picture(200))
            names = [f"crop{k}" for k in range(16)]
            writer.add_panels(Panel(name, address, (k, k, k + 12, k + 12), 12, 12) for k, name in enumerate(names))
            for scheme in ("neutral", "extrapolation"):
                items = [
                    Item(
                        id=f"{scheme}-{n}",
                        task="matrix",
                        panels=tuple(names[:8]),
                        candidates=tuple(names[8:]),
                        answer=n % 8,
                        tags=pairs(relation=("and", "or")[n % 2]),
                    )
                    for n in range(count)
                ]
                writer.add_items("test", items, scheme=scheme)
        return tmp_path / folder

    return write


@pytest.fixture
def predict(tmp_path: Path) -> Write:
    """Write predictions that are right where a rule says so: `predict(DIR, "dev", lambda n, item: n % 3 > 0)`."""
    from veridical.benchmark import Benchmark

    def write(
        benchmark: Path,
        split: str,
        right: Callable[[int, Item], bool],
        name: str = "predictions.jsonl",
        scheme: str = "main",
        raw: str | None = None,
        items: Iterable[Item] | None = None,
    ) -> Path:
        lines = []
        for n, item in enumerate(items or Benchmark(benchmark).items(split, scheme, answers=True)):
            width = len(item.candidates)
            goal = 0 if item.answer is None else item.answer
            chosen = goal if right(n, item) else (goal + 1) % width
            scores = [float(k == chosen) for k in range(width)]
            lines.append(json.dumps({"item": item.id, "scores": scores, "raw": raw}) + "\n")
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines))
        return path

    return write
