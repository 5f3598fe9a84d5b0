"""RoIAlign against a plain reference, and a network that learns with it."""

from __future__ import annotations

import numpy as np
import torch

from veridical.zoo.regions import RegionNetwork, roi_align


def bilinear(plane: np.ndarray, across: float, down: float) -> float:
    """The value of a map between its cells, whose middles are at k + 1/2; beyond the outermost it goes on."""
    height, width = plane.shape
    x, y = (min(max(v - 0.5, 0), n - 1) for v, n in ((across, width), (down, height)))
    left, top = int(x), int(y)
    right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
    a, b = x - left, y - top
    upper = (1 - a) * plane[top, left] + a * plane[top, right]
    lower = (1 - a) * plane[bottom, left] + a * plane[bottom, right]
    return float((1 - b) * upper + b * lower)


def plain_roi_align(plane: np.ndarray, box: np.ndarray, bins: int, samples: int) -> np.ndarray:
    """One map and one box (He et al. 2017): the mean over points of each bin."""
    height, width = plane.shape
    left, top, right, bottom = box * np.array([width, height, width, height])
    out = np.zeros((bins, bins))
    for row in range(bins):
        for column in range(bins):
            for i in range(samples):
                for j in range(samples):
                    down = top + (row + (i + 0.5) / samples) * (bottom - top) / bins
                    across = left + (column + (j + 0.5) / samples) * (right - left) / bins
                    out[row, column] += bilinear(plane, across, down) / samples**2
    return out


def test_roi_align_is_the_plain_one() -> None:
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(2, 3, 7, 9)).astype(np.float32)
    corners = np.sort(rng.random((2, 5, 2, 2)), axis=2)  # (B, O, low and high, across and down)
    boxes = corners.reshape(2, 5, 4).astype(np.float32)
    boxes[0, 0] = (0, 0, 1, 1)
    found = roi_align(torch.from_numpy(maps), torch.from_numpy(boxes), 3, 2)
    assert found.shape == (2, 5, 3, 3, 3)
    for b in range(2):
        for o in range(5):
            for c in range(3):
                wanted = plain_roi_align(maps[b, c], boxes[b, o].astype(np.float64), 3, 2)
                np.testing.assert_allclose(found[b, o, c], wanted, atol=1e-5)


def test_a_network_learns_what_is_in_a_box() -> None:
    torch.manual_seed(0)
    pixels = torch.full((16, 3, 48, 64), 128, dtype=torch.uint8)
    wanted = torch.randint(3, (16, 2))
    for k, (one, other) in enumerate(wanted.tolist()):
        pixels[k, one, 8:40, 4:28] = 250
        pixels[k, other, 8:40, 36:60] = 250
    places = torch.tensor([[4 / 64, 8 / 48, 28 / 64, 40 / 48, 0], [36 / 64, 8 / 48, 60 / 64, 40 / 48, 0]])
    places = places.expand(16, 2, 5)
    network, head = RegionNetwork(16, (4, 8, 8)), torch.nn.Linear(16, 3)
    optimizer = torch.optim.AdamW([*network.parameters(), *head.parameters()], 0.01)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(head(network(pixels, places)).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2  # the two boxes of a picture are told apart
