"""RevisitedVQA (VCR, section 6.1; Jabri et al. 2016, section 3).

    s_i = w relu(W [x; mean of the question's words; mean of response i's words])

x: the photograph as a whole. There is no attention and nothing is multiplied: it asks how far a perceptron comes.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from veridical.zoo.layers import perceptron
from veridical.zoo.objects import WHOLE, Objects
from veridical.zoo.vqa_parts import VQAConfig, vqa_model


class RevisitedVQA(nn.Module):
    """A perceptron over photograph, question and response."""

    def __init__(self, config: VQAConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.look = Objects(sizes, config.hidden, 0, config.dropout)
        known = config.hidden + sizes["query"] + sizes["responses"]
        self.output = perceptron([known, 4 * config.hidden, 1], config.dropout, last_bias=False)

    def forward(
        self,
        responses: Tensor,
        response_tags: Tensor,
        query: Tensor,
        query_tags: Tensor,
        classes: Tensor,
        places: Tensor,
        regions: Tensor | None = None,
        pixels: Tensor | None = None,
    ) -> Tensor:
        """responses (B, C, T, D), query (B, S, D), their tags, objects -> scores (B, C)."""
        each = responses.shape[1]
        whole = slice(0, WHOLE)  # of the objects, the photograph alone
        shown = None if regions is None else regions[:, whole]
        seen = self.look(classes[:, whole], places[:, whole], shown, pixels)  # (B, 1, H)
        said = responses.sum(2) / (response_tags > 0).sum(2, keepdim=True).clamp(min=1)  # (B, C, D); padding is zero
        asked = query.sum(1) / (query_tags > 0).sum(1, keepdim=True).clamp(min=1)  # (B, D)
        same = torch.cat([seen, asked[:, None]], dim=2).expand(-1, each, -1)  # (B, C, H + D)
        known = torch.cat([same, said], dim=2)  # (B, C, H + 2D)
        scores: Tensor = self.output(self.dropout(known)).squeeze(2)  # (B, C)
        return scores


MODEL = vqa_model(
    "revisited-vqa",
    "a perceptron over the whole photograph, question and response",
    "Jabri et al. 2016",
    RevisitedVQA,
    epochs=30,  # each is quick
)
