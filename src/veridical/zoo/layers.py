"""Parts that several architectures share: readers of words, a small CNN, attention, a multi-layer perceptron."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from veridical.errors import UserError


class SentenceEncoder(nn.Module):
    """Word embeddings and a one-layer LSTM; the sentence is its last output. Padding (id 0) has no influence."""

    def __init__(self, vocabulary: int, embedding: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, words: Tensor) -> Tensor:
        """words (N, T) ids -> (N, H)."""
        lengths = (words != 0).sum(1).clamp(min=1)  # (N,)
        states, _ = self.lstm(self.dropout(self.embedding(words)))  # (N, T, H)
        last: Tensor = states[torch.arange(len(words), device=words.device), lengths - 1]  # (N, H)
        dropped: Tensor = self.dropout(last)
        return dropped


class TwoWayReader(nn.Module):
    """A bidirectional LSTM over sequences of different lengths: padding has no influence, and its states are zero."""

    def __init__(self, inputs: int, width: int, layers: int = 1) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, half(width), layers, batch_first=True, bidirectional=True)

    def forward(self, words: Tensor, real: Tensor) -> Tensor:
        """words (N, T, D), real (N, T), the first of each sequence -> states (N, T, H)."""
        lengths = real.sum(1).clamp(min=1).cpu()  # (N,)
        packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=words.shape[1])
        found: Tensor = states * real[:, :, None]
        return found


class LastState(nn.Module):
    """A one-way GRU over word vectors; a text is its state after the last word. Padding has no influence."""

    def __init__(self, inputs: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.gru = nn.GRU(inputs, width, batch_first=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, words: Tensor, real: Tensor) -> Tensor:
        """words (N, T, D), real (N, T), the first of each text -> (N, H)."""
        states, _ = self.gru(self.dropout(words))  # (N, T, H)
        last = real.sum(1).clamp(min=1) - 1  # (N,)
        found: Tensor = states[torch.arange(len(words), device=words.device), last]
        return found


def half(width: int) -> int:
    """How wide the states of one direction are."""
    if width % 2:
        raise UserError(f"The option hidden is {width}.", "Give an even number: half of it is read in each direction.")
    return width // 2


def attend(keys: Tensor, values: Tensor, real: Tensor, divided: bool = True) -> Tensor:
    """keys (N, T, H), values (N, S, H), real (N, S) -> the mean of real values by their fit to each key: (N, T, H).

    A fit is a product, divided by the root of its width if not told otherwise.
    """
    fit = keys @ values.transpose(1, 2)  # (N, T, S)
    fit = fit / keys.shape[2] ** 0.5 if divided else fit
    shares = fit.masked_fill(~real[:, None, :], -1e9).softmax(2)
    meant: Tensor = shares @ values
    return meant


def largest(states: Tensor, real: Tensor) -> Tensor:
    """states (N, T, H), real (N, T) -> the largest of each number over real places: (N, H); of none, zero."""
    found = states.masked_fill(~real[:, :, None], -1e9).amax(1)
    return found * real.any(1, keepdim=True)


class PictureEncoder(nn.Module):
    """Three convolutions with ReLU, then an average over a coarse grid of places."""

    def __init__(self, channels: Sequence[int], grid: tuple[int, int] = (2, 6)) -> None:
        super().__init__()
        first, second, third = channels
        self.convolutions = nn.Sequential(
            nn.Conv2d(3, first, kernel_size=7, stride=4, padding=3),
            nn.ReLU(),
            nn.Conv2d(first, second, kernel_size=5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(second, third, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.grid = grid
        self.size = third * grid[0] * grid[1]

    def maps(self, pixels: Tensor) -> Tensor:
        """pixels (N, 3, height, width) bytes -> (N, third, height / 16, width / 16)."""
        scaled = pixels.float() / 127.5 - 1  # (N, 3, height, width) in -1..1
        found: Tensor = self.convolutions(scaled)
        return found

    def forward(self, pixels: Tensor) -> Tensor:
        """pixels (N, 3, height, width) bytes -> (N, size)."""
        return nn.functional.interpolate(self.maps(pixels), self.grid, mode="area").flatten(1)


def perceptron(sizes: Sequence[int], dropout: float = 0.0, last_bias: bool = True) -> nn.Sequential:
    """Linear layers of the given sizes with ReLU (and dropout) between them.

    Where one output scores every candidate, `last_bias=False`: a bias that all candidates share changes no softmax.
    """
    layers: list[nn.Module] = []
    for number, (before, after) in enumerate(itertools.pairwise(sizes), 2):
        is_last = number == len(sizes)
        layers += [nn.Linear(before, after, bias=last_bias or not is_last), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers[:-2])


def hidden_layers(count: int, width: int, dropout: float) -> nn.Sequential:
    """Linear layers of one width, every one followed by a ReLU (and dropout)."""
    layers: list[nn.Module] = []
    for _ in range(count):
        layers += [nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers)
