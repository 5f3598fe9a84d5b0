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


class ResponseScorer(nn.Module):
    """Scores each candidate by its own words and, where it has them, those of the question."""

    def __init__(self, config: ResponsesConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        size = config.embedding, config.hidden, config.dropout
        self.response = SentenceEncoder(sizes["responses"], *size)
        self.question = SentenceEncoder(sizes["words"], *size) if "words" in sizes else None
        parts = 1 if self.question is None else 3
        self.output = perceptron([parts * config.hidden, config.hidden, 1], config.dropout, last_bias=False)

    def forward(self, responses: Tensor, words: Tensor | None = None) -> Tensor:
        """responses (B, C, T) ids, words (B, T) ids -> scores (B, C)."""
        read = self.response(responses.flatten(0, 1)).unflatten(0, responses.shape[:2])  # (B, C, H)
        parts = [read]
        if self.question is not None and words is not None:
            asked = self.question(words)[:, None].expand_as(read)  # (B, C, H)
            parts += [asked, read * asked]
        scores: Tensor = self.output(torch.cat(parts, dim=2)).squeeze(2)  # (B, C)
        return scores


def _model(name: str, summary: str, *sees: str) -> Architecture:
    def inputs(config: ResponsesConfig) -> dict[str, Input]:
        out: dict[str, Input] = {"responses": CandidateWords(config.least)}
        return out | ({"words": Words(config.least)} if "text" in sees else {})

    return Architecture(name, summary, "VCR section 6", ("choice",), ResponsesConfig, inputs, ResponseScorer, sees=sees)


RESPONSE_ONLY = _model("response-only", "each candidate text alone", "candidates")
QUESTION_ONLY = _model("question-only", "question and candidate texts, blind to the picture", "text", "candidates")
