"""Blind models for choices among texts: each candidate is scored alone (response only) or after the question (question
only: question and response, no picture). VCR section 6 uses both to show how much language alone gives away.

    r_i = LSTM(candidate i)        q = LSTM(question)        s_i = w2 relu(W1 [r_i; q; r_i * q] + b1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture, Input
from veridical.zoo.inputs import CandidateWords, Words
from veridical.zoo.layers import SentenceEncoder, perceptron


@dataclass(frozen=True)
class ResponsesConfig:
    """Sizes of the blind choice models."""

    embedding: int = 64  # size of a word vector
    hidden: int = 64  # size of the LSTMs' states, and width of the perceptron
    dropout: float = 0.3  # of word vectors, texts and the perceptron
    least: int = 2  # times a word must occur in training to have a vector of its own


class ResponseOnly(nn.Module):
    """Scores each candidate by its own words."""

    def __init__(self, config: ResponsesConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.response = SentenceEncoder(sizes["responses"], config.embedding, config.hidden, config.dropout)
        self.output = perceptron([config.hidden, config.hidden, 1], config.dropout, last_bias=False)

    def forward(self, responses: Tensor) -> Tensor:
        """responses (B, C, T) ids -> scores (B, C)."""
        batch, candidates, _ = responses.shape
        read = self.response(responses.flatten(0, 1))  # (B * C, H)
        scores: Tensor = self.output(read).view(batch, candidates)
        return scores


class QuestionOnly(nn.Module):
    """Scores each candidate by its own words and those of the question."""

    def __init__(self, config: ResponsesConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.response = SentenceEncoder(sizes["responses"], config.embedding, config.hidden, config.dropout)
        self.question = SentenceEncoder(sizes["words"], config.embedding, config.hidden, config.dropout)
        self.output = perceptron([3 * config.hidden, config.hidden, 1], config.dropout, last_bias=False)

    def forward(self, responses: Tensor, words: Tensor) -> Tensor:
        """responses (B, C, T) ids, words (B, T) ids -> scores (B, C)."""
        batch, candidates, _ = responses.shape
        read = self.response(responses.flatten(0, 1)).view(batch, candidates, -1)  # (B, C, H)
        asked = self.question(words)[:, None].expand_as(read)  # (B, C, H)
        scores: Tensor = self.output(torch.cat([read, asked, read * asked], dim=2)).squeeze(2)  # (B, C)
        return scores


def _model(name: str, summary: str, module: type[nn.Module], sees: tuple[str, ...]) -> Architecture:
    def inputs(config: ResponsesConfig) -> dict[str, Input]:
        out: dict[str, Input] = {"responses": CandidateWords(config.least)}
        return out | ({"words": Words(config.least)} if "text" in sees else {})

    return Architecture(name, summary, "VCR section 6", ("choice",), ResponsesConfig, inputs, module, sees=sees)


RESPONSE_ONLY = _model("response-only", "each candidate text alone", ResponseOnly, ("candidates",))
QUESTION_ONLY = _model(
    "question-only", "question and candidate texts, blind to the picture", QuestionOnly, ("text", "candidates")
)
