"""NMN: a network of modules for each sentence, by its parse (Andreas et al. 2016, "Neural module networks").

    layout       attend (`find`), re-attend (`relocate`), combine (`and`), measure (`count`, `total`, `boxes`) and
                 classify (`describe`), from the parse (section 4.2): `parsed_layouts`
    x_s          the sum of the vectors of the n words that step s is about, over the root of n: modules of the same
                 words share weights
    p            what the layout comes to, by the modules of section 4.1: `modules`
    s            [0, logit p] + W q                q: an LSTM over the sentence (section 4.3)

Of NLVR section 6.3: at most two leaves by default in the original, five in the paper's best. The paper's modules have
weights of their own for each word; here they are made of word vectors (as in the authors' next paper), so that a rare
word borrows from common ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, TypedDict

import numpy as np
import torch
from torch import Tensor, nn

from veridical.common.arrays import Ints
from veridical.zoo.architecture import Architecture, Example, Input, Target
from veridical.zoo.counted import SETS, Counted, Scores, close_to, program_sets
from veridical.zoo.counted import targets as counted
from veridical.zoo.eyes import EyesConfig, open_eyes, seen_inputs
from veridical.zoo.inputs import Vocabulary, text_words
from veridical.zoo.layouts import LONGEST, MODULES, NUMBER, Layout
from veridical.zoo.modules import Machine, evidence, shortest
from veridical.zoo.parsed_layouts import best_parser, layouts, sets_of
from veridical.zoo.towers import Reader

MOST_WORDS = 7  # that a step is about
TRUTHS = ("count", "compare")  # modules that come to a truth of each panel
Parser = Literal["spacy", "words", ""]
USED = tuple(name for name in MODULES if name not in ("", "filter", "or", "not"))


class Parsed(TypedDict):
    """What a run keeps: another parser would give other layouts than those it was trained with."""

    parser: str
    words: list[str]


class ParsedLayouts(Vocabulary):
    """The layout of a sentence by its parse: (16, 2 + 7), a module, a set's number and the words' ids at each step.

    Every sentence is parsed once, all together.
    """

    state_shape = Parsed

    _known: ClassVar[dict[tuple[int, str], dict[str, Layout]]] = {}  # by leaves and parser; lessons look there too

    def __init__(self, leaves: int, least: int = 1, parser: str = "") -> None:
        super().__init__(least)
        self.leaves, self.parser = leaves, parser

    def prepare(self, examples: Sequence[Example]) -> None:
        """Parse the sentences that are new."""
        self.parser = self.parser or best_parser()
        known = self._known.setdefault((self.leaves, self.parser), {})
        new = {sentence for sentence in map(_sentence, examples) if sentence not in known}
        known |= layouts(sorted(new), self.leaves, self.parser)

    def learn(self, examples: Sequence[Example]) -> None:
        self.prepare(examples)
        super().learn(examples)

    def grow(self, examples: Sequence[Example]) -> None:
        self.prepare(examples)
        super().grow(examples)

    def layout(self, example: Example) -> Layout:
        """The layout of an example."""
        sentence = _sentence(example)
        if sentence not in self._known.get((self.leaves, self.parser), {}):
            self.prepare([example])
        return self._known[self.leaves, self.parser][sentence]

    def texts(self, example: Example) -> Iterable[Iterable[str]]:
        return [step.words for step in self.layout(example)]

    def encode(self, example: Example) -> Ints:
        out = np.zeros((LONGEST, 2 + MOST_WORDS), np.int64)
        layout = self.layout(example)
        for row, step, number in zip(out, layout, sets_of(layout), strict=False):
            ids = self.number(step.words[:MOST_WORDS])
            row[0], row[1], row[2 : 2 + len(ids)] = NUMBER[step.module], number, ids
        return out

    @property  # type: ignore[override]
    def state(self) -> Parsed:
        return {"parser": self.parser, "words": list(self.ids)}

    @state.setter
    def state(self, kept: Parsed) -> None:
        self.parser = kept["parser"]
        self.know(kept["words"])


def _sentence(example: Example) -> str:
    query = example.query
    if query is not None and not query.tokens:
        return query.raw
    return " ".join(text_words(query, example.panels))


@dataclass(frozen=True)
class NmnConfig(EyesConfig):
    """Sizes of NMN."""

    leaves: int = 5  # most nouns of a layout; the original's default is 2
    told: bool = False  # modules are told the whole sentence beside their own words: what a parse leaves out (ours)
    parser: Parser = ""  # spacy, or words: cut by lists of words; empty: spacy where it is installed


class Nmn(nn.Module):
    """Scores false and true by the layout of the sentence, run over the panels."""

    def __init__(self, config: NmnConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.reader = Reader(config, sizes, two_way=False)
        self.words = nn.Embedding(sizes["layouts"], config.embedding, padding_idx=0)
        self.machine = Machine(open_eyes(config, sizes), config.embedding, config.modules, USED)
        self.prior = nn.Linear(config.hidden, 2)
        self.told = nn.Linear(config.hidden, config.embedding, bias=False) if config.told else None

    def forward(self, panels: Tensor, words: Tensor, layouts: Tensor) -> Scores:
        """panels (B, P, 3, height, width) or slots (B, P, K, 14), words (B, T), layouts (B, 16, 9) -> scores (B, 2)."""
        steps = shortest(layouts[:, :, 0])  # (B, S)
        sets, own = layouts[:, : steps.shape[1], 1], layouts[:, : steps.shape[1], 2:]  # (B, S), (B, S, 7)
        count = (own != 0).sum(2, keepdim=True).clamp(min=1)  # (B, S, 1)
        texts = self.words(own).sum(2) / count**0.5  # (B, S, E)
        sentence = self.reader(words)[2]  # (B, H)
        if self.told is not None:
            texts = texts + self.told(sentence)[:, None]
        truth, numbers = self.machine(panels, steps, texts)  # (B,), (B, S)
        scores: Tensor = evidence(truth) + self.prior(sentence)
        if not self.training:
            return scores
        things = torch.stack([(numbers * (sets == n + 1)).sum(1) for n in range(SETS)], dim=1)  # (B, 4)
        inside = (steps == NUMBER[TRUTHS[0]]) | (steps == NUMBER[TRUTHS[1]])  # (B, S)
        first = inside & (inside.cumsum(1) == 1)
        return scores, close_to(things, (numbers * first).sum(1))


class ParsedCounts(Counted):
    """Counts of a program's sets, where the parse has as many: only then is it known which is which."""

    def __init__(self, parsed: ParsedLayouts) -> None:
        super().__init__()
        self.parsed = parsed

    def __call__(self, example: Example, name: str) -> list[str]:
        if example.item.program is None:
            return []
        layout = self.parsed.layout(example)
        things, boxes = program_sets(example.item.program)
        truths = sum(step.module in TRUTHS for step in layout)
        alike = len(boxes) == truths == 1 if name == "panels" else len(things) == max(sets_of(layout))
        return super().__call__(example, name) if alike else []


def _targets(config: NmnConfig) -> dict[str, Target]:
    lesson = ParsedCounts(ParsedLayouts(config.leaves, parser=config.parser))
    return {name: Target(target.names, partial(lesson, name=name)) for name, target in counted(config).items()}


def _inputs(config: NmnConfig) -> dict[str, Input]:
    return seen_inputs(config) | {"layouts": ParsedLayouts(config.leaves, config.least, config.parser)}


MODEL = Architecture(
    name="nmn",
    summary="modules put together by the parse of the sentence",
    paper="Andreas et al. 2016",
    tasks=("statement",),
    config=NmnConfig,
    inputs=_inputs,
    module=Nmn,
    targets=_targets,
    training={"rate": 3e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5, "auxiliary_weight": 0.2},
    sees=("text", "image"),
)
