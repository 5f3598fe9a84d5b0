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
        ({"hidden": 1.5}, "a whole number"),
        ({"hidden": "1.5"}, "a whole number"),
        ({"validation": 1}, "between 0 and 1"),
        ({"batch": -1}, "above zero"),
        ({"patience": 0.0}, "above zero"),
        ({"limit": -5}, "0 or more"),
        ({"hidden": 0}, "1 or more"),
        ({"embedding": -3}, "1 or more"),
        ({"dropout": 2.0}, "below 1"),
        ({"warmup": -3}, "0 or more"),
        ({"depth": 3}, "Of the model: dropout, embedding"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        configure(load_model("text"), options)


def test_what_may_be_left_out_may_be_none() -> None:
    assert configure(load_model("r2c"), {"around": 0})[0].around == 0
    assert configure(load_model("nmn"), {"slots": 0})[0].slots == 0
    with pytest.raises(UserError, match="above zero, such as"):
        configure(load_model("film"), {"strides": "()"})
    with pytest.raises(UserError, match="true or false"):
        configure(load_model("r2c"), {"query": "perhaps"})
