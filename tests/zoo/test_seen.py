"""Eyes that learn whatever is annotated: what is taught, what becomes of hot cells, and that they are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from veridical.records import Panel, SceneObject
from veridical.zoo.given import MOST, GivenObjects
from veridical.zoo.seen import SeenNetwork, SeenObjects, annotated, middles, parts_of
from veridical.zoo.slots import KINDS, SLOT

from . import _said as said
from . import _small as small


def test_what_is_annotated_is_numbered_by_attribute() -> None:
    values = ["category cat", "category dog", "color red"]
    things = (
        SceneObject("0", "dog", (("color", "red"),), (0, 0, 50, 50)),
        SceneObject("1", "cow", (), (50, 0, 100, 100)),
    )
    boxes, which = annotated(Panel("p", None, None, 100, 100, things), values)
    assert boxes.tolist() == [[0, 0, 0.5, 0.5], [0.5, 0, 1, 1]]
    assert which.tolist() == [[2, 1], [0, 0]]  # a cow is nothing that training has named
    assert parts_of(values) == [slice(0, 3), slice(3, 5)]


def test_eyes_are_read_back_as_they_were(tmp_path: Path) -> None:
    examples = small.examples(said.write(tmp_path / "said"))
    eyes = SeenObjects(steps=3)
    eyes.learn(examples)
    fresh = SeenObjects(steps=3)
    fresh.state = eyes.state
    rows = [one.encode(examples[0]) for one in (eyes, fresh)]
    found = [one.look_up(own) for one, own in zip((eyes, fresh), rows, strict=True)]
    assert found[0].shape == (6, 3, eyes.size, MOST, 1)
    assert np.array_equal(*found)
    with pytest.raises(ValueError, match="cannot be read"):
        fresh.state = {"values": "category dog", "network": eyes.state["network"]}


def test_eyes_are_learned_where_a_run_over_given_objects_continues(tmp_path: Path) -> None:
    examples = small.examples(said.write(tmp_path / "said"))
    given, eyes = GivenObjects(), SeenObjects(steps=2)
    given.learn(examples)
    eyes.state = given.state  # type: ignore[assignment]
    blind = eyes.state["network"]
    eyes.grow(examples)
    assert eyes.size == given.size
    assert eyes.state["values"].split("\n") == given.state
    taught = eyes.state["network"]
    assert taught != blind
    eyes.grow(examples)  # on another benchmark: they can see already
    assert eyes.state["network"] == taught


def test_values_that_came_later_are_of_the_attribute_they_are_of() -> None:
    """An object is a cat or a dog and never both, wherever a dog stands in the list."""
    values = ["category cat", "color red", "category dog"]
    network = SeenNetwork(values)
    maps = torch.full((1, 5 + 5, 19, 25), -9.0)
    maps[0, 0, 4, 10] = 9.0
    maps[0, 5 + 2, 4, 10] = maps[0, 8 + 1, 4, 10] = 9.0  # the second category, red
    network.forward = lambda pixels: maps  # type: ignore[method-assign, assignment, return-value]
    said = network.slots(torch.zeros(1, 3, 150, 200, dtype=torch.uint8), 1)[0, 0, SLOT:]
    assert said.tolist() == pytest.approx([0, 1, 1], abs=1e-3)
    dog = SceneObject("0", "dog", (("color", "red"),), (0, 0, 50, 50))
    assert annotated(Panel("p", None, None, 100, 100, (dog,)), values)[1].tolist() == [[2, 1]]


def test_hot_cells_become_slots_with_their_edges_and_values() -> None:
    """A network whose maps are given: one hot cell, whose logits say where it is and what it shows."""
    network = SeenNetwork(["category cat", "category dog", "color red"])
    maps = torch.full((1, 5 + 5, 19, 25), -9.0)
    maps[0, 0, 4, 10] = 9.0  # heat
    maps[0, 1:5, 4, 10] = torch.tensor([-0.1, -0.1, 0.1, 0.1])
    maps[0, 5 + 2, 4, 10] = maps[0, 8 + 1, 4, 10] = 9.0  # a dog, red
    network.forward = lambda pixels: maps  # type: ignore[method-assign, assignment, return-value]
    slots = network.slots(torch.zeros(1, 3, 150, 200, dtype=torch.uint8), 2)
    assert slots.shape == (1, 2, SLOT + 3)
    assert slots[0, :, 0].tolist() == pytest.approx([1, 0], abs=1e-2)
    middle = middles(torch.tensor(4 * 25 + 10), 25, 19).tolist()
    edges = slots[0, 0, 1 + KINDS : SLOT].tolist()
    assert edges == pytest.approx([middle[0] - 0.02, middle[1] - 0.02, middle[0] + 0.02, middle[1] + 0.02])
    assert slots[0, 0, SLOT:].tolist() == pytest.approx([0, 1, 1], abs=1e-3)
