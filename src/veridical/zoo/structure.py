"""Models of the structured scene (NLVR section 6.2): MaxEnt, MLP, and image features+RNN; NLVR2's MAXENT (section 6).

    maxent          p(true | F) = sigmoid(b + sum_{f in F} w_f)
                    minimise  1/2 |w|^2 + C sum_i log(1 + exp(-y_i (b + w F_i)))
    structure-mlp   x = 1/|F| sum_{f in F} e_f        s = W relu(x + b) + c
    structure-rnn   s = W2 relu(W1 [facts; LSTM(w_1 .. w_T)] + b1) + b2                       p = softmax(s)

F are the features of `veridical.zoo.facts`, properties and counts of the scene crossed with n-grams of the sentence;
of `maxent-objects` those of `veridical.zoo.detections`, numbers of detected objects of photographs.
MaxEnt's optimiser is scikit-learn's, on a sparse matrix of ones. The MLP's own matrix is folded into the embeddings
(the mean is linear), so that there is one table to learn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from veridical.common.arrays import Array, Doubles, Ints
from veridical.errors import UserError, in_the_way, missing_extra
from veridical.zoo.architecture import Architecture, Encoded, Input
from veridical.zoo.detections import DetectedCrossed
from veridical.zoo.facts import LONGEST, Crossed, SceneFacts
from veridical.zoo.inputs import FIRST, Words
from veridical.zoo.layers import SentenceEncoder, perceptron


@dataclass(frozen=True)
class CrossedConfig:
    """Which features of sentence and scene there are."""

    properties: bool = True  # property features
    counts: bool = True  # count features; without them the paper loses 10 points
    longest: int = LONGEST  # words of an n-gram
    least: int = 2  # training items a feature must occur in


def _crossed(config: CrossedConfig) -> dict[str, Input]:
    """The one input of MaxEnt and the MLP."""
    return {"features": Crossed(**{f.name: getattr(config, f.name) for f in fields(CrossedConfig)})}


@dataclass(frozen=True)
class MaxEntConfig(CrossedConfig):
    """Strength of the classifier."""

    strength: float = 0.03  # C: the smaller, the stronger the pull of weights to zero
    rounds: int = 100  # of the optimiser at most (appendix A.5 of the NLVR2 draft)


@dataclass(frozen=True)
class MaxEntObjectsConfig:
    """Which n-grams there are, and the strength of the classifier."""

    longest: int = LONGEST  # words of an n-gram
    least: int = 2  # training items a feature must occur in
    strength: float = 0.03  # C: the smaller, the stronger the pull of weights to zero
    rounds: int = 100  # of the optimiser at most (appendix A.5 of the NLVR2 draft)


class MaxEnt:
    """A MaxEnt classifier of true and false."""

    def __init__(self, config: MaxEntConfig | MaxEntObjectsConfig) -> None:
        self.config = config
        self.arrays: dict[str, Array] = {}

    def fit(self, encoded: Sequence[Encoded], answers: Ints, candidates: int) -> None:
        """Learn a weight per feature."""
        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError as error:
            raise in_the_way(error) or missing_extra("scikit-learn", "models") from None
        if len(np.unique(answers)) < 2:
            raise UserError("All training items have the same answer.", "Train on items with both answers.")
        size = 1 + max((int(row["features"].max(initial=FIRST)) for row in encoded), default=FIRST)
        found = LogisticRegression(C=self.config.strength, solver="liblinear", max_iter=self.config.rounds)
        found.fit(_matrix(encoded, size), answers)
        self.arrays = {"weights": found.coef_[0].astype(np.float32), "bias": found.intercept_.astype(np.float32)}

    def scores(self, encoded: Sequence[Encoded]) -> Doubles:
        """Logarithms of the probabilities of false and true, (N, 2)."""
        weights = self.arrays["weights"]
        logits = _matrix(encoded, len(weights)) @ weights + self.arrays["bias"]  # (N,)
        return np.column_stack([-np.logaddexp(0, logits), -np.logaddexp(0, -logits)])


def _matrix(encoded: Sequence[Encoded], size: int) -> Any:
    """Ones where an example has a feature, (N, size); ids that training did not use are left out."""
    from scipy import sparse

    rows = [ids[ids < size] for ids in (row["features"] for row in encoded)]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(rows), size))


@dataclass(frozen=True)
class StructureMlpConfig(CrossedConfig):
    """Sizes of the MLP."""

    embedding: int = 16  # size of a feature's vector
    dropout: float = 0.0  # of the mean
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
        scores: Tensor = self.output(self.dropout(torch.relu(mean + self.bias)))
        return scores


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
        scores: Tensor = self.output(both)
        return scores


def _model(
    name: str, summary: str, config: type[Any], inputs: Callable[[Any], dict[str, Input]], **more: Any
) -> Architecture:
    paper, sees = "NLVR section 6.2", ("text", "structure")
    return Architecture(name, summary, paper, ("statement",), config, inputs, sees=sees, **more)


MAXENT = _model(
    "maxent", "logistic regression on sentence-and-scene features", MaxEntConfig, _crossed, estimator=MaxEnt
)
MAXENT_OBJECTS = replace(
    MAXENT,
    name="maxent-objects",
    summary="logistic regression on numbers of detected objects, crossed with n-grams",
    paper="NLVR2 section 6",
    config=MaxEntObjectsConfig,
    inputs=lambda config: {"features": DetectedCrossed(longest=config.longest, least=config.least)},
)
MLP = _model(
    "structure-mlp",
    "a perceptron on the mean of embedded sentence-and-scene features",
    StructureMlpConfig,
    _crossed,
    module=StructureMlp,
    training={"batch": 128, "rate": 0.05, "schedule": "linear", "epochs": 8},
)
RNN = _model(
    "structure-rnn",
    "facts of the scene and the sentence, concatenated",
    StructureRnnConfig,
    lambda config: {"facts": SceneFacts(config.least_facts), "words": Words(config.least)},
    module=StructureRnn,
    training={"batch": 128, "patience": 6.0, "epochs": 20, "weight_decay": 0.05},
)
