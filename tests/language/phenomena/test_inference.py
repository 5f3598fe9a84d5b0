"""The inferences that questions ask for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from veridical.language.phenomena.tagger import INFERENCES, inferences


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Why is person pointing at person ?", {"explanation"}),
        ("How come person is wet ?", {"explanation"}),
        ("What is person doing ?", {"activity"}),
        ("What are person and person talking about ?", {"activity"}),
        ("What will person do next ?", {"temporal"}),
        ("What just happened to person ?", {"temporal"}),
        ("How is person feeling ?", {"mental"}),
        ("Does person like person ?", {"mental"}),
        ("What is person 's job ?", {"role"}),
        ("Who is person ?", {"role"}),
        ("Who could person be , judging by that position ?", {"role"}),
        ("Who might person be waiting for ?", set()),
        ("Where are they ?", {"scene"}),
        ("What kind of place is this ?", {"scene"}),
        ("What would person do if person fell ?", {"hypothetical"}),
        ("Why does person want to leave ?", {"explanation", "mental"}),
        ("How many dogs are there ?", set()),
        ("Is person wearing a hat ?", set()),
        ("What does the room look like ?", set()),
        ("How many people are in class ?", set()),
        ("Who is holding the hammer ?", set()),
        ("What has person noticed ?", {"activity"}),
    ],
)
def test_inferences_of_questions(question: str, found: set[str]) -> None:
    assert found <= set(inferences(question))
    if len(found) != 1:  # further found are possible beside one that is named
        assert set(inferences(question)) == found


def test_case_and_spacing_make_no_difference() -> None:
    assert inferences("  WHY is person  sad ?") == inferences("why is person sad?") == ("explanation", "mental")


def test_most_questions_of_gd_vcr_have_a_kind(shared: Path) -> None:
    lines = (shared / "vcr" / "gd_vcr_val.jsonl").read_text().splitlines()
    questions = [" ".join(t if isinstance(t, str) else "person" for t in json.loads(x)["question"]) for x in lines]
    found = [inferences(question) for question in questions]
    assert sum(map(bool, found)) / len(found) > 0.9
    counts = Counter(name for one in found for name in one)
    assert set(counts) == set(INFERENCES)
    assert counts["explanation"] == max(counts.values())  # Figure 2: explanations lead
