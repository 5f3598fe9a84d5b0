"""CMM: picture and sentence modulate each other, step by step (Yao et al. 2018, "Cascaded mutual modulation").

    V_i = FiLM block of V_{i-1}, modulated by q_{i-1}                         i = 1 .. N; section 2.2: as in `film`
    k_i = W [max, mean over cells of relu(conv1x1([V_i; places]))]            what was seen so far; shared by all steps
    a_t = softmax_t(w_i . (k_i * h_t))       q_i = sum_t a_t h_t              section 2.3: which words come next
    s   = verdict of sigmoid(the first maps of step N), u_p = relu(U [k_N; q_N]) of panel p, and q_0       `verdict`

h_t are the states of a two-way reader, q_0 its sentence. (A shift of the words beside the scale k_i would be the same
for every word, and no softmax changes by it.) Panels share all weights; each chooses its own words, and they meet in
the last line, which is ours. Where programs are known, the first maps before pooling are also taught what they should
find (`pointed`, `counted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture, bounded
from veridical.zoo.counted import Scores
from veridical.zoo.film import Block, leaving
from veridical.zoo.towers import PanelConfig, Reader, Tower, by_panel, inputs, lessons, present
from veridical.zoo.verdict import SOFT, Verdict


@dataclass(frozen=True)
class CmmConfig(PanelConfig):
    """Sizes of CMM; the paper's for NLVR: 128 channels, a two-way GRU of 1,024."""

    steps: int = 4  # of mutual modulation
    classifier: int = bounded(128, least=SOFT)  # maps before pooling, and width of the perceptron


class Summary(nn.Module):
    """What a map shows, as one vector."""

    def __init__(self, config: CmmConfig) -> None:
        super().__init__()
        self.leave = leaving(config, config.classifier)
        self.project = nn.Linear(2 * config.classifier, config.hidden)

    def forward(self, maps: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """maps (N, C, h, w), there (N, h w) -> (N, H), and what it is a summary of, (N, D, h w)."""
        told = self.leave(maps).flatten(2)  # (N, D, h w)
        found = torch.relu(told) * there[:, None]
        return self.project(torch.cat([found.amax(2), found.mean(2)], dim=1)), told


class Cmm(nn.Module):
    """Scores false and true from panels and sentence, each read again by what the other showed."""

    def __init__(self, config: CmmConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.tower = Tower(config, sizes)
        self.reader = Reader(config, sizes)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.steps))
        self.modulate = nn.ModuleList(nn.Linear(config.hidden, 2 * config.channels) for _ in range(config.steps))
        self.choose = nn.ModuleList(nn.Linear(config.hidden, 1, bias=False) for _ in range(config.steps))
        self.summary = Summary(config)
        self.panel = nn.Linear(2 * config.hidden, config.classifier)
        self.verdict = Verdict(SOFT, config.classifier, config.hidden, config.classifier, config.dropout)

    def forward(self, panels: Tensor, words: Tensor, wanted: Tensor | None = None) -> Scores:
        """panels (B, P, 3, height, width) bytes, words (B, T) ids -> scores (B, 2)."""
        count = panels.shape[1]
        states, real, sentence = self.reader(words)  # (B, T, H), (B, T), (B, H)
        each = states.repeat_interleave(count, 0)  # (B P, T, H)
        blank = ~real.repeat_interleave(count, 0)  # (B P, T)
        asked = sentence.repeat_interleave(count, 0)  # (B P, H)
        maps = self.tower(panels).flatten(0, 1)  # (B P, C, h, w)
        there = present(panels, maps)  # (B P, h w)
        seen = told = asked
        for block, modulate, choose in zip(self.blocks, self.modulate, self.choose, strict=True):
            scale, shift = modulate(asked).chunk(2, dim=1)  # (B P, C)
            maps = block(maps, 1 + scale, shift)
            seen, told = self.summary(maps, there)  # (B P, H), (B P, D, h w)
            fit = choose(seen[:, None] * each).squeeze(2)  # (B P, T)
            shares = fit.masked_fill(blank, -1e9).softmax(1)
            asked = (shares[:, :, None] * each).sum(1)  # (B P, H)
        each_panel = torch.relu(self.panel(torch.cat([seen, asked], dim=1)))  # (B P, D)
        of_panels = (by_panel(one, count) for one in (told[:, :SOFT].transpose(1, 2), there, each_panel))
        scores: Tensor
        scores, more = self.verdict(*of_panels, sentence, wanted)
        return (scores, more) if self.training else scores


MODEL = Architecture(
    name="cmm",
    summary="picture and sentence modulate each other, step by step",
    paper="Yao et al. 2018",
    tasks=("statement",),
    config=CmmConfig,
    inputs=inputs,
    module=Cmm,
    targets=lessons,
    training={"rate": 1e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
