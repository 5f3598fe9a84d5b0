"""CNN-BiATT: words and places attend to each other (Tan and Bansal 2018, "Object ordering with bidirectional ...").

    h_t = BiLSTM(words)        g_k = W v_k        the state of word t; what the tower shows at place k
    B_tk = h_t' M g_k / sqrt(H)          c_t = sum_k softmax_k(B_tk) g_k        d_k = sum_t softmax_t(B_tk) h_t
    h^_t = relu(W1 [h_t; c_t; h_t - c_t; h_t * c_t])        g^_k = relu(W2 [g_k; d_k; g_k - d_k; g_k * d_k])
    h- = max_t BiLSTM(h^)      g- = [max, mean]_k conv3x3(g^)
    s = verdict of sigmoid(the first maps of conv3x3(g^)) and [h-; g-] of each panel, told max_p [h-; g-]   `verdict`

Of the paper (section 2; its abstract and two summaries were at hand, its numbered equations were not): a two-way LSTM
reads the words; one matrix of bilinear scores is normalised both ways, so that words are matched with places and places
with words; each is fused with its match as [own; match; difference; product] and read again; the sub-images share all
weights and are pooled by a maximum. Its pointer network orders the objects of the structured scene, and is not here:
over pixels (CNN-BiATT, 66.9 on dev) there are none to order, and convolutions stand where its LSTMs read objects.

Ours: the mean beside the maximum over places; that places which a list of objects leaves empty are not matched; the
`verdict` after the pooling, in place of a perceptron; that the first maps of conv3x3(g^) are taught what they should
find where programs are known (`pointed`, `counted`); conv1x1 over a list of objects, whose neighbours are none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture, bounded
from veridical.zoo.counted import Scores
from veridical.zoo.layers import TwoWayReader, largest
from veridical.zoo.towers import PanelConfig, Reader, Tower, by_panel, inputs, is_list, lessons, over_places, present
from veridical.zoo.verdict import RARE, RARE_CELLS, SOFT, Verdict


@dataclass(frozen=True)
class BiattConfig(PanelConfig):
    """Sizes of CNN-BiATT."""

    strides: tuple[int, ...] = (2, 2, 2)  # of the tower's convolutions: a cell is their product of pixels wide
    hidden: int = bounded(128, least=SOFT)  # size of a word's state, of the sentence and of a place
    channels: int = bounded(64, least=2)  # of the tower's maps


class CnnBiatt(nn.Module):
    """Scores false and true by the matching of words and places."""

    def __init__(self, config: BiattConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        width = config.hidden
        self.tower = Tower(config, sizes)
        self.reader = Reader(config, sizes)
        self.place = over_places(config)(config.channels, width, 1)
        self.match = nn.Linear(width, width, bias=False)
        self.fuse_words = nn.Linear(4 * width, width)
        self.fuse_places = nn.Linear(4 * width, width)
        self.read_again = TwoWayReader(width, width)
        reach = 1 if is_list(config) else 3
        self.look_again = nn.Conv2d(width, width, reach, padding=reach // 2)
        self.dropout = nn.Dropout(config.dropout)
        self.verdict = Verdict(SOFT, 3 * width, 3 * width, width, config.dropout)
        self.rare = RARE if is_list(config) else RARE_CELLS

    def forward(self, panels: Tensor, words: Tensor, wanted: Tensor | None = None) -> Scores:
        """panels (B, P, 3, height, width) bytes, words (B, T) ids -> scores (B, 2)."""
        count = panels.shape[1]
        states, real, _ = self.reader(words)  # (B, T, H), (B, T)
        said = states.repeat_interleave(count, 0)  # (B P, T, H)
        real = real.repeat_interleave(count, 0)  # (B P, T)
        maps = self.place(self.tower(panels).flatten(0, 1))  # (B P, H, h, w)
        seen = maps.flatten(2).transpose(1, 2)  # (B P, K, H)
        fit = self.match(said) @ seen.transpose(1, 2) / seen.shape[2] ** 0.5  # (B P, T, K)
        there = present(panels, maps)  # (B P, K)
        shown = fit.masked_fill(there[:, None] == 0, -1e9).softmax(2) @ seen  # (B P, T, H): what each word is about
        meant = fit.masked_fill(~real[:, :, None], -1e9).softmax(1).transpose(1, 2) @ said  # (B P, K, H)
        heard = self.read_again(self.dropout(torch.relu(self.fuse_words(_fused(said, shown)))), real)  # (B P, T, H)
        looked = torch.relu(self.fuse_places(_fused(seen, meant)))  # (B P, K, H)
        grid = self.look_again(looked.transpose(1, 2).reshape(maps.shape)).flatten(2)  # (B P, H, K)
        found = torch.relu(grid) * there[:, None]
        each = by_panel(torch.cat([largest(heard, real), found.amax(2), found.mean(2)], dim=1), count)
        meant = by_panel((grid[:, :SOFT] + self.rare).transpose(1, 2), count)  # (B, P, K, 8)
        shown_in = by_panel(there, count)
        scores: Tensor
        scores, more = self.verdict(meant, shown_in, each, each.amax(1), wanted)  # each: (B, P, 3 H)
        return (scores, more) if self.training else scores


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
    targets=lessons,
    training={"rate": 1e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
