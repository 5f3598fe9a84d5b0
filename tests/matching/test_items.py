"""Choices as items: in what order, for whom to know, and what goes along."""

from __future__ import annotations

import numpy as np

from veridical.matching.data.items import items_of, lay_out
from veridical.matching.data.questions import AnsweredQuestion
from veridical.records import Panel, Ref, SceneObject, Text

SIZE = 400


def row(k: int) -> AnsweredQuestion:
    """Every second photograph has two people, the others three: a tag of the third must move, by chance."""
    people = 2 if k % 4 < 2 else 3
    return AnsweredQuestion(
        str(k),
        Text(f"q{k}"),
        Text("", (Ref((str(people - 1),)), "sits", str(k))),
        Text(f"because {k}"),
        panel=Panel(f"p{k}", objects=tuple(SceneObject(str(i), "person") for i in range(people))),
        panels=(f"p{k}",),
    )


ROWS = [row(k) for k in range(SIZE)]
WRONG = np.stack([np.roll(np.arange(SIZE), k) for k in (1, 2, 3)])
HIDDEN = np.arange(SIZE) % 2 == 1


def test_the_seed_alone_does_not_find_hidden_answers() -> None:
    made = lay_out(WRONG, ROWS, "answer", 7, "s3cret", HIDDEN)
    guesses = [
        lay_out(WRONG, ROWS, "answer", 7),
        lay_out(WRONG, ROWS, "answer", 7, "", HIDDEN),
        lay_out(WRONG, ROWS, "answer", 7, "guess", HIDDEN),
        lay_out(WRONG[:, HIDDEN] // 2, [ROWS[i] for i in np.flatnonzero(HIDDEN)], "answer", 7),
    ]
    for guess in guesses:
        places = guess.answer if len(guess.answer) < SIZE else guess.answer[HIDDEN]
        assert (places == made.answer[HIDDEN]).mean() < 0.35  # chance is a quarter
    assert (lay_out(WRONG, ROWS, "answer", 7, "s3cret", HIDDEN).answer == made.answer).all()


def test_public_rows_do_not_depend_on_the_secret_and_rows_do_not_on_those_of_the_other_side() -> None:
    one, other = (lay_out(WRONG, ROWS, "answer", 7, secret, HIDDEN) for secret in ("a", "b"))
    assert (one.order[~HIDDEN] == other.order[~HIDDEN]).all()
    public = np.flatnonzero(~HIDDEN)
    assert [one.texts[i] for i in public] == [other.texts[i] for i in public]
    secretly = np.flatnonzero(HIDDEN)
    assert [one.texts[i] for i in secretly] != [other.texts[i] for i in secretly]


def test_every_place_is_right_as_often() -> None:
    made = lay_out(WRONG, ROWS, "answer", 7, "s3cret", HIDDEN)
    for side in (HIDDEN, ~HIDDEN):
        assert np.bincount(made.answer[side], minlength=4).min() > 30
    assert (made.order[np.arange(SIZE), made.answer] == np.arange(SIZE)).all()


def test_only_answer_items_say_whose_responses_they_borrow() -> None:
    laid = [lay_out(WRONG, ROWS, stage, 0) for stage in ("answer", "rationale")]
    items = list(items_of(ROWS, laid[0], laid[1]))
    answers = [item for item in items if item.parent is None]
    reasons = [item for item in items if item.parent is not None]
    assert len(reasons) == 4 * len(answers) == 4 * SIZE
    assert all(sum(name == "borrowed" for name, _ in item.tags) == 3 for item in answers)
    # the one rationale item with an answer would be found by it, and with it the right answer
    assert not any(name == "borrowed" for item in reasons for name, _ in item.tags)
