"""A reasoner over object slots that are seen, not given: sets, their sizes and how they lie, asked for by the sentence.

Ours, not a paper's. The slots of a panel are what a small CNN finds in its pixels (`slots`); everything after it is
below, learned from labels alone: nothing parses the sentence and nothing executes a program.

    o_i = W [what slot i looks like; where it lies]                         c_m = sum_t softmax_t(q_m w_t) w_t
    in each round, for every instruction m of that round:
      f_im = sigmoid(o_i . A c_m)                                           how much slot i is meant
      r_ijm = sigmoid(g(how j lies to i) . B c_m)                           how much j stands in the asked relation
      n_im = sum_j r_ijm f_jm                                               how many such things it has
      k_bm = sum_{i in panel b} f_im                                        how many there are in the panel
      o_i += MLP([o_i; f_i; n_i; k_b]), scaled and shifted by the sentence
    k_b of all rounds, and of the slots as they are after the last
    panel  p_b = MLP(steps(k_b)), scaled and shifted          statement  s = MLP(steps(sum_b p_b, k))

While it trains on statements whose programs are known it also learns how many things its last instructions mean, and
of how many panels the statement holds (`targets`): the sets of the program, counted. Nothing of this is there later.

`steps` writes a soft number as sigmoids at 1/2, 3/2 ...: counts are compared, not only added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture, Input, bounded
from veridical.zoo.counted import SETS, Scores, close_to, targets
from veridical.zoo.inputs import Words
from veridical.zoo.layers import perceptron
from veridical.zoo.slots import LIES, LOOKS, MOST_SLOTS, PanelSlots, lies, looks
from veridical.zoo.towers import Reader
from veridical.zoo.verdict import NUMBERS, steps


@dataclass(frozen=True)
class SlotReasonerConfig:
    """Sizes of the reasoner, and how its slots are learned."""

    slots: int = bounded(8, most=MOST_SLOTS)  # of a panel, the most certain ones
    seeing: int = 3000  # steps in which the CNN learns to see, before anything else
    seen_by: str = ""  # a trial's folder (RUN/trial-0) whose CNN is taken as it is, instead of learning one
    embedding: int = 64  # size of a word vector
    hidden: int = 128  # size of a word's state
    width: int = 64  # of a slot
    rounds: int = 3  # of asking all slots again
    instructions: int = bounded(8, least=SETS)  # of a round
    panel: int = 64  # width of what is known of a panel
    dropout: float = 0.1  # of word vectors and in the last perceptron
    unread: float = 0.0  # share of words that are not read in training
    least: int = 2  # times a word must occur in training to have a vector of its own


class Meant(nn.Module):
    """How much each slot is meant by each instruction."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.slots, self.asked, self.bias = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, slots: Tensor, there: Tensor, asked: Tensor) -> Tensor:
        """slots (B, P, K, D), there (B, P, K), asked (B, M, D) -> (B, P, K, M)."""
        keys = self.asked(asked)  # (B, M, D)
        fit = torch.einsum("bpkd,bmd->bpkm", self.slots(slots), keys) / keys.shape[2] ** 0.5
        found: Tensor = torch.sigmoid(fit + self.bias(asked)[:, None, None, :, 0]) * there[..., None]
        return found


class Round(nn.Module):
    """One round: which slots are meant, what lies around them, how many there are."""

    def __init__(self, config: SlotReasonerConfig) -> None:
        super().__init__()
        width, many = config.width, config.instructions
        self.meant = Meant(width)
        self.geometry = nn.Sequential(nn.Linear(LIES, 24), nn.ReLU(), nn.Linear(24, 16))
        self.relation, self.relation_bias = nn.Linear(width, 16), nn.Linear(width, 1)
        self.enter = nn.Linear(width + 3 * many, 2 * width)
        self.film = nn.Linear(config.hidden, 4 * width)
        self.leave = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(
        self, slots: Tensor, pairs: Tensor, there: Tensor, asked: Tensor, said: Tensor
    ) -> tuple[Tensor, Tensor]:
        """slots (B, P, K, D), pairs (B, P, K, K, G), there (B, P, K), asked (B, M, D), said (B, H) -> the slots with
        what was found, and counts (B, P, M)."""
        fit = self.meant(slots, there, asked)  # (B, P, K, M)
        link = torch.einsum("bpijg,bmg->bpijm", self.geometry(pairs), self.relation(asked)) / 4
        link = torch.sigmoid(link + self.relation_bias(asked)[:, None, None, None, :, 0])  # (B, P, K, K, M)
        other = 1 - torch.eye(link.shape[2], device=link.device)[:, :, None]
        around = torch.einsum("bpijm,bpjm->bpim", link * other, fit)  # (B, P, K, M)
        counts = fit.sum(2)  # (B, P, M)
        known = torch.cat([slots, fit, torch.tanh(around), counts[:, :, None].expand_as(fit) / 4], dim=3)
        scale, shift = self.film(said)[:, None, None].chunk(2, dim=3)  # (B, 1, 1, 2 D)
        deeper = self.leave(torch.relu((1 + scale) * self.enter(known) + shift))  # (B, P, K, D)
        return self.norm(slots + deeper), counts


class SlotReasoner(nn.Module):
    """Scores false and true from slots and words."""

    def __init__(self, config: SlotReasonerConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.config = config
        width, rounds, many = config.width, config.rounds, config.instructions
        self.reader = Reader(config, sizes)
        self.words = nn.Linear(config.hidden + config.embedding, width)
        self.queries = nn.Linear(config.hidden, (rounds + 1) * many * width)
        self.look = nn.Linear(LOOKS, width)
        self.rounds = nn.ModuleList(Round(config) for _ in range(rounds))
        self.meant = Meant(width)
        counted = (rounds + 1) * many
        self.panel_in = nn.Linear(NUMBERS * counted, config.panel)
        self.panel_film = nn.Linear(config.hidden, 2 * config.panel)
        self.panel_out = nn.Linear(config.panel, config.panel)
        self.all_in = nn.Linear(NUMBERS * (counted + config.panel), 2 * config.panel)
        self.all_film = nn.Linear(config.hidden, 4 * config.panel)
        self.output = perceptron([2 * config.panel, config.panel, 2], config.dropout)

    def forward(self, slots: Tensor, words: Tensor) -> Scores:
        """slots (B, P, K, 14), words (B, T) ids -> scores (B, 2); in training also how many of each set, (B, 13)."""
        if self.training and self.config.unread:
            unread = (torch.rand(words.shape, device=words.device) < self.config.unread) & (words > 0)
            words = words.masked_fill(unread, 1)
        states, real, sentence = self.reader(words)  # (B, T, H), (B, T), (B, H)
        asked = self._instructions(words, states, real, sentence)  # (B, rounds + 1, M, D)
        there, pairs = slots[..., 0], lies(slots)  # (B, P, K), (B, P, K, K, G)
        seen = self.look(looks(slots))  # (B, P, K, D)
        counts = []
        for number, one in enumerate(self.rounds):
            seen, counted = one(seen, pairs, there, asked[:, number], sentence)
            counts.append(counted)
        counts.append(self.meant(seen, there, asked[:, -1]).sum(2))
        own = torch.cat(counts, dim=2)  # (B, P, N): N = (rounds + 1) M
        scale, shift = self.panel_film(sentence)[:, None].chunk(2, dim=2)  # (B, 1, D)
        panels = torch.sigmoid(self.panel_out(torch.relu((1 + scale) * self.panel_in(steps(own)) + shift)))  # (B, P, D)
        known = steps(torch.cat([own.sum(1), panels.sum(1)], dim=1))  # (B, 8 (N + D))
        scale, shift = self.all_film(sentence).chunk(2, dim=1)  # (B, 2 D)
        scores: Tensor = self.output(torch.relu((1 + scale) * self.all_in(known) + shift))
        if not self.training:
            return scores
        return scores, close_to(counts[-1].sum(1)[:, :SETS], panels[:, :, 0].sum(1))

    def _instructions(self, words: Tensor, states: Tensor, real: Tensor, sentence: Tensor) -> Tensor:
        """What to look for: parts of the sentence, (B, rounds + 1, M, D)."""
        said = self.words(torch.cat([states, self.reader.embedding(words)], dim=2))  # (B, T, D)
        queries = self.queries(sentence).view(len(words), -1, said.shape[2])  # (B, N, D)
        fit = queries @ said.transpose(1, 2) / said.shape[2] ** 0.5  # (B, N, T)
        shares = fit.masked_fill(~real[:, None], -1e9).softmax(2)
        found: Tensor = (shares @ said).view(len(words), self.config.rounds + 1, -1, said.shape[2])
        return found


def _inputs(config: SlotReasonerConfig) -> dict[str, Input]:
    return {"slots": PanelSlots(config.slots, config.seeing, config.seen_by), "words": Words(config.least)}


MODEL = Architecture(
    name="slot-reasoner",
    summary="soft sets over objects that a small CNN learned to see, asked for by the sentence",
    paper="ours, after Perez et al. 2018, Hudson and Manning 2018, Locatello et al. 2020",
    tasks=("statement",),
    config=SlotReasonerConfig,
    inputs=_inputs,
    module=SlotReasoner,
    targets=targets,
    training={
        "batch": 128,
        "rate": 1.5e-3,
        "schedule": "linear",
        "warmup": 200,
        "epochs": 30,
        "patience": 5.0,
        "weight_decay": 1e-4,
        "clip": 1.0,
        "auxiliary_weight": 0.2,
    },
    sees=("text", "image"),
)
