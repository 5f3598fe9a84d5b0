"""Region features from pixels: a small CNN over the photograph, and RoIAlign from its map (He et al. 2017, section 3).

    f_o = W relu(sum over bins of the map, sampled bilinearly at 2 x 2 points of each of 3 x 3 bins of box o)

Nothing is rounded to the cells of the map: a box that moves by a pixel moves its samples by a pixel.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.zoo.layers import PictureEncoder

BINS, SAMPLES = 3, 2  # bins along each side of a box, points along each side of a bin


class RegionNetwork(nn.Module):
    """Three convolutions over the photograph, trained with the model; a region is its bins in one linear layer."""

    def __init__(self, width: int, channels: tuple[int, int, int] = (16, 32, 48)) -> None:
        super().__init__()
        self.pictures = PictureEncoder(channels)
        self.project = nn.Linear(channels[2] * BINS * BINS, width)

    def forward(self, pixels: Tensor, places: Tensor) -> Tensor:
        """pixels (B, 3, height, width) bytes, places (B, O, 5) -> region features (B, O, D)."""
        bins = roi_align(self.pictures.maps(pixels), places[..., :4], BINS, SAMPLES)  # (B, O, C, 3, 3)
        found: Tensor = torch.relu(self.project(bins.flatten(2)))  # (B, O, D)
        return found


def roi_align(maps: Tensor, boxes: Tensor, bins: int, samples: int) -> Tensor:
    """The mean of `samples` x `samples` points of each of `bins` x `bins` bins of each box.

    maps (B, C, height, width), boxes (B, O, 4) as shares of the picture -> (B, O, C, bins, bins).
    """
    batch, count = boxes.shape[:2]
    steps = (torch.arange(bins * samples, device=maps.device) + 0.5) / (bins * samples)  # (P,) within a box
    low, high = boxes[..., :2, None], boxes[..., 2:, None]  # (B, O, 2, 1)
    points = low + steps * (high - low)  # (B, O, 2, P): across, down
    across = points[:, :, 0, None, :].expand(-1, -1, len(steps), -1)  # (B, O, P, P)
    down = points[:, :, 1, :, None].expand(-1, -1, -1, len(steps))  # (B, O, P, P)
    grid = 2 * torch.stack([across, down], dim=4).flatten(1, 2) - 1  # (B, O P, P, 2) in -1..1
    found = functional.grid_sample(maps, grid, padding_mode="border", align_corners=False)  # (B, C, O P, P)
    pooled = functional.avg_pool2d(found, samples)  # (B, C, O bins, bins)
    return pooled.view(batch, -1, count, bins, bins).transpose(1, 2)
