"""What `veridical models` says models came to: the papers' figures, and only what was measured of ours."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest

from veridical.reporting.published import numbers
from veridical.training.config import TrainingConfig
from veridical.zoo import MODELS, load_model, models
from veridical.zoo.figures import PATH, Measured, figures, read, record
from veridical.zoo.options import options_of

SCRIPTS = Path(__file__).resolve().parents[2] / "benchmarks"
FILM = Measured("film", "NLVR dev", 0.61, 0.58, 0.64, 12.0, "benchmarks/nlvr_table.py", "2026-11-18 02:00")


def test_figures_are_of_models_and_as_printed() -> None:
    printed = {value for table in numbers().tables for row in table.rows for value in row.values}
    for one in figures().published:
        assert one.model in MODELS
        assert one.accuracy.split(" (")[0] in printed
    for found in figures().measured:
        assert found.model in MODELS
        assert found.low <= found.accuracy <= found.high or found.trials > 1
        assert found.script.startswith("benchmarks/")


def test_a_row_is_recorded_once(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    shutil.copy(PATH, path)
    own = ("film", "NLVR dev", "")
    before = [one for one in read(path).measured if (one.model, one.benchmark, one.row) != own]
    record(FILM, path)
    record(Measured("film", "NLVR dev", 0.62, 0.59, 0.65, 11.0, "benchmarks/nlvr_table.py", "later"), path)
    after = read(path)
    assert [one.accuracy for one in after.measured if (one.model, one.benchmark, one.row) == own] == [0.62]
    assert [one for one in after.measured if (one.model, one.benchmark, one.row) != own] == before
    assert after.published == read().published


def test_models_show_them() -> None:
    listed = models().to_json()
    nmn = next(one for one in listed if one["name"] == "nmn")
    assert [one["accuracy"] for one in nmn["published"]] == ["63.06±0.1"]  # type: ignore[attr-defined]
    n2nmn = {one["accuracy"] for one in listed if one["name"] == "n2nmn" for one in one["published"]}  # type: ignore[attr-defined]
    assert {"57.9±1.1 (cloned)", "58.7±1.4 (tuned)", "65.3±0.4 (RL)"} <= n2nmn
    assert all("measured" in one for one in listed)


def test_figures_are_listed_a_line_each() -> None:
    """A published one stands beside ours where it is the only one; which of several is meant, nobody can say."""
    tables = [part for part in models(["nmn", "n2nmn"]).parts() if not isinstance(part, str)]
    rows = [row for row in tables[1].rows if row[1] == "NLVR dev"]
    assert ("nmn", "63.06±0.1") in {(row[0], row[2]) for row in rows if row[3]}
    assert {row[2] for row in rows if row[0] == "n2nmn" and row[3]} == {""}
    assert {"57.9±1.1 (cloned)", "65.3±0.4 (RL)"} <= {row[2] for row in rows if row[0] == "n2nmn"}


def test_every_model_of_a_papers_table_has_its_figure() -> None:
    """What is not in a table: probes, variants of ours, the majority of other benchmarks."""
    without = {one["name"] for one in models().to_json() if not one["published"]}
    assert without == {
        "film-sentence", "slot-reasoner", "response-only", "question-only", "probe", "grounded", "vqa-attention",
    }  # fmt: skip


@pytest.mark.parametrize("script", ["nlvr_table", "nlvr2_table", "vcr_table"])
def test_figures_are_of_rows_that_a_script_makes(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that a script no longer has cannot be measured again."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    rows = importlib.import_module(script).ROWS
    made = {(row.model, row.beside) for row in (rows.values() if isinstance(rows, dict) else rows)}
    kept = {(one.model, one.row) for one in figures().measured if one.script == f"benchmarks/{script}.py"}
    assert kept
    assert kept <= made


def test_a_single_model_shows_its_options_with_their_meaning() -> None:
    shown = [part for part in models(["film"], TrainingConfig).parts() if not isinstance(part, str)]
    own, training = ({row[0]: row[1:] for row in table.rows} for table in shown[2:])
    assert own["blocks"] == ("4", "residual blocks")
    assert own["maps"][1].endswith("or annotated ones (`given-objects`)")  # over three lines
    assert training["patience"] == ("5.0", "epochs without a new best before training stops")  # the model's own
    assert all(told for _, told in training.values())
    r2c = {name: told for name, _, told in options_of(load_model("r2c").config)}
    assert r2c["images"].startswith("encoder of the photograph")  # its comment stands above it
    assert r2c["words"].endswith("or glove")


def test_a_model_without_a_reader_has_no_options_of_one() -> None:
    options = {name: {one for one, _, _ in options_of(load_model(name).config)} for name in ("film", "film-sentence")}
    assert options["film"] - options["film-sentence"] == {"embedding", "hidden", "least"}


def test_every_option_of_every_model_is_told() -> None:
    silent = {(name, one) for name in MODELS for one, _, told in options_of(load_model(name).config) if not told}
    assert silent == set()
