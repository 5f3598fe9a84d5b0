"""What NLVR's models share: a tower over each panel, a reader of the sentence, and the options of both.

    V_p = CNN([pixels_p; x; y])          the same weights for every panel; (x, y): where a cell is, in -1..1
    w_1 .. w_T = LSTM(words)             q = the state after the last word (of both directions, side by side)

Over maps that were made before (of an encoder, or of objects that a CNN learned to see) the tower is one convolution to
the model's width. A model file takes `inputs(config)`, a `Tower` and a `Reader`, and gets maps (B, P, C, h, w), states
(B, T, H) and the sentence (B, H).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from veridical.zoo.architecture import Input
from veridical.zoo.inputs import Words
from veridical.zoo.panels import PanelMaps, PanelPixels
from veridical.zoo.slots import SlotMaps

OBJECTS = ("objects", "object-list")
MOST_OBJECTS = 8  # of a panel


@dataclass(frozen=True)
class PanelConfig:
    """What panels and sentences are seen as; a model adds its own sizes."""

    width: int = 50  # of a panel, in pixels: NLVR's boxes at half their size
    height: int = 50
    joined: bool = False  # all panels side by side in one picture of that size (NLVR2's models: 530 x 416)
    maps: str = ""  # in place of pixels: an encoder's stored maps (efficientnet-lite0-map), or drawn objects that a CNN
    # learned to see first, on a map (`objects`) or as a list (`object-list`)
    seeing: int = 3000  # steps in which that CNN learns
    seen_by: str = ""  # a trial's folder (RUN/trial-0) whose CNN is taken as it is, instead of learning one
    channels: int = 48  # of the tower's maps
    strides: tuple[int, ...] = (2, 2)  # of the tower's convolutions: a cell is their product of pixels wide
    embedding: int = 64  # size of a word vector
    hidden: int = 128  # size of a word's state, and of the sentence
    dropout: float = 0.1  # of word vectors
    least: int = 2  # times a word must occur in training to have a vector of its own


def inputs(config: PanelConfig) -> dict[str, Input]:
    """`panels` and `words`."""
    return {"panels": _panels(config), "words": Words(config.least)}


def _panels(config: PanelConfig) -> Input:
    if config.maps in OBJECTS:
        return SlotMaps(MOST_OBJECTS, config.seeing, config.seen_by, listed=config.maps == OBJECTS[1])
    return PanelMaps(config.maps) if config.maps else PanelPixels(config.width, config.height, config.joined)


class ReaderConfig(Protocol):
    """What a reader asks of a config."""

    @property
    def embedding(self) -> int: ...
    @property
    def hidden(self) -> int: ...
    @property
    def dropout(self) -> float: ...


class Tower(nn.Module):
    """Convolutions with batch normalisation and ReLU over each panel and the places of its cells."""

    def __init__(self, config: PanelConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        seen = sizes["panels"] + 2
        for stride in (1,) if config.maps else config.strides:
            kernel = 1 if config.maps else 2 * stride + 1 if stride > 1 else 3
            convolution = nn.Conv2d(seen, config.channels, kernel, stride, kernel // 2, bias=False)
            layers += [convolution, nn.BatchNorm2d(config.channels), nn.ReLU()]
            seen = config.channels
        self.layers = nn.Sequential(*layers)

    def forward(self, panels: Tensor) -> Tensor:
        """panels (B, P, 3, height, width) bytes, or stored maps (B, P, D, h, w) -> (B, P, C, h, w)."""
        each = panels.flatten(0, 1)  # (B P, 3, height, width)
        scaled = each.float() / 127.5 - 1 if each.dtype == torch.uint8 else each
        found: Tensor = self.layers(with_places(scaled))  # (B P, C, h, w)
        return found.view(*panels.shape[:2], *found.shape[1:])


def with_places(maps: Tensor) -> Tensor:
    """(N, C, h, w) -> (N, C + 2, h, w): each cell also knows where it is."""
    count, _, height, width = maps.shape
    across = torch.linspace(-1, 1, width, device=maps.device).expand(count, 1, height, width)
    down = torch.linspace(-1, 1, height, device=maps.device)[:, None].expand(count, 1, height, width)
    return torch.cat([maps, across, down], dim=1)


class Reader(nn.Module):
    """An LSTM over the sentence, one-way or two-way: a state of each word, and the sentence; padding is nothing."""

    def __init__(self, config: ReaderConfig, sizes: Mapping[str, int], two_way: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes["words"], config.embedding, padding_idx=0)
        self.dropout = nn.Dropout(config.dropout)
        width = config.hidden // 2 if two_way else config.hidden
        self.lstm = nn.LSTM(config.embedding, width, batch_first=True, bidirectional=two_way)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """words (B, T) ids -> states (B, T, H), zero at padding; which words are real (B, T); the sentence (B, H)."""
        real = words != 0  # (B, T)
        lengths = real.sum(1).clamp(min=1).cpu()  # (B,)
        packed = pack_padded_sequence(self.dropout(self.embedding(words)), lengths, True, enforce_sorted=False)
        found, (last, _) = self.lstm(packed)  # last: (1 or 2, B, H or H / 2)
        states, _ = pad_packed_sequence(found, batch_first=True, total_length=words.shape[1])  # (B, T, H)
        return states * real[:, :, None], real, torch.cat(list(last), dim=1)
