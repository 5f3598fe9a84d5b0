"""Kinds of inference and plain names."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from veridical.language.english import NEUTRAL, plain_names
from veridical.language.phenomena.inference import INFERENCES, inferences
from veridical.records import Panel, Ref, SceneObject, Text


@pytest.mark.parametrize(
    ("question", "kinds"),
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
def test_kinds_of_questions(question: str, kinds: set[str]) -> None:
    assert kinds <= set(inferences(question))
    if len(kinds) != 1:  # further kinds are possible beside one that is named
        assert set(inferences(question)) == kinds


def test_case_and_spacing_make_no_difference() -> None:
    assert inferences("  WHY is person  sad ?") == inferences("why is person sad?") == ("explanation", "mental")


def test_most_questions_of_gd_vcr_have_a_kind(shared: Path) -> None:
    lines = (shared / "vcr" / "gd_vcr_val.jsonl").read_text().splitlines()
    questions = [" ".join(t if isinstance(t, str) else "person" for t in json.loads(x)["question"]) for x in lines]
    kinds = [inferences(question) for question in questions]
    assert sum(map(bool, kinds)) / len(kinds) > 0.9
    counts = Counter(name for one in kinds for name in one)
    assert set(counts) == set(INFERENCES)
    assert counts["explanation"] == max(counts.values())  # Figure 2: explanations lead


def test_people_have_neutral_names_in_order() -> None:
    objects = tuple(SceneObject(str(k), "person" if k % 2 else "cup") for k in range(40))
    names = plain_names([Panel("p", objects=objects)])
    assert [names[str(k)] for k in (1, 3, 5)] == list(NEUTRAL[:3])
    assert names["0"] == "cup"
    assert names["29"] == f"{NEUTRAL[0]} 2"  # the fifteenth person: names start again, numbered


def test_a_text_reads_as_a_sentence() -> None:
    panel = Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "dog")))
    assert (
        Text("", (Ref(("0",)), "pats", "the", Ref(("1",)), ".")).words(plain_names([panel])) == "Casey pats the dog ."
    )
