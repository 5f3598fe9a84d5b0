"""CMM: picture and sentence modulate each other, step by step (Yao et al. 2018, "Cascaded mutual modulation").

    V_i = FiLM block of V_{i-1}, modulated by q_{i-1}                         i = 1 .. N; section 2.2: as in `film`
    k_i = W [max, mean over cells of relu(conv1x1([V_i; places]))]            what was seen so far; shared by all steps
    a_t = softmax_t(w_i . (k_i * h_t))       q_i = sum_t a_t h_t              section 2.3: which words come next
    s   = W2 relu(W1 [sum_p u_p; max_p u_p; q_0])        u_p = relu(U [k_N; q_N])   of panel p

h_t are the states of a two-way reader, q_0 its sentence. (A shift of the words beside the scale k_i would be the same
for every word, and no softmax changes by it.) Panels share all weights; each chooses its own words, and they meet in
the last line. Where programs are known, the first maps before pooling are also taught to count (`counted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.counted import SETS, Scores, close_to, targets
from veridical.zoo.film import Block
from veridical.zoo.layers import perceptron
from veridical.zoo.towers import PanelConfig, Reader, Tower, inputs, with_places


@dataclass(frozen=True)
class CmmConfig(PanelConfig):
    """Sizes of CMM; the paper's for NLVR: 128 channels, a two-way GRU of 1,024."""

    steps: int = 4  # of mutual modulation
    classifier: int = 128  # maps before pooling, and width of the perceptron


class Summary(nn.Module):
    """What a map shows, as one vector."""

    def __init__(self, channels: int, maps: int, width: int) -> None:
        super().__init__()
        self.leave = nn.Conv2d(channels + 2, maps, 1)
        self.project = nn.Linear(2 * maps, width)

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        """maps (N, C, h, w) -> (N, H), and what it is a summary of, (N, D, h w)."""
        found = torch.relu(self.leave(with_places(maps))).flatten(2)  # (N, D, h w)
        return self.project(torch.cat([found.amax(2), found.mean(2)], dim=1)), found


class Cmm(nn.Module):
    """Scores false and true from panels and sentence, each read again by what the other showed."""

    def __init__(self, config: CmmConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.tower = Tower(config, sizes)
        self.reader = Reader(config, sizes)
        self.blocks = nn.ModuleList(Block(config.channels) for _ in range(config.steps))
        self.modulate = nn.ModuleList(nn.Linear(config.hidden, 2 * config.channels) for _ in range(config.steps))
        self.choose = nn.ModuleList(nn.Linear(config.hidden, 1, bias=False) for _ in range(config.steps))
        self.summary = Summary(config.channels, config.classifier, config.hidden)
        self.panel = nn.Linear(2 * config.hidden, config.classifier)
        self.output = perceptron([2 * config.classifier + config.hidden, config.classifier, 2], config.dropout)

    def forward(self, panels: Tensor, words: Tensor) -> Scores:
        """panels (B, P, 3, height, width) bytes, words (B, T) ids -> scores (B, 2)."""
        count = panels.shape[1]
        states, real, sentence = self.reader(words)  # (B, T, H), (B, T), (B, H)
        each = states.repeat_interleave(count, 0)  # (B P, T, H)
        blank = ~real.repeat_interleave(count, 0)  # (B P, T)
        asked = sentence.repeat_interleave(count, 0)  # (B P, H)
        maps = self.tower(panels).flatten(0, 1)  # (B P, C, h, w)
        seen = cells = asked
        for block, modulate, choose in zip(self.blocks, self.modulate, self.choose, strict=True):
            scale, shift = modulate(asked).chunk(2, dim=1)  # (B P, C)
            maps = block(maps, 1 + scale, shift)
            seen, cells = self.summary(maps)  # (B P, H), (B P, D, h w)
            fit = choose(seen[:, None] * each).squeeze(2)  # (B P, T)
            shares = fit.masked_fill(blank, -1e9).softmax(1)
            asked = (shares[:, :, None] * each).sum(1)  # (B P, H)
        each_panel = torch.relu(self.panel(torch.cat([seen, asked], dim=1)))  # (B P, D)
        found = each_panel.view(-1, count, each_panel.shape[1])  # (B, P, D)
        scores: Tensor = self.output(torch.cat([found.sum(1), found.amax(1), sentence], dim=1))
        if not self.training:
            return scores
        things = cells[:, :SETS].sum(2).view(-1, count, SETS).sum(1)  # (B, 4)
        return scores, close_to(things, found[:, :, 0].sum(1))


MODEL = Architecture(
    name="cmm",
    summary="picture and sentence modulate each other, step by step",
    paper="Yao et al. 2018",
    tasks=("statement",),
    config=CmmConfig,
    inputs=inputs,
    module=Cmm,
    targets=targets,
    training={"rate": 1e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
