"""GRU and GRU-shared over a matrix of panels (V-PROM section 4.3).

    gru:         s = W GRU(x_1, .., x_16)                   eight scores from one state
    gru-shared:  s_i = w GRU(x_1, .., x_8, x_{8+i})         one score from each candidate's state

The first eight steps of GRU-shared are the same for every candidate: they are taken once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from veridical.zoo.matrices import CANDIDATES, CONTEXT, PANELS, Heads, MatrixConfig, Predicted, matrix_model


class GruPanels(nn.Module):
    """Eight scores from the last state after sixteen steps; shared, a score from the state after each candidate."""

    def __init__(self, config: MatrixConfig, sizes: Mapping[str, int], *, shared: bool) -> None:
        super().__init__()
        self.panel_ids, self.shared = config.panel_ids, shared
        self.gru = nn.GRU(sizes["panels"] + PANELS * config.panel_ids, config.hidden, batch_first=True)
        self.dropout = nn.Dropout(config.dropout)
        self.w = nn.Linear(config.hidden, 1 if shared else CANDIDATES, bias=not shared)
        self.heads = Heads(config)

    def forward(self, panels: Tensor) -> Predicted:
        """panels (B, 16, D) -> scores (B, 8)."""
        steps = panels  # x_1 .. x_16
        if self.panel_ids:
            places = torch.eye(PANELS, dtype=panels.dtype, device=panels.device)  # (16, 16)
            steps = torch.cat([panels, places.expand(len(panels), PANELS, PANELS)], dim=2)  # (B, 16, D + 16)
        if self.shared:
            _, state = self.gru(steps[:, :CONTEXT])  # (1, B, H)
            ninth = steps[:, CONTEXT:].flatten(0, 1)[:, None]  # (B * 8, 1, D + 16)
            _, states = self.gru(ninth, state.repeat_interleave(CANDIDATES, dim=1))  # (1, B * 8, H)
            last = self.dropout(states[0]).unflatten(0, (-1, CANDIDATES))  # (B, 8, H)
            scores = self.w(last).squeeze(2)  # (B, 8)
        else:
            _, state = self.gru(steps)  # (1, B, H)
            last = self.dropout(state[0])  # (B, H)
            scores = self.w(last)  # (B, 8)
        predicted: Predicted = self.heads(scores, last)
        return predicted


MODEL = matrix_model("gru", "a GRU over all sixteen panels", "4.3", partial(GruPanels, shared=False))
SHARED = matrix_model("gru-shared", "a GRU over the context and each candidate", "4.3", partial(GruPanels, shared=True))
