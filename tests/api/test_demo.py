"""The demo: one course small and whole; all of it, and its promise of minutes, under soak."""

from __future__ import annotations

from pathlib import Path

import pytest

from veridical.api.demo import courses, demo, expected
from veridical.auditing.findings import ORDER
from veridical.errors import UserError


def test_one_course_from_nothing_to_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = demo(tmp_path / "demo", scale=0.12, only=["nlvr"])
    (one,) = result.courses
    assert set(one.scores) == {"random", *one.course.trained, *one.course.solvers}
    assert one.scores["programs, from the scene"].accuracy.value > one.scores["random"].accuracy.value
    page = result.report.read_text()
    assert "NLVR" in page
    assert "programs, from the pixels" in page
    assert one.audit.exists()
    assert one.audit.with_suffix(".html").exists()
    said = capsys.readouterr().err
    assert "no origin in two splits" in said
    counted = next(line for line in said.splitlines() if "audited: " in line).partition("audited: ")[2]
    found = [verdict for verdict in ORDER if verdict in counted]
    assert len(found) > 1
    assert found == sorted(found, key=counted.index)


def test_there_is_a_course_for_every_builder() -> None:
    from veridical.builders import BUILDERS

    assert {course.builder for course in courses()} == set(BUILDERS)


def test_bad_options(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no benchmark 'clevr'"):
        demo(tmp_path, only=["clevr"])
    for scale in (0, 1e308):
        with pytest.raises(UserError, match="scale"):
            demo(tmp_path, scale=scale)


@pytest.mark.soak
def test_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = demo(tmp_path / "demo")
    assert expected(1) in capsys.readouterr().err
    assert [one.course.builder for one in result.courses] == [course.builder for course in courses()]
    for one in result.courses:
        assert (one.benchmark / "benchmark.json").exists()
        assert set(one.scores) >= {"random", *one.course.trained}
