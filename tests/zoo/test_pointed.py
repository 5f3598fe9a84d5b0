"""Pointing as a lesson: which slots belong to a program's sets, in which panels it holds, in every view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from veridical.common.arrays import Floats, Ints
from veridical.records import Panel
from veridical.training.batches import Dataset, run_module
from veridical.training.config import configure
from veridical.training.trained import build
from veridical.zoo import load_model
from veridical.zoo.architecture import Example
from veridical.zoo.pointed import IN, OUT, TRUTHS, UNKNOWN, Pointed, astray, nearest, sets_of
from veridical.zoo.slots import KINDS, SIDE, SLOT, VALUES, PanelSlots

from . import _small as small

PROGRAM = (
    "(and (count (at-least 1) (where (count (exactly 2) (keep (is color blue) things)) panels)) "
    "(every (keep (is category circle) things) (is color yellow)))"
)
COUNT = 8


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    torch.set_num_threads(1)
    found = small.examples(small.write_statements(tmp_path_factory.mktemp("pointed") / "b", 6))
    return [replace(example, item=replace(example.item, program=PROGRAM)) for example in found]


def exact(panel: Panel) -> Floats:
    """The slots that perfect eyes see, the last object first, and one that is nothing."""
    out = np.zeros((COUNT, SLOT), np.float32)
    room = np.tile([panel.width or SIDE, panel.height or SIDE], 2)
    for row, one in zip(out, reversed(panel.objects), strict=False):
        kinds = (one.category, one.attribute("color"), one.attribute("size"))
        row[0] = 1
        for number, (value, known) in enumerate(zip(kinds, VALUES, strict=True)):
            row[1 + 3 * number + known.index(value or "")] = 1
        row[1 + KINDS :] = np.array(one.box) / room
    return out


class ExactSlots(PanelSlots):
    """Slots as perfect eyes would see them, by row number."""

    def __init__(self) -> None:
        super().__init__(COUNT, 1)
        self.exact: dict[int, Floats] = {}

    def encode(self, example: Example) -> Ints:
        rows = super().encode(example)
        orders = [view.order for view in example.item.views] or [tuple(range(len(example.panels)))]
        for row, order in zip(rows.tolist(), orders, strict=True):
            self.exact |= {at: exact(example.panels[number]) for at, number in zip(row, order, strict=True)}
        return rows

    def slots(self, rows: Ints) -> Floats:
        return np.stack([self.exact[row] for row in rows.ravel().tolist()]).reshape(*rows.shape, COUNT, SLOT)


def test_sets_are_what_is_kept_and_what_holds_of_all() -> None:
    things, panels = sets_of(PROGRAM)
    assert [str(one) for one in things] == [
        "(keep (is color blue) things)",
        "(keep (is color yellow) (keep (is category circle) things))",
        "(keep (is category circle) things)",
    ]
    assert [one.op for one in panels] == ["where"]


def test_the_lesson_says_which_slot_is_meant_in_every_view(examples: list[Example]) -> None:
    slots = ExactSlots()
    lesson = Pointed(slots)
    for example in examples:
        rows = lesson.encode(example)  # (V, P)
        for row, view in zip(rows, example.item.views, strict=True):
            told = lesson.look_up(row[None])[0]  # (P, K + 1, 4)
            for number, own in zip(view.order, told, strict=True):
                objects = list(reversed(example.panels[number].objects))[:COUNT]
                blue = [one.attribute("color") == "blue" for one in objects]
                assert own[: len(objects), 0].tolist() == [IN if is_blue else OUT for is_blue in blue]
                assert (own[len(objects) : COUNT] == UNKNOWN).all()
                assert (own[:, 3] == UNKNOWN).all()  # it has three sets
                whole = sum(one.attribute("color") == "blue" for one in example.panels[number].objects)
                assert own[COUNT, 0] == (IN if whole == 2 else OUT)
                assert own[COUNT, 1] == UNKNOWN  # and one condition of panels


def test_without_a_program_there_is_no_lesson(examples: list[Example]) -> None:
    lesson = Pointed(ExactSlots())
    rows = lesson.encode(replace(examples[0], item=replace(examples[0].item, program=None)))
    assert not rows.any()
    assert (lesson.look_up(rows) == UNKNOWN).all()


def test_a_slot_far_from_every_thing_is_none_of_them(examples: list[Example]) -> None:
    panel = next(p for e in examples for p in e.panels if p.objects)
    slots = exact(panel)
    shown = nearest(slots, panel)
    count = min(len(panel.objects), COUNT)
    assert shown[:count].tolist() == list(range(len(panel.objects)))[::-1][:count]
    assert (shown[count:] == -2).all()
    slots[0, 1 + KINDS :] = [2, 2, 2.1, 2.1]
    assert nearest(slots, panel)[0] == -1
    assert (nearest(slots, replace(panel, objects=()))[:count] == -1).all()


def test_what_is_unknown_costs_nothing_and_what_is_wrong_costs_more() -> None:
    wanted = torch.tensor([[[[IN, OUT, UNKNOWN, UNKNOWN], [UNKNOWN] * 4, [IN, UNKNOWN, UNKNOWN, UNKNOWN]]]])
    things, panels = torch.zeros(1, 1, 2, 4), torch.zeros(1, 1, TRUTHS)
    things[..., 0, 0], things[..., 0, 1], panels[..., 0] = 9, -9, 9
    assert float(astray(things, panels, wanted)) < 0.001
    noise = torch.where(wanted[:, :, :-1] == UNKNOWN, 50.0, 0.0)
    assert torch.equal(astray(things + noise, panels, wanted), astray(things, panels, wanted))
    assert float(astray(-things, panels, wanted)) > 5
    assert float(astray(things, -panels, wanted)) > 5


@pytest.mark.parametrize("name", ["film", "mac", "cmm", "cnn-biatt", "w-memnn"])
def test_an_answer_has_no_trace_of_the_lesson(name: str, examples: list[Example]) -> None:
    architecture = load_model(name)
    config, _ = configure(architecture, {"maps": "object-list", "seeing": 2, "channels": 8, "hidden": 16})
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    told = Dataset.encode(examples, inputs)
    untold = Dataset.encode([replace(e, item=replace(e.item, program=None)) for e in examples], inputs)
    module = build(architecture, config, inputs, 0)
    assert isinstance(module, torch.nn.Module)
    assert "wanted" not in Dataset.encode(examples, inputs, lessons=False).inputs  # as where a model answers
    rows = np.arange(6)
    lessons = run_module(module.train(), told, rows, rows % 6, "cpu")[1]
    assert lessons["astray"].shape == (6,)
    assert bool((lessons["astray"] > 0).all())
    assert not run_module(module, untold, rows, rows % 6, "cpu")[1]["astray"].any()
    module.eval()
    assert torch.equal(*(run_module(module, data, rows, rows % 6, "cpu")[0] for data in (told, untold)))
