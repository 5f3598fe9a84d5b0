"""Trained runs as solvers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from veridical import train
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.evaluation.scores import evaluate
from veridical.options.running import SolverOptions
from veridical.records import split_view
from veridical.solvers.solver import Solved, solve

from ..zoo import _matrices as matrices
from ..zoo import _small as small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return small.write_statements(tmp_path_factory.mktemp("solve") / "b", 12, stored=True)


def answer(run: Path, benchmark: Path, split: str, out: Path, **options: Any) -> Solved:
    return solve(str(run), benchmark, split=split, out=out, options=SolverOptions(**options))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_line_per_item_and_the_evaluator_agrees(folder: Path, tmp_path: Path) -> None:
    done = train("maxent", folder, tmp_path / "run", set={"strength": 1.0}, validate="dev")
    solved = answer(tmp_path / "run", folder, "dev", tmp_path / "out.jsonl")
    bench = Benchmark(folder)
    found = lines(solved.out)
    assert [line["item"] for line in found] == [item.id for item in bench.items("dev")]
    assert solved.predictions == len(found) == 12
    assert evaluate(folder, solved.out, split="dev", resamples=10).accuracy.value == pytest.approx(done.mean)
    meta = json.loads((tmp_path / "out.jsonl.meta.json").read_text())
    assert {line["benchmark"] for line in found} == {bench.hash}
    assert meta["benchmark_hash"] == bench.hash == meta["solver"]["benchmark"]["hash"]
    assert meta["solver"]["model"] == "maxent"


def test_a_model_of_pictures_predicts_every_view(folder: Path, tmp_path: Path) -> None:
    options = {"epochs": 1, "width": 80, "height": 20}
    train("cnn-rnn", folder, tmp_path / "run", set=options, validate="dev")
    solved = answer(tmp_path / "run", folder, "dev", tmp_path / "out.jsonl")
    found = lines(solved.out)
    names = [split_view(str(line["item"])) for line in found]
    assert names == [(item.id, view) for item in Benchmark(folder).items("dev") for view in range(6)]
    assert len({tuple(line["scores"]) for line in found[:6]}) > 1  # type: ignore[arg-type]
    scores = evaluate(folder, solved.out, split="dev", resamples=10)
    assert scores.per_view
    assert scores.missing.count == 0


def test_the_same_run_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    train("text", folder, tmp_path / "run", set={"epochs": 1, "validation": 0.2}, trials=2)
    one = answer(tmp_path / "run", folder, "dev", tmp_path / "1.jsonl").out.read_bytes()
    again = answer(tmp_path / "run", folder, "dev", tmp_path / "2.jsonl").out.read_bytes()
    other = answer(tmp_path / "run", folder, "dev", tmp_path / "3.jsonl", trial="trial-1").out.read_bytes()
    assert one == again != other


def test_all_trials_or_the_best_one(folder: Path, tmp_path: Path) -> None:
    """By its own validation, or by how it does on a split."""
    run = tmp_path / "run"
    done = train("text", folder, run, set={"epochs": 2, "validation": 0.3, "rate": 0.02}, trials=3)
    solved = answer(run, folder, "dev", tmp_path / "all.jsonl", trial="all")
    files = [one.out for one in (solved, *solved.others)]
    assert [path.name for path in files] == ["all-0.jsonl", "all-1.jsonl", "all-2.jsonl"]
    on_dev = [evaluate(folder, path, split="dev", resamples=10).accuracy.value for path in files]
    by_dev = answer(run, folder, "dev", tmp_path / "by-dev.jsonl", trial="best-on-dev")
    assert by_dev.out.read_bytes() == files[on_dev.index(max(on_dev))].read_bytes()
    best = [trial["best"] for trial in done.trials]
    chosen = answer(run, folder, "dev", tmp_path / "best.jsonl", trial="best")
    assert chosen.out.read_bytes() == files[best.index(max(best))].read_bytes()
    meta = json.loads((tmp_path / "best.jsonl.meta.json").read_text())["solver"]
    assert (meta["trial"], meta["chosen"]) == (best.index(max(best)), "best")


def test_controls_change_the_context_and_nothing_else(tmp_path: Path) -> None:
    """A model that knows the panels' places notices both; one without ids cannot notice that they were shuffled."""
    bench = matrices.write(tmp_path / "b", {"train": 300, "test": 40}, ("main",))
    options = {"images": "thumbnail", "epochs": 2, "batch": 64, "hidden": 16}
    for model, notices in (("relation-network", True), ("relation-network-no-ids", False)):
        train(model, bench, tmp_path / model, set=options)
        found: dict[str, list[list[float]]] = {}
        for context in ("own", "other", "shuffled"):
            solved = answer(tmp_path / model, bench, "test", tmp_path / f"{context}.jsonl", context=context)
            found[context] = [line["scores"] for line in lines(solved.out)]  # type: ignore[misc]
            meta = json.loads((tmp_path / f"{context}.jsonl.meta.json").read_text())["solver"]
            assert meta.get("context", "own") == context
        assert sum(a != b for a, b in zip(found["own"], found["other"], strict=True)) > 30
        same = [a == pytest.approx(b, abs=1e-4) for a, b in zip(found["own"], found["shuffled"], strict=True)]
        assert same == [not notices] * 40


def test_what_solve_refuses(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no solver .* no such run folder"):
        answer(tmp_path / "nowhere", folder, "dev", tmp_path / "out.jsonl")
    train("text", folder, tmp_path / "run", set={"epochs": 1, "validation": 0.2})
    with pytest.raises(UserError, match="no split 'test'"):
        answer(tmp_path / "run", folder, "test", tmp_path / "out.jsonl")
    choices = small.write_choices(tmp_path / "c", 9)
    with pytest.raises(UserError, match="cannot solve choice items"):
        answer(tmp_path / "run", choices, "dev", tmp_path / "out.jsonl")
    with pytest.raises(UserError, match="no trial 7") as refused:
        answer(tmp_path / "run", folder, "dev", tmp_path / "out.jsonl", trial=7)
    assert "trial-0" in refused.value.fix
    with pytest.raises(UserError, match="device 'abacus' cannot be used"):
        answer(tmp_path / "run", folder, "dev", tmp_path / "out.jsonl", device="abacus")
    (tmp_path / "run/trial-0/result.json").unlink()
    with pytest.raises(UserError, match="not finished"):
        answer(tmp_path / "run", folder, "dev", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
