"""What people wrote: tags, bad lines; which photographs are worth asking about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.builders.vcr.photographs import DULL, FEW, by_rule, choose, confident, read_interest
from veridical.builders.vcr.written import Written, judged, read_written, says_no_more, text_of
from veridical.errors import UserError
from veridical.records import Panel, Ref, SceneObject


def photograph(name: str, *categories: str, share: float = 0.1, score: float | None = None) -> Panel:
    side = 100 * share**0.5
    objects = tuple(
        SceneObject(str(k), c, box=(k, k, k + side, k + side), score=score) for k, c in enumerate(categories)
    )
    return Panel(name, width=100, height=100, objects=objects, uri=f"/photos/{name}.jpg")


PANEL = photograph("one", "person", "dog", "person")
LINE: dict[str, Any] = {
    "image": "one",
    "question": "Why is that so?",
    "answer": "Because it rains.",
    "rationale": "All of them look wet.",
}


def lines(path: Path, *changes: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps({**LINE, **change}) + "\n" for change in changes))
    return path


def test_tags_by_class_and_number(tmp_path: Path) -> None:
    path = lines(tmp_path / "w", {"question": "Why is [person2] near [Dog1]?"})
    written, left = read_written(path, {"one": PANEL})
    assert written[0].question.tokens == ("Why", "is", Ref(("2",)), "near", Ref(("1",)), "?")
    assert written[0].question.raw == '["Why", "is", [2], "near", [1], "?"]'
    assert left == {}


def test_token_lists_as_in_the_official_files(tmp_path: Path) -> None:
    path = lines(tmp_path / "w", {"answer": [[0, 2], "are", "sad", "."], "id": "a", "movie": "m", "writer": "w1"})
    (one,), _ = read_written(path, {"one": PANEL})
    assert one.answer.tokens == (Ref(("0", "2")), "are", "sad", ".")
    assert (one.id, one.movie, one.writer, one.image) == ("a", "m", "w1", "one")


def test_photographs_that_are_not_there_are_counted(tmp_path: Path) -> None:
    path = lines(tmp_path / "w", {}, {"image": "gone"}, {"image": "gone"})
    written, left = read_written(path, {"one": PANEL})
    assert (len(written), sum(left.values())) == (1, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": "Where is [cat1]?"}, r"line 1, question: \[cat1\] points at nothing"),
        ({"question": "Where is [person3]?"}, "has 2 of that class"),
        ({"answer": [[7]]}, "tag 7 points at nothing"),
        ({"answer": [[]]}, "an empty tag"),
        ({"rationale": "  "}, "there are no words"),
        ({"rationale": 5}, "line 1"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_written(lines(tmp_path / "w", change), {"one": PANEL})


def test_an_id_is_used_once(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="was used before"):
        read_written(lines(tmp_path / "w", {"id": "x"}, {"id": "x"}), {"one": PANEL})
    with pytest.raises(UserError, match="cannot be read"):
        read_written(tmp_path / "missing", {})


def test_all_problems_are_listed_with_their_lines(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "w",
        {"question": "Why?"},
        {"question": "Is [person1] sad or glad?", "answer": "[person1] is glad."},
        {"answer": "It rains.", "rationale": "It rains there."},
        {"rationale": "word " * 91, "answer": "[cat1] did it."},
        {"question": "", "answer": "", "rationale": ""},  # a form that nobody filled in
    )
    with path.open("a") as file:
        file.write("no JSON\n")
    with pytest.raises(UserError) as error:
        read_written(path, {"one": PANEL})
    found = str(error.value)
    assert "w has 7 problems" in found
    for problem in (
        "line 1, question: 1 words; expected 3 to 60",
        "line 2, answer: it stands in the question already",
        "line 3, rationale: it says no more than the answer",
        "line 4, answer: [cat1] points at nothing",
        "line 4, rationale: 91 words; expected 3 to 90",
        "line 6: ",
        "line 4: 4 questions about one; 3 at most",
    ):
        assert problem in found


def test_an_answer_that_stands_in_the_question() -> None:
    question = text_of(["Is", Ref(("0",)), "tired", "of", "waiting", "?"])
    assert says_no_more(text_of([Ref(("0",)), "is", "tired", "."]), question)
    assert not says_no_more(text_of([Ref(("1",)), "is", "tired", "."]), question)
    assert not says_no_more(text_of(["Yes", ",", "tired", "."]), question)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"item": "b", "worker": "w", "verdict": True}, "no question 'b'"),
        ({"item": "a", "worker": "w", "verdict": "maybe"}, "line 1: the verdict is 'maybe'"),
        ({"item": "a", "verdict": True}, "line 1"),
    ],
)
def test_bad_judgements_are_named(tmp_path: Path, line: dict[str, Any], message: str) -> None:
    path = tmp_path / "j"
    path.write_text(json.dumps(line) + "\n")
    said = text_of(["so"])
    with pytest.raises(UserError, match=message):
        judged(path, [Written("a", "one", said, said, said)])


def test_somebody_judges_a_question_once(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_text(2 * (json.dumps({"item": "a", "worker": "w", "verdict": True}) + "\n"))
    said = text_of(["so"])
    with pytest.raises(UserError, match="line 2: a second judgement on a by w"):
        judged(path, [Written("a", "one", said, said, said)])


def test_photographs_with_few_sure_objects_are_left_out() -> None:
    unsure = photograph("unsure", "person", "person", "dog", score=0.3)
    assert confident(unsure) == ()
    kept, left, about = choose([PANEL, unsure, photograph("two", "person", "dog")])
    assert [p.id for p in kept] == ["one"]
    assert [(p.item, p.reason) for p in left] == [("unsure", FEW), ("two", FEW)]
    assert about["interesting"] == "rule"


def test_the_rule_wants_people_or_variety_and_no_close_up() -> None:
    assert by_rule(PANEL)
    assert by_rule(photograph("a", "car", "dog", "tree"))
    assert not by_rule(photograph("b", "car", "car", "car"))
    assert not by_rule(photograph("c", "person", "person", "syringe", share=0.9))
    _, left, _ = choose([photograph("b", "car", "car", "car")])
    assert left[0].reason == DULL


def test_a_classifier_learns_from_labels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    panels = [
        photograph(f"p{k}", *(["person"] * int(rng.integers(2, 5))), *(["car"] * int(rng.integers(1, 5))))
        for k in range(80)
    ]
    truth = {p.id: sum(o.category == "car" for o in p.objects) >= 3 for p in panels}
    path = tmp_path / "labels.jsonl"
    path.write_text(
        "".join(json.dumps({"photograph": f"{n}.jpg", "interesting": truth[n]}) + "\n" for n in list(truth)[:60])
    )
    kept, _, about = choose(panels, labels=read_interest(path), seed=1)
    assert about["labels"] == 60
    assert about["f1"] > about["f1_always_interesting"]
    agreement = np.mean([(p in kept) == truth[p.id] for p in panels[60:]])
    assert agreement > 0.7


def test_too_few_labels(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="5 or more of each"):
        choose([PANEL], labels={"one": True})
    path = tmp_path / "labels"
    path.write_text('{"photograph": 1}\n')
    with pytest.raises(UserError, match="line 1"):
        read_interest(path)
