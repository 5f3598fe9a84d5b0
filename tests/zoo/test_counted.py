"""Counting as a lesson: what the sets of a program hold, and that soft numbers are drawn to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from veridical.training.batches import Dataset, run_module
from veridical.training.config import configure
from veridical.training.trained import build
from veridical.zoo import load_model
from veridical.zoo.architecture import Example
from veridical.zoo.counted import TARGETS, Counted, close_to, targets

from . import _small as small

PROGRAM = "(count (at-least 1) (where (count (exactly 2) (keep (is color blue) things)) panels))"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    torch.set_num_threads(1)
    found = small.examples(small.write_statements(tmp_path_factory.mktemp("counted") / "b", 6))
    return [replace(example, item=replace(example.item, program=PROGRAM)) for example in found]


def test_sets_are_counted_in_the_order_of_the_program(examples: list[Example]) -> None:
    counted = Counted()
    for example in examples:
        blue = [sum(o.attribute("color") == "blue" for o in panel.objects) for panel in example.panels]
        assert counted(example, "things-0") == [str(min(sum(blue), 12))]
        assert counted(example, "panels") == [str(sum(count == 2 for count in blue))]
        assert counted(example, "things-1") == []  # it has one set of things
        assert counted(replace(example, item=replace(example.item, program=None)), "things-0") == []


def test_a_soft_number_is_closest_to_its_whole_one() -> None:
    found = close_to(torch.tensor([[0.2, 3.1, 11.6, 30.0]]), torch.tensor([1.7]))
    assert [int(found[name].argmax()) for name in TARGETS] == [0, 3, 12, 12, 2]


@pytest.mark.parametrize("name", ["film", "mac", "slot-reasoner"])
def test_the_lesson_is_there_in_training_alone(name: str, examples: list[Example]) -> None:
    """Its gradient reaches the model; an answer has no trace of it."""
    architecture = load_model(name)
    small_sizes = {"seeing": 1} if name == "slot-reasoner" else {"width": 20, "height": 20, "channels": 8, "hidden": 16}
    config, _ = configure(architecture, small_sizes)
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    data = Dataset.encode(examples, inputs, targets=targets(config))
    module = build(architecture, config, inputs, 0)
    assert isinstance(module, torch.nn.Module)
    rows = np.arange(8)
    scores, lessons = run_module(module.train(), data, rows, rows % 6, "cpu")
    assert set(lessons) == set(TARGETS)
    wanted = torch.from_numpy(data.targets["things-0"][rows])
    torch.nn.functional.cross_entropy(lessons["things-0"], wanted).backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in module.parameters())
    assert run_module(module.eval(), data, rows, rows % 6, "cpu")[1] == {}
    assert scores.shape == (8, 2)
