"""GRU and GRU-shared over a matrix of panels (V-PROM section 4.3).

    gru:         s = W GRU(x_1, .., x_16)                   eight scores from one state
    gru-shared:  s_i = w GRU(x_1, .., x_8, x_{8+i})         one score from each candidate's state

The first eight steps of GRU-shared are the same for every candidate: they are taken once.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from veridical.zoo.matrices import CANDIDATES, CONTEXT, PANELS, Heads, MatrixConfig, Predicted, matrix_model


class _Gru(nn.Module):
    """A GRU over panels with their ids."""

    def __init__(self, config: MatrixConfig, sizes: Mapping[str, int], scores: int) -> None:
        super().__init__()
        self.panel_ids = config.panel_ids
        self.gru = nn.GRU(sizes["panels"] + PANELS * config.panel_ids, config.hidden, batch_first=True)
        self.dropout = nn.Dropout(config.dropout)
        self.w = nn.Linear(config.hidden, scores, bias=scores > 1)
        self.heads = Heads(config)

    def steps(self, panels: Tensor) -> Tensor:
        """x_1 .. x_16: (B, 16, D) -> (B, 16, D + 16)."""
        if not self.panel_ids:
            return panels
        places = torch.eye(PANELS, dtype=panels.dtype, device=panels.device)  # (16, 16)
        return torch.cat([panels, places.expand(len(panels), PANELS, PANELS)], dim=2)


class GruPanels(_Gru):
    """Eight scores from the last state after sixteen steps."""

    def __init__(self, config: MatrixConfig, sizes: Mapping[str, int]) -> None:
        super().__init__(config, sizes, CANDIDATES)

    def forward(self, panels: Tensor) -> Predicted:
        """panels (B, 16, D) -> scores (B, 8)."""
        _, state = self.gru(self.steps(panels))  # (1, B, H)
        last = self.dropout(state[0])  # (B, H)
        predicted: Predicted = self.heads(self.w(last), last)
        return predicted


class GruShared(_Gru):
    """A score from the state after the context and one candidate, with the same weights for all."""

    def __init__(self, config: MatrixConfig, sizes: Mapping[str, int]) -> None:
        super().__init__(config, sizes, 1)

    def forward(self, panels: Tensor) -> Predicted:
        """panels (B, 16, D) -> scores (B, 8)."""
        steps = self.steps(panels)  # (B, 16, D + 16)
        _, state = self.gru(steps[:, :CONTEXT])  # (1, B, H)
        ninth = steps[:, CONTEXT:].flatten(0, 1)[:, None]  # (B * 8, 1, D + 16)
        _, states = self.gru(ninth, state.repeat_interleave(CANDIDATES, dim=1))  # (1, B * 8, H)
        last = self.dropout(states[0]).unflatten(0, (-1, CANDIDATES))  # (B, 8, H)
        predicted: Predicted = self.heads(self.w(last).squeeze(2), last)
        return predicted


MODEL = matrix_model("gru", "a GRU over all sixteen panels", "4.3", GruPanels)
SHARED = matrix_model("gru-shared", "a GRU over the context and each candidate", "4.3", GruShared)
