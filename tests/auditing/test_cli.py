"""`veridical audit`: exit codes, results on stdout, a page that cannot be broken by what is in it."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from tests.commands import invoke

from veridical.auditing import Audit, Finding, WorstExample
from veridical.auditing.run import html
from veridical.options.running import AuditOptions


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_PROGRESS", "0")


def test_a_clean_benchmark_exits_with_0(clean_questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.html"
    done = invoke("audit", clean_questions, "--out", out, "--check", "position", "--processes", "1", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["verdict"] == "pass"
    assert str(out) in done.stderr


def test_a_biased_benchmark_exits_with_1(benchmarks: ModuleType, tmp_path: Path) -> None:
    biased = benchmarks.questions(tmp_path / "b", first=0.5)
    done = invoke("audit", biased, "--out", tmp_path / "a.html", "--check", "position", "--processes", "1")
    assert done.exit_code == 1
    assert "fail" in done.stdout
    assert "Shuffle the candidates" in done.stderr


def test_the_page_escapes_everything() -> None:
    bad = "<script>alert('x')</script>"
    finding = Finding(bad, bad, "fail", bad, 0.5, 0.4, 0.6, 0.2, examples=(WorstExample(bad, bad, bad),), do=bad)
    page = html(Audit(bad, "0" * 64, bad, bad, {bad: 1}, (finding,), AuditOptions(), 1.0))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 8
