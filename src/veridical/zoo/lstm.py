"""An LSTM over each response alone, on frozen words in context (VCR's LSTM+ELMo, section 6.1).

    h = BiLSTM(response)        s = w2 relu(W1 max_t h_t)

It reads neither the question nor the photograph: what it is right about, the responses give away.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.layers import TwoWayReader, largest, perceptron
from veridical.zoo.spoken import ReaderConfig, spoken_inputs


class ResponseLSTM(nn.Module):
    """Scores each response by itself."""

    def __init__(self, config: ReaderConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.read = TwoWayReader(sizes["responses"], config.hidden)
        self.output = perceptron([config.hidden, config.hidden, 1], config.dropout, last_bias=False)

    def forward(self, responses: Tensor, response_tags: Tensor) -> Tensor:
        """responses (B, C, T, D), their tags (B, C, T) -> scores (B, C)."""
        real = response_tags.flatten(0, 1) > 0  # (BC, T)
        states = self.read(self.dropout(responses.flatten(0, 1)), real)  # (BC, T, H)
        scores: Tensor = self.output(largest(states, real)).view(responses.shape[:2])
        return scores


MODEL = Architecture(
    name="lstm",
    summary="each response alone, by an LSTM on frozen words in context",
    paper="VCR section 6.1",
    tasks=("choice",),
    config=ReaderConfig,
    inputs=lambda config: spoken_inputs(config.words, query=False),
    module=ResponseLSTM,
    training={"batch": 32, "epochs": 8, "patience": 3.0, "weight_decay": 0.01},
    sees=("candidates",),
)
