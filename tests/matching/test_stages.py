"""Matching with tags: as few questions as will do are left out where there is no room for their responses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from veridical.errors import UserError
from veridical.matching.assignment.problem import NoMatching
from veridical.matching.stages import (
    Models,
    Responses,
    StageOptions,
    fit_models,
    match_stage,
    match_stages,
    responses_of,
)
from veridical.records import Text

PAPER = StageOptions("tfidf", "tfidf", method="paper")
FOURS = StageOptions("tfidf", "tfidf")
METHODS = pytest.mark.parametrize("options", [PAPER, FOURS], ids=["paper", "fours"])


def tagged_rows(size: int, fold: str = "a") -> Responses:
    """Five responses that need two cups, which only their own photographs have; two of them have one text."""
    answers = ["it is in the cup" if k < 2 else f"thing {k} of gate {k % 5}" for k in range(size)]
    rows = responses_of(
        [Text(f"what is near the {k} gate") for k in range(size)],
        [Text(answer) for answer in answers],
        [None] * size,
        [fold if k % 2 or k < 5 else "b" for k in range(size)],
    )
    needs, have = np.zeros((size, 1), np.int16), np.ones((size, 1), np.int16)
    needs[:5], have[:5] = 2, 2
    return Responses(rows.queries, rows.responses, rows.texts, rows.folds, needs, have)


def models_of(rows: Responses) -> Models:
    return fit_models(rows, PAPER)


LEFT = {"paper": [0, 1, 2, 3, 4], "fours": [1]}  # four of the five may share a block, but not two with one text


@METHODS
def test_what_has_no_room_is_left_out_as_little_as_will_do(options: StageOptions) -> None:
    rows = tagged_rows(60)
    models = models_of(rows)
    with pytest.raises(NoMatching):
        match_stage(rows, models, options)
    told: list[str] = []
    found = match_stages(
        {"answer": rows, "rationale": rows}, {"answer": models, "rationale": models}, options, told.append
    )
    left = np.setdiff1d(np.arange(60), found.kept)
    assert left.tolist() in (LEFT[options.method], [0] if options is FOURS else None)
    size = len(found.kept)
    assert told[-2:] == ["matching, answers", "matching, rationales"]
    for stage in ("answer", "rationale"):
        kept, wrong = found.stages[stage], found.matched[stage].wrong
        assert len(kept) == size
        assert (np.sort(wrong, axis=1) == np.arange(size)).all()
        assert all(kept.folds[j] == kept.folds[i] for round_ in wrong for i, j in enumerate(round_))
        assert kept.needs is not None
        assert kept.have is not None
        assert all((kept.needs[j] <= kept.have[i]).all() for round_ in wrong for i, j in enumerate(round_))
        assert kept.queries == [rows.queries[k] for k in found.kept]
        # the models of the rows that are left are those of all rows, not others
        own = np.arange(size)
        some = found.models[stage].relevance.of_pairs(own, wrong[0])
        np.testing.assert_allclose(some, models.relevance.of_pairs(found.kept, found.kept[wrong[0]]))


@METHODS
def test_what_is_left_out_for_one_stage_is_left_out_of_all(options: StageOptions) -> None:
    rows = tagged_rows(60)
    free = Responses(rows.queries, [f"because {k}" for k in range(60)], np.arange(60), rows.folds)
    stages = {"answer": free, "rationale": rows}
    found = match_stages(stages, {stage: models_of(one) for stage, one in stages.items()}, options)
    assert len(found.kept) == 60 - len(LEFT[options.method])
    assert found.matched["answer"].wrong.shape == (3, len(found.kept))


@METHODS
def test_more_than_a_fifth_is_an_error(options: StageOptions) -> None:
    rows = tagged_rows(22)
    if options is FOURS:  # seven cups that differ: no two of these responses may share a block
        needs, have = np.zeros((22, 7), np.int16), np.zeros((22, 7), np.int16)
        needs[np.arange(7), np.arange(7)] = have[np.arange(7), np.arange(7)] = 1
        have[7:11] = 1  # some photographs have them all, so that every response fits three others
        rows = replace(rows, needs=needs, have=have, folds=["a"] * 22)
    with pytest.raises(UserError, match="Leaving out 20% of the questions does not help"):
        match_stages({"answer": rows}, {"answer": models_of(rows)}, options)


@METHODS
def test_with_room_for_all_nothing_changes(options: StageOptions) -> None:
    rows = tagged_rows(60)
    bare = Responses(rows.queries, rows.responses, rows.texts, rows.folds)
    models = models_of(bare)
    found = match_stages({"answer": bare}, {"answer": models}, options)
    assert (found.matched["answer"].wrong == match_stage(bare, models, options).wrong).all()
    assert found.kept.tolist() == list(range(60))
