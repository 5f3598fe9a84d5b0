"""Answers checked against their tasks, and the rules that writers see while they type."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.collect import making

from veridical.web.collect import kinds, rules
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Kind, Picture, Tagged, Task
from veridical.web.collect.starting import nlvr2

CASES = json.loads(Path(__file__).with_name("rules_cases.json").read_text())
PHOTO = Picture("photo.jpg", 400, 300)
OBJECTS = (Tagged("person1", (0, 0, 10, 10)), Tagged("person2", (20, 0, 30, 10)), Tagged("cup1", (5, 5, 8, 8)))
ASKED = {
    "question": ["Why", "is", [0], "pointing", "at", [1], "?"],
    "answer": [[0], "wants", "another", "cup", "."],
    "rationale": [[1], "holds", [2], "and", "serves", "tables", "."],
    "likelihood": "likely",
}
SHOWN: dict[Kind, Any] = {
    "tutorial": kinds.Tutorial("Which?", ("this", "that"), "This."),
    "guideline": kinds.Guideline(making.SENTENCE, ((PHOTO, PHOTO),) * 4, (0, 1)),
    "prune": kinds.Prune("dog", "two dogs", making.pictures("a", "b", "c")),
    "sets": kinds.Sets("dog", making.pictures("a", "b", "c")),
    "sentence": kinds.Drawings(making.pictures("a", "b", "c", "d")),
    "contrast": kinds.Pairs("dog", ((PHOTO, PHOTO),) * 4),
    "validate": kinds.Validate(making.SENTENCE, (PHOTO, PHOTO)),
    "questions": kinds.Asking(PHOTO, OBJECTS, ("Somebody pours coffee.",)),
    "accept": kinds.Accept(PHOTO, OBJECTS, ("Why", (0,), "?"), ((0,), "wants", "it"), ("It", "is", "theirs")),
    "choose": kinds.Choose((PHOTO,), (("yes",), ("no",), ("maybe",), ("never",)), "answer", OBJECTS, ("Is", "it", "?")),
}
GOOD: list[tuple[Kind, dict[str, Any]]] = [
    ("tutorial", {"choice": 1}),
    ("guideline", {"follows": False}),
    ("prune", {"removed": {"a.png": kinds.PRUNE_REASONS[0]}}),
    ("prune", {"removed": {}}),
    ("sets", {"duplicates": ["a.png"], "dull": ["b.png"]}),
    ("sentence", {"sentence": "There is a tower with a yellow base"}),
    ("contrast", {"selected": [3, 0], "sentence": making.SENTENCE}),
    ("contrast", {"flag": kinds.FLAG_REASONS[0]}),
    ("validate", {"verdict": True}),
    ("validate", {"verdict": "nonsense"}),
    ("questions", {"questions": [ASKED]}),
    ("accept", {"verdict": False}),
    ("choose", {"choice": 3}),
    ("choose", {"skip": True}),
]
BAD: list[tuple[Kind, dict[str, Any], str]] = [
    ("tutorial", {"choice": 2}, "one of the 2"),
    ("tutorial", {"skip": True}, "cannot be skipped"),
    ("guideline", {}, "did not arrive"),
    ("prune", {"removed": {"z.png": kinds.PRUNE_REASONS[0]}}, "not shown"),
    ("prune", {"removed": {"a.png": "I do not like it"}}, "one of the reasons"),
    ("sets", {"duplicates": ["a.png"], "dull": ["a.png"]}, "mark it once"),
    ("sets", {"duplicates": ["a.png", "b.png", "c.png"]}, "leave the one"),
    ("sets", {"dull": ["../key"]}, "not shown"),
    ("sentence", {"sentence": "In image A there is a tower"}, "Do not mention the images"),
    ("sentence", {"sentence": "There is a tower\u202e with a base"}, "U+202E"),
    ("sentence", {"sentence": "tower " * 200}, "characters"),
    ("contrast", {"selected": [1, 1], "sentence": making.SENTENCE}, "Select two"),
    ("contrast", {"selected": [1, 4], "sentence": making.SENTENCE}, "not shown"),
    ("contrast", {"selected": [0, 1], "sentence": ""}, "three words"),
    ("contrast", {"flag": "boring"}, "one of the reasons"),
    ("contrast", {"flag": kinds.FLAG_REASONS[0], "sentence": making.SENTENCE}, "Either flag"),
    ("validate", {"verdict": "maybe"}, "did not arrive"),
    ("questions", {"questions": []}, "1 to 3"),
    ("questions", {"questions": [ASKED] * 2}, "the same"),
    ("questions", {"questions": [{**ASKED, "likelihood": "sure"}]}, "how likely"),
    ("questions", {"questions": [{**ASKED, "answer": [[7], "wants", "it"]}]}, "points at nothing"),
    ("questions", {"questions": [{**ASKED, "rationale": [[0], "wants", "another", "cup", "."]}]}, "no more than"),
    ("questions", {"questions": [{**ASKED, "question": ["Why", "?"]}]}, "expected 3 to 60"),
    ("accept", {"verdict": None}, "did not arrive"),
    ("choose", {"choice": 4}, "one of the 4"),
    ("choose", {}, "one of the 4"),
]


def test_who_prunes_gold_removes_what_was_planted_but_not_everything() -> None:
    work = [making.prune_task("a", 8), replace(making.prune_task("b", 8), payload={
        **making.prune_task("b", 8).payload, "synset": "cup", "query": "cups"})]  # fmt: skip
    things = {f"{o}-{k}.png": frozenset({"dog" if o == "a" else "cup"}) for o in "ab" for k in range(8)}
    gold = nlvr2.prune_gold(work, things, 0)
    assert {one.key for one in gold} == {one.id for one in work}  # nobody gets both
    for one in gold:
        (planted,) = (one.expected or {})["removed"]
        names = [picture["name"] for picture in one.payload["pictures"]]
        assert planted in names
        assert planted.startswith("b" if one.key == "prune:a" else "a")
        reason = kinds.PRUNE_REASONS[0]
        assert kinds.is_right(one, {"removed": {planted: reason}})
        assert kinds.is_right(one, {"removed": {planted: reason, names[0]: reason}})
        assert not kinds.is_right(one, {"removed": {}})
        assert not kinds.is_right(one, {"removed": dict.fromkeys(names, reason)})
    everything = frozenset({"dog", "cup"})
    assert nlvr2.prune_gold(work, dict.fromkeys(things, everything), 0) == []  # nothing is surely strange
    assert nlvr2.prune_gold(work, {}, 0) == []  # nothing is known of any picture


def task(kind: Kind) -> Task:
    return Task("t", kind, plain(SHOWN[kind]))


@pytest.mark.parametrize(("kind", "value"), GOOD)
def test_what_fits_its_task_is_taken_as_it_is(kind: Kind, value: dict[str, Any]) -> None:
    assert kinds.check(task(kind), value) == []
    kept = kinds.normal(task(kind), {**value, "more": "x" * 1000})
    assert "more" not in kept
    assert {name: kept[name] for name in value if name != "selected"} == {
        n: v for n, v in value.items() if n != "selected"
    }
    assert kept == kinds.normal(task(kind), kept)


@pytest.mark.parametrize(("kind", "value", "words"), BAD)
def test_what_does_not_is_refused_in_words(kind: Kind, value: dict[str, Any], words: str) -> None:
    found = kinds.check(task(kind), value)
    assert found
    assert any(words in problem for problem in found), found


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "a.png", "true", "\u202e", "dog"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choice", "skip", "verdict", "removed", "sentence", "selected", "flag", "questions", "dull"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SHOWN)), json_values)
def test_no_json_at_all_is_more_than_refused(kind: Kind, value: Any) -> None:
    """Whatever arrives is either an answer that is kept in its shape, or refused."""
    if kinds.check(task(kind), value) == []:
        kept = kinds.normal(task(kind), value)
        assert kinds.check(task(kind), kept) == []
        kinds.warnings(task(kind), kept)


@pytest.mark.parametrize("name", sorted(CASES))
def test_rules(name: str) -> None:
    for text, broken in CASES[name].items():
        assert [one.rule for one in rules.check(rules.load(name), text)] == broken, text


def test_the_page_gets_the_rules_as_the_server_reads_them() -> None:
    for name in rules.names():
        shown = json.loads(rules.as_json(name))["rules"]
        assert [one["name"] for one in shown] == [one.name for one in rules.load(name).rules]
        assert not any(one["builder"] for one in shown)
        assert all(one["any"] or one["least"] or one["most"] for one in shown)


def test_writers_of_the_published_sentences_would_have_been_let_pass(shared: Path) -> None:
    """Of 2,216 sentences of NLVR and 2,004 of NLVR2 none breaks a rule that refuses; builders tag the same ones."""
    from veridical.builders.nlvr2.pairs import check_sentence, patterns

    lines = (shared / "nlvr" / "train.json").read_text().splitlines()
    refused = [t for t in {json.loads(one)["sentence"] for one in lines} if _refused("nlvr", t)]
    assert refused == []
    lines = (shared / "nlvr2" / "dev.json").read_text().splitlines()
    for text in {json.loads(one)["sentence"] for one in lines}:
        found = rules.check(rules.load("nlvr2"), text)
        assert not any(one.refuse for one in found), text
        assert {one.rule for one in found} & patterns().keys() == set(check_sentence(text))


def _refused(name: str, text: str) -> bool:
    return any(one.refuse for one in rules.check(rules.load(name), text))
