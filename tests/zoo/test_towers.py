"""What NLVR's models share: cells that know where they are, panels that can be told apart, lists without an order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from veridical.training import Trained, configure
from veridical.training.batches import Dataset
from veridical.training.trained import build
from veridical.zoo import load_model
from veridical.zoo.eyes import Seen
from veridical.zoo.towers import Placed, places

from . import _said as said
from . import _small as small


def test_places_are_across_and_down() -> None:
    found = places(torch.zeros(5, 7, 2, 3))
    assert found.tolist() == [[[[-1, 0, 1], [-1, 0, 1]], [[-1, -1, -1], [1, 1, 1]]]]


@pytest.mark.parametrize(("kernel", "stride", "bias"), [(1, 1, True), (3, 2, False), (3, 1, True)])
def test_a_placed_convolution_is_one_over_maps_and_places_side_by_side(kernel: int, stride: int, bias: bool) -> None:
    torch.manual_seed(0)
    convolution, maps = Placed(4, 6, kernel, stride, kernel // 2, bias), torch.randn(3, 4, 7, 5)
    joined = torch.cat([maps, places(maps).expand(3, -1, -1, -1)], dim=1)
    wanted = functional.conv2d(joined, convolution.weight, convolution.bias, stride, kernel // 2)
    torch.testing.assert_close(convolution(maps), wanted)


@pytest.mark.parametrize("name", ["film", "mac", "cmm", "cnn-biatt", "w-memnn"])
def test_the_order_of_a_list_of_objects_says_nothing(name: str, tmp_path: Path) -> None:
    """Annotators list what matters first: a model that knew a place in the list would learn that instead."""
    examples = small.examples(said.write(tmp_path / "said", 1))
    architecture = load_model(name)
    config, _ = configure(architecture, {"maps": "given-objects"})
    turned = [
        replace(e, panels=tuple(replace(panel, objects=panel.objects[::-1]) for panel in e.panels)) for e in examples
    ]
    scores, model = [], None
    for shown in (examples, turned):
        inputs = architecture.inputs(config)
        for source in inputs.values():
            source.learn(shown)
        model = model or build(architecture, config, inputs, 0)
        assert isinstance(model, nn.Module)
        trained = Trained(architecture, config, inputs, model, {})
        scores.append(np.array(trained.scores(trained.encode(shown))))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


NETWORKS = ("nmn", "n2nmn")
CELLS = [(name, {}) for name in ("film", "mac", "cmm", "cnn-biatt", "w-memnn", *NETWORKS)]


@pytest.mark.parametrize(("name", "options"), [*CELLS, *((name, {"slots": 8, "seeing": 20}) for name in NETWORKS)])
def test_panels_can_be_told_apart(name: str, options: dict[str, int], tmp_path: Path) -> None:
    """Of a pair, half of the sentences speak of the left or the right image."""
    architecture = load_model(name)
    examples = small.examples(said.write(tmp_path / "said", 1))
    config, _ = configure(architecture, {"hidden": 16, **options})
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    model = build(architecture, config, inputs, 0)
    assert isinstance(model, nn.Module)
    (looking,) = (part for part in model.modules() if hasattr(part, "which"))
    panels = Dataset.encode(examples, inputs, lessons=False).batch(np.arange(8), np.zeros(8, np.int64))["panels"]
    model.eval()

    def apart() -> float:
        """How much it changes what is seen of a panel to stand in the other place."""
        with torch.inference_mode():
            here, there = (
                found.places if isinstance(found := looking(one), Seen) else found for one in (panels, panels.flip(1))
            )
        return float((here - there.flip(1)).abs().max())

    assert apart() < 1e-5  # at first nobody knows
    with torch.no_grad():
        looking.which.normal_(generator=torch.Generator().manual_seed(0))
    assert apart() > 0.1
