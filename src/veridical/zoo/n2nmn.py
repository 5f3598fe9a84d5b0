"""N2NMN: a policy writes the layout, modules run it (Hu et al. 2017, "Learning to reason: end-to-end module networks").

    h_i = BiLSTM(words)                              the encoder (section 3.2); w_i: the vector of word i
    d_t = LSTM(m_{t-1})     a_ti = softmax_i(v tanh(W1 h_i + W2 d_t))     c_t = sum_i a_ti h_i
    p(m_t) = softmax(W3 d_t + W4 c_t)                over modules that keep the layout whole    (equations 1 and 2)
    x_t = sum_i a_ti w_i                             what module t is about                     (equation 3)
    s   = [0, logit p] + W q                         p: what the layout comes to; q: the sentence

Learning (section 3.3; NLVR2 section 6): `programs` and `parse` clone layouts that are known in training, of
`Item.program` or of a parse (as Cirik et al. 2018 for NLVR2), with the loss -log p(layout) - 0.3 log sum a_ti over the
words i that can say what step t is about; a step of a parse is about all of its words, so that it is the mean of
log a_ti there. Where a program is known, steps are also taught how many things they come to (words and numbers are
ours; of a parse where it is known which of its steps is which set, as in `nmn`). `search` draws layouts and adds
(L - b) log p(layout) to the loss L, b the mean of a batch (REINFORCE): from scratch it is N2NMN-RL, continued from a
cloned run (`--pretrained`) N2NMN-TUNE. In use the most likely module is taken at each step: layouts are a lesson, and
a model that answers reads no layout, program or parse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.common.arrays import Ints
from veridical.language.programs.terms import parse
from veridical.language.reading.lexicon import read_words
from veridical.zoo.architecture import Architecture, Example, Input, Target
from veridical.zoo.counted import MOST, Counted, near
from veridical.zoo.eyes import EyesConfig, open_eyes, seen_inputs
from veridical.zoo.inputs import text_words
from veridical.zoo.layouts import ARITY, LONGEST, MODULES, NUMBER, Layout, program_layout
from veridical.zoo.modules import Machine, evidence, shortest
from veridical.zoo.nmn import TRUTHS, ParsedCounts, ParsedLayouts
from veridical.zoo.parsed_layouts import sets_of
from veridical.zoo.phrases import lemma
from veridical.zoo.towers import Reader

Learning = Literal["programs", "parse", "search"]
WORDS = 0.3  # what choosing other words than a known layout's weighs against its modules
SMALL = 1e-3  # the least share of words that counts
LESSONS = tuple(f"step-{number}" for number in range(LONGEST))  # what each step of a known layout comes to
ENTROPY = 0.01  # what the entropy of the policy weighs in search, against settling too early


class KnownLayouts:
    """The layout to clone, of the program or the parse of an item: (16, 1 + T), zeros where none is known.

    Each step is a module's number, and ones at the words of the sentence that may say what it is about.
    """

    per_view = False
    lesson = True
    state: None = None
    size = len(MODULES)

    def __init__(self, learning: Learning, leaves: int) -> None:
        self.learning = learning
        self.parsed = ParsedLayouts(leaves) if learning == "parse" else None
        self._known: dict[str, Layout | None] = {}

    def prepare(self, examples: Sequence[Example]) -> None:
        """Parse the sentences that are new."""
        if self.parsed is not None:
            self.parsed.prepare(examples)

    def learn(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def encode(self, example: Example) -> Ints:
        said = text_words(example.query, example.panels)
        out = np.zeros((LONGEST, 1 + len(said)), np.int64)
        forms = [{word, lemma(word), *read_words(word)} for word in said]
        for row, step in zip(out, self.layout(example) or (), strict=False):
            row[0] = NUMBER[step.module]
            row[1:] = [not form.isdisjoint(step.words) for form in forms]
        return out

    def layout(self, example: Example) -> Layout | None:
        """The layout of an example, where one is known."""
        program = example.item.program
        if self.parsed is not None:
            return self.parsed.layout(example)
        if self.learning != "programs" or program is None:
            return None
        if program not in self._known:
            self._known[program] = program_layout(parse(program))
        return self._known[program]


@dataclass(frozen=True)
class N2nmnConfig(EyesConfig):
    """Sizes of N2NMN, and what its layouts are learned from."""

    learning: Learning = "programs"  # what layouts are learned from; search: from rewards alone
    leaves: int = 5  # most nouns of a parsed layout
    policy: int = 64  # size of the decoder's state


class Policy(nn.Module):
    """Writes layouts: at each step a module, and which words it is about."""

    def __init__(self, config: N2nmnConfig) -> None:
        super().__init__()
        width = config.policy
        self.start = nn.Linear(config.hidden, width)
        self.last = nn.Embedding(len(MODULES), width)
        self.cell = nn.LSTMCell(width, width)
        self.of_words = nn.Linear(config.hidden, width)
        self.of_state = nn.Linear(width, width, bias=False)
        self.fit = nn.Linear(width, 1, bias=False)
        self.choose = nn.Linear(width + config.hidden, len(MODULES))
        arity = torch.tensor(list(ARITY.values()))
        self.register_buffer("arity", arity, persistent=False)
        self.arity: Tensor

    def forward(
        self, states: Tensor, real: Tensor, sentence: Tensor, known: Tensor | None, draw: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """states (B, T, H), real (B, T), sentence (B, H), known layouts (B, S) or None.

        Returns modules (B, S), shares of words (B, S, T), the log-probability of each layout (B,), entropies (B,).
        """
        hidden = torch.tanh(self.start(sentence))  # (B, W)
        memory = torch.zeros_like(hidden)
        module = torch.zeros(len(states), dtype=torch.long, device=states.device)  # (B,)
        depth, ended = torch.zeros_like(module), torch.zeros_like(module, dtype=torch.bool)
        keys = self.of_words(states)  # (B, T, W)
        steps, shares, chances, spread = [], [], [], []
        for step in range(LONGEST):
            hidden, memory = self.cell(self.last(module), (hidden, memory))  # (B, W)
            fit = self.fit(torch.tanh(keys + self.of_state(hidden)[:, None])).squeeze(2)  # (B, T)
            share = fit.masked_fill(~real, -1e9).softmax(1)  # (B, T)
            meant = (share[:, None] @ states).squeeze(1)  # (B, H)
            scores = self.choose(torch.cat([hidden, meant], dim=1))  # (B, M)
            scores = scores.masked_fill(~self._whole(depth, ended, LONGEST - step - 1), -1e9)
            chance = scores.log_softmax(1)  # (B, M)
            drawn = torch.multinomial(chance.exp(), 1).squeeze(1) if draw else scores.argmax(1)  # (B,)
            module = drawn if known is None else torch.where(known.any(1), known[:, step], drawn)
            chances.append(chance.gather(1, module[:, None]).squeeze(1).masked_fill(ended, 0))
            spread.append(-(chance.exp() * chance.clamp(min=-20)).sum(1).masked_fill(ended, 0))
            steps.append(module)
            shares.append(share)
            depth = depth + torch.where(module == 0, 0, 1 - self.arity[module])
            ended = ended | (module == 0)
            if bool(ended.all()):
                break
        stacked = [torch.stack(parts, dim=1) for parts in (steps, shares, chances, spread)]
        return stacked[0], stacked[1], stacked[2].sum(1), stacked[3].sum(1)

    def _whole(self, depth: Tensor, ended: Tensor, left: int) -> Tensor:
        """Which modules can still end in a whole layout with so many steps left: (B, M)."""
        after = depth[:, None] + 1 - self.arity[None]  # (B, M)
        fits = (self.arity[None] <= depth[:, None]) & (after - 1 <= left)
        fits[:, 0] = (depth == 1) | ended
        return torch.where(ended[:, None], torch.arange(len(MODULES), device=depth.device) == 0, fits)


class N2nmn(nn.Module):
    """Scores false and true by a layout that it writes itself."""

    def __init__(self, config: N2nmnConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.search, self.every = config.learning == "search", config.learning == "parse"
        self.reader = Reader(config, sizes)
        self.policy = Policy(config)
        self.machine = Machine(open_eyes(config, sizes), config.embedding, config.modules)
        self.prior = nn.Linear(config.hidden, 2)

    def forward(
        self, panels: Tensor, words: Tensor, layouts: Tensor | None = None
    ) -> Tensor | tuple[Tensor, dict[str, Tensor]]:
        """panels (B, P, 3, height, width) or slots (B, P, K, 14), words (B, T), known layouts (B, 16, 1 + T) -> (B, 2).

        In training also, of each example, log p(layout), how far its words are from known ones, the policy's entropy,
        and whether a known layout was followed.
        """
        states, real, sentence = self.reader(words)  # (B, T, H), (B, T), (B, H)
        told = layouts if self.training and not self.search else None  # (B, 16, 1 + T)
        known = None if told is None else told[:, :, 0]  # (B, 16)
        steps, shares, chance, spread = self.policy(states, real, sentence, known, draw=self.training)
        steps = shortest(steps)  # (B, S)
        shares = shares[:, : steps.shape[1]]  # (B, S, T)
        texts = shares @ self.reader.embedding(words)  # (B, S, E)
        truth, numbers = self.machine(panels, steps, texts)  # (B,), (B, S)
        scores: Tensor = evidence(truth) + self.prior(sentence)
        if not self.training:
            return scores
        if told is None or known is None:
            cloned, astray = torch.zeros_like(chance, dtype=torch.bool), torch.zeros_like(chance)
        else:
            meant = told[:, : steps.shape[1], 1:]  # (B, S, T)
            astray = unlike(shares, meant, self.every).sum(1)  # (B,)
            cloned = known.any(1)
        more = {"chance": chance, "astray": astray, "spread": spread, "cloned": cloned}
        if known is not None:
            more |= {name: near(number) for name, number in zip(LESSONS, numbers.unbind(1), strict=False)}  # (B, 13)
        return scores, more

    def loss(self, scores: Tensor, extra: Mapping[str, Tensor], answers: Tensor) -> Tensor:
        """Of the answers, and of layouts: those that are known are cloned, those that were drawn are rewarded."""
        own = functional.cross_entropy(scores, answers, reduction="none")  # (B,)
        cost = own.detach() - own.detach().mean()
        rewarded = cost * extra["chance"] - ENTROPY * extra["spread"]
        cloned = WORDS * extra["astray"] - extra["chance"]
        return (own + torch.where(extra["cloned"], cloned, rewarded)).mean()


def unlike(shares: Tensor, meant: Tensor, every: bool) -> Tensor:
    """How far shares of words (B, S, T) are from meant ones (B, S, T): from all of them, or from any of them. (B, S)

    >>> shares, meant = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]]), torch.tensor([[[1, 1], [1, 1]]])
    >>> [(found.abs() * 10).round().tolist() for found in (unlike(shares, meant, every) for every in (False, True))]
    [[[0.0, 0.0]], [[35.0, 7.0]]]
    """
    if every:
        logs = shares.clamp(min=SMALL).log()  # (B, S, T)
        return -(logs * meant).sum(2) / meant.sum(2).clamp(min=1)
    return -(shares * meant).sum(2).clamp(min=SMALL).log() * meant.any(2)


class StepCounts(Counted):
    """How many things, or boxes, each step of a layout comes to, as far as the program says."""

    def __init__(self, layouts: KnownLayouts) -> None:
        super().__init__()
        self.layouts = layouts
        self.parsed = None if layouts.parsed is None else ParsedCounts(layouts.parsed)

    def __call__(self, example: Example, name: str) -> list[str]:
        layout, number = self.layouts.layout(example) or (), LESSONS.index(name)
        if number >= len(layout):
            return []
        if self.parsed is not None:
            named = target_of(layout, number)
            return self.parsed(example, named) if named else []
        meant = layout[number].meant
        return [] if meant is None else self.count(meant, example)


def target_of(layout: Layout, number: int) -> str:
    """What a step of a parsed layout comes to, as `counted` names it; empty where that is not known."""
    of_set = sets_of(layout)[number]
    if of_set:
        return f"things-{of_set - 1}"
    truths = [place for place, step in enumerate(layout) if step.module in TRUTHS]
    return "panels" if truths[:1] == [number] else ""


def _targets(config: N2nmnConfig) -> dict[str, Target]:
    if config.learning == "search":
        return {}
    lesson, numbers = StepCounts(KnownLayouts(config.learning, config.leaves)), tuple(map(str, range(MOST + 1)))
    return {name: Target(numbers, partial(lesson, name=name)) for name in LESSONS}


def _inputs(config: N2nmnConfig) -> dict[str, Input]:
    return seen_inputs(config) | {"layouts": KnownLayouts(config.learning, config.leaves)}


MODEL = Architecture(
    name="n2nmn",
    summary="a policy writes the layout of modules, cloned from programs or a parse, or searched for",
    paper="Hu et al. 2017",
    tasks=("statement",),
    config=N2nmnConfig,
    inputs=_inputs,
    module=N2nmn,
    targets=_targets,
    training={"rate": 3e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
