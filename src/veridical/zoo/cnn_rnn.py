"""CNN+RNN (NLVR section 6.3): the picture of `image` and the sentence of `text`, joined in a perceptron.

s = W2 relu(W1 [CNN(pixels); LSTM(w_1 .. w_T)] + b1) + b2        p = softmax(s)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.inputs import Pixels, Words
from veridical.zoo.layers import PictureEncoder, SentenceEncoder, perceptron


@dataclass(frozen=True)
class CnnRnnConfig:
    """Sizes of CNN+RNN."""

    width: int = 200  # of the picture, in pixels: half of the published ones, a sixth of the time
    height: int = 50
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

    def forward(self, pixels: Tensor, words: Tensor) -> Tensor:
        """pixels (B, 3, height, width) bytes, words (B, T) ids -> scores (B, 2)."""
        both = torch.cat([self.picture(pixels), self.sentence(words)], dim=1)  # (B, D + H)
        return self.output(both)


MODEL = Architecture(
    name="cnn-rnn",
    summary="picture and sentence, concatenated",
    paper="NLVR section 6.3",
    tasks=("statement",),
    config=CnnRnnConfig,
    inputs=lambda config: {"pixels": Pixels(config.width, config.height), "words": Words(config.least)},
    module=CnnRnn,
    training={"patience": 5.0},
    sees=("text", "image"),
)
