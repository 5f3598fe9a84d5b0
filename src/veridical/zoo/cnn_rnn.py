"""CNN+RNN, its blind halves and the majority (NLVR sections 6.1 and 6.3): an LSTM over the sentence, a CNN, both, none.

    majority  the logarithms of the answers' shares in training, whatever an item shows
    text      h = LSTM(w_1 .. w_T)        s = W h + b
    image     x = CNN(panels)             s = W3 relu(W2 relu(W1 x + b1) + b2) + b3
    cnn-rnn                               s = W2 relu(W1 [x; h] + b1) + b2                    p = softmax(s)

What the halves gain over the majority is bias of the language, or of the pictures: one never sees, the other never
reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from veridical.common.arrays import Array, Doubles, Ints
from veridical.records import TASKS
from veridical.zoo.architecture import Architecture, Encoded, Input
from veridical.zoo.inputs import Words
from veridical.zoo.layers import PictureEncoder, SentenceEncoder, perceptron
from veridical.zoo.panels import PanelPixels


@dataclass(frozen=True)
class MajorityConfig:
    """Nothing to choose."""


class Majority:
    """Scores are the logarithms of the answers' shares in training."""

    def __init__(self, config: MajorityConfig) -> None:
        self.arrays: dict[str, Array] = {}

    def fit(self, encoded: Sequence[Encoded], answers: Ints, candidates: int) -> None:
        """Count the answers."""
        self.arrays = {"answers": np.bincount(answers, minlength=candidates)}

    def scores(self, encoded: Sequence[Encoded]) -> Doubles:
        """The same scores for each, (N, C)."""
        seen = self.arrays["answers"].astype(np.float64)  # (C,)
        return np.tile(np.log((seen + 1) / (seen + 1).sum()), (len(encoded), 1))


@dataclass(frozen=True)
class TextConfig:
    """Sizes of the text-only model."""

    embedding: int = 64  # size of a word vector
    hidden: int = 64  # size of the LSTM's state
    dropout: float = 0.3  # of word vectors and the sentence
    least: int = 2  # times a word must occur in training to have a vector of its own


class TextOnly(nn.Module):
    """Scores false and true from the sentence alone."""

    def __init__(self, config: TextConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.sentence = SentenceEncoder(sizes["words"], config.embedding, config.hidden, config.dropout)
        self.output = nn.Linear(config.hidden, 2)

    def forward(self, words: Tensor) -> Tensor:
        """words (B, T) ids -> scores (B, 2)."""
        scores: Tensor = self.output(self.sentence(words))
        return scores


@dataclass(frozen=True)
class ImageConfig:
    """Sizes of the image-only model."""

    width: int = 66  # of a panel, in pixels: half of the published ones, a sixth of the time
    height: int = 50  # the same, from top to bottom
    channels: tuple[int, int, int] = (16, 32, 32)  # of the three convolutions
    hidden: int = 64  # width of the perceptron
    dropout: float = 0.2  # in the perceptron


class ImageOnly(nn.Module):
    """Scores false and true from the picture alone."""

    def __init__(self, config: ImageConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.picture = PictureEncoder(config.channels)
        self.output = perceptron([self.picture.size, config.hidden, config.hidden, 2], config.dropout)

    def forward(self, panels: Tensor) -> Tensor:
        """panels (B, P, 3, height, width) bytes -> scores (B, 2)."""
        scores: Tensor = self.output(self.picture(side_by_side(panels)))
        return scores


@dataclass(frozen=True)
class CnnRnnConfig:
    """Sizes of CNN+RNN."""

    width: int = 66  # of a panel, in pixels: half of the published ones, a sixth of the time
    height: int = 50  # the same, from top to bottom
    channels: tuple[int, int, int] = (16, 32, 32)  # of the three convolutions
    embedding: int = 64  # size of a word vector
    hidden: int = 64  # size of the LSTM's state, and width of the perceptron
    dropout: float = 0.3  # of word vectors, the sentence and the perceptron
    least: int = 2  # times a word must occur in training to have a vector of its own


class CnnRnn(nn.Module):
    """Scores false and true from the picture and the sentence."""

    def __init__(self, config: CnnRnnConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.picture = PictureEncoder(config.channels)
        self.sentence = SentenceEncoder(sizes["words"], config.embedding, config.hidden, config.dropout)
        self.output = perceptron([self.picture.size + config.hidden, config.hidden, 2], config.dropout)

    def forward(self, panels: Tensor, words: Tensor) -> Tensor:
        """panels (B, P, 3, height, width) bytes, words (B, T) ids -> scores (B, 2)."""
        both = torch.cat([self.picture(side_by_side(panels)), self.sentence(words)], dim=1)  # (B, D + H)
        scores: Tensor = self.output(both)
        return scores


def side_by_side(panels: Tensor) -> Tensor:
    """(B, P, 3, height, width) -> one picture of all panels (B, 3, height, P width)."""
    return panels.permute(0, 2, 3, 1, 4).flatten(3)


def _model(
    name: str, summary: str, section: str, module: type[nn.Module], config: type[Any], sees: tuple[str, ...]
) -> Architecture:
    def inputs(config: Any) -> dict[str, Input]:
        out: dict[str, Input] = {"panels": PanelPixels(config.width, config.height)} if "image" in sees else {}
        return out | ({"words": Words(config.least)} if "text" in sees else {})

    paper, training = f"NLVR section {section}", {"patience": 5.0} if "image" in sees else {}
    return Architecture(name, summary, paper, ("statement",), config, inputs, module, training=training, sees=sees)


MAJORITY = Architecture(
    name="majority",
    summary="the most common answer of training",
    paper="NLVR section 6.1",
    tasks=TASKS,
    config=MajorityConfig,
    inputs=lambda config: {},
    estimator=Majority,
)
TEXT = _model("text", "an LSTM over the sentence, blind to the picture", "6.1", TextOnly, TextConfig, ("text",))
IMAGE = _model("image", "a small CNN over the picture, deaf to the sentence", "6.1", ImageOnly, ImageConfig, ("image",))
CNN_RNN = _model("cnn-rnn", "picture and sentence, concatenated", "6.3", CnnRnn, CnnRnnConfig, ("text", "image"))
