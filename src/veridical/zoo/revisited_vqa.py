"""RevisitedVQA (VCR, section 6.1; Jabri et al. 2016, section 3).

    s_i = w relu(W [x; mean of the question's words; mean of response i's words])

x: the photograph as a whole and, with `pointed`, the mean of the regions that question and response point at (see
`vqa_parts`). There is no attention and nothing is multiplied: it asks how far a perceptron comes.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from veridical.zoo.layers import perceptron
from veridical.zoo.objects import WHOLE, Objects
from veridical.zoo.vqa_parts import VQAConfig, named, vqa_model


class RevisitedVQA(nn.Module):
    """A perceptron over photograph, question and response."""

    def __init__(self, config: VQAConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.pointed = config.pointed
        self.look = Objects(sizes, config.hidden, config.around if config.pointed else 0, config.dropout)
        known = config.hidden * (1 + config.pointed) + sizes["query"] + sizes["responses"]
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
        shown = slice(0, None if self.pointed else WHOLE)  # of the objects, the photograph alone
        features = None if regions is None else regions[:, shown]
        seen = self.look(classes[:, shown], places[:, shown], features, pixels)  # (B, O, H)
        said = responses.sum(2) / (response_tags > 0).sum(2, keepdim=True).clamp(min=1)  # (B, C, D); padding is zero
        asked = query.sum(1) / (query_tags > 0).sum(1, keepdim=True).clamp(min=1)  # (B, D)
        known = [seen[:, None, 0].expand(-1, each, -1), asked[:, None].expand(-1, each, -1), said]
        if self.pointed:
            there = named(response_tags, query_tags, classes.shape[1])[..., WHOLE:].float()  # (B, C, O - 1)
            meant = there / there.sum(2, keepdim=True).clamp(min=1)  # of nothing pointed at, zero
            known.append(meant @ seen[:, WHOLE:])  # (B, C, H)
        scores: Tensor = self.output(self.dropout(torch.cat(known, dim=2))).squeeze(2)  # (B, C)
        return scores


MODEL = vqa_model(
    "revisited-vqa",
    "a perceptron over the whole photograph, question and response",
    "Jabri et al. 2016",
    RevisitedVQA,
    epochs=30,  # each is quick
)
