"""What a RUN is, and what it is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veridical import report, solve, train
from veridical.errors import UserError
from veridical.reporting.inputs import read_inputs

from ..zoo import _small as small


def _predictions(path: Path, **meta: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"item": "a", "scores": [0, 1]}\n')
    if meta:
        path.with_name(path.name + ".meta.json").write_text(json.dumps(meta))
    return path


def test_files_are_named_by_solver_file_or_user(tmp_path: Path) -> None:
    plain = _predictions(tmp_path / "lstm.jsonl")
    told = _predictions(
        tmp_path / "out.jsonl", solver={"name": "programs"}, benchmark_hash="h", split="dev", scheme="main"
    )
    model = _predictions(tmp_path / "m.jsonl")
    about = {"solver": "openai/gpt-4o", "benchmark": {"name": "B", "hash": "k", "split": "test", "scheme": "main"}}
    model.with_name("m.jsonl.run.json").write_text(json.dumps(about))
    found = read_inputs([plain, told, model, f"mine={plain}"]).files
    assert [one.name for one in found] == ["lstm", "programs", "openai/gpt-4o", "mine"]
    assert (found[1].benchmark_hash, found[1].split, found[1].scheme) == ("h", "dev", "main")
    assert (found[2].benchmark_hash, found[2].split) == ("k", "test")


def test_files_called_alike_get_their_folder(tmp_path: Path) -> None:
    runs = [_predictions(tmp_path / folder / "x.jsonl") for folder in ("a", "b")]
    assert [one.name for one in read_inputs(runs).files] == ["a/x", "b/x"]
    generic = [_predictions(tmp_path / folder / "predictions.jsonl") for folder in ("c", "d")]
    assert [one.name for one in read_inputs(generic).files] == ["c", "d"]


def test_a_solver_with_other_settings_is_another_system(tmp_path: Path) -> None:
    def made(name: str, hidden: int, seed: int) -> Path:
        return _predictions(tmp_path / name, solver={"model": "text", "config": {"hidden": hidden}, "seed": seed})

    trials = [made("a.jsonl", 32, 0), made("b.jsonl", 32, 1)]
    assert [one.name for one in read_inputs(trials).files] == ["text", "text"]
    others = [*trials, made("c.jsonl", 64, 0)]
    assert [one.name for one in read_inputs(others).files] == ["text (a)", "text (b)", "text (c)"]


def test_the_trials_of_a_run_are_one_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_page: Any) -> None:
    """As `solve --trial all` writes them: what made each file says which trial it was."""
    monkeypatch.setenv("VERIDICAL_PROGRESS", "0")
    bench = small.write_statements(tmp_path / "b", 8)
    train("text", bench, tmp_path / "run", set={"epochs": 1, "hidden": 8}, trials=2)
    solved = solve(str(tmp_path / "run"), bench, "dev", tmp_path / "p.jsonl", trial="all")
    files = [solved.out, *(one.out for one in solved.others)]
    assert {one.name for one in read_inputs(files).files} == {"run"}
    page = read_page(report(files, tmp_path / "r.html", benchmark=bench).out)
    assert "2 trials" in page.words
    assert "±" in page.words


def test_the_trials_of_two_stages_are_one_system(tmp_path: Path) -> None:
    """As `solve --trial all --also RUN` writes them: trials and seeds are in what is said of the other run, too."""
    files = []
    for trial in range(2):
        made = {"model": "r2c", "trial": trial, "seed": trial}
        solver = {"name": "answer", **made, "also": made}
        files.append(_predictions(tmp_path / f"p-{trial}.jsonl", solver=solver))
    assert {one.name for one in read_inputs(files).files} == {"answer"}


def test_an_equals_sign_in_a_path_is_no_name(tmp_path: Path) -> None:
    path = _predictions(tmp_path / "rate=0.1.jsonl")
    assert read_inputs([path]).files[0].path == path


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("a.json", "{}", "no checks"), ("a.json", "[", "not the JSON"), ("a.json", "3", "not the JSON")],
)
def test_what_is_no_audit(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=said):
        read_inputs([tmp_path / name])


def test_damaged_runs(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text('{"model": "text"}')
    with pytest.raises(UserError, match="no trial of this run is finished"):
        read_inputs([tmp_path / "run"])
    (tmp_path / "run" / "trial-0").mkdir()
    (tmp_path / "run" / "trial-0" / "result.json").write_text('{"best": "much"}')
    with pytest.raises(UserError, match="is not what `veridical train` writes"):
        read_inputs([tmp_path / "run"])
