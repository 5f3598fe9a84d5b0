"""Panels as pixels and maps, and slots that a CNN learned to see."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from veridical.errors import UserError
from veridical.records import Item, Panel, SceneObject
from veridical.sources.boxes.drawings import draw
from veridical.training.batches import Dataset
from veridical.zoo.architecture import Example
from veridical.zoo.panels import PanelMaps, PanelPixels
from veridical.zoo.slots import SIDE, SLOT, PanelSlots, SlotMaps, annotated

from . import _pictures as pictures
from . import _small as small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return small.write_statements(tmp_path_factory.mktemp("panels") / "b", 8, stored=True)


def test_a_view_shows_the_boxes_in_its_order(folder: Path) -> None:
    """Drawn boxes (train) and boxes cut from stored drawings (dev) are the pixels that a drawing of the view has."""
    for split, inside in (("train", 1), ("dev", 0)):
        for example in small.examples(folder, split)[:3]:
            panels = PanelPixels(SIDE, SIDE)
            rows = panels.encode(example)  # (6, 3)
            for view, order in enumerate(v.order for v in example.item.views):
                drawn = draw(example.panels, order)[..., :3]
                seen = panels.look_up(rows[view])  # (3, 3, 100, 100)
                for place, left in enumerate((0, 150, 300)):
                    wanted = drawn[:, left : left + SIDE].transpose(2, 0, 1).astype(int)
                    share = np.mean(np.abs(seen[place].astype(int) - wanted) > 0)
                    assert share <= 0.01 * inside  # a box that was drawn elsewhere has other soft edges


def test_every_picture_is_kept_once_and_a_batch_is_a_gather(folder: Path) -> None:
    examples = small.examples(folder)
    panels = PanelPixels(20, 20)
    data = Dataset.encode(examples, {"panels": panels})
    assert panels.count == len({panel.id for example in examples for panel in example.panels})
    rows, views = np.array([3, 0]), np.array([5, 2])
    found = data.batch(rows, views)["panels"]
    assert found.shape == (2, 3, 3, 20, 20)
    assert found.dtype == torch.uint8
    first = data.batch(rows, np.array([0, 0]))["panels"]
    for batch, (row, view) in enumerate(zip(rows, views, strict=True)):
        order = list(examples[row].item.views[view].order)
        assert torch.equal(found[batch], first[batch][order])


def test_joined_panels_are_one_picture(folder: Path) -> None:
    panels = PanelPixels(80, 20, joined=True)
    example = small.examples(folder)[0]
    assert panels.look_up(panels.encode(example)).shape == (6, 1, 3, 20, 80)


def test_an_item_without_a_picture_is_refused() -> None:
    item = Item("a", "statement", ("p",))
    example = Example(item, (Panel("p"),), lambda address: b"")
    with pytest.raises(UserError, match="has no picture"):
        PanelPixels(8, 8).encode(example)


def test_stored_maps_need_an_encoder_of_maps(tmp_path: Path) -> None:
    folder = pictures.write(tmp_path / "b", "statement", {"train": 4})
    with pytest.raises(UserError, match="no map"):
        PanelMaps("thumbnail").learn(small.examples(folder))


def test_slots_are_where_the_objects_are(folder: Path) -> None:
    """Taught on few panels for a second, it finds far more of their objects than eight guesses would (11%)."""
    slots = PanelSlots(8, 150)
    examples = small.examples(folder)
    slots.learn(examples)
    slots.prepare(examples)
    there, found = 0, 0
    for example in examples[:12]:
        for panel, seen in zip(example.panels, slots.look_up(slots.encode(example)[0]), strict=True):
            middles = (seen[:, 10:12] + seen[:, 12:]) / 2
            sure = middles[seen[:, 0] > 0.5]
            for one in panel.objects:
                assert one.box is not None
                left, top, right, bottom = one.box
                away = np.abs(100 * sure - [(left + right) / 2, (top + bottom) / 2]).max(1, initial=0.0)
                there, found = there + 1, found + bool((away < 6).any())
    assert found / there > 0.4
    maps = SlotMaps(8, 1)
    maps.state = slots.state
    rows = maps.encode(examples[0])
    placed = maps.look_up(rows)  # (6, 3, 22, 10, 10)
    assert placed.shape == (6, 3, 22, 10, 10)
    assert (placed[0, :, 0] > 0.5).sum() == (slots.look_up(slots.encode(examples[0])[0])[..., 0] > 0.5).sum()
    assert SLOT == 14


def test_a_cnn_that_sees_can_be_taken_from_another_trial(folder: Path, tmp_path: Path) -> None:
    examples = small.examples(folder)
    first = PanelSlots(8, 2)
    first.learn(examples)
    (tmp_path / "inputs.json").write_text(json.dumps({"slots": first.state, "words": ["a"]}))
    other = SlotMaps(8, 500, str(tmp_path))
    other.learn(examples)
    assert other.state == first.state
    (tmp_path / "inputs.json").write_text(json.dumps({"words": ["a"]}))
    with pytest.raises(UserError, match="learned no CNN"):
        other.learn(examples)


def test_objects_that_slots_do_not_know_are_refused() -> None:
    dog = Panel("p", width=100, height=100, objects=(SceneObject("0", "dog", (), (0, 0, 10, 10)),))
    with pytest.raises(UserError, match="is nothing that slots know"):
        annotated(dog)
