"""CNN-BiATT: words and places attend to each other (Tan and Bansal 2018, "Object ordering with bidirectional ...").

    h_t = BiLSTM(words)        g_k = W v_k        the state of word t; what the tower shows at place k
    B_tk = h_t' M g_k          c_t = sum_k softmax_k(B_tk) g_k        d_k = sum_t softmax_t(B_tk) h_t
    h^_t = relu(W1 [h_t; c_t; h_t - c_t; h_t * c_t])        g^_k = relu(W2 [g_k; d_k; g_k - d_k; g_k * d_k])
    h- = max_t BiLSTM(h^)      g- = [max, mean]_k conv3x3(g^)
    s = W4 relu(W3 max_p [h-; g-])

Written from the paper's abstract, introduction and summaries of it; its own equations were not at hand. The matching is
made in each panel and pooled over panels. The paper's pointer network orders objects of the structured
scene; over pixels there are none to order, and a convolution reads the places where the LSTM read objects (CNN-BiATT,
66.9 on dev). The mean beside the maximum over places is ours: it counts, and where programs
are known its first maps are taught to (`counted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture
from veridical.zoo.counted import SETS, Scores, close_to, targets
from veridical.zoo.layers import TwoWayReader, largest, perceptron
from veridical.zoo.towers import PanelConfig, Reader, Tower, inputs, with_places


@dataclass(frozen=True)
class BiattConfig(PanelConfig):
    """Sizes of CNN-BiATT."""

    strides: tuple[int, ...] = (2, 2, 2)  # of the tower's convolutions: a cell is their product of pixels wide
    channels: int = 64  # of the tower's maps


class CnnBiatt(nn.Module):
    """Scores false and true by the matching of words and places."""

    def __init__(self, config: BiattConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        width = config.hidden
        self.tower = Tower(config, sizes)
        self.reader = Reader(config, sizes)
        self.place = nn.Conv2d(config.channels + 2, width, 1)
        self.match = nn.Linear(width, width, bias=False)
        self.fuse_words = nn.Linear(4 * width, width)
        self.fuse_places = nn.Linear(4 * width, width)
        self.read_again = TwoWayReader(width, width)
        self.look_again = nn.Conv2d(width, width, 3, padding=1)
        self.dropout = nn.Dropout(config.dropout)
        self.output = perceptron([3 * width, width, 2], config.dropout)

    def forward(self, panels: Tensor, words: Tensor) -> Scores:
        """panels (B, P, 3, height, width) bytes, words (B, T) ids -> scores (B, 2)."""
        count = panels.shape[1]
        states, real, _ = self.reader(words)  # (B, T, H), (B, T)
        said = states.repeat_interleave(count, 0)  # (B P, T, H)
        real = real.repeat_interleave(count, 0)  # (B P, T)
        maps = self.place(with_places(self.tower(panels).flatten(0, 1)))  # (B P, H, h, w)
        seen = maps.flatten(2).transpose(1, 2)  # (B P, K, H)
        fit = self.match(said) @ seen.transpose(1, 2) / seen.shape[2] ** 0.5  # (B P, T, K)
        shown = fit.softmax(2) @ seen  # (B P, T, H): what each word is about
        meant = fit.masked_fill(~real[:, :, None], -1e9).softmax(1).transpose(1, 2) @ said  # (B P, K, H)
        heard = self.read_again(self.dropout(torch.relu(self.fuse_words(_fused(said, shown)))), real)  # (B P, T, H)
        looked = torch.relu(self.fuse_places(_fused(seen, meant)))  # (B P, K, H)
        grid = self.look_again(looked.transpose(1, 2).reshape(maps.shape)).flatten(2)  # (B P, H, K)
        each = torch.cat([largest(heard, real), grid.amax(2), torch.relu(grid).mean(2)], dim=1)  # (B P, 3 H)
        scores: Tensor = self.output(each.view(-1, count, each.shape[1]).amax(1))
        if not self.training:
            return scores
        numbers = torch.relu(grid[:, : SETS + 1]).reshape(-1, count, SETS + 1, grid.shape[2])  # (B, P, 5, K)
        return scores, close_to(numbers[:, :, :SETS].sum(dim=(1, 3)), numbers[:, :, SETS].amax(2).sum(1))


def _fused(own: Tensor, other: Tensor) -> Tensor:
    """(N, T, H) twice -> (N, T, 4 H)."""
    return torch.cat([own, other, own - other, own * other], dim=2)


MODEL = Architecture(
    name="cnn-biatt",
    summary="words and places of each panel attend to each other",
    paper="Tan and Bansal 2018",
    tasks=("statement",),
    config=BiattConfig,
    inputs=inputs,
    module=CnnBiatt,
    targets=targets,
    training={"rate": 1e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
