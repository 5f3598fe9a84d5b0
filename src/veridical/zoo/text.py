"""Text only (NLVR section 6.1): an LSTM over the sentence and a softmax from its last output.

    h = LSTM(w_1 .. w_T)        s = W h + b        p = softmax(s)

What it gains over the majority is bias of the language: it never sees a picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.inputs import Words
from veridical.zoo.layers import SentenceEncoder


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
        return self.output(self.sentence(words))


MODEL = Architecture(
    name="text",
    summary="an LSTM over the sentence, blind to the picture",
    paper="NLVR section 6.1",
    tasks=("statement",),
    config=TextConfig,
    inputs=lambda config: {"words": Words(config.least)},
    module=TextOnly,
    sees=("text",),
)
