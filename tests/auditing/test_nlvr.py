"""Real NLVR: the audit finds what is known about it."""

from __future__ import annotations

from veridical.auditing import blind, cues, leaks
from veridical.auditing.data import AuditData
from veridical.options.running import AuditOptions

OPTIONS = AuditOptions()


def test_majority_is_the_papers(nlvr_data: AuditData) -> None:
    found = blind.check("label", nlvr_data, OPTIONS)
    parts = {name: number for name, number, *_ in found.parts}
    assert round(100 * parts["train"], 1) == 56.4
    assert round(100 * parts["dev"], 1) == 55.3
    assert found.verdict == "warn"


def test_text_alone_is_a_little_above_the_majority(nlvr_data: AuditData) -> None:
    found = blind.check("text-only", nlvr_data, OPTIONS)
    assert found.verdict == "warn"
    assert found.number is not None
    assert found.reference is not None
    assert 0.003 < found.number - found.reference < 0.03
    dev = next(part for part in found.parts if part[0] == "dev")
    assert dev[1] > (dev[4] or 1)


def test_single_label_presentations(nlvr_data: AuditData) -> None:
    found = cues.single_label_check("single-label", nlvr_data, OPTIONS)
    assert [name for name, *_ in found.parts] == ["train: 409 of 3,163", "dev: 21 of 267"]
    assert found.verdict == "warn"


def test_sentences_shared_by_the_splits(nlvr_data: AuditData) -> None:
    found = leaks.text_check("text-leak", nlvr_data, OPTIONS)
    assert found.details["exact"] == 96
    assert found.verdict == "warn"


def test_no_origin_and_no_whole_item_is_in_both_splits(nlvr_data: AuditData) -> None:
    assert leaks.origin_check("origin-leak", nlvr_data, OPTIONS).verdict == "pass"
    assert leaks.identical_check("item-leak", nlvr_data, OPTIONS).verdict == "pass"


def test_towers_coincide_by_chance_and_are_no_leak(nlvr_data: AuditData) -> None:
    """157 dev items show exactly the scene of a train item: as many as chance makes of three small towers."""
    found = leaks.image_check("image-leak", nlvr_data, OPTIONS)
    assert found.details["items"]["dev"] == 157
    assert found.verdict == "pass"


def test_a_full_stop_is_tied_to_false(nlvr_data: AuditData) -> None:
    """Not in the paper: sentences that end in a full stop are true less often."""
    found = cues.ngram_check("n-grams", nlvr_data, OPTIONS)
    assert found.examples[0].text == "."
    assert found.details["cues"][0]["rate"] < 0.51
