"""Planted biases are found, each by the check that is for it; clean benchmarks pass every check."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

import msgspec
import pytest

from veridical import audit
from veridical.auditing import CHECKS, Audit, Finding
from veridical.auditing.blind import of_stages
from veridical.auditing.findings import ORDER
from veridical.auditing.run import NEURAL, batches, run_check
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.options.running import AuditOptions

FINE = {"pass", "not applicable"}


def verdicts(found: Audit) -> dict[str, str]:
    return {f.check: f.verdict for f in found.findings}


def audited(path: Path, checks: Sequence[str] = tuple(CHECKS), items: int = 15_000) -> Audit:
    """The checks in this process: the same function that `audit` gives to its processes, without starting any."""
    opened, options = Benchmark(path), AuditOptions(items=items)
    found = tuple(run_check(str(path), opened.hash, options, name) for name in checks)
    return Audit(opened.name, opened.hash, opened.task, "main", {}, found, options, 0.0)


@pytest.fixture(scope="module")
def of_statements(clean_statements: Path) -> Audit:
    return audited(clean_statements)


def test_clean_statements_pass_everything(of_statements: Audit) -> None:
    assert set(verdicts(of_statements)) == set(CHECKS)
    assert {c: v for c, v in verdicts(of_statements).items() if v not in FINE} == {}
    assert of_statements.verdict == "pass"
    assert not of_statements.failed


@pytest.mark.parametrize("check", ["text-only", "image-only", "swapped-context", "label", "length"])
def test_every_pass_of_a_guesser_has_a_control_that_was_found_and_a_smallest_effect(
    of_statements: Audit, check: str
) -> None:
    power = of_statements.finding(check).power
    assert power is not None
    assert power.ok
    assert power.seen is not None
    assert power.seen >= 0.8
    assert power.plant
    assert power.smallest is not None
    assert power.control is not None
    assert 0 < power.smallest <= power.control
    assert power.ideal > 0


def test_clean_questions_pass_everything(clean_questions: Path) -> None:
    found = audited(clean_questions)
    assert {c: v for c, v in verdicts(found).items() if v not in FINE} == {}
    applied = {
        "text-only",
        "response-only",
        "question-only",
        "swapped-context",
        "position",
        "length",
        "frequency",
        "overlap",
    }
    assert applied <= {c for c, v in verdicts(found).items() if v == "pass"}


def test_clean_matrices_pass_everything(clean_matrices: Path) -> None:
    found = audited(clean_matrices, [c for c in CHECKS if c != "question-only"])  # eight forests per fold: slow
    assert {c: v for c, v in verdicts(found).items() if v not in FINE} == {}
    assert verdicts(found)["response-only"] == verdicts(found)["swapped-context"] == "pass"


def test_a_colour_word_tied_to_the_label_is_found(benchmarks: ModuleType, tmp_path: Path) -> None:
    biased = benchmarks.statements(tmp_path / "b", colour_word=1.0)
    found = audited(biased, ["text-only", "swapped-context", "n-grams", "label", "elements"])
    assert verdicts(found) == {
        "text-only": "fail", "swapped-context": "fail", "n-grams": "fail", "label": "pass", "elements": "pass",
    }  # fmt: skip
    named = {e.text for e in found.finding("n-grams").examples[:4]}
    assert named == {"yellow", "blue", "the yellow", "the blue"}
    assert found.failed


def test_a_leaked_image_set_is_found(benchmarks: ModuleType, tmp_path: Path) -> None:
    checks = ["image-leak", "near-image-leak", "text-leak", "item-leak", "origin-leak"]
    same = audited(benchmarks.statements(tmp_path / "same", 150, leaked=0.1), checks)
    assert {c for c, v in verdicts(same).items() if v != "pass"} == {"image-leak"}
    assert same.finding("image-leak").verdict == "fail"
    assert same.finding("image-leak").number == pytest.approx(0.1, abs=0.05)
    assert same.finding("image-leak").examples
    near = audited(benchmarks.statements(tmp_path / "near", 150, leaked=0.1, near=True), checks)
    assert {c for c, v in verdicts(near).items() if v != "pass"} == {"near-image-leak"}
    assert near.finding("near-image-leak").verdict == "fail"


@pytest.mark.parametrize(
    ("planted", "check"),
    [
        ({"longer": 0.3}, "length"),
        ({"first": 0.3}, "position"),
        ({"repeating": 0.3}, "overlap"),
        ({"popular": 0.3}, "frequency"),
    ],
)
def test_a_cue_of_the_right_answer_is_found_by_its_check(
    benchmarks: ModuleType, tmp_path: Path, planted: dict[str, float], check: str
) -> None:
    found = audited(benchmarks.questions(tmp_path / "b", **planted), ["length", "position", "overlap", "frequency"])
    assert found.finding(check).verdict == "fail"
    assert found.finding(check).advantage is not None
    assert found.finding(check).advantage > 0.15  # type: ignore[operator]


def test_the_worst_stage_speaks(benchmarks: ModuleType, tmp_path: Path) -> None:
    """Both fail; a headline with the better one hid what the other gives away."""
    path = benchmarks.matched(tmp_path / "b", fitting=0.6, stages=True)
    found = audited(path, ["text-only"]).finding("text-only")
    answer, rationale = (found.details["stages"][stage]["number"] for stage in ("answer", "rationale"))
    assert {stage["verdict"] for stage in found.details["stages"].values()} == {"fail"}
    assert found.number == rationale > answer
    assert found.says.startswith("Rationale stage:")


def test_what_one_stage_found_is_not_hidden_by_another_that_cannot_tell() -> None:
    unsure = Finding("text-only", "Text", "cannot tell", "Nothing.", number=0.25, advantage=0.0)
    warned = Finding("text-only", "Text", "warn", "A guesser is right.", number=0.3, advantage=0.07)
    said = of_stages({"answer": unsure, "rationale": warned})
    assert (said.verdict, said.number) == ("warn", 0.3)
    assert said.says == "Rationale stage: a guesser is right. Of the answer stage this check cannot tell."
    assert {stage: one["verdict"] for stage, one in said.details["stages"].items()} == {
        "answer": "cannot tell",
        "rationale": "warn",
    }
    better = of_stages({"answer": unsure, "rationale": replace(warned, verdict="pass", number=0.25)})
    assert better.verdict == "cannot tell"


def test_what_was_not_run_is_listed_everywhere(
    clean_questions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = audit(clean_questions, out=tmp_path / "a.html", check=["position"], processes=1)
    assert set(found.not_run) == {*CHECKS, *NEURAL} - {"position"}
    assert json.loads((tmp_path / "a.json").read_text())["not_run"] == list(found.not_run)
    found.show()
    shown = capsys.readouterr()
    for place in ((tmp_path / "a.html").read_text(), shown.err):
        assert "Not run: Text without pictures, Items read jointly," in place
        assert "only with --neural: Text without pictures, Pictures without text, Candidates alone." in place


def test_a_matrix_whose_right_candidate_stands_out_is_found(benchmarks: ModuleType, tmp_path: Path) -> None:
    checks = ["response-only", "elements", "position"]
    found = audited(benchmarks.matrices(tmp_path / "b", 700, odd=0.3), checks)
    assert {c for c, v in verdicts(found).items() if v == "fail"} == {"response-only", "elements"}


def test_clean_benchmarks_of_many_seeds_hardly_ever_alarm(benchmarks: ModuleType, tmp_path: Path) -> None:
    """An audit may be wrong about one clean benchmark in twenty; benchmarks/audit_calibration.py measures how often."""
    cheap = {
        "statements": (60, ["text-only", "label", "length", "n-grams", "elements", "single-label", "near-text-leak"]),
        "questions": (300, ["response-only", "position", "length", "frequency", "overlap", "n-grams"]),
        "matrices": (100, ["response-only", "position", "frequency", "elements"]),
    }
    alarms = []
    for kind, (size, checks) in cheap.items():
        for seed in range(3):
            path = getattr(benchmarks, kind)(tmp_path / f"{kind}{seed}", size, seed=seed)
            opened, options = Benchmark(path), AuditOptions(seed=seed, controls=False)
            found = [run_check(str(path), opened.hash, options, name) for name in checks]
            alarms += [(kind, seed, f.check) for f in found if f.verdict in ("warn", "fail")]
    assert len({(kind, seed) for kind, seed, _ in alarms}) <= 1, alarms


def test_a_guesser_without_its_control_never_passes(clean_questions: Path) -> None:
    found = run_check(str(clean_questions), Benchmark(clean_questions).hash, AuditOptions(controls=False), "position")
    assert found.verdict == "cannot tell"


def test_so_few_items_that_there_are_no_folds(benchmarks: ModuleType, tmp_path: Path) -> None:
    path = benchmarks.statements(tmp_path / "b", groups=6)
    found = audit(path, out=tmp_path / "a.html", check=["text-only", "label", "n-grams", "near-text-leak"], processes=1)
    assert verdicts(found)["text-only"] == verdicts(found)["label"] == "cannot tell"
    assert json.loads((tmp_path / "a.json").read_text())["verdict"] == "cannot tell"


def test_too_few_items_cannot_tell(benchmarks: ModuleType, tmp_path: Path) -> None:
    found = audited(benchmarks.statements(tmp_path / "b", groups=30), ["text-only", "image-only"])
    assert verdicts(found)["image-only"] == "cannot tell"
    assert found.verdict == "cannot tell"
    assert "too few" in found.finding("image-only").do


def test_findings_are_plain_json(benchmarks: ModuleType, tmp_path: Path) -> None:
    """`audit --json` encodes what it is given: a number of NumPy's ended in a traceback."""
    made = [
        benchmarks.statements(tmp_path / "s", 60, colour_word=1.0, leaked=0.2),
        benchmarks.questions(tmp_path / "q", 120, longer=0.5),
        benchmarks.matrices(tmp_path / "m", 60),
    ]
    options = AuditOptions(items=200, controls=False)
    for path in made:
        for name in ("label", "position", "length", "n-grams", "elements", "single-label", "text-leak", "image-leak"):
            finding = run_check(str(path), Benchmark(path).hash, options, name)
            assert json.loads(msgspec.json.encode(finding.to_json()))["check"] == name


def test_page_and_json_are_written_whole(clean_questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    found = audit(clean_questions, out=out, check=["position", "canary"], processes=1)
    written = json.loads(out.with_suffix(".json").read_text())
    assert written == json.loads(json.dumps(found.to_json()))
    assert {"benchmark", "hash", "verdict", "findings", "counts"} <= set(written)
    assert set(written["findings"][0]) >= {f.name for f in fields(Finding)} | {"interval"}
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert "http" not in page.replace("http-equiv", "")
    assert "Content-Security-Policy" in page
    assert "<script" not in page
    assert sorted(p.name for p in tmp_path.iterdir()) == ["page.html", "page.json"]


def test_an_audit_that_was_stopped_continues(clean_questions: Path, tmp_path: Path) -> None:
    """The first run ends in its second check; the second run finds the first check's result."""
    corpus = tmp_path / "corpus.txt"

    def run() -> Audit:
        checks = ["position", "canary"]
        return audit(clean_questions, out=tmp_path / "a.html", check=checks, corpus=[corpus], processes=1)

    with pytest.raises(UserError, match="cannot be read"):
        run()
    assert not (tmp_path / "a.html").exists()
    remembered = list((tmp_path / "a.html.work").iterdir())
    assert len(remembered) == 1
    corpus.write_text("nothing here\n")
    assert verdicts(run()) == {"position": "pass", "canary": "pass"}
    assert not (tmp_path / "a.html.work").exists()


def test_the_same_seed_gives_the_same_findings(clean_questions: Path) -> None:
    def numbers(a: Audit) -> list[object]:
        return [(f.number, f.low, f.high, f.power) for f in a.findings]

    runs = [audited(clean_questions, ["overlap", "question-only"], items=300) for _ in range(2)]
    assert numbers(runs[0]) == numbers(runs[1])


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_is_a_function_with_a_docstring(name: str) -> None:
    function: Callable[..., Finding] = resolve_name(CHECKS[name])
    assert callable(function)
    assert function.__doc__


def test_bad_input_says_what_to_do(clean_questions: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no check 'textonly'"):
        audit(clean_questions, check=["textonly"])
    with pytest.raises(UserError, match="No check is left"):
        audit(clean_questions, check=["canary"], skip=["canary"])
    with pytest.raises(UserError, match="not a benchmark"):
        audit(tmp_path)
    with pytest.raises(UserError, match="is a folder"):
        audit(clean_questions, out=tmp_path)
    with pytest.raises(UserError, match="no scheme"):
        audit(clean_questions, scheme="other")


def test_the_worst_verdict_comes_first() -> None:
    assert ORDER[0] == "fail"
    assert ORDER.index("cannot tell") < ORDER.index("warn") < ORDER.index("pass")


@pytest.mark.parametrize("task", ["statement", "choice", "matrix"])
def test_checks_that_read_with_the_encoder_are_one_batch(task: str) -> None:
    made = batches(tuple(CHECKS), task)
    assert sorted(name for batch in made for name in batch) == sorted(CHECKS)
    together = {"statement": ("text-only",), "choice": ("text-only", "joint", "response-only"), "matrix": ()}[task]
    assert [batch for batch in made if len(batch) > 1] == ([together] if len(together) > 1 else [])
    assert made[0] == (together or (made[0][0],))
