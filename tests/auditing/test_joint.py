"""Items that give each other away: found where they do, quiet where they do not, not applicable where they cannot."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from veridical.auditing.data import AuditData
from veridical.auditing.joint import check
from veridical.options.running import AuditOptions

OPTIONS = AuditOptions(items=1500)


def test_fours_that_fit_fail_and_fours_at_random_do_not(benchmarks: ModuleType, tmp_path: Path) -> None:
    unchecked = AuditOptions(controls=False)
    fitting = check("joint", AuditData(benchmarks.matched(tmp_path / "fitting", 240, fitting=1.0)), unchecked)
    assert fitting.verdict == "fail"
    assert fitting.reference == 0.25
    fair = check("joint", AuditData(benchmarks.matched(tmp_path / "fair", 720)), OPTIONS)
    assert fair.verdict == "pass"
    assert fair.power is not None
    assert fair.power.ok


def test_candidates_that_no_other_item_has(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.questions(tmp_path / "b", 60, repeating=1.0))
    assert check("joint", data, OPTIONS).verdict == "not applicable"


def test_labels_that_are_opposite_in_pairs_with_the_same_objects(benchmarks: ModuleType, tmp_path: Path) -> None:
    found = check("joint", AuditData(benchmarks.complements(tmp_path / "told", opposite=1.0)), OPTIONS)
    assert found.verdict == "warn"
    assert found.number == 1.0
    assert found.reference is not None
    assert round(found.reference, 3) == 0.667
    assert "the same objects" in found.says
    assert found.examples
    dealt = check("joint", AuditData(benchmarks.complements(tmp_path / "dealt", opposite=2 / 3)), OPTIONS)
    assert dealt.verdict == "pass"


def test_too_few_groups_say_nothing(benchmarks: ModuleType, tmp_path: Path) -> None:
    found = check("joint", AuditData(benchmarks.complements(tmp_path / "few", 8, opposite=1.0)), OPTIONS)
    assert found.verdict == "not applicable"


def test_objects_that_coincide_are_no_rule(clean_statements: Path) -> None:
    found = check("joint", AuditData(clean_statements), OPTIONS)
    assert found.verdict == "pass"
    assert set(found.details["rules"]) == {"the same objects"}


def test_matrices_have_no_texts(clean_matrices: Path) -> None:
    assert check("joint", AuditData(clean_matrices), OPTIONS).verdict == "not applicable"
