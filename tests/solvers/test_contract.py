"""What every solver must do: all of the registry, a trained run, and a model asked through Inspect."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from veridical.benchmark import Benchmark
from veridical.common import registry
from veridical.errors import UserError
from veridical.options.running import Asking, Generating, Sending, SolverOptions
from veridical.records import split_view
from veridical.solvers import SOLVERS
from veridical.solvers.solver import open_solver, solve

from ..zoo import _small as small

TRAINED, MODEL = "(a run)", "openai/tiny"
SOLVED_BY = [*SOLVERS, TRAINED, MODEL]
GROUPS = {"options": SolverOptions, "asking": Asking, "sending": Sending, "generating": Generating}
# a value that is not the default, for each option, and who takes it
OTHER: dict[str, Any] = {
    "limit": 2, "seed": 3, "source": "pixels", "weights": "w.json", "save_weights": "w.json", "context": "shuffled",
    "trial": 1, "also": "other-run", "scheme": "neutral",
    "device": "meta", "layout": "separate", "answers": "letter", "reasoning": True, "wordings": 2, "orders": 2,
    "boxes": "none", "rationales": "none", "views": "all", "blind": True, "model_base_url": "http://localhost",
    "model_arg": {"a": 1}, "max_connections": 3, "max_retries": 1, "timeout": 5, "batch": True, "logs": "logs",
    "log_images": False, "price": (1.0, 1.0), "max_tokens": 9, "temperature": 0.5, "logprobs": True,
}  # fmt: skip
TAKES = {
    "programs": {"source", "weights", "save_weights", "views"},
    "majority": set(),
    "random": {"seed"},
    TRAINED: {"seed", "context", "trial", "device", "also"},
    MODEL: {f.name for group in (Asking, Sending, Generating) for f in fields(group)},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write_statements(tmp_path_factory.mktemp("contract") / "b", 6, stored=True)


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="needs the extra `models`")
    from veridical import train

    out = tmp_path_factory.mktemp("contract") / "run"
    train("maxent", folder, out, set={"strength": 1.0}, validate="dev", trials=2)
    return out


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    solver = str(request.param)
    if solver == MODEL:
        pytest.importorskip("inspect_ai", reason="needs the extra `vlm`")
        pytest.importorskip("openai", reason="needs the extra `vlm`")
    return str(request.getfixturevalue("run")) if solver == TRAINED else solver


@contextmanager
def _server(name: str) -> Iterator[Sending]:
    """A server where the model is, for a model."""
    if name != MODEL:
        yield Sending()
        return
    from ._vlm_server import brightness, serve

    with serve(brightness) as site:
        yield Sending(model_base_url=site.url)


@pytest.mark.parametrize("name", SOLVED_BY, indirect=True)
def test_every_item_gets_a_score_per_candidate_in_its_order(name: str, folder: Path, tmp_path: Path) -> None:
    with _server(name) as sending:
        done = solve(name, folder, split="dev", out=tmp_path / "1.jsonl", sending=sending)
        solve(name, folder, split="dev", out=tmp_path / "2.jsonl", sending=sending)
    lines = [json.loads(line) for line in (tmp_path / "1.jsonl").read_text().splitlines()]
    bench = Benchmark(folder)
    assert list(dict.fromkeys(split_view(line["item"])[0] for line in lines)) == [i.id for i in bench.items("dev")]
    assert {len(line["scores"]) for line in lines} == {2}
    assert done.predictions == len(lines)
    assert json.loads(json.dumps(done.to_json()))["solver"] == name
    meta = json.loads((tmp_path / "1.jsonl.meta.json").read_text())
    assert (meta["benchmark_hash"], meta["split"], meta["solver"]["name"]) == (bench.hash, "dev", name)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


@pytest.mark.parametrize("name", [*SOLVERS, TRAINED], indirect=True)
def test_a_limit_counts_items(name: str, folder: Path, tmp_path: Path) -> None:
    solve(name, folder, split="dev", out=tmp_path / "all.jsonl")
    solve(name, folder, split="dev", out=tmp_path / "two.jsonl", options=SolverOptions(limit=2))
    every, two = ((tmp_path / f"{which}.jsonl").read_text().splitlines() for which in ("all", "two"))
    assert two == every[:2]


@pytest.mark.parametrize("option", OTHER)
@pytest.mark.parametrize("solver", SOLVED_BY)
def test_options_that_a_solver_has_no_use_for_are_refused(
    solver: str, option: str, request: pytest.FixtureRequest
) -> None:
    group = next(name for name, one in GROUPS.items() if option in {f.name for f in fields(one)})
    name = str(request.getfixturevalue("run")) if solver == TRAINED else solver
    given: dict[str, Any] = {group: GROUPS[group](**{option: OTHER[option]})}
    if option == "also" and option in TAKES[solver]:  # opened at once, and there is none
        with pytest.raises(UserError, match="other-run has no trial"):
            open_solver(name, **given)
    elif option in ("limit", "scheme") or option in TAKES[solver]:
        open_solver(name, **given)
    else:
        with pytest.raises(UserError, match="has no use for --") as refused:
            open_solver(name, **given)
        assert f"--{'from' if option == 'source' else option.replace('_', '-')}" in refused.value.problem


def test_every_option_has_a_value_to_test_with() -> None:
    assert set(OTHER) == {f.name for group in GROUPS.values() for f in fields(group)}


def test_a_solver_of_another_package(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "last_choice-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: last-choice\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[veridical.solvers]\nlast = last_choice:LastChoice\n")
    (tmp_path / "last_choice.py").write_text(
        "from veridical.records import Prediction\n"
        "from veridical.solvers.solver import Solver\n\n\n"
        "class LastChoice(Solver):\n"
        "    def predict(self, benchmark, split, scheme='main'):\n"
        "        for item in benchmark.items(split, scheme):\n"
        "            yield Prediction(item.id, tuple(range(len(item.candidates))))\n\n"
        "    def about(self):\n"
        "        return {}\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    registry.plugins.cache_clear()
    try:
        assert (
            solve("last", folder, split="dev", out=tmp_path / "p.jsonl", options=SolverOptions(limit=2)).predictions
            == 2
        )
        with pytest.raises(UserError, match="has no use for --seed"):
            open_solver("last", SolverOptions(seed=1))
    finally:
        registry.plugins.cache_clear()
    assert json.loads((tmp_path / "p.jsonl").read_text().splitlines()[0])["scores"] == [0, 1]
