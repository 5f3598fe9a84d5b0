"""MUTAN, Multimodal Tucker fusion (VCR, section 6.1; Ben-younes et al. 2017, section 3).

    fuse(q, v) = sum_r (M_r tanh(W_q q)) * (N_r tanh(W_v v))        r = 1 ... R        (eq. 8)
    alpha_g = softmax_o(p_g . fuse(q, v_o))        v^ = [sum_o alpha_go v_o]_g        z = W_o fuse'(q, v^)

The core tensor of Tucker's decomposition has slices of rank R: a sum of R Hadamard products, where MLB has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.vqa_parts import OPEN, VQAConfig, VQAModel, glimpse, layer, vqa_model


@dataclass(frozen=True)
class MUTANConfig(VQAConfig):
    """Encoders and sizes."""

    glimpses: int = 2  # attentions
    rank: int = 5  # R


class Tucker(nn.Module):
    """A bilinear form of two vectors whose core has slices of rank R."""

    def __init__(self, first: int, second: int, width: int, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.first, self.second = layer(first, width), layer(second, width)  # W_q, W_v
        self.left, self.right = layer(width, rank * width, OPEN), layer(width, rank * width)  # M, N

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        """one (..., D), other (..., E) -> (..., H)."""
        left = self.left(torch.tanh(self.first(one))).unflatten(-1, (self.rank, -1))  # (..., R, H)
        right = self.right(torch.tanh(self.second(other))).unflatten(-1, (self.rank, -1))  # (..., R, H)
        fused: Tensor = (left * right).sum(-2)  # (..., H)
        return fused


class TuckerAttention(nn.Module):
    """Tucker's fusion attends over regions, and fuses what was found with the question."""

    def __init__(self, width: int, glimpses: int, rank: int) -> None:
        super().__init__()
        self.looks = Tucker(width, width, width, rank)
        self.fits = nn.Linear(width, glimpses, bias=False)  # p
        self.joins = Tucker(width, glimpses * width, width, rank)
        self.output = layer(width, width)  # W_o

    def forward(self, asked: Tensor, seen: Tensor, there: Tensor) -> Tensor:
        """asked (N, H), seen (N, O, H), there (N, O) -> (N, H)."""
        fit = self.fits(self.looks(asked[:, None], seen))  # (N, O, G)
        fused: Tensor = self.output(self.joins(asked, glimpse(fit, seen, there)))
        return fused


def module(config: MUTANConfig, sizes: Mapping[str, int]) -> VQAModel:
    return VQAModel(TuckerAttention(config.hidden, config.glimpses, config.rank), config, sizes)


MODEL = vqa_model(
    "mutan",
    "attention over regions, fused by Tucker's decomposition",
    "Ben-younes et al. 2017",
    module,
    MUTANConfig,
)
