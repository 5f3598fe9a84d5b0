"""`veridical sweep`: all points once, resumable, controls at chance, the paper's tables and figure from one call."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.errors import UserError
from veridical.report.sweep import Swept, sweep
from veridical.report.sweeps import read_sweep, sample_efficiency, sweep_tables
from veridical.solvers.sweep import Point, plan, titles

from ..models import _matrices as matrices

OPTIONS = {"epochs": 8, "batch": 32, "hidden": 32, "pair_layers": 1}
MODELS = ("mlp-sum-2", "relation-network-no-ids", "relation-network")
SMALL: dict[str, Any] = {"features": ("thumbnail",), "resamples": 200, "processes": 1}
CALL: dict[str, Any] = {**SMALL, "models": MODELS, "config": OPTIONS}


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
    lower = by["relation-network", "neutral", 1.0, "other"]
    assert lower["accuracy"]["value"] == pytest.approx(1 / 8, abs=0.07)
    assert lower["controls"] == {}
    assert by["mlp-sum-2", "neutral", 0.25, "own"]["training_items"] == 90
    assert set(best["by"]["relation"]) == {"and", "or", "progression", "union"}
    told = json.loads((done.out / best["folder"] / "control-other-test.jsonl.meta.json").read_text())
    assert told["solver"]["context"] == "other"


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
    assert sample_efficiency(found) is not None
    features, types, controls = sweep_tables(found)
    assert [row.name for row in features.rows] == ["MLP-sum-2", "RN without panel IDs", "RN"]
    assert features.rows[2].cells[1].text == "51.2"  # RN, ResNet as published, beside ours
    assert len(types.columns) == 8
    assert len(controls.rows) == 7


def test_finished_runs_are_skipped_and_new_ones_added(done: Swept, benchmark: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in (done.out / "runs").rglob("*") if p.is_file() and p.name != "run.json"}
    more = {**CALL, "models": ("gru", *MODELS)}
    again = sweep(benchmark, done.out, schemes=["neutral"], **more)
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert [p["model"] for p in again.points][:2] == ["gru", "mlp-sum-2"]
    kept = {p["folder"]: p for p in done.points}
    assert all(kept[p["folder"]] == p for p in again.points if p["model"] != "gru")


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
        ({"config": {"depth": 3}}, "option 'depth'"),
    ],
)
def test_bad_input_is_found_before_training(
    change: dict[str, object], message: str, benchmark: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        sweep(benchmark, tmp_path / "out", **{**CALL, **change})
    assert not (tmp_path / "out").exists()


def test_killed_it_continues(benchmark: Path, tmp_path: Path) -> None:
    """What was finished before the kill is kept as it is, and the rest is done."""
    out, models = tmp_path / "out", ("mlp-sum-2", "mlp-cat-2")
    command = [sys.executable, "-m", "veridical", "sweep", str(benchmark), "--out", str(out), "--schemes", "neutral"]
    command += ["--models", ",".join(models), "--features", "thumbnail", "--processes", "1", "--resamples", "200"]
    command += ["--set", "epochs=3", "--set", "hidden=16", "--no-controls"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    waited = time.monotonic() + 120
    while not list(out.glob("runs/*/point.json")) and first.poll() is None and time.monotonic() < waited:
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    kept = {p: p.read_bytes() for p in out.glob("runs/*/point.json")}
    assert kept
    assert not (out / "sweep.json").exists()
    options = {"epochs": "3", "hidden": "16"}
    again = sweep(benchmark, out, models=models, schemes=["neutral"], controls=False, config=options, **SMALL)
    assert all(p.read_bytes() == data for p, data in kept.items())
    assert [p["model"] for p in again.points] == list(models)
