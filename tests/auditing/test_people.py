"""Checks about people and corpora, and the words of single cues."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from veridical.auditing import leaks, people
from veridical.auditing.cues import Observations, _cue_finding, critical, find_cues
from veridical.auditing.data import AuditData
from veridical.benchmark import BenchmarkWriter
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.options.running import AuditOptions
from veridical.records import TRUTH, Item, Judgement, Text


def judged(out: Path, votes: list[list[int | str]]) -> AuditData:
    """A benchmark of true statements with the votes given."""
    with BenchmarkWriter(out, name="judged", task="statement", describe=describe) as writer:
        text = "there is exactly one very small tower beside the box number"
        items = [Item(f"i{n}", "statement", (), Text(f"{text} {n}"), TRUTH, 1, f"i{n}") for n in range(len(votes))]
        writer.add_items("dev", items)
        writer.add_judgements(
            Judgement(f"i{n}", f"w{k}", verdict, "validation")  # type: ignore[arg-type]
            for n, given in enumerate(votes)
            for k, verdict in enumerate(given)
        )
    return AuditData(out)


def test_ambiguous_and_unanswerable_items_are_named(tmp_path: Path) -> None:
    votes: list[list[int | str]] = [[1, 1, 1]] * 17 + [[1, 0, 1], [0, 0, 1], ["nonsense", "nonsense", 1]]
    data = judged(tmp_path / "b", votes)
    unclear = people.ambiguous_check("ambiguous", data, AuditOptions())
    assert unclear.verdict == "fail"
    assert [e.id for e in unclear.examples] == ["i18", "i17"]
    assert unclear.examples[0].note == "1 for the label, 2 against"
    nonsense = people.unanswerable_check("unanswerable", data, AuditOptions())
    assert nonsense.verdict == "fail"
    assert [e.id for e in nonsense.examples] == ["i19"]


def test_agreement_follows_krippendorffs_limits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    random: list[list[int | str]] = rng.integers(0, 2, (50, 3)).tolist()
    assert people.agreement_check("agreement", judged(tmp_path / "bad", random), AuditOptions()).verdict == "fail"
    same: list[list[int | str]] = [[k % 2] * 3 for k in range(50)]
    assert people.agreement_check("agreement", judged(tmp_path / "good", same), AuditOptions()).verdict == "pass"


def test_without_judgements_nothing_is_said(clean_statements: Path) -> None:
    data = AuditData(clean_statements)
    for name in ("ambiguous", "unanswerable", "agreement", "human"):
        assert getattr(people, f"{name}_check")(name, data, AuditOptions()).verdict == "not applicable"


def test_canary_and_membership(tmp_path: Path) -> None:
    data = judged(tmp_path / "b", [[1]] * 300)
    found = leaks.canary_check("canary", data, AuditOptions())
    assert found.verdict == "pass"
    canary = str(found.details["canary"])
    (tmp_path / "b" / "notes.md").mkdir()  # a folder by such a name is passed over
    assert leaks.canary_check("canary", data, AuditOptions()).verdict == "pass"
    clean, dirty = tmp_path / "clean.txt", tmp_path / "dirty.jsonl.gz"
    clean.write_text("nothing to be seen here\n" * 100)
    line = '{"text": "we read: There is exactly one very small tower beside the box number 7. ' + canary + '"}\n'
    dirty.write_bytes(gzip.compress(line.encode()))
    assert leaks.canary_check("canary", data, AuditOptions(corpus=(clean,))).verdict == "pass"
    assert leaks.membership_check("membership", data, AuditOptions(corpus=(clean,))).verdict == "pass"
    assert leaks.canary_check("canary", data, AuditOptions(corpus=(clean, dirty))).verdict == "fail"
    traced = leaks.membership_check("membership", data, AuditOptions(corpus=(clean, dirty)))
    assert traced.number is not None
    assert traced.number > 0
    assert traced.examples[0].note.endswith("line 1")
    with pytest.raises(UserError, match="cannot be read"):
        leaks.canary_check("canary", data, AuditOptions(corpus=(tmp_path / "none.txt",)))


def test_a_benchmark_without_a_canary_is_warned_about(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="b", task="statement") as writer:
        writer.add_items("dev", [Item("i", "statement", (), Text("s"), TRUTH, 1)])
    found = leaks.canary_check("canary", AuditData(tmp_path / "b"), AuditOptions())
    assert found.verdict == "warn"
    assert str(found.details["canary"]) in found.do


def test_cues_are_counted_over_groups() -> None:
    """One cue in 20 groups of 10 equal labels is 20 observations, not 200."""
    rng = np.random.default_rng(1)
    label = np.repeat(rng.integers(0, 2, 40), 10)
    seen = Observations([{"cue"}] * 400, label, np.full(400, 0.5), np.repeat(np.arange(40), 10), labels=True)
    (cue,) = find_cues(seen)
    naive = (label - 0.5).sum() / np.sqrt(400 * 0.25)
    assert abs(cue.z) == pytest.approx(abs(naive) / np.sqrt(10), rel=0.01)
    assert cue.groups == 40


def test_cues_of_noise_stay_below_the_critical_value() -> None:
    rng = np.random.default_rng(2)
    words = [{f"w{k}" for k in rng.integers(0, 200, 6)} for _ in range(3000)]
    seen = Observations(words, rng.integers(0, 2, 3000), np.full(3000, 0.5), np.arange(3000), labels=True)
    cues = find_cues(seen)
    assert len(cues) == 200
    assert abs(cues[0].z) < critical(len(cues))


def test_few_candidates_of_which_none_is_right_are_no_cue() -> None:
    """Of twenty candidates out of eight each none is right in 7% of all cases; z alone says -4.5."""
    rng = np.random.default_rng(3)
    right = (np.arange(32_000) % 8 == np.repeat(rng.integers(0, 8, 4000), 8)).astype(np.int64)
    words = [{f"w{k}"} for k in rng.integers(0, 1600, 32_000)]  # twenty of each
    seen = Observations(words, right, np.full(32_000, 0.125), np.repeat(np.arange(4000), 8), labels=False)
    assert sum(abs(c.z) > critical(1600) for c in find_cues(seen)) > 10
    assert _cue_finding("n-grams", "n-grams", seen, AuditOptions()).verdict == "pass"
