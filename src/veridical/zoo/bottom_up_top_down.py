"""Bottom-up and top-down attention (VCR, section 6.1; Anderson et al. 2018, section 3.3).

    f(x) = tanh(W x + b) * sigmoid(W' x + b')                                   gated tanh (eq. 9 to 11)
    a_o = w . f_a([v_o; q])        v^ = sum_o softmax_o(a_o) v_o                (eq. 12, 13)
    h = f_q(q) * f_v(v^)        z = f_o(h)                                      (eq. 14, 15)

As VCR adapts it, it is shown the regions that question and response point at (and the whole photograph; `vqa_parts`).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from veridical.zoo.vqa_parts import OPEN, VQAConfig, VQAModel, glimpse, layer, vqa_model


class GatedTanh(nn.Module):
    """tanh(W x + b) * sigmoid(W' x + b')."""

    def __init__(self, inputs: int, width: int, bias: float = 0.0) -> None:
        super().__init__()
        self.value, self.gate = layer(inputs, width, bias), layer(inputs, width, OPEN)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., H)."""
        return torch.tanh(self.value(x)) * torch.sigmoid(self.gate(x))


class TopDown(nn.Module):
    """The question attends to regions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.joins, self.fits = GatedTanh(2 * width, width), nn.Linear(width, 1, bias=False)  # f_a, w
        self.asked, self.shown = GatedTanh(width, width, OPEN), GatedTanh(width, width)  # f_q, f_v
        self.output = GatedTanh(width, width)  # f_o

    def forward(self, asked: Tensor, seen: Tensor, there: Tensor) -> Tensor:
        """asked (N, H), seen (N, O, H), there (N, O) -> (N, H)."""
        both = torch.cat([seen, asked[:, None].expand_as(seen)], dim=2)  # (N, O, 2H)
        found = glimpse(self.fits(self.joins(both)), seen, there)  # (N, H)
        fused: Tensor = self.output(self.asked(asked) * self.shown(found))  # (N, H)
        return fused


def module(config: VQAConfig, sizes: Mapping[str, int]) -> VQAModel:
    return VQAModel(TopDown(config.hidden), config, sizes)


MODEL = vqa_model(
    "bottom-up-top-down", "attention over the regions that are pointed at", "Anderson et al. 2018", module
)
