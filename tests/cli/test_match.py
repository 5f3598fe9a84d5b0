"""`veridical match` on the command line: a table or JSON on stdout, remarks on stderr, errors in two lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def run(*args: str, cache: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "VERIDICAL_CACHE": str(cache), "VERIDICAL_PROGRESS": "0"}
    return subprocess.run([sys.executable, "-m", "veridical", "match", *args], capture_output=True, text=True, env=env)


def test_json_for_scripts_and_a_table_for_people(tmp_path: Path) -> None:
    lines = [f"what is number {k}?,it is {k} of {k % 7},m{k // 2}" for k in range(40)]
    (tmp_path / "qa.csv").write_text("question,answer,movie\n" + "\n".join(lines) + "\n")
    words = ("--relevance", "bm25", "--similarity", "tfidf")
    done = run(
        str(tmp_path / "qa.csv"), "--group", "movie", "--out", str(tmp_path / "out"), *words, "--split", "train=3",
        "--split", "dev=1", "--lambda", "1", "--json", cache=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["pairs"] == 40
    assert found["rounds"] == 3
    assert found["lambda"] == 1
    assert 0 <= found["gap"] <= 0.5
    assert found["seconds"] > 0
    assert found["peak_bytes"] > 1 << 20
    assert found["splits"] == {"dev": 10, "train": 30}
    assert {"error", "slope", "auc"} <= set(found["models"]["answer"]["relevance"]["calibration"])
    assert "largest certified gap" not in done.stdout + done.stderr

    shown = run(
        str(tmp_path / "qa.csv"), "--group", "movie", "--out", str(tmp_path / "o3"), *words, "--folds", "3",
        "--integrity", "--method", "paper", cache=tmp_path,
    )  # fmt: skip
    assert "largest certified gap" in shown.stdout
    assert "by chance 25" in shown.stdout

    wrong = run(str(tmp_path / "qa.csv"), "--out", str(tmp_path / "o2"), "--sweep", "a,b", cache=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr.splitlines()[-2:] == [
        "veridical: --sweep 'a,b' is not a list of numbers.",
        "  Write, for example, --sweep 0.1,0.5,1.",
    ]


def test_hidden_answers_and_options_that_would_do_nothing(tmp_path: Path) -> None:
    lines = [f"what is number {k}?,it is {k} of {k % 7},m{k // 2}" for k in range(40)]
    (tmp_path / "qa.csv").write_text("question,answer,movie\n" + "\n".join(lines) + "\n")
    words = ("--group", "movie", "--relevance", "bm25", "--similarity", "tfidf", "--folds", "3")
    done = run(
        str(tmp_path / "qa.csv"), "--out", str(tmp_path / "out"), *words, "--hide", "test", "--integrity", "--json",
        cache=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.hidden" / "secret.txt").is_file()
    assert "secret.txt as --secret" in " ".join(done.stderr.split())
    found = json.loads(done.stdout)
    assert found["reserved"] is False
    assert found["method"] == "fours"
    weight, bound = found["weights"]["answer"]
    assert weight <= bound <= 0
    assert {bias["stage"] for bias in found["integrity"]} == {"answer"}
    wrong = run(str(tmp_path / "qa.csv"), "--out", str(tmp_path / "o2"), *words, "--people", "p.csv", cache=tmp_path)
    assert wrong.returncode == 2
    assert "veridical: People's answers are for a sweep." in wrong.stderr
