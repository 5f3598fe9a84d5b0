"""Small benchmarks of our builders, with predictions and an audit, opened in the explorer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from veridical.benchmark import Benchmark
from veridical.builders.nlvr import build_nlvr
from veridical.builders.nlvr2 import build_nlvr2
from veridical.builders.vcr import build_vcr
from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.mining import Mining
from veridical.records import Item
from veridical.sources.icons.worlds import IconPanels
from veridical.web.explore.app import app
from veridical.web.explore.explorer import Explorer

SECRET = "a secret that nobody guesses"
Rule = Callable[[int, Item], bool]


@pytest.fixture(scope="session")
def nlvr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawings and sentences: dev, and test-u whose answers are hidden."""
    out = tmp_path_factory.mktemp("explore") / "nlvr"
    build_nlvr(out, presentations=12, split={"dev": 2, "test-u": 1}, secret=SECRET, seed=3, processes=1)
    return out


@pytest.fixture(scope="session")
def nlvr2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of photographs of the icon world, and sentences."""
    out = tmp_path_factory.mktemp("explore") / "nlvr2"
    build_nlvr2(out, sets=4, split={"dev": 1}, hide=(), seed=3, processes=1)
    return out


@pytest.fixture(scope="session")
def vcr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions with rationales on tagged pictures."""
    out = tmp_path_factory.mktemp("explore") / "vcr"
    build_vcr(out, photographs=24, folds=3, secret=SECRET, seed=3, processes=1)
    return out


@pytest.fixture(scope="session")
def vprom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Matrices in two schemes."""
    out = tmp_path_factory.mktemp("explore") / "vprom"
    source = IconPanels(count=240, seed=3, side=100)
    build_vprom(
        out, source=source, matrices=12, schemes=("neutral", "att.held"), mining=Mining(least_images=3), processes=1
    )
    return out


def predict(
    benchmark: Path, split: str, out: Path, right: Rule, raw: str | None = None, scheme: str | None = None
) -> Path:
    """Predictions that are right where a rule says so."""
    lines = []
    for n, item in enumerate(Benchmark(benchmark).items(split, scheme, answers=True)):
        width, goal = len(item.candidates), item.answer or 0
        chosen = goal if right(n, item) else (goal + 1) % width
        scores = [0.75 if k == chosen else 0.125 for k in range(width)]
        lines.append(json.dumps({"item": item.id, "scores": scores, "raw": raw}) + "\n")
    out.write_text("".join(lines))
    return out


@pytest.fixture(scope="session")
def opened(nlvr: Path, tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    """NLVR with two solvers and an audit."""
    folder = tmp_path_factory.mktemp("said")
    keen = predict(nlvr, "dev", folder / "keen.jsonl", lambda n, item: n % 4 > 0, raw="because <b>it</b> is so")
    dull = predict(nlvr, "dev", folder / "dull.jsonl", lambda n, item: n % 2 > 0)
    first = next(iter(Benchmark(nlvr).items("dev"))).id
    finding = {"check": "text-only", "title": "Text without pictures", "verdict": "warn", "says": "It is guessed.",
               "examples": [{"id": first, "text": "", "note": "dev, lead 0.40"}]}  # fmt: skip
    audit = folder / "audit.json"
    audit.write_text(json.dumps({"benchmark": "NLVR", "findings": [finding]}))
    return Explorer(nlvr, [keen, dull, audit])


@pytest.fixture
def client(opened: Explorer) -> TestClient:
    return TestClient(app(opened), base_url="http://127.0.0.1")
