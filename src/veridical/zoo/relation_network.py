"""Relation network over a matrix of panels (V-PROM section 4.5; Santoro et al. 2017).

    h_i = sum_{a, b in {1..8, 8+i}} f1([x_a; x_b])        s_i = w f2(h_i)

f1 and f2 are linear layers with ReLU. The 64 context pairs are the same for all eight candidates, and f1's first layer
is linear in each half, so both are computed once: 200 pair evaluations instead of 648, and 16 projections (of both
halves at once) instead of 1,296.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.layers import hidden_layers
from veridical.zoo.matrices import CONTEXT, Heads, MatrixConfig, PanelLinear, Predicted, matrix_model


@dataclass(frozen=True)
class RelationNetworkConfig(MatrixConfig):
    """Sizes of the relation network."""

    pair_layers: int = 1  # layers of f1
    layers: int = 1  # layers of f2


@dataclass(frozen=True)
class NoIdsConfig(RelationNetworkConfig):
    """The same without panel ids: it sees a set of panels, not a matrix."""

    panel_ids: bool = False


class RelationNetwork(nn.Module):
    """Scores eight candidates by all pairs of the nine panels that each would complete."""

    def __init__(self, config: RelationNetworkConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.halves = PanelLinear(config, sizes["panels"], 2 * config.hidden)  # what x_a and x_b add to a pair
        self.dropout = nn.Dropout(config.dropout)
        self.deeper = hidden_layers(config.pair_layers - 1, config.hidden, config.dropout)
        self.f2 = hidden_layers(config.layers, config.hidden, config.dropout)
        self.w = nn.Linear(config.hidden, 1, bias=False)
        self.heads = Heads(config)

    def forward(self, panels: Tensor) -> Predicted:
        """panels (B, 16, D) -> scores (B, 8)."""
        first, second = self.halves(panels).chunk(2, dim=2)  # (B, 16, H) each
        a, b = first[:, :CONTEXT], second[:, :CONTEXT]  # (B, 8, H): context panels as first and as second of a pair
        c, d = first[:, CONTEXT:], second[:, CONTEXT:]  # (B, 8, H): candidates
        context = self._f1(a[:, :, None] + b[:, None]).sum((1, 2))  # (B, 8, 8, H) -> (B, H)
        h = self._f1(a[:, :, None] + d[:, None]).sum(1)  # (B, 8, 8, H) -> (B, 8, H): context first, candidate second
        h = h + self._f1(b[:, :, None] + c[:, None]).sum(1)  # candidate first
        h = h + self._f1(c + d) + context[:, None]  # the candidate with itself, and what all candidates share
        activations = self.f2(h)  # (B, 8, H)
        predicted: Predicted = self.heads(self.w(activations).squeeze(2), activations)
        return predicted

    def _f1(self, pairs: Tensor) -> Tensor:
        """The rest of f1, after the linear part of its first layer."""
        rest: Tensor = self.deeper(self.dropout(torch.relu(pairs)))
        return rest


MODEL = matrix_model(
    "relation-network", "all pairs of a matrix's panels", "4.5", RelationNetwork, RelationNetworkConfig
)
NO_IDS = matrix_model(
    "relation-network-no-ids", "all pairs of panels, blind to their places", "4.5", RelationNetwork, NoIdsConfig
)
