"""`veridical sweep`: all points once, resumable, controls at chance, the paper's tables and figure from one call."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.commands import invoke

import veridical
from veridical import encoders as features
from veridical import sweep
from veridical.benchmark import Benchmark
from veridical.encoders.store import vectors_hash, write_features
from veridical.errors import UserError
from veridical.experiments.sweep import ALL, Point, Swept, _options, plan, titles
from veridical.pages.markup import plain
from veridical.pages.tables import Cell
from veridical.reporting.inputs import read_sweep
from veridical.reporting.trained import sample_efficiency, sweep_tables

from ..zoo import _matrices as matrices

OPTIONS = {"epochs": 8, "batch": 32, "hidden": 32, "pair_layers": 1}
MODELS = ("mlp-sum-2", "relation-network-no-ids", "relation-network")
SMALL: dict[str, Any] = {"features": ("thumbnail",), "resamples": 200, "processes": 1}
CALL: dict[str, Any] = {**SMALL, "models": MODELS, "set": OPTIONS}


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIDICAL_PROGRESS", "0")
        yield


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep") / "b"
    return matrices.write(folder, {"train": 400, "test": 200}, ("att.held", "neutral"))


@pytest.fixture(scope="module")
def done(benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> Swept:
    return sweep(benchmark, tmp_path_factory.mktemp("out") / "sweep", fractions=(0.25,), **CALL)


def test_the_plan_has_every_combination_once() -> None:
    points = plan(["gru", "vqa"], ["neutral", "obj.held"], ["a", "b/c"], [False, True], [0.5, 1.0], "vqa", ["neutral"])
    assert len(points) == len(set(points)) == 2 * 2 * 2 * 2 + 2 + 1
    assert len({p.folder for p in points}) == len(points)
    assert [p for p in points if p.fraction != 1] == [Point(m, "neutral", "a", fraction=0.5) for m in ("gru", "vqa")]
    assert points[-1] == Point("vqa", "neutral", "a", context="other")
    both = plan(["gru"], ["neutral", "obj.held"], ["a"], [False], [], "vqa", ["neutral", "obj.held"])
    assert [p for p in both if p.context == "other"] == [
        Point("vqa", scheme, "a", context="other") for scheme in ("neutral", "obj.held")
    ]


def test_titles_are_short_where_they_can_be() -> None:
    long, half = Point("relation-network", "neutral", "b/c", True), Point("gru", "neutral", "a", fraction=0.5)
    assert titles([long, half]) == {long: "RN, c + aux. loss", half: "GRU, a, 50% of training"}
    other = Point("relation-network", "neutral", "d/c", True)
    assert titles([long, half, other]) == {
        long: "RN, b/c + aux. loss",
        half: "GRU, a, 50% of training",
        other: "RN, d/c + aux. loss",
    }


def test_every_point_is_scored_and_controlled(done: Swept) -> None:
    assert len(done.points) == 3 * 2 + 3 + 1
    by = {(p["model"], p["scheme"], p["fraction"], p["context"]): p for p in done.points}
    best = by["relation-network", "neutral", 1.0, "own"]
    assert best["accuracy"]["low"] > 1 / 8
    assert best["accuracy"]["items"] == 200
    assert best["controls"]["other"]["value"] == pytest.approx(1 / 8, abs=0.07)  # three deviations of 200 guesses
    assert best["accuracy"]["value"] > best["controls"]["other"]["value"] + 0.2
    blind = by["relation-network-no-ids", "neutral", 1.0, "own"]
    assert blind["controls"]["shuffled"]["value"] == pytest.approx(blind["accuracy"]["value"], abs=0.011)
    assert best["controls"]["shuffled"]["high"] < best["accuracy"]["low"]  # ids tell it where a panel should be
    lower = by["relation-network", "neutral", 1.0, "other"]
    assert lower["accuracy"]["value"] == pytest.approx(1 / 8, abs=0.07)
    assert lower["controls"] == {}
    assert by["mlp-sum-2", "neutral", 0.25, "own"]["training_items"] == 90
    assert set(best["by"]["relation"]) == {"and", "or", "progression", "union"}
    meta = json.loads((done.out / best["folder"] / "control-other-test.jsonl.meta.json").read_text())
    assert meta["solver"]["context"] == "other"


def test_one_page_has_the_tables_and_the_figure(done: Swept) -> None:
    page = done.page.read_text()
    for words in (
        "RN, thumbnail",
        "context of another item",
        "by features",
        "neutral by type",
        "RN, BotUp + aux. loss",
    ):
        assert words in page
    assert "Accuracy by share of the training data" in page
    assert "Accuracy by number of training items" not in page  # the same figure, by validation, of other runs
    assert "25% of training" not in re.sub(r"(?s)<h2[^>]*>Training.*", "", page)  # a fraction is no row of the results
    markdown = (done.out / "sweep.md").read_text()
    row = next(line for line in markdown.splitlines() if line.startswith("| RN, thumbnail |"))
    scored = {p["scheme"]: p["accuracy"]["value"] for p in done.points if p["title"] == "RN, thumbnail"}
    for scheme in ("neutral", "att.held"):
        assert f"{100 * scored[scheme]:.1f} " in row
    assert (done.out / "sweep.tex").read_text().count(r"\begin{table}") == markdown.count("**") // 2


def test_a_sweep_is_a_run_of_a_report(done: Swept, tmp_path: Path) -> None:
    made = veridical.report([done.out], tmp_path / "page.html", resamples=100, examples=0)
    assert made.systems == ("MLP-sum-2, thumbnail", "RN without panel IDs, thumbnail", "RN, thumbnail")
    found = read_sweep(done.out)
    table = sweep_tables(found)[0]
    assert [row.name for row in table.rows] == ["MLP-sum-2", "RN without panel IDs", "RN"]
    assert table.rows[2].cells[1].text == "51.2"  # RN, ResNet as published, beside ours


def told(done: Swept) -> dict[tuple[str, str, float, str], dict[str, Any]]:
    """Every run's own point.json, by what it is."""
    found = [json.loads((done.out / p["folder"] / "point.json").read_text()) for p in done.points]
    return {(p["model"], p["scheme"], p["fraction"], p["context"]): p for p in found}


def cell(one: dict[str, float]) -> Cell:
    return Cell(f"{100 * one['value']:.1f}", f"[{100 * one['low']:.1f}, {100 * one['high']:.1f}]")


def test_every_cell_is_the_score_of_its_own_run(done: Swept) -> None:
    points, (by_features, types, controls) = told(done), sweep_tables(read_sweep(done.out))
    neutral = [points[model, "neutral", 1.0, "own"] for model in MODELS]
    assert [row.cells[0] for row in by_features.rows] == [cell(p["accuracy"]) for p in neutral]
    kinds = [("relation", k) for k in ("and", "or", "progression", "union")]
    kinds += [("element", k) for k in ("attribute", "count", "object")]
    assert types.columns == ("overall", *(name for _, name in kinds))
    for row, point in zip(types.rows, neutral, strict=True):
        assert row.cells == (cell(point["accuracy"]), *(cell(point["by"][tag][name]) for tag, name in kinds))
    assert len({c.text for row in types.rows for c in row.cells}) > 8  # or the above would say nothing
    whole = [p for (*_, fraction, context), p in points.items() if fraction == 1 and context == "own"]
    lower = points["relation-network", "neutral", 1.0, "other"]
    assert [row.cells for row in controls.rows] == [
        *(tuple(map(cell, (p["accuracy"], p["controls"]["other"], p["controls"]["shuffled"]))) for p in whole),
        (Cell(), cell(lower["accuracy"]), Cell()),
    ]


def test_figure_7_has_accuracy_by_share_of_the_training_data(done: Swept) -> None:
    points, drawn = told(done), plain(sample_efficiency(read_sweep(done.out)))
    for model, name in zip(MODELS, ("MLP-sum-2", "RN without panel IDs", "RN"), strict=True):
        for fraction in (0.25, 1.0):
            share = points[model, "neutral", fraction, "own"]["accuracy"]["value"]
            assert f"<title>{name}, training data, % {100 * fraction:g}: {100 * share:.1f}%</title>" in drawn


def test_finished_runs_are_skipped_and_new_ones_added(done: Swept, benchmark: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in (done.out / "runs").rglob("*") if p.is_file() and p.name != "run.json"}
    more = {**CALL, "models": ("gru", *MODELS)}
    again = sweep(benchmark, done.out, schemes=["neutral"], **more)
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert [p["model"] for p in again.points][:2] == ["gru", "mlp-sum-2"]
    kept = {p["folder"]: p for p in done.points}
    assert all(kept[p["folder"]] == p for p in again.points if p["model"] != "gru")
    found = {p["folder"]: p for p in json.loads((done.out / "sweep.json").read_text())["points"]}
    assert found == kept | {p["folder"]: p for p in again.points}  # what was not asked for this time stays
    assert "GRU, thumbnail" in again.page.read_text()


def test_runs_of_other_settings_are_not_mixed_in(done: Swept, benchmark: Path) -> None:
    again = sweep(benchmark, done.out, schemes=["att.held"], **{**CALL, "models": MODELS[:1], "resamples": 100})
    found = json.loads((done.out / "sweep.json").read_text())["points"]
    assert found == list(again.points)


def test_other_settings_are_refused(done: Swept, benchmark: Path) -> None:
    with pytest.raises(UserError, match="other settings"):
        sweep(benchmark, done.out, seed=1, schemes=["neutral"], **{**CALL, "models": MODELS[2:]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ("text",)}, "no model of matrices"),
        ({"models": ()}, "over no models"),
        ({"features": ("minilm",)}, "no vectors"),
        ({"schemes": ["held"]}, "no scheme"),
        ({"test": "dev"}, "no split 'dev'"),
        ({"fractions": (0.0,)}, "no fraction"),
        ({"set": {"depth": 3}}, "option 'depth'"),
        ({"set": {"images": "minilm"}}, "option images is what the runs of a sweep differ in"),
        ({"set": {"fraction": 0.5}}, "option fraction is what"),
        ({"set": {"context": "shuffled"}}, "option context is what"),
        ({"set": {"auxiliary": "none"}, "auxiliary": "yes"}, "would undo"),
        ({"set": {"auxiliary": "seven"}}, "No run of the sweep has the loss"),
        ({"bounds": "some"}, "--bounds is 'some'"),
        ({"bound": "text"}, "no model of matrices"),
    ],
)
def test_bad_input_is_found_before_training(
    change: dict[str, object], message: str, benchmark: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        sweep(benchmark, tmp_path / "out", **{**CALL, **change})
    assert not (tmp_path / "out").exists()


def test_all_models_are_the_papers_eleven(benchmark: Path, tmp_path: Path) -> None:
    assert len(ALL) == 11
    assert set(MODELS) < set(ALL)
    arguments = ["sweep", benchmark, "--out", tmp_path / "out", "--models", "all", "--features", "thumbnail"]
    refused = invoke(*arguments, "--test", "nowhere")
    assert (refused.exit_code, "no split 'nowhere'" in refused.stderr) == (2, True)  # and all models are known


def test_killed_it_continues(benchmark: Path, tmp_path: Path) -> None:
    """What was finished before the kill is kept as it is, and the rest is done."""
    out, models = tmp_path / "out", ("mlp-sum-2", "mlp-cat-2")
    words = [sys.executable, "-m", "veridical", "sweep", str(benchmark), "--out", str(out), "--schemes", "neutral"]
    words += ["--models", ",".join(models), "--features", "thumbnail", "--processes", "1", "--resamples", "200"]
    words += ["--set", "epochs=3", "--set", "hidden=16", "--no-controls"]
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    waited = time.monotonic() + 120
    while not list(out.glob("runs/*/point.json")) and first.poll() is None and time.monotonic() < waited:
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    kept = {p: p.read_bytes() for p in out.glob("runs/*/point.json")}
    assert kept
    assert not (out / "sweep.json").exists()
    options = {"epochs": "3", "hidden": "16"}
    again = sweep(benchmark, out, models=models, schemes=["neutral"], controls=False, set=options, **SMALL)
    assert all(p.read_bytes() == data for p, data in kept.items())
    assert ([p["model"] for p in again.points], again.failed) == (list(models), ())


@pytest.fixture(scope="module")
def copy(benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(benchmark, tmp_path_factory.mktemp("copy") / "b"))


# Weights of 1e10 overflow when six layers multiply them, and do not when two do.
DIVERGING: dict[str, Any] = {**SMALL, "schemes": ["neutral"], "controls": False, "models": ("mlp-sum-6", "mlp-sum-2")}
DIVERGING["set"] = {"optimizer": "adamw", "rate": 1e10, "epochs": 2, "hidden": 16}


def test_a_run_that_fails_stops_no_other(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["sweep", str(benchmark), "--out", str(out), "--schemes", "neutral", "--no-controls", "--json"]
    words += ["--models", "mlp-sum-6,mlp-sum-2", "--features", "thumbnail", "--processes", "1", "--resamples", "200"]
    words += [x for name, value in DIVERGING["set"].items() for x in ("--set", f"{name}={value}")]
    ran = subprocess.run([sys.executable, "-m", "veridical", *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    first = json.loads(ran.stdout)
    assert [p["model"] for p in first["points"]] == ["mlp-sum-2"]
    assert [p["model"] for p in first["failed"]] == ["mlp-sum-6"]
    problem = first["failed"][0]["problem"]
    assert problem.startswith("The loss is")
    assert f"MLP-sum-6, thumbnail, neutral failed: {problem}" in ran.stderr
    by_features, *_, failed = sweep_tables(read_sweep(out))
    assert {row.name: row.cells[0].text for row in by_features.rows}["MLP-sum-6"] == "failed"
    assert [(row.name, row.cells[0].text) for row in failed.rows] == [("MLP-sum-6, thumbnail, neutral", problem)]
    assert problem in (out / "sweep.html").read_text()
    point = out / first["points"][0]["folder"] / "point.json"
    before = point.stat().st_mtime_ns
    again = sweep(benchmark, out, **DIVERGING)  # the failed one is tried again, the other is done
    assert [*again.points, *again.failed] == [*first["points"], *first["failed"]]
    assert point.stat().st_mtime_ns == before


def test_where_all_fail_the_reason_is_the_error(benchmark: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="The loss is"):
        sweep(benchmark, tmp_path / "out", **{**DIVERGING, "models": ("mlp-sum-6",)})


def test_runs_are_tied_to_their_vectors(copy: Path, tmp_path: Path) -> None:
    call = {**DIVERGING, "models": ("mlp-sum-2",), "set": {"epochs": 1, "hidden": 16}}
    done = sweep(copy, tmp_path / "out", **call)
    vectors = features.load(copy, "thumbnail")
    assert done.points[0]["made"]["vectors"] == vectors.about.vectors
    keys, matrix = vectors.keys.to_pylist(), 1 - vectors.matrix
    write_features(vectors.path, keys, matrix, replace(vectors.about, vectors=vectors_hash(keys, matrix)))
    for _ in range(2):  # finished, and as it is when it was killed before
        with pytest.raises(UserError, match="other vectors of thumbnail"):
            sweep(copy, done.out, **call)
        (done.out / done.points[0]["folder"] / "point.json").unlink(missing_ok=True)
    again = sweep(copy, tmp_path / "new", **call)
    assert again.points[0]["made"]["vectors"] != done.points[0]["made"]["vectors"]


def test_auxiliary_losses_and_lower_bounds_are_where_they_were_asked_for(benchmark: Path, tmp_path: Path) -> None:
    """Which loss it is can be set; the lower bound is of the relation network, wherever it stands in the list."""
    call = {**SMALL, "models": ("relation-network", "mlp-sum-2"), "auxiliary": "both", "bounds": "all"}
    done = sweep(benchmark, tmp_path / "out", set={"epochs": 1, "hidden": 16, "auxiliary": "seven"}, **call)
    assert len(done.points) == 2 * 2 * 2 + 2
    for point in done.points:
        run = json.loads((done.out / point["folder"] / "run.json").read_text())
        assert run["config"]["auxiliary"] == ("seven" if point["auxiliary"] else "none")
        assert run["training"]["context"] == point["context"]
    lower = [(p["model"], p["scheme"]) for p in done.points if p["context"] == "other"]
    assert lower == [("relation-network", "neutral"), ("relation-network", "att.held")]
    by_features = sweep_tables(read_sweep(done.out))[0]
    assert by_features.columns[:2] == ("thumbnail", "thumbnail + aux. loss")
    points = {
        (p["model"], p["auxiliary"]): p for p in done.points if p["scheme"] == "neutral" and p["context"] == "own"
    }
    for row, model in zip(by_features.rows, call["models"], strict=True):
        assert row.cells[:2] == tuple(cell(points[model, loss]["accuracy"]) for loss in (False, True))
    weights = [done.out / points["mlp-sum-2", loss]["folder"] / "trial-0/model.safetensors" for loss in (False, True)]
    plain, both = (load_file(path) for path in weights)
    assert both["heads.heads.kind.weight"].shape == (7, 16)
    assert any(not torch.equal(tensor, both[name]) for name, tensor in plain.items())
    assert _options(Point("gru", "neutral", "a", auxiliary=True), {})["auxiliary"] == "two"  # unless told


def test_missing_boxes_are_found_before_training(tmp_path: Path) -> None:
    folder = matrices.write(tmp_path / "b", {"train": 40, "test": 20}, objects=True)
    features.load(folder, "thumbnail").path.unlink()
    features.extract(folder, "thumbnail", batch_size=256)
    with pytest.raises(UserError, match="--objects"):
        sweep(folder, tmp_path / "out", **{**CALL, "set": {"regions": 2}})
    assert not (tmp_path / "out").exists()


def test_missing_answers_are_found_before_training(tmp_path: Path) -> None:
    folder = matrices.write(tmp_path / "b", {"train": 40, "test": 20}, hidden=("test",))
    Benchmark(folder).hidden_directory.rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="answers of split 'test' are hidden"):
        sweep(folder, tmp_path / "out", **CALL)
    assert not (tmp_path / "out").exists()


def test_other_settings_of_a_later_model_are_found_before_training(done: Swept, benchmark: Path) -> None:
    with pytest.raises(UserError, match="other settings: seed was 0, not 1"):
        sweep(benchmark, done.out, seed=1, schemes=["neutral"], **{**CALL, "models": ("vqa", *MODELS)})
    assert not list(done.out.glob("runs/vqa*"))
