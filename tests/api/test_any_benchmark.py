"""Every verb works on what others published: tables as MMBench, ScienceQA and MMMU have them, and a plain CSV."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import invoke
from tests.formats._tables import mmbench, mmmu, questions, scienceqa

import veridical
from veridical.benchmark import Benchmark
from veridical.options import Asking, AuditOptions
from veridical.solvers.vlm.prompts import SplitQuestions

QUICK = ("length", "n-grams", "position", "frequency")


def as_mmbench(folder: Path, shortcut: bool) -> tuple[str, Path]:
    return "vlmevalkit", mmbench(folder / "MMBench_DEV_EN.tsv", questions(300, shortcut=shortcut))


def as_scienceqa(folder: Path, shortcut: bool) -> tuple[str, Path]:
    return "hf", scienceqa(folder / "ScienceQA", questions(300, shortcut=shortcut, ragged=True, seed=1))


def as_mmmu(folder: Path, shortcut: bool) -> tuple[str, Path]:
    return "hf", mmmu(folder / "MMMU", questions(300, shortcut=shortcut, ragged=True, seed=2))


KINDS = [as_mmbench, as_scienceqa, as_mmmu]
Kind = Callable[[Path, bool], tuple[str, Path]]


def made(kind: Kind, folder: Path, shortcut: bool = False) -> tuple[Path, str]:
    """A benchmark and its only split."""
    source, path = kind(folder, shortcut)
    veridical.import_release(source, path, folder / "b")
    (split,) = Benchmark(folder / "b").splits
    return folder / "b", split


@pytest.mark.parametrize("kind", KINDS)
def test_check_stats_solve_evaluate_report(kind: Kind, tmp_path: Path) -> None:
    benchmark, split = made(kind, tmp_path)
    items = len(list(Benchmark(benchmark).items(split)))
    assert veridical.check(benchmark).ok
    found = json.loads(invoke("stats", benchmark, "--json").stdout)
    assert found["items"] == items
    out = tmp_path / "guesses.jsonl"
    assert invoke("solve", "random", benchmark, "--split", split, "--out", out).exit_code == 0
    scores = json.loads(invoke("evaluate", benchmark, out, "--json").stdout)
    assert scores["items"] == items
    assert 0.15 < scores["accuracy"]["value"] < 0.5
    assert len(scores["by"]) >= 2
    page = tmp_path / "report.html"
    assert invoke("report", out, "--benchmark", benchmark, "--out", page).exit_code == 0
    assert "guesses" in page.read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_a_shortcut_is_found_and_a_few_hundred_clean_items_say_what_would_have_been(kind: Kind, tmp_path: Path) -> None:
    """Without a training split, without groups: the audit is by cross-validation, and says what so few items show."""
    for shortcut in (True, False):
        folder = tmp_path / str(shortcut)
        folder.mkdir()
        benchmark, _ = made(kind, folder, shortcut)
        found = veridical.audit(benchmark, None, check=QUICK, processes=1, options=AuditOptions())
        verdicts = {one.check: one.verdict for one in found.findings}
        if shortcut:
            assert verdicts["frequency"] == verdicts["n-grams"] == verdicts["length"] == "fail"
        else:
            assert found.verdict == "cannot tell", verdicts
            assert not {"fail", "warn"} & set(verdicts.values())
            said = [part for part in found.parts() if isinstance(part, str)]
            assert any("of the items would have been seen" in part for part in said)


def test_models_are_shown_the_pictures_there_are_by_the_names_that_questions_use(tmp_path: Path) -> None:
    benchmark, split = made(as_mmmu, tmp_path)
    asked = SplitQuestions(Benchmark(benchmark), split, Asking())
    prompt = asked.prompt(next(one for one in asked.first() if len(one.item.panels) == 2))
    assert prompt.parts[1::2][:2] == ("<image 1>:", "<image 2>:")
    (tmp_path / "q.csv").write_text("question,A,B,answer\nWhat?,x,y,A\n")
    veridical.import_release("table", tmp_path / "q.csv", tmp_path / "plain")
    asked = SplitQuestions(Benchmark(tmp_path / "plain"), "test", Asking())
    assert "picture" not in asked.prompt(next(asked.first())).text
