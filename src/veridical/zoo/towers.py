"""What NLVR's models share: a tower over each panel, a reader of the sentence, and the options of both.

    V_p = CNN([pixels_p; x; y]) + u_p    the same weights for every panel; (x, y): where a cell is, in -1..1
    w_1 .. w_T = LSTM(words)             q = the state after the last word (of both directions, side by side)

u_p says which panel of the row it is, at first nothing: of a pair, sentences say "the left image".
Over maps that were made before (of an encoder, or of objects that a CNN learned to see) the tower is one convolution to
the model's width; over a list of objects, whose neighbours in the list are no neighbours, it also sees what lies around
each:

    V_i = relu(norm(W [looks_i; sum_{j != i} relu(A g_ij + B looks_j)]))     g_ij: how object j lies to i (`slots`)

A model file takes `inputs(config)`, a `Tower` and a `Reader`, and gets maps (B, P, C, h, w), states
(B, T, H) and the sentence (B, H).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from veridical.common import registry
from veridical.encoders import ENCODERS, open_encoder
from veridical.errors import UserError
from veridical.zoo.architecture import Input, Target, bounded
from veridical.zoo.counted import targets
from veridical.zoo.given import GivenObjects
from veridical.zoo.inputs import Words
from veridical.zoo.layers import half
from veridical.zoo.panels import PanelMaps, PanelPixels
from veridical.zoo.pointed import Pointed
from veridical.zoo.seen import SeenObjects
from veridical.zoo.slots import KINDS, LIES, SlotMaps, lies

OBJECTS = ("objects", "object-list")
GIVEN, SEEN = "given-objects", "seen-objects"
MOST_OBJECTS = 8  # of a drawn panel
MOST_PANELS = 3


@dataclass(frozen=True)
class TowerConfig:
    """What panels are seen as."""

    width: int = 50  # of a panel, in pixels: NLVR's boxes at half their size
    height: int = 50  # the same, from top to bottom
    joined: bool = False  # all panels side by side, squeezed into one picture of that size (NLVR2's is 530 x 416)
    maps: str = ""  # in place of pixels: an encoder's stored maps (efficientnet-lite0-map), or drawn objects that a CNN
    # learned to see first, on a map (`objects`) or as a list (`object-list`); other objects that were annotated in
    # training, seen by a CNN (`seen-objects`); or annotated ones (`given-objects`)
    seeing: int = 3000  # steps in which that CNN learns
    seen_by: str = ""  # a trial's folder (RUN/trial-0) whose CNN is taken as it is, instead of learning one
    channels: int = bounded(48, least=2)  # of the tower's maps
    strides: tuple[int, ...] = (2, 2)  # of the tower's convolutions: a cell is their product of pixels wide
    dropout: float = 0.1  # of word vectors, and in the last perceptron, where a model has them


@dataclass(frozen=True)
class PanelConfig(TowerConfig):
    """What panels and sentences are seen as; a model adds its own sizes."""

    embedding: int = 64  # size of a word vector
    hidden: int = 128  # size of a word's state, and of the sentence
    least: int = 2  # times a word must occur in training to have a vector of its own


def is_list(config: TowerConfig) -> bool:
    """Whether panels are lists of objects."""
    return config.maps in (OBJECTS[1], GIVEN, SEEN)


def inputs(config: PanelConfig) -> dict[str, Input]:
    """`panels` and `words`; over a list of objects also `wanted`, a lesson for training."""
    return panels(config) | {"words": Words(config.least)}


def panels(config: TowerConfig) -> dict[str, Input]:
    """What is seen of the panels."""
    if config.maps and config.joined:
        raise UserError("Panels are not joined where maps stand for pixels.", "Leave out `maps` or `joined`.")
    if config.maps == GIVEN:
        given = GivenObjects()
        return {"panels": given, "wanted": Pointed(given)}
    if config.maps == SEEN:
        seen = SeenObjects(config.seeing, config.seen_by)
        return {"panels": seen, "wanted": Pointed(seen)}
    if config.maps in OBJECTS:
        slots = SlotMaps(MOST_OBJECTS, config.seeing, config.seen_by, listed=is_list(config))
        own: dict[str, Input] = {"panels": slots}
        return own | {"wanted": Pointed(slots)} if is_list(config) else own
    if config.maps:
        if config.maps not in registry.names(ENCODERS, "encoders") or not open_encoder(config.maps).channels:
            mapped = (name for name in ENCODERS if open_encoder(name).channels)
            raise registry.unknown(config.maps, "encoder of maps", [*OBJECTS, SEEN, GIVEN, *mapped])
        return {"panels": PanelMaps(config.maps)}
    return {"panels": PanelPixels(config.width, config.height, config.joined)}


def lessons(config: TowerConfig) -> dict[str, Target]:
    """What more a model learns where programs are known: to count; over a list of objects it is pointed at them."""
    return {} if is_list(config) else targets(config)


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

    def __init__(self, config: TowerConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        self.around = Around(sizes["panels"] - 1) if is_list(config) else None
        seen = sizes["panels"] + (self.around.width if self.around is not None else 0)
        strides = (1,) if config.maps else config.strides
        for left, stride in zip(range(len(strides) - 1, -1, -1), strides, strict=True):
            kernel = 1 if config.maps else 3
            width = config.channels // 2 if left > 1 else config.channels  # on many cells, half of it
            kind = nn.Conv2d if layers else over_places(config)
            convolution = kind(seen, width, kernel, stride, kernel // 2, bias=False)
            layers += [convolution, nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            seen = width
        self.layers = nn.Sequential(*layers)
        self.which = nn.Parameter(torch.zeros(MOST_PANELS, config.channels))

    def forward(self, panels: Tensor) -> Tensor:
        """panels (B, P, 3, height, width) bytes, or stored maps (B, P, D, h, w) -> (B, P, C, h, w)."""
        each = panels.flatten(0, 1)  # (B P, 3, height, width)
        scaled = each.float() / 127.5 - 1 if each.dtype == torch.uint8 else each
        if self.around is not None:
            scaled = torch.cat([scaled, self.around(scaled)], dim=1)
        found: Tensor = self.layers(scaled)  # (B P, C, h, w)
        return found.view(*panels.shape[:2], *found.shape[1:]) + self.which[: panels.shape[1], :, None, None]


class Around(nn.Module):
    """What lies around each object of a list."""

    def __init__(self, seen: int, width: int = 64) -> None:
        super().__init__()
        self.width = width
        self.geometry, self.other = nn.Linear(LIES, width), nn.Linear(seen, width, bias=False)

    def forward(self, maps: Tensor) -> Tensor:
        """maps (N, 22 or more, K, 1) -> (N, width, K, 1)."""
        sure, seen = maps[:, 0, :, 0], maps[:, 1:, :, 0].transpose(1, 2)  # (N, K), (N, K, 21 or more)
        edges = (seen[..., KINDS : KINDS + 4] + 1) / 2
        pairs = lies(torch.cat([sure[..., None], seen[..., :KINDS], edges], dim=2))  # (N, K, K, 15)
        near = torch.relu(self.geometry(pairs) + self.other(seen)[:, None])  # (N, K, K, W): j around i
        there = (sure[:, None] > 0) & ~torch.eye(sure.shape[1], dtype=torch.bool, device=sure.device)  # (N, K, K)
        found = torch.einsum("nij,nijw->nwi", there.to(near.dtype), near)
        return found[..., None]


def present(panels: Tensor, like: Tensor) -> Tensor:
    """Which places of maps (B P, C, h, w) show something, (B P, h w): of a list of objects (B, P, 22, K, 1) those that
    are sure, of other maps all."""
    if panels.dtype != torch.uint8 and panels.shape[-1] == 1:
        return panels[:, :, 0].flatten(0, 1).flatten(1)
    return like.new_ones(len(like), like[0, 0].numel())


def by_panel(each: Tensor, count: int) -> Tensor:
    """(B P, ...) -> (B, P, ...)."""
    return each.reshape(-1, count, *each.shape[1:])


class Placed(nn.Conv2d):
    """A convolution over [maps; places], where places say of each cell how far across and down it lies, in -1..1.

    Places are the same for all maps: what they come to is computed once, and no map is copied to stand beside them.
    """

    def __init__(
        self, channels: int, width: int, kernel: int = 1, stride: int = 1, padding: int = 0, bias: bool = True
    ) -> None:
        super().__init__(channels + 2, width, kernel, stride, padding, bias=bias)

    def forward(self, maps: Tensor) -> Tensor:
        """maps (N, C, h, w) -> (N, width, h', w')."""
        own, of_places = self.weight[:, :-2], self.weight[:, -2:]
        found = functional.conv2d(maps, own, None, self.stride, self.padding)
        return found.add_(functional.conv2d(places(maps), of_places, self.bias, self.stride, self.padding))


def over_places(config: TowerConfig) -> type[nn.Conv2d]:
    """The convolution that sees where cells lie; a plain one over a list of objects, whose order says nothing."""
    return nn.Conv2d if is_list(config) else Placed


def places(maps: Tensor) -> Tensor:
    """Where the cells of maps (N, C, h, w) lie: (1, 2, h, w)."""
    height, width = maps.shape[2:]
    across = torch.linspace(-1, 1, width, device=maps.device).expand(height, width)
    down = torch.linspace(-1, 1, height, device=maps.device)[:, None].expand(height, width)
    return torch.stack([across, down])[None]


class Reader(nn.Module):
    """An LSTM over the sentence, one-way or two-way: a state of each word, and the sentence; padding is nothing."""

    def __init__(self, config: ReaderConfig, sizes: Mapping[str, int], two_way: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes["words"], config.embedding, padding_idx=0)
        self.dropout = nn.Dropout(config.dropout)
        width = half(config.hidden) if two_way else config.hidden
        self.lstm = nn.LSTM(config.embedding, width, batch_first=True, bidirectional=two_way)

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """words (B, T) ids -> states (B, T, H), zero at padding; which words are real (B, T); the sentence (B, H)."""
        real = words != 0  # (B, T)
        lengths = real.sum(1).clamp(min=1).cpu()  # (B,)
        packed = pack_padded_sequence(self.dropout(self.embedding(words)), lengths, True, enforce_sorted=False)
        found, (last, _) = self.lstm(packed)  # last: (1 or 2, B, H or H / 2)
        states, _ = pad_packed_sequence(found, batch_first=True, total_length=words.shape[1])  # (B, T, H)
        return states * real[:, :, None], real, torch.cat(list(last), dim=1)
