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
from veridical.training import Trained
from veridical.training.batches import Dataset

from ..zoo import _matrices as matrices
from ..zoo import _small as small
from ..zoo import _tagged as tagged


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


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Path]]:
    """Questions with reasons; two trials on answers, of which the first is the better, and two on reasons, of which it
    is the second; and a run with a trial more."""
    base = tmp_path_factory.mktemp("staged")
    bench = tagged.write(base / "boxes", 20)
    runs = {"answer": base / "answer", "rationale": base / "rationale", "more": base / "more"}
    for name, best in (("answer", (0.9, 0.1)), ("rationale", (0.1, 0.9)), ("more", (0.1, 0.2, 0.3))):
        stage = "answer" if name == "answer" else "rationale"
        train("response-only", bench, runs[name], set={"epochs": 1}, stage=stage, trials=len(best), validate="val")
        for number, value in enumerate(best):
            path = runs[name] / f"trial-{number}" / "result.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), "best": value}))
    return bench, runs


def test_a_run_of_one_stage_says_what_it_left_out(staged: tuple[Path, dict[str, Path]], tmp_path: Path) -> None:
    bench, runs = staged
    alone = answer(runs["answer"], bench, "val", tmp_path / "p.jsonl")
    assert any("Only the stage answer was trained" in part for part in alone.parts() if isinstance(part, str))
    both = answer(runs["answer"], bench, "val", tmp_path / "q.jsonl", also=runs["rationale"])
    assert not any(isinstance(part, str) for part in both.parts())


def test_the_best_of_two_runs_are_the_best_of_each(staged: tuple[Path, dict[str, Path]], tmp_path: Path) -> None:
    bench, runs = staged
    answer(runs["answer"], bench, "val", tmp_path / "p.jsonl", trial="best", also=runs["rationale"])
    meta = json.loads((tmp_path / "p.jsonl.meta.json").read_text())["solver"]
    assert (meta["trial"], meta["also"]["trial"]) == (0, 1)
    assert meta["chosen"] == meta["also"]["chosen"] == "best"
    of_each = [answer(runs[stage], bench, "val", tmp_path / stage, trial="best") for stage in ("answer", "rationale")]
    assert lines(tmp_path / "p.jsonl") == [line for one in of_each for line in lines(one.out)]


def test_the_best_on_a_split_is_the_best_on_its_stage(
    staged: tuple[Path, dict[str, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, runs = staged
    judged: list[int] = []
    accuracy = Trained.accuracy

    def counted(trained: Trained, data: Dataset) -> float:
        judged.append(len(data))
        return accuracy(trained, data)

    monkeypatch.setattr(Trained, "accuracy", counted)
    answer(runs["rationale"], bench, "val", tmp_path / "p.jsonl", trial="best-on-val")
    reasons = [item for item in Benchmark(bench).items("val") if item.answer is not None and item.parent is not None]
    assert judged == [len(reasons)] * 2


@pytest.mark.parametrize(("also", "trial", "found"), [
    ("more", "all", r"the trials 0, 1, .* has 0, 1, 2"),
    ("nowhere", "all", "has no finished trial"),
    ("nowhere", "0", "has no trial 0"),
    ("answer", "0", "on answer"),
])  # fmt: skip
def test_another_run_is_refused_before_anything_is_solved(
    staged: tuple[Path, dict[str, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, also: str, trial: str,
    found: str,
) -> None:  # fmt: skip
    def solved(*_: object) -> None:
        raise AssertionError("something was solved")

    bench, runs = staged
    monkeypatch.setattr("veridical.solvers.trained.predict_share", solved)
    with pytest.raises(UserError, match=found):
        answer(runs["answer"], bench, "val", tmp_path / "p.jsonl", trial=trial, also=runs.get(also, tmp_path / also))
    assert list(tmp_path.iterdir()) == []


def test_all_trials_of_two_runs_go_in_pairs(staged: tuple[Path, dict[str, Path]], tmp_path: Path) -> None:
    bench, runs = staged
    answer(runs["answer"], bench, "val", tmp_path / "p.jsonl", trial="all", also=runs["rationale"])
    metas = [json.loads((tmp_path / f"p-{k}.jsonl.meta.json").read_text())["solver"] for k in range(2)]
    assert [(meta["trial"], meta["also"]["trial"]) for meta in metas] == [(0, 0), (1, 1)]


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
