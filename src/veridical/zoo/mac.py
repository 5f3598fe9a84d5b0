"""MAC: a recurrent cell with control and memory apart (Hudson and Manning 2018, section 3.2).

    q_i = W_i q + b_i                                                                       step i = 1 .. p
    control   a_s = softmax_s(w (W [c_{i-1}; q_i] * w_s))        c_i = sum_s a_s w_s                  (c1, c2.1-c2.3)
    read      I = (W m_{i-1}) * (W k)     I' = W [I; k]     r_i = sum_k softmax_k(w (c_i * elu(I'))) k      (r1-r3)
    write     m = W [r_i; m_{i-1}]        m' = W_s sum_{j<i} softmax_j(w (c_i * c_j)) m_j + W_p m           (w1-w2)
              m_i = g m_{i-1} + (1 - g) m',  g = sigmoid(w c_i + b)                                         (w3)
    answer    s = W2 elu(W1 [q; m_p])

The knowledge k are the cells of all panels, each of which also knows in which panel it lies. Attention with softmax
says what is there, not how often; `sums` adds, as an option that the paper does not have, what a sigmoid in place of
the softmax finds, added up over the cells of each panel, and then the answer is the `verdict` of what the steps
counted, told [q; m_p]; where programs are known, these sets are also taught (`pointed`, `counted`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.errors import UserError
from veridical.zoo.architecture import Architecture, bounded
from veridical.zoo.counted import SETS, Scores
from veridical.zoo.towers import (
    PanelConfig,
    Reader,
    Tower,
    by_panel,
    inputs,
    is_list,
    lessons,
    over_places,
    present,
)
from veridical.zoo.verdict import RARE, RARE_CELLS, Verdict


@dataclass(frozen=True)
class MacConfig(PanelConfig):
    """Sizes of MAC; the paper's: 512 numbers everywhere, 12 steps."""

    cells: int = 6  # steps of reasoning, p
    channels: int = bounded(64, least=2)
    sums: bool = True  # also count what is attended to, panel by panel
    gate: float = 1.0  # b: at first, how much memory is kept


class Cell(nn.Module):
    """One step of control, reading and writing; all steps share its weights but `ask`."""

    def __init__(self, width: int, sums: bool, gate: float, rare: float) -> None:
        super().__init__()
        self.control, self.weigh_word = nn.Linear(2 * width, width), nn.Linear(width, 1, bias=False)
        self.from_memory, self.from_knowledge = nn.Linear(width, width), nn.Linear(width, width)
        self.combine, self.combine_known = nn.Linear(width, width), nn.Linear(width, width, bias=False)  # W [I; k]
        self.weigh_cell = nn.Linear(width, 1, bias=False)
        self.counted = nn.Linear(2 * width, width) if sums else None
        self.weigh_sum = nn.Linear(width, 1) if sums else None
        self.write = nn.Linear(2 * width, width)
        self.weigh_step = nn.Linear(width, 1, bias=False)
        self.earlier, self.own = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.gate = nn.Linear(width, 1)
        nn.init.constant_(self.gate.bias, gate)
        if self.weigh_sum is not None:
            nn.init.constant_(self.weigh_sum.bias, rare)

    def attend_words(self, asked: Tensor, control: Tensor, words: Tensor, real: Tensor) -> Tensor:
        """asked and control (B, D), words (B, T, D), real (B, T) -> the next control (B, D)."""
        wanted = self.control(torch.cat([control, asked], dim=1))  # (B, D)
        fit = self.weigh_word(wanted[:, None] * words).squeeze(2)  # (B, T)
        return torch.einsum("bt,btd->bd", fit.masked_fill(~real, -1e9).softmax(1), words)

    def know(self, knowledge: Tensor) -> tuple[Tensor, Tensor]:
        """knowledge (B, P, N, D) -> its parts of I and of I', the same in every step."""
        return self.from_knowledge(knowledge), self.combine_known(knowledge)

    def read(
        self, control: Tensor, memory: Tensor, knowledge: Tensor, known: tuple[Tensor, Tensor], there: Tensor
    ) -> tuple[Tensor, Tensor]:
        """control and memory (B, D), knowledge (B, P, N, D) and what is known of it, there (B, P, N) -> what was found
        (B, D), and logits of what is meant (B, P, N)."""
        both = self.combine(self.from_memory(memory)[:, None, None] * known[0]) + known[1]  # (B, P, N, D)
        fit = control[:, None, None] * functional.elu(both)  # (B, P, N, D)
        weights = self.weigh_cell(fit).squeeze(3).masked_fill(there == 0, -1e9)  # (B, P, N)
        shares = weights.flatten(1).softmax(1)  # (B, P N)
        found = torch.einsum("bn,bnd->bd", shares, knowledge.flatten(1, 2))
        if self.counted is None or self.weigh_sum is None:
            return found, weights
        meant = self.weigh_sum(fit).squeeze(3)  # (B, P, N)
        sums = ((torch.sigmoid(meant) * there)[..., None] * knowledge).sum(2)  # (B, P, D)
        counted = self.counted(torch.cat([sums, control[:, None].expand_as(sums)], dim=2))  # (B, P, D)
        return found + functional.elu(counted).sum(1), meant

    def remember(self, control: Tensor, found: Tensor, controls: list[Tensor], memories: list[Tensor]) -> Tensor:
        """What was found and all steps before -> the next memory (B, D)."""
        new = self.own(self.write(torch.cat([found, memories[-1]], dim=1)))
        before = torch.stack(controls, dim=1)  # (B, i, D)
        shares = self.weigh_step(control[:, None] * before).softmax(1)  # (B, i, 1)
        new = new + self.earlier((shares * torch.stack(memories, dim=1)).sum(1))
        keep = torch.sigmoid(self.gate(control))  # (B, 1)
        memory: Tensor = keep * memories[-1] + (1 - keep) * new
        return memory


class Mac(nn.Module):
    """Scores false and true after some steps of reasoning over the cells of all panels."""

    def __init__(self, config: MacConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        width = config.hidden
        if config.sums and config.cells < SETS:
            raise UserError(f"The option cells is {config.cells}.", f"Give {SETS} or more, or sums=False.")
        self.reader = Reader(config, sizes)
        self.tower = Tower(config, sizes)
        reach = 1 if config.maps else 3  # of a list, neighbours say nothing
        self.know = over_places(config)(config.channels, width, reach, padding=reach // 2)
        self.words = nn.Linear(width, width)
        self.asks = nn.ModuleList(nn.Linear(width, width) for _ in range(config.cells))
        self.cell = Cell(width, config.sums, config.gate, RARE if is_list(config) else RARE_CELLS)
        self.first_control, self.first_memory = (nn.Parameter(0.1 * torch.randn(width)) for _ in range(2))
        self.verdict = Verdict(config.cells, 0, 2 * width, width, config.dropout) if config.sums else None
        plain = nn.Linear(2 * width, width), nn.ELU(), nn.Dropout(config.dropout), nn.Linear(width, 2)
        self.output = None if config.sums else nn.Sequential(*plain)

    def forward(self, panels: Tensor, words: Tensor, wanted: Tensor | None = None) -> Scores:
        """panels (B, P, 3, height, width) bytes, words (B, T) ids -> scores (B, 2)."""
        states, real, sentence = self.reader(words)  # (B, T, D), (B, T), (B, D)
        said = self.words(states)
        maps = functional.elu(self.know(self.tower(panels).flatten(0, 1)))  # (B P, D, h, w)
        known = maps.flatten(2).transpose(1, 2).reshape(*panels.shape[:2], -1, maps.shape[1])  # (B, P, h w, D)
        there = by_panel(present(panels, maps), panels.shape[1])  # (B, P, h w)
        controls = [self.first_control.expand_as(sentence)]
        memories = [self.first_memory.expand_as(sentence)]
        parts = self.cell.know(known)
        meant: list[Tensor] = []  # (B, P, h w) of each step
        for ask in self.asks:
            control = self.cell.attend_words(ask(sentence), controls[-1], said, real)
            found, sure = self.cell.read(control, memories[-1], known, parts, there)
            meant.append(sure)
            memories.append(self.cell.remember(control, found, controls, memories))
            controls.append(control)
        told = torch.cat([sentence, memories[-1]], dim=1)  # (B, 2 D)
        if self.verdict is None:
            assert self.output is not None
            scores: Tensor = self.output(told)
            return scores
        scores, more = self.verdict(torch.stack(meant, dim=3), there, None, told, wanted)
        return (scores, more) if self.training else scores


MODEL = Architecture(
    name="mac",
    summary="a recurrent cell that attends to words, then to cells of the panels, and remembers",
    paper="Hudson and Manning 2018",
    tasks=("statement",),
    config=MacConfig,
    inputs=inputs,
    module=Mac,
    targets=lessons,
    training={"rate": 1e-3, "epochs": 40, "patience": 5.0, "clip": 2.0, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
