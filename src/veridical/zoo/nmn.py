"""NMN: a network of modules for each sentence, by its parse (Andreas et al. 2016, "Neural module networks").

    layout       attend (`find`), re-attend (`relocate`), combine (`and`), measure (`count`, `total`, `boxes`) and
                 classify (`describe`), from the parse (section 4.2): `parsed_layouts`
    x_s          the mean of the vectors of the words that step s is about: modules of the same words share weights
    p            what the layout comes to, by the modules of section 4.1: `modules`
    s            [0, logit p] + W q                q: an LSTM over the sentence (section 4.3)

Of NLVR section 6.3: at most two leaves by default in the original, five in the paper's best. The paper's modules have
weights of their own for each word; here they are made of word vectors (as in the authors' next paper), so that a rare
word borrows from common ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from veridical.common.arrays import Ints
from veridical.zoo.architecture import Architecture, Example, Input
from veridical.zoo.eyes import EyesConfig, open_eyes, seen_inputs
from veridical.zoo.inputs import Vocabulary, text_words
from veridical.zoo.layouts import LONGEST, MODULES, NUMBER, Layout
from veridical.zoo.modules import Machine, evidence, shortest
from veridical.zoo.parsed_layouts import best_parser, layouts
from veridical.zoo.towers import Reader

MOST_WORDS = 7  # that a step is about
USED = tuple(name for name in MODULES if name not in ("", "filter", "or", "not"))


class ParsedLayouts(Vocabulary):
    """The layout of a sentence by its parse: (16, 1 + 7), a module and the ids of its words at each step.

    Every sentence is parsed once, all together.
    """

    def __init__(self, leaves: int, least: int = 1, parser: str = "") -> None:
        super().__init__(least)
        self.leaves, self.parser = leaves, parser
        self._known: dict[str, Layout] = {}

    def prepare(self, examples: Sequence[Example]) -> None:
        """Parse the sentences that are new."""
        self.parser = self.parser or best_parser()
        new = {sentence for sentence in map(_sentence, examples) if sentence not in self._known}
        self._known |= layouts(sorted(new), self.leaves, self.parser)

    def learn(self, examples: Sequence[Example]) -> None:
        self.prepare(examples)
        super().learn(examples)

    def grow(self, examples: Sequence[Example]) -> None:
        self.prepare(examples)
        super().grow(examples)

    def layout(self, example: Example) -> Layout:
        """The layout of an example."""
        if _sentence(example) not in self._known:
            self.prepare([example])
        return self._known[_sentence(example)]

    def texts(self, example: Example) -> Iterable[Iterable[str]]:
        return [step.words for step in self.layout(example)]

    def encode(self, example: Example) -> Ints:
        out = np.zeros((LONGEST, 1 + MOST_WORDS), np.int64)
        for row, step in zip(out, self.layout(example), strict=False):
            ids = self.number(step.words[:MOST_WORDS])
            row[0], row[1 : 1 + len(ids)] = NUMBER[step.module], ids
        return out


def _sentence(example: Example) -> str:
    query = example.query
    if query is not None and not query.tokens:
        return query.raw
    return " ".join(text_words(query, example.panels))


@dataclass(frozen=True)
class NmnConfig(EyesConfig):
    """Sizes of NMN."""

    leaves: int = 5  # most nouns of a layout; the original's default is 2
    parser: str = ""  # spacy, or words: cut by lists of words; empty: spacy where it is installed


class Nmn(nn.Module):
    """Scores false and true by the layout of the sentence, run over the panels."""

    def __init__(self, config: NmnConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.reader = Reader(config, sizes, two_way=False)
        self.words = nn.Embedding(sizes["layouts"], config.embedding, padding_idx=0)
        self.machine = Machine(open_eyes(config, sizes), config.embedding, config.modules, USED)
        self.prior = nn.Linear(config.hidden, 2)

    def forward(self, panels: Tensor, words: Tensor, layouts: Tensor) -> Tensor:
        """panels (B, P, 3, height, width) or slots (B, P, K, 14), words (B, T), layouts (B, 16, 8) -> scores (B, 2)."""
        steps = shortest(layouts[:, :, 0])  # (B, S)
        own = layouts[:, : steps.shape[1], 1:]  # (B, S, 7)
        count = (own != 0).sum(2, keepdim=True).clamp(min=1)  # (B, S, 1)
        texts = self.words(own).sum(2) / count**0.5  # (B, S, E)
        truth = self.machine(panels, steps, texts)  # (B,)
        scores: Tensor = evidence(truth) + self.prior(self.reader(words)[2])
        return scores


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
    training={"rate": 2e-3, "epochs": 40, "patience": 5.0, "weight_decay": 1e-5},
    sees=("text", "image"),
)
