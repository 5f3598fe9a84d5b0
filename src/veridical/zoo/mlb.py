"""MLB, Multimodal Low-rank Bilinear attention (VCR, section 6.1; Kim et al. 2017, section 4).

    alpha_g = softmax_o(p_g . (tanh(U q) * tanh(V v_o)))        v^ = [sum_o alpha_go v_o]_g        (eq. 8, 9)
    z = P (tanh(W_q q) * tanh(W_v v^))                                                             (eq. 10)

A Hadamard product of two projections is a bilinear form of low rank: it attends, and it fuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.vqa_parts import OPEN, VQAConfig, VQAModel, glimpse, layer, vqa_model


@dataclass(frozen=True)
class MLBConfig(VQAConfig):
    """Encoders and sizes."""

    glimpses: int = 2  # attentions


class LowRank(nn.Module):
    """Hadamard products of question and regions."""

    def __init__(self, width: int, glimpses: int) -> None:
        super().__init__()
        self.asks, self.shows = layer(width, width, OPEN), layer(width, width)  # U, V
        self.fits = nn.Linear(width, glimpses, bias=False)  # p
        self.asked, self.shown = layer(width, width, OPEN), layer(glimpses * width, width)  # W_q, W_v
        self.output = layer(width, width)  # P

    def forward(self, asked: Tensor, seen: Tensor, there: Tensor) -> Tensor:
        """asked (N, H), seen (N, O, H), there (N, O) -> (N, H)."""
        joined = torch.tanh(self.asks(asked))[:, None] * torch.tanh(self.shows(seen))  # (N, O, H)
        found = glimpse(self.fits(joined), seen, there)  # (N, G H)
        fused: Tensor = self.output(torch.tanh(self.asked(asked)) * torch.tanh(self.shown(found)))
        return fused


def module(config: MLBConfig, sizes: Mapping[str, int]) -> VQAModel:
    return VQAModel(LowRank(config.hidden, config.glimpses), config, sizes)


MODEL = vqa_model("mlb", "attention over regions and fusion by Hadamard products", "Kim et al. 2017", module, MLBConfig)
