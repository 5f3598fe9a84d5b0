"""VQA-like model of a matrix of panels (V-PROM section 4.4; Teney et al. 2018).

    h = sum_{j=1..6} f1(x_j) * sum_{j=7,8} f2(x_j)        s_i = h . f3(x_{8+i})

The first two rows are the "image", the third the "question", and each f is a gated tanh layer:
f(x) = tanh(W x + b) * sigmoid(W' x + b'). With top-down attention (supplement B), x_j of the first two rows is a mean
over the panel's regions r, weighted by what the question asks for:

    q = sum_{j=7,8} f2(x_j)        a_jr = softmax_r(w f4([x_jr; q]))        x_j = sum_r a_jr x_jr
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.errors import UserError
from veridical.zoo.architecture import Input
from veridical.zoo.matrices import CONTEXT, Heads, MatrixConfig, PanelLinear, Panels, Predicted, matrix_model

ROWS = 6  # panels of the first two rows


@dataclass(frozen=True)
class AttentionConfig(MatrixConfig):
    """Regions are what it attends to: the boxes of a panel's objects, or the panel where it has none."""

    regions: int = 8


class GatedTanh(nn.Module):
    """tanh(W x + b) * sigmoid(W' x + b'), both maps in one."""

    def __init__(self, config: MatrixConfig, size: int) -> None:
        super().__init__()
        self.both = PanelLinear(config, size, 2 * config.hidden)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, panels: Tensor, start: int) -> Tensor:
        """n of the sixteen panels, from `start` on: (B, n, D) -> (B, n, H)."""
        value, gate = self.both(panels, start).chunk(2, dim=2)  # (B, n, H) each
        gated: Tensor = self.dropout(torch.tanh(value) * torch.sigmoid(gate))
        return gated


class VqaPanels(nn.Module):
    """Scores eight candidates by their product with a joint embedding of the three rows."""

    def __init__(self, config: MatrixConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.f1, self.f2, self.f3 = (GatedTanh(config, sizes["panels"]) for _ in range(3))
        self.heads = Heads(config)

    def forward(self, panels: Tensor) -> Predicted:
        """panels (B, 16, D) -> scores (B, 8)."""
        question = self.f2(panels[:, ROWS:CONTEXT], ROWS).sum(1)  # (B, H)
        return self.answer(panels[:, :ROWS], question, panels[:, CONTEXT:])

    def answer(self, rows: Tensor, question: Tensor, candidates: Tensor) -> Predicted:
        """rows (B, 6, D), question (B, H), candidates (B, 8, D) -> scores (B, 8)."""
        h = self.f1(rows, 0).sum(1) * question  # (B, H)
        offered = self.f3(candidates, CONTEXT)  # (B, 8, H)
        predicted: Predicted = self.heads(torch.einsum("bh,bch->bc", h, offered), h)
        return predicted


class VqaAttention(VqaPanels):
    """The same, looking at regions of the first two rows as the third row asks for."""

    def __init__(self, config: MatrixConfig, sizes: Mapping[str, int]) -> None:
        super().__init__(config, sizes)
        hidden = config.hidden
        self.region = nn.Linear(sizes["panels"], 2 * hidden)  # with `asked`, f4: linear in each half
        self.asked = nn.Linear(hidden, 2 * hidden, bias=False)
        self.weight = nn.Linear(hidden, 1, bias=False)

    def forward(self, panels: Tensor) -> Predicted:
        """panels (B, 16, R, D), zeros where a panel has fewer regions -> scores (B, 8)."""
        there = panels.abs().amax(3) > 0  # (B, 16, R)
        mean = nn.functional.normalize(panels.sum(2), dim=2)  # (B, 16, D)
        question = self.f2(mean[:, ROWS:CONTEXT], ROWS).sum(1)  # (B, H)
        regions = panels[:, :ROWS]  # (B, 6, R, D)
        value, gate = (self.region(regions) + self.asked(question)[:, None, None]).chunk(2, dim=3)  # (B, 6, R, H)
        asked = self.weight(torch.tanh(value) * torch.sigmoid(gate)).squeeze(3)  # (B, 6, R)
        attention = asked.masked_fill(~there[:, :ROWS], -1e9).softmax(2)  # (B, 6, R)
        seen = torch.einsum("bjr,bjrd->bjd", attention, regions)  # (B, 6, D)
        return self.answer(seen, question, mean[:, CONTEXT:])


def _regions(config: AttentionConfig) -> dict[str, Input]:
    if config.regions < 1:
        raise UserError(f"The option regions is {config.regions}.", "Attention needs 1 or more.")
    return {"panels": Panels(config.images, config.regions, pooled=False, centre=config.centre)}


MODEL = matrix_model("vqa", "a joint embedding of the rows, compared with each candidate", "4.4", VqaPanels)
ATTENTION = matrix_model(
    "vqa-attention",
    "the same with top-down attention over the panels' regions",
    "4.4 and supplement B",
    VqaAttention,
    AttentionConfig,
    _regions,
)
