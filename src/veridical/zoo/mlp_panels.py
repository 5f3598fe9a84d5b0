"""MLP-cat-k and MLP-sum-k over a matrix of panels (V-PROM section 4.2).

    cat:  s_i = w f2([f1(x_1); ..; f1(x_8); f1(x_{8+i})])        sum:  s_i = w f2(sum_{j in {1..8, 8+i}} f1(x_j))

f1 and f2 have k/2 linear layers each, all followed by a ReLU. What the eight context panels give to the first layer of
f2 is the same for every candidate and computed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.layers import hidden_layers
from veridical.zoo.matrices import CONTEXT, Heads, MatrixConfig, PanelLinear, Predicted, matrix_model

Join = Literal["sum", "cat"]


class MlpPanels(nn.Module):
    """Scores eight candidates, each joined with the eight context panels."""

    def __init__(self, config: MatrixConfig, sizes: Mapping[str, int], *, join: Join, layers: int) -> None:
        super().__init__()
        hidden, each = config.hidden, layers // 2
        self.first = PanelLinear(config, sizes["panels"], hidden)
        self.dropout = nn.Dropout(config.dropout)
        self.f1 = hidden_layers(each - 1, hidden, config.dropout)  # what follows its first layer
        self.context = nn.Linear(CONTEXT * hidden, hidden, bias=False) if join == "cat" else None
        self.candidate = nn.Linear(hidden, hidden)  # with `context`, the first layer of f2
        self.f2 = hidden_layers(each - 1, hidden, config.dropout)
        self.w = nn.Linear(hidden, 1, bias=False)
        self.heads = Heads(config)

    def forward(self, panels: Tensor) -> Predicted:
        """panels (B, 16, D) -> scores (B, 8)."""
        each = self.f1(self.dropout(torch.relu(self.first(panels))))  # (B, 16, H)
        context, candidates = each[:, :CONTEXT], each[:, CONTEXT:]  # (B, 8, H) each
        if self.context is None:
            joined = self.candidate(candidates + context.sum(1, keepdim=True))  # (B, 8, H)
        else:
            joined = self.candidate(candidates) + self.context(context.flatten(1))[:, None]  # (B, 8, H)
        activations = self.f2(self.dropout(torch.relu(joined)))  # (B, 8, H)
        predicted: Predicted = self.heads(self.w(activations).squeeze(2), activations)
        return predicted


def _model(join: Join, layers: int) -> Architecture:
    summary = f"{layers} layers on the panels, {'summed' if join == 'sum' else 'one after the other'}"
    return matrix_model(f"mlp-{join}-{layers}", summary, "4.2", partial(MlpPanels, join=join, layers=layers))


SUM_2, SUM_4, SUM_6 = (_model("sum", layers) for layers in (2, 4, 6))
CAT_2, CAT_4, CAT_6 = (_model("cat", layers) for layers in (2, 4, 6))
