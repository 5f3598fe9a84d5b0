"""FiLM: a sentence modulates convolutions, feature by feature (Perez et al. 2018, sections 2 and 3).

    FiLM(F | g, b) = g F + b                         g_n = 1 + W_n q, b_n = U_n q   for block n (section 2.1)
    x' = relu(conv1x1([x; places]))                  block n (section 3.1, figure 3)
    x  = x' + relu(FiLM(norm(conv3x3(x')) | g_n, b_n))
    m = conv1x1([x; places])     v_p = W [max, sum over cells of relu(m)]            of panel p
    s = verdict of sigmoid(m_1 .. m_8) and u_p = relu(FiLM(v_p | g, b))              `verdict`

q is the state of a GRU over the words in the paper, of an LSTM here; `film-sentence` takes the vector of a
frozen sentence encoder instead. The paper pools by the maximum alone; the sum beside it counts. Panels share all
weights, and meet in the last line, which is ours: CLEVR has one picture. Over a list of objects (`maps`) the
convolution of a block sees one object, and the tower what is around it. Where programs are known, the first maps
before pooling are also taught what they should find (`pointed`, `counted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture, Input, bounded
from veridical.zoo.counted import Scores
from veridical.zoo.probe import QueryVector
from veridical.zoo.towers import (
    PanelConfig,
    Reader,
    Tower,
    TowerConfig,
    by_panel,
    inputs,
    is_list,
    lessons,
    over_places,
    panels,
    present,
)
from veridical.zoo.verdict import FEW, RARE, RARE_CELLS, SOFT, Verdict

QUIET = -1.0  # of the maps before pooling, at first: most cells show nothing, and sums begin small


@dataclass(frozen=True)
class FilmSizes(TowerConfig):
    """Sizes of FiLM; the paper's: 128 channels, a GRU of 4,096, a classifier of 512 maps and 1,024 units."""

    strides: tuple[int, ...] = (2, 2, 2)  # of the tower's convolutions: a cell is their product of pixels wide
    blocks: int = 4  # residual blocks
    classifier: int = bounded(128, least=SOFT)  # maps before pooling, and width of the perceptron


@dataclass(frozen=True)
class FilmConfig(FilmSizes, PanelConfig):
    """With a reader of the sentence."""


@dataclass(frozen=True)
class FilmSentenceConfig(FilmSizes):
    """Told what the sentence is by a frozen encoder."""

    sentence: str = "minilm"  # any text encoder


class Block(nn.Module):
    """A residual block whose second half is modulated."""

    def __init__(self, config: TowerConfig) -> None:
        super().__init__()
        channels, reach = config.channels, 1 if is_list(config) else 3
        self.enter = over_places(config)(channels, channels, 1)
        self.convolution = nn.Conv2d(channels, channels, reach, padding=reach // 2, bias=False)
        self.norm = nn.BatchNorm2d(channels, affine=False)

    def forward(self, maps: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """maps (N, C, h, w), scale and shift (N, C) -> (N, C, h, w)."""
        entered = torch.relu_(self.enter(maps))
        found = self.norm(self.convolution(entered))
        return entered + torch.relu_(torch.addcmul(shift[:, :, None, None], scale[:, :, None, None], found))


class Film(nn.Module):
    """Scores false and true from the panels, modulated by the sentence."""

    def __init__(self, config: FilmConfig | FilmSentenceConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        asked = config.hidden if isinstance(config, FilmConfig) else sizes["sentence"]
        self.reader = Reader(config, sizes, two_way=False) if isinstance(config, FilmConfig) else None
        self.tower = Tower(config, sizes)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.blocks))
        self.leave = leaving(config, config.classifier)
        self.panel = nn.Linear(2 * config.classifier, config.classifier)
        self.widths = [config.channels] * config.blocks + [config.classifier]
        self.generator = nn.Linear(asked, 2 * sum(self.widths))
        self.verdict = Verdict(SOFT, config.classifier, asked, config.classifier, config.dropout)

    def forward(
        self,
        panels: Tensor,
        words: Tensor | None = None,
        sentence: Tensor | None = None,
        wanted: Tensor | None = None,
    ) -> Scores:
        """panels (B, P, 3, height, width) bytes, words (B, T) ids or sentence (B, D) -> scores (B, 2)."""
        if self.reader is not None and words is not None:
            sentence = self.reader(words)[2]  # (B, H)
        assert sentence is not None
        count = panels.shape[1]
        parts = self.generator(sentence).repeat_interleave(count, 0).split([2 * n for n in self.widths], dim=1)
        maps = self.tower(panels).flatten(0, 1)  # (B P, C, h, w)
        for block, part in zip(self.blocks, parts, strict=False):
            scale, shift = part.chunk(2, dim=1)  # (B P, C)
            maps = block(maps, 1 + scale, shift)
        told = self.leave(maps).flatten(2)  # (B P, D, h w)
        there = present(panels, maps)  # (B P, h w)
        found = torch.relu(told) * there[:, None]
        scale, shift = parts[-1].chunk(2, dim=1)  # (B P, D)
        pooled = torch.cat([found.amax(2), found.sum(2) / FEW], dim=1)  # (B P, 2 D)
        each = torch.relu((1 + scale) * self.panel(pooled) + shift)  # (B P, D)
        of_panels = (by_panel(one, count) for one in (told[:, :SOFT].transpose(1, 2), there, each))
        scores: Tensor
        scores, more = self.verdict(*of_panels, sentence, wanted)
        return (scores, more) if self.training else scores


def leaving(config: TowerConfig, width: int) -> nn.Conv2d:
    """The convolution to maps that are pooled: the first of them are soft sets, of which few things are members."""
    leave = over_places(config)(config.channels, width, 1)
    with torch.no_grad():
        bias = cast(Tensor, leave.bias)
        bias.fill_(QUIET)
        bias[:SOFT] = RARE if is_list(config) else RARE_CELLS
    return leave


def _with_sentence(config: FilmSentenceConfig) -> dict[str, Input]:
    return panels(config) | {"sentence": QueryVector("", config.sentence)}


MODEL = Architecture(
    name="film",
    summary="convolutions over each panel, modulated by the sentence",
    paper="Perez et al. 2018",
    tasks=("statement",),
    config=FilmConfig,
    inputs=inputs,
    module=Film,
    targets=lessons,
    training={"rate": 1e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
SENTENCE = Architecture(
    name="film-sentence",
    summary="FiLM told by a frozen sentence encoder",
    paper="Perez et al. 2018",
    tasks=("statement",),
    config=FilmSentenceConfig,
    inputs=_with_sentence,
    module=Film,
    targets=lessons,
    training=MODEL.training,
    sees=("text", "image"),
)
