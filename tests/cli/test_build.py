"""`veridical build nlvr`: options reach the builder, results are JSON on stdout, mistakes are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import invoke


def test_a_benchmark_from_a_seed(tmp_path: Path) -> None:
    options = ["--presentations", "6", "--seed", "4", "--processes", "1", "--json", "--secret", "random"]
    shares = ["--phenomenon", "existential quantifier=1", "--split", "train=2", "--split", "test=1", "--hide", "test"]
    result = invoke("build", "nlvr", "--out", tmp_path / "bench", *options, *shares)
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["counts"]["items"]["main"] == {"train": 16, "test": 8}
    assert report["phenomena"]["existential quantifier"] == 1.0
    assert (tmp_path / "bench.hidden" / "answers-main-test.parquet").is_file()
    secret = tmp_path / "bench.hidden" / "secret.txt"
    assert str(secret) in result.stderr
    assert str(secret) in report["notes"][0]
    assert secret.read_text().strip() not in result.stdout + result.stderr


def test_presentations_for_people(tmp_path: Path) -> None:
    options = ["--presentations", "4", "--until", "presentations", "--processes", "1"]
    result = invoke("build", "nlvr", "--out", tmp_path / "shown", *options)
    assert result.exit_code == 0
    assert len(list((tmp_path / "shown" / "images").iterdir())) == 16


@pytest.mark.parametrize("option", ["negation", "negation=much", "negation=nan", "negation=inf", "=0.5"])
def test_a_share_that_is_none_is_named(tmp_path: Path, option: str) -> None:
    result = invoke("build", "nlvr", "--out", tmp_path, "--phenomenon", option)
    assert result.exit_code == 2
    assert f"'{option}' is not a name and its share" in result.stderr


def test_a_share_is_given_once(tmp_path: Path) -> None:
    options = ["--split", "dev=1", "--split", "dev=2"]
    result = invoke("build", "nlvr", "--out", tmp_path, *options)
    assert result.exit_code == 2
    assert "'dev' is given two shares" in result.stderr
