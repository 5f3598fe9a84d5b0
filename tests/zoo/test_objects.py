"""What models see of a photograph: vectors of regions, and what stands around an object."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from veridical.benchmark import Benchmark
from veridical.encoders import load
from veridical.errors import UserError
from veridical.records import Item, Panel, Text
from veridical.training.batches import Dataset, examples_of
from veridical.zoo.architecture import Example
from veridical.zoo.inputs import scaled
from veridical.zoo.objects import Neighbours, ObjectClasses, ObjectPlaces, RegionVectors, object_inputs, pointed_at

from . import _tagged as tagged


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tagged.write(tmp_path_factory.mktemp("objects") / "boxes", 10)


def test_regions_are_looked_up_by_row_and_nothing_is_zero(folder: Path) -> None:
    bench = Benchmark(folder)
    example = examples_of(bench, bench.items("train"))[0]
    source = RegionVectors("thumbnail")
    source.learn([example])
    rows = source.encode(example)
    found = source.look_up(np.array([[*rows, 0]]))
    assert found.shape == (1, 4, 192)
    assert not found[0, 3].any()
    stored = load(folder, "thumbnail")
    image = example.panels[0].image
    np.testing.assert_array_equal(found[0, 1], scaled(stored.rows([f"{image}@2,2,30,30"]))[0])


def test_objects_of_two_benchmarks_are_not_mixed_up(folder: Path, tmp_path: Path) -> None:
    source = RegionVectors("thumbnail")
    here, there = (examples_of(b, b.items("train"))[:5] for b in (Benchmark(folder), Benchmark(_other(tmp_path))))
    source.learn(here)
    first, second = Dataset.encode(here, {"regions": source}), Dataset.encode(there, {"regions": source})
    for data, examples in ((first, here), (second, there)):
        whole = data.batch(np.array([0]))["regions"][0, 0].numpy()
        home = examples[0].folder
        assert home is not None
        np.testing.assert_array_equal(whole, scaled(load(home, "thumbnail").panels(examples[0].panels))[0])


def _other(tmp_path: Path) -> Path:
    return tagged.write(tmp_path / "other", 12)


def test_an_object_without_a_box_is_everywhere(folder: Path) -> None:
    bench = Benchmark(folder)
    example = examples_of(bench, bench.items("train"))[0]
    panel = example.panels[0]
    loose = replace(panel, objects=(replace(panel.objects[0], box=None), panel.objects[1]))
    source = RegionVectors("thumbnail")
    source.learn([example])
    whole, first, second = source.encode(replace(example, panels=(loose,)))
    assert (whole, second) == (first, source.encode(example)[2])
    assert ObjectPlaces().encode(replace(example, panels=(loose,)))[1].tolist() == [0, 0, 1, 1, 1]


def test_inputs_by_what_is_seen() -> None:
    assert set(object_inputs("thumbnail")) == {"classes", "places", "regions"}
    assert set(object_inputs("pixels")) == {"classes", "places", "pixels"}
    assert set(object_inputs("")) == {"classes", "places"}


def test_an_item_with_two_photographs_is_refused() -> None:
    item = Item("x", "choice", ("a", "b"), Text("?"), (Text("y"), Text("n")), 0)
    with pytest.raises(UserError, match="2 panels"):
        ObjectClasses(1).learn([Example(item, (Panel("a"), Panel("b")), lambda _: b"")])


def test_words_point_at_objects() -> None:
    seen = torch.arange(6.0).view(1, 3, 2)
    assert pointed_at(torch.tensor([[1, 3, 0]]), seen).tolist() == [[[0, 1], [4, 5], [0, 0]]]


def test_the_things_around_an_object_are_part_of_it() -> None:
    around = Neighbours(4, 1, own=True)
    with torch.no_grad():
        around.take.weight.copy_(torch.eye(4))
        around.take.bias.zero_()
    boxes = torch.tensor([[[0, 0, 1, 1], [0.1, 0.1, 0.2, 0.3], [0.21, 0.1, 0.3, 0.2], [0.7, 0.7, 0.8, 0.9]]])
    area = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    places = torch.cat([boxes, area[..., None]], dim=2)
    seen = torch.eye(4)[None]  # the photograph, a person, what is beside them, something far away
    found = around(seen, places, torch.ones(1, 4, dtype=torch.bool))[0]
    assert found[1, 2] > 0.2 > found[1, 3]
    assert found[:, 0].tolist() == [1, 0, 0, 0]  # the whole photograph is nobody's neighbour
    hidden = torch.tensor([[True, True, False, True]])
    assert around(seen, places, hidden)[0, 1, 2] == 0


def test_nobody_is_their_own_neighbour_unless_so_told() -> None:
    places = torch.tensor([[[0, 0, 1, 1, 1], [0.1, 0.1, 0.2, 0.2, 0.01], [0.25, 0.1, 0.3, 0.2, 0.01]]])
    seen, there = torch.eye(3)[None], torch.ones(1, 3, dtype=torch.bool)
    for own in (False, True):
        around = Neighbours(3, 1, own=own)
        with torch.no_grad():
            around.take.weight.copy_(torch.eye(3))
            around.take.bias.zero_()
        assert (around(seen, places, there)[0, 1, 1] > 1) == own
        alone = around(seen, places, torch.tensor([[True, own, False]]))  # (with `own`, one object is left)
        assert torch.isfinite(alone).all()
