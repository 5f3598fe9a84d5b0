"""What NLVR's models share: cells that know where they are."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from veridical.zoo.towers import Placed, places


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
