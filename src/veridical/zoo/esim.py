"""ESIM on frozen words in context (VCR's ESIM+ELMo, section 6.1; Chen et al. 2017, section 3).

    encode      q = BiLSTM(query)        r = BiLSTM(response)                                          (eq. 1, 2)
    align       e_ij = q_i . r_j        q~_i = sum_j softmax_j(e_ij) r_j    r~_j = sum_i softmax_i(e_ij) q_i    (11-13)
    enhance     m = [x; x~; x - x~; x * x~]                                                            (14, 15)
    compose     v = BiLSTM(relu(F m))        s = w2 tanh(W1 [mean v_q; max v_q; mean v_r; max v_r])    (18, 19)

It reads the text alone; people have gender-neutral names. The query is encoded once for all its responses.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.layers import TwoWayReader, attend, largest
from veridical.zoo.spoken import ReaderConfig, spoken_inputs


class ESIM(nn.Module):
    """Scores each response by how its words and those of the query answer each other."""

    def __init__(self, config: ReaderConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        width = config.hidden
        self.dropout = nn.Dropout(config.dropout)
        self.encode = TwoWayReader(sizes["responses"], width)
        self.enhance = nn.Linear(4 * width, width)  # F
        self.compose = TwoWayReader(width, width)
        self.hidden = nn.Linear(4 * width, width)
        self.output = nn.Linear(width, 1, bias=False)

    def forward(self, responses: Tensor, response_tags: Tensor, query: Tensor, query_tags: Tensor) -> Tensor:
        """responses (B, C, T, D), query (B, S, D), their tags (B, C, T), (B, S) -> scores (B, C)."""
        batch, each = responses.shape[:2]
        real = response_tags.flatten(0, 1) > 0  # (BC, T)
        there = (query_tags > 0).repeat_interleave(each, 0)  # (BC, S)
        said = self.encode(self.dropout(responses.flatten(0, 1)), real)  # (BC, T, H)
        asked = self.encode(self.dropout(query), query_tags > 0).repeat_interleave(each, 0)  # (BC, S, H)
        pooled = [*self._pooled(asked, said, there, real), *self._pooled(said, asked, real, there)]  # 4 of (BC, H)
        hidden = torch.tanh(self.hidden(self.dropout(torch.cat(pooled, dim=1))))  # (BC, H)
        scores: Tensor = self.output(self.dropout(hidden)).view(batch, each)
        return scores

    def _pooled(self, own: Tensor, other: Tensor, real: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """own (N, T, H), other (N, S, H), real (N, T), there (N, S) -> mean and maximum of what is composed: (N, H)."""
        meant = attend(own, other, there, divided=False)  # (N, T, H)
        enhanced = torch.cat([own, meant, own - meant, own * meant], dim=2)  # (N, T, 4H)
        composed = self.compose(self.dropout(torch.relu(self.enhance(enhanced))), real)  # (N, T, H), zero where padded
        return composed.sum(1) / real.sum(1, keepdim=True).clamp(min=1), largest(composed, real)


MODEL = Architecture(
    name="esim",
    summary="question and response aligned word by word, on frozen words in context; blind to the picture",
    paper="VCR section 6.1; Chen et al. 2017",
    tasks=("choice",),
    config=ReaderConfig,
    inputs=lambda config: spoken_inputs(config.words),
    module=ESIM,
    training={"batch": 32, "epochs": 8, "patience": 3.0, "weight_decay": 0.01},
    sees=("text", "candidates"),
)
