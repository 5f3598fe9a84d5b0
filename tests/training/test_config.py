"""Options by name."""

from __future__ import annotations

import pytest

from veridical.errors import UserError
from veridical.training import configure
from veridical.zoo import load_model


def test_options_reach_the_model_or_the_training() -> None:
    model, training = configure(
        load_model("image"), {"channels": "(4, 8, 8)", "width": 200, "rate": 1, "schedule": "cosine", "clip": "0"}
    )
    assert model.channels == (4, 8, 8)
    assert model.width == 200
    assert (training.rate, training.schedule, training.clip) == (1.0, "cosine", 0.0)
    assert (
        configure(load_model("image"), {"channels": [4, 8, 8]})[0]
        == configure(load_model("image"), {"channels": (4, 8, 8)})[0]
    )


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_switches_are_read_from_text(text: str, value: bool) -> None:
    assert configure(load_model("maxent"), {"counts": text})[0].counts is value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "steep"}, "constant, linear, cosine"),
        ({"hidden": 1.5}, "type int"),
        ({"hidden": "1.5"}, "type int"),
        ({"validation": 1}, "between 0 and 1"),
        ({"batch": -1}, "above zero"),
        ({"patience": 0.0}, "above zero"),
        ({"limit": -5}, "0 or more"),
        ({"warmup": -3}, "0 or more"),
        ({"depth": 3}, "Of the model: dropout, embedding"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        configure(load_model("text"), options)
