"""MaxEnt as an estimator."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.errors import UserError
from veridical.zoo.structure import MaxEnt, MaxEntConfig


def rows(*features: list[int]) -> list[dict[str, np.ndarray]]:
    return [{"features": np.array(ids, np.int64)} for ids in features]


def test_a_feature_that_decides_gets_the_weight() -> None:
    model = MaxEnt(MaxEntConfig(strength=10.0))
    seen = rows([2, 3], [3], [2], [4], [2, 4], [3, 4])
    answers = np.array([1, 0, 1, 0, 1, 0])
    model.fit(seen, answers, 2)
    scores = model.scores(seen)
    assert scores.argmax(1).tolist() == answers.tolist()
    np.testing.assert_allclose(np.exp(scores).sum(1), 1)
    assert model.arrays["weights"][2] > 1 > abs(model.arrays["weights"][3])


def test_features_that_training_did_not_use_change_nothing() -> None:
    model = MaxEnt(MaxEntConfig(strength=1.0))
    model.fit(rows([2], [3]), np.array([1, 0]), 2)
    assert np.array_equal(model.scores(rows([2, 99])), model.scores(rows([2])))
    assert model.scores([]).shape == (0, 2)


def test_one_answer_alone_cannot_be_learned() -> None:
    with pytest.raises(UserError, match="same answer"):
        MaxEnt(MaxEntConfig()).fit(rows([2], [3]), np.array([1, 1]), 2)
