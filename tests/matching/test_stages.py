"""Matching with tags: as few questions as will do are left out where there is no room for their responses."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from veridical.errors import UserError
from veridical.matching.assignment.problem import NoMatching
from veridical.matching.scores.kinds import NOISE_SIZE, KindOptions, cells, scaled
from veridical.matching.stages import (
    Models,
    Responses,
    StageOptions,
    fit_models,
    match_stage,
    match_stages,
    mean_relevance,
    responses_of,
)
from veridical.records import Text

OPTIONS = StageOptions("tfidf", "tfidf")


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
    return fit_models(rows, OPTIONS)


def test_a_later_round_without_room_leaves_the_scarce_out() -> None:
    rows = tagged_rows(60)
    models = models_of(rows)
    with pytest.raises(NoMatching):
        match_stage(rows, models, OPTIONS)
    told: list[str] = []
    found = match_stages(
        {"answer": rows, "rationale": rows}, {"answer": models, "rationale": models}, OPTIONS, told.append
    )
    assert found.kept.tolist() == list(range(5, 60))
    assert told[-2:] == ["matching, answers", "matching, rationales"]
    for stage in ("answer", "rationale"):
        kept, wrong = found.stages[stage], found.matched[stage].wrong
        assert len(kept) == 55
        assert (np.sort(wrong, axis=1) == np.arange(55)).all()
        assert all(kept.folds[j] == kept.folds[i] for round_ in wrong for i, j in enumerate(round_))
        assert kept.queries == rows.queries[5:]
        # the models of the rows that are left are those of all rows, not others
        own = np.arange(55)
        left = found.models[stage].relevance.of_pairs(own, wrong[0])
        np.testing.assert_allclose(left, models.relevance.of_pairs(own + 5, wrong[0] + 5))


def test_what_is_left_out_for_one_stage_is_left_out_of_all() -> None:
    rows = tagged_rows(60)
    free = Responses(rows.queries, [f"because {k}" for k in range(60)], np.arange(60), rows.folds)
    stages = {"answer": free, "rationale": rows}
    found = match_stages(stages, {stage: models_of(one) for stage, one in stages.items()}, OPTIONS)
    assert found.kept.tolist() == list(range(5, 60))
    assert found.matched["answer"].wrong.shape == (3, 55)


def test_more_than_a_fifth_is_an_error() -> None:
    rows = tagged_rows(22)
    with pytest.raises(UserError, match="Leaving out 20% of the questions does not help"):
        match_stages({"answer": rows}, {"answer": models_of(rows)}, OPTIONS)


def test_with_room_for_all_nothing_changes() -> None:
    rows = tagged_rows(60)
    bare = Responses(rows.queries, rows.responses, rows.texts, rows.folds)
    models = models_of(bare)
    found = match_stages({"answer": bare}, {"answer": models}, OPTIONS)
    assert (found.matched["answer"].wrong == match_stage(bare, models, OPTIONS).wrong).all()
    assert found.kept.tolist() == list(range(60))


def gates(size: int) -> Responses:
    return responses_of(
        [Text(f"what is near the {k % 40} gate") for k in range(size)],
        [Text(f"thing {k} of gate {k % 7}") for k in range(size)],
        [None] * size,
        [str(k % 2) for k in range(size)],
    )


def test_the_noise_of_hidden_folds_needs_the_secret_and_that_of_others_does_not() -> None:
    rows = gates(300)
    models = models_of(rows)
    one, other = (
        match_stage(rows, models, StageOptions("tfidf", "tfidf", secret=secret, hidden=frozenset({"1"})))
        for secret in ("a", "b")
    )
    assert one.kinds == {"0": 9, "1": 9}
    public, hidden = rows.rows("0"), rows.rows("1")
    assert (one.wrong[:, public] == other.wrong[:, public]).all()
    assert (one.wrong[:, hidden] == other.wrong[:, hidden]).mean() < 0.2


@pytest.mark.parametrize(("secret", "finds"), [("", True), ("s3cret", False)])
def test_who_draws_the_noise_again_cannot_tell_whose_a_hidden_response_is(secret: str, finds: bool) -> None:
    """A response stands at its own question and at three where its noise is high: the noise of its row, that is."""
    rows = gates(400)
    models = models_of(rows)
    options = StageOptions("tfidf", "tfidf", secret=secret, hidden=frozenset({"1"}))
    here = rows.rows("1")
    wrong = np.searchsorted(here, match_stage(rows, models, options).wrong[:, here])
    rng = np.random.default_rng([options.seed, 5, zlib.crc32(b"1")])  # public
    texts = np.unique(rows.texts[here], return_inverse=True)[1]
    cells(models.relevance.query_vectors(here), texts, scaled(options.kinds, len(here), 3).size, rng)
    left, right = rng.standard_normal((2, len(here), NOISE_SIZE)).astype(np.float32)
    found = []
    for response in range(len(here)):
        shown = [response, *(int(np.flatnonzero(one == response)[0]) for one in wrong)]
        noise = [sum(float(left[q] @ right[owner]) for q in shown if q != owner) for owner in shown]
        found.append(int(np.argmax(noise)) == 0)
    assert np.mean(found) > 0.9 if finds else np.mean(found) < 0.4  # chance is a quarter


def test_what_kinds_cost_in_relevance_is_measured() -> None:
    size = 200
    rows = responses_of(
        [Text(f"which w{k % 12} place {k}") for k in range(size)],
        [Text(f"w{k % 12} thing t{k}") for k in range(size)],
        [None] * size,
        ["0"] * size,
    )
    models = models_of(rows)
    single, kinds = (
        mean_relevance(models, match_stage(rows, models, StageOptions("tfidf", "tfidf", kinds=KindOptions(k))).wrong)
        for k in (0, 48)
    )
    assert single["right"] == kinds["right"] > 0.6
    assert kinds["wrong"] < single["wrong"] <= 1
