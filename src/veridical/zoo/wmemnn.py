"""W-MemNN: a memory network that relates what it looked up (Pavez et al. 2018, "Working memory networks").

    m_k = relu(W v_k)                                memories: places of the tower's map (section 3.1)
    u   = LSTM(words)                                the question (a GRU in the paper)
    a_k = softmax_k(w_j tanh(A m_k + C u_p))         head j of the controller, over the places of panel p (section 3.2)
    o_p = R [sum_k a_k m_k, of each head]            kept in the working memory; then u_p = relu(T o_p), and another hop
    r   = mean_{i, j} g([o_i; o_j; u])               all pairs of the working memory (section 3.3; a sum in the paper)
    s   = verdict of sigmoid(fit of the heads), told [u; relu(r)]                       `verdict`; s = f(r) in the paper

A relation network would relate all pairs of places; this relates what the hops found: (hops x panels) squared pairs.
Where programs are known, the places that the heads of the first hop are sure of are also taught (`pointed`, `counted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture, bounded
from veridical.zoo.counted import SETS, Scores
from veridical.zoo.layers import perceptron
from veridical.zoo.pointed import TRUTHS
from veridical.zoo.towers import PanelConfig, Reader, Tower, by_panel, inputs, is_list, lessons, over_places, present
from veridical.zoo.verdict import RARE, RARE_CELLS, Verdict


@dataclass(frozen=True)
class WMemNNConfig(PanelConfig):
    """Sizes of W-MemNN."""

    hops: int = 2  # times that each panel is looked at
    heads: int = bounded(4, least=SETS)  # places that a look can be at, at least as many as sets that are counted
    memory: int = 64  # size of a memory
    relation: int = bounded(128, least=TRUTHS)  # width of g


class WMemNN(nn.Module):
    """Scores false and true from pairs of what was looked at."""

    def __init__(self, config: WMemNNConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.hops = config.hops
        self.tower = Tower(config, sizes)
        self.reader = Reader(config, sizes, two_way=False)
        self.memory = over_places(config)(config.channels, config.memory, 1)
        self.of_memory = nn.Linear(config.memory, config.memory)
        self.of_question = nn.Linear(config.hidden, config.memory, bias=False)
        self.heads = nn.Linear(config.memory, config.heads, bias=False)
        self.found = nn.Linear(config.heads * config.memory, config.memory)
        self.next = nn.Linear(config.memory, config.hidden)
        self.first = nn.Linear(config.memory, config.relation)
        self.second = nn.Linear(config.memory, config.relation, bias=False)
        self.asked = nn.Linear(config.hidden, config.relation, bias=False)
        self.relate = perceptron([config.relation, config.relation, config.relation], config.dropout)
        told = config.hidden + config.relation
        self.verdict = Verdict(config.hops * config.heads, 0, told, config.relation, config.dropout)
        self.rare = RARE if is_list(config) else RARE_CELLS

    def forward(self, panels: Tensor, words: Tensor, wanted: Tensor | None = None) -> Scores:
        """panels (B, P, 3, height, width) bytes, words (B, T) ids -> scores (B, 2)."""
        question = self.reader(words)[2]  # (B, H)
        maps = self.tower(panels)  # (B, P, C, h, w)
        memories = torch.relu(self.memory(maps.flatten(0, 1))).flatten(2).transpose(1, 2)
        memories = memories.reshape(*maps.shape[:2], *memories.shape[1:])  # (B, P, K, M)
        keys = self.of_memory(memories)  # (B, P, K, M)
        asked = question[:, None].expand(-1, maps.shape[1], -1)  # (B, P, H)
        there = by_panel(present(panels, maps.flatten(0, 1)), maps.shape[1])  # (B, P, K)
        kept, meant = [], []
        for hop in range(self.hops):
            fit = self.heads(torch.tanh(keys + self.of_question(asked)[:, :, None]))  # (B, P, K, J)
            shares = fit.masked_fill(there[..., None] == 0, -1e9).softmax(2)
            looked = shares.transpose(2, 3) @ memories  # (B, P, J, M)
            kept.append(self.found(looked.flatten(2)))  # (B, P, M)
            meant.append(fit + self.rare)
            if hop + 1 < self.hops:
                asked = torch.relu(self.next(kept[-1]))  # (B, P, H)
        working = torch.cat(kept, dim=1)  # (B, N, M), N = hops x panels
        # g's first layer is linear in each part, so each is computed once and pairs are sums
        pairs = self.first(working)[:, :, None] + self.second(working)[:, None]  # (B, N, N, R)
        related = self.relate(torch.relu(pairs + self.asked(question)[:, None, None]))  # (B, N, N, R)
        told = torch.cat([question, torch.relu(related).mean(dim=(1, 2))], dim=1)  # (B, H + R)
        scores: Tensor
        scores, more = self.verdict(torch.cat(meant, dim=3), there, None, told, wanted)
        return (scores, more) if self.training else scores


MODEL = Architecture(
    name="w-memnn",
    summary="looks at each panel in hops, and relates all pairs of what it found",
    paper="Pavez et al. 2018",
    tasks=("statement",),
    config=WMemNNConfig,
    inputs=inputs,
    module=WMemNN,
    targets=lessons,
    training={"rate": 1e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
