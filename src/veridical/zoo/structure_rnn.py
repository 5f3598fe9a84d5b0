"""Image features+RNN (NLVR section 6.2): facts of the structured scene and an LSTM over the sentence, joined.

s = W2 relu(W1 [facts; LSTM(w_1 .. w_T)] + b1) + b2        p = softmax(s)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.inputs import SceneFacts, Words
from veridical.zoo.layers import SentenceEncoder, perceptron


@dataclass(frozen=True)
class StructureRnnConfig:
    """Sizes of image features+RNN."""

    embedding: int = 64  # size of a word vector
    hidden: int = 64  # size of the LSTM's state
    width: int = 512  # of the perceptron: a fact, a number and a noun must meet in one of its units
    dropout: float = 0.5  # of word vectors, the sentence and the perceptron
    least: int = 2  # times a word must occur in training to have a vector of its own
    least_facts: int = 20  # training items a fact must hold in


class StructureRnn(nn.Module):
    """Scores false and true from the facts of the scene and the sentence."""

    def __init__(self, config: StructureRnnConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.sentence = SentenceEncoder(sizes["words"], config.embedding, config.hidden, config.dropout)
        self.output = perceptron([sizes["facts"] + config.hidden, config.width, 2], config.dropout)

    def forward(self, facts: Tensor, words: Tensor) -> Tensor:
        """facts (B, D) zeros and ones, words (B, T) ids -> scores (B, 2)."""
        both = torch.cat([facts, self.sentence(words)], dim=1)  # (B, D + H)
        return self.output(both)


MODEL = Architecture(
    name="structure-rnn",
    summary="facts of the scene and the sentence, concatenated",
    paper="NLVR section 6.2",
    tasks=("statement",),
    config=StructureRnnConfig,
    inputs=lambda config: {"facts": SceneFacts(config.least_facts), "words": Words(config.least)},
    module=StructureRnn,
    training={"batch": 128, "patience": 6.0, "epochs": 20, "weight_decay": 0.05},
    sees=("text", "structure"),
)
