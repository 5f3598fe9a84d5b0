"""MLP (NLVR section 6.2): a single-layer perceptron on the mean of the embeddings of MaxEnt's features.

    x = 1/|F| sum_{f in F} e_f        s = W relu(x + b) + c        p = softmax(s)

The layer's own matrix is folded into the embeddings (the mean is linear), so that there is one table to learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.facts import LONGEST
from veridical.zoo.inputs import FIRST, Crossed


@dataclass(frozen=True)
class StructureMlpConfig:
    """Features and sizes of the MLP."""

    embedding: int = 16  # size of a feature's vector
    dropout: float = 0.0  # of the mean
    properties: bool = True  # property features
    counts: bool = True  # count features
    longest: int = LONGEST  # words of an n-gram
    least: int = 8  # training items a feature must occur in


class StructureMlp(nn.Module):
    """Scores false and true from the crossed features of sentence and scene."""

    def __init__(self, config: StructureMlpConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(sizes["features"], config.embedding, mode="mean", padding_idx=0)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        with torch.no_grad():
            self.embedding.weight[:FIRST] = 0
        self.bias = nn.Parameter(torch.zeros(config.embedding))
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.embedding, 2)

    def forward(self, features: Tensor) -> Tensor:
        """features (B, F) ids -> scores (B, 2)."""
        mean = self.embedding(features)  # (B, D)
        return self.output(self.dropout(torch.relu(mean + self.bias)))


MODEL = Architecture(
    name="structure-mlp",
    summary="a perceptron on the mean of embedded sentence-and-scene features",
    paper="NLVR section 6.2",
    tasks=("statement",),
    config=StructureMlpConfig,
    inputs=lambda c: {"features": Crossed(properties=c.properties, counts=c.counts, longest=c.longest, least=c.least)},
    module=StructureMlp,
    training={"batch": 128, "rate": 0.05, "schedule": "linear", "epochs": 8},
    sees=("text", "structure"),
)
