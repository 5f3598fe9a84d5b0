"""Benchmarks to count: the real NLVR and NLVR2 files where they are here, and small ones with known numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.records import TRUTH, Item, Judgement, Text, pairs

VERDICTS = {"true": 1, "false": 0, "nonsense": "nonsense"}
Lines = Iterable[dict]


def _read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _nlvr(split: str, lines: Lines, writer: BenchmarkWriter) -> None:
    items, judgements = [], []
    for line in lines:
        name = line["identifier"]
        group = f"{split}-{name.split('-')[0]}"
        items.append(Item(name, "statement", (), Text(line["sentence"]), TRUTH, VERDICTS[line["label"]], group))
        judgements += [Judgement(name, w, VERDICTS[v], "validation") for w, v in line["evals"].items()]
    writer.add_items(split, items)
    writer.add_judgements(judgements)


@pytest.fixture(scope="session")
def nlvr(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The official NLVR training and development sentences, labels and judgements."""
    out = tmp_path_factory.mktemp("stats") / "nlvr"
    with BenchmarkWriter(out, name="NLVR", task="statement", official=True, config={"format": "nlvr"}) as writer:
        for split, file in (("train", "train.json"), ("dev", "dev/dev.json")):
            _nlvr(split, _read(shared / "nlvr" / file), writer)
    return out


@pytest.fixture(scope="session")
def nlvr2(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The official NLVR2 development sentences, labels and judgements."""
    out = tmp_path_factory.mktemp("stats") / "nlvr2"
    items, judgements = [], []
    for line in _read(shared / "nlvr2" / "dev.json"):
        name = line["identifier"]
        split, number, _, sentence = name.split("-")
        items.append(
            Item(
                name,
                "statement",
                (),
                Text(line["sentence"]),
                TRUTH,
                VERDICTS[line["label"].lower()],
                f"{split}-{number}-{sentence}",
                writer=line["writer"],
                tags=pairs(synset=line["synset"]),
            )
        )
        for field, kind in (("validation", "validation"), ("extra_validations", "extra")):
            judgements += [Judgement(name, w, VERDICTS[v.lower()], kind) for w, v in line[field].items()]
    with BenchmarkWriter(out, name="nlvr2", task="statement", official=True) as writer:
        writer.add_items("dev", items)
        writer.add_judgements(judgements)
    return out


Make = Callable[..., Benchmark]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A small benchmark of the given items (one split, or {split: items}) and judgements."""

    def build(items, judgements=(), *, task="statement", pruned=(), hidden=(), **options) -> Benchmark:
        with BenchmarkWriter(tmp_path / "small", name="small", task=task, hidden=hidden, **options) as writer:
            for split, some in (items if isinstance(items, dict) else {"dev": items}).items():
                writer.add_items(split, some)
            writer.add_judgements(judgements)
            if pruned:
                writer.add_pruned(pruned)
        return Benchmark(tmp_path / "small")

    return build


@pytest.fixture
def statement() -> Callable[..., Item]:
    """A true/false item."""

    def build(name: str, answer: int | None = 1, sentence: str = "A dog.", **fields) -> Item:
        return Item(name, "statement", (), Text(sentence), TRUTH, answer, **fields)

    return build
