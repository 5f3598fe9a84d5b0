"""A probe over frozen encoders: the modern cheap baseline for every task (CLIP or SigLIP vectors for users with a hub).

    x = the panels' vectors, one after the other        y = the vector of the sentence or question
    u = U x    v = V x    t = T y                       z = [u; t; v * t; u * v]
    statements:  s = W2 relu(W1 z)                      choices and matrices:  a_i = A c_i
                                                        s_i = w2 relu(W1 [z; a_i; u * a_i; t * a_i])

The products let it compare panels with each other (u * v), with the text (v * t) and with candidate i, whose vector c_i
is of a text or of a panel. `hidden=0` leaves out the layer with relu, and for candidates z with it: what is the same
for all of them cannot choose. Without `images` or `texts` it is its own blind baseline. The vectors of panels must be
stored with the benchmark: `veridical features`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from veridical.common.arrays import Floats
from veridical.encoders import TextVectors, panel_key
from veridical.errors import UserError
from veridical.language.english import plain_names
from veridical.records import Panel, Text
from veridical.zoo.architecture import Architecture, Example, Input, or_none
from veridical.zoo.inputs import StoredVectors, scaled
from veridical.zoo.layers import perceptron


@dataclass(frozen=True)
class ProbeConfig:
    """Encoders and sizes of the probe."""

    images: str = "efficientnet-lite0"  # encoder of the panels; empty: it does not see
    texts: str = "minilm"  # encoder of sentences, questions and answers; empty: it does not read
    width: int = 128  # size of u, v, t and a_i
    hidden: int = or_none(128)  # width of the layer with relu; 0 for a probe without it
    dropout: float = 0.3  # of z and of that layer


class _Vectors(StoredVectors):
    """Floats of panels or texts by named encoders."""

    def __init__(self, images: str, texts: str) -> None:
        super().__init__(images)
        self._texts = texts
        self._text_vectors: TextVectors | None = None

    def _panels(self, example: Example, panels: Sequence[Panel]) -> Floats:
        """(P, D)"""
        if not self.encoder:
            raise UserError("These items need an encoder of images, and the option images is empty.", "Name one.")
        found = self.file(example)
        keys = [panel_key(panel) for panel in panels]
        if None in keys:
            raise UserError(
                f"Item {example.item.id} has a panel whose picture is not in the benchmark.",
                "Import it with its images, or leave them out with the option images=''.",
            )
        return scaled(found.rows([key for key in keys if key is not None]))

    def _read(self, texts: Sequence[str]) -> Floats:
        """(N, D)"""
        if not self._texts:
            raise UserError("These items need an encoder of texts, and the option texts is empty.", "Name one.")
        if self._text_vectors is None:
            self._text_vectors = TextVectors(self._texts)
        self.same_weights("texts", asdict(self._text_vectors.identity))
        return scaled(self._text_vectors.rows(texts))


class PanelVectors(_Vectors):
    """The vectors of an item's panels, one after the other, in the order of the view: (P * D,)."""

    per_view = True  # and made batch by batch: all vectors of a benchmark may be larger than memory

    def learn(self, examples: Sequence[Example]) -> None:
        most = max(examples, key=lambda example: len(example.panels))
        self.state = {"panels": len(most.panels)}
        self.state["size"] = self._panels(most, most.panels).size

    def encode(self, example: Example) -> Floats:
        item, panels = example.item, example.panels
        if item.views:
            panels = tuple(panels[i] for i in item.views[example.view or 0].order)
        if len(panels) > self.state["panels"]:
            raise UserError(
                f"Item {item.id} has {len(panels)} panels; in training there were at most {self.state['panels']}.",
                "Train on items like those that are to be solved.",
            )
        out = np.zeros(self.size, np.float32)
        if panels:
            found = self._panels(example, panels)
            out[: found.size] = found.reshape(-1)
        return out


class QueryVector(_Vectors):
    """The vector of the sentence or question: (D,). Items without one have no numbers."""

    per_view = False

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": 0}
        self.prepare(examples)
        self.state["size"] = len(self.encode(examples[0]))

    def prepare(self, examples: Sequence[Example]) -> None:
        """Encode all sentences, in batches."""
        texts = [_plain(e.query, e.panels) for e in examples if e.query is not None]
        if texts:
            self._read(texts)

    def encode(self, example: Example) -> Floats:
        if example.item.query is None:
            return np.zeros(self.size, np.float32)
        found: Floats = self._read([_plain(example.query, example.panels)])[0]
        return found


class CandidateVectors(_Vectors):
    """The vectors of candidates that are texts or panels: (C, D). False and true have no numbers: (2, 0)."""

    @property
    def per_view(self) -> bool:
        """No view changes them; made batch by batch where they are large."""
        return self.size > 0

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": 0}
        if examples[0].item.task != "statement":
            self.prepare(examples)
            self.state["size"] = self.encode(examples[0]).shape[1]

    def prepare(self, examples: Sequence[Example]) -> None:
        """Encode all candidate texts, in batches."""
        chosen = [e for e in examples if e.item.task != "statement"]
        texts = [_plain(c, e.panels) for e in chosen for c in e.item.candidates if isinstance(c, Text)]
        if texts:
            self._read(texts)

    def encode(self, example: Example) -> Floats:
        if example.item.task == "statement":
            return np.zeros((len(example.item.candidates), 0), np.float32)
        if example.choices:
            return self._panels(example, example.choices)
        return self._read([_plain(c, example.panels) for c in example.item.candidates if isinstance(c, Text)])


def _plain(text: Text | None, panels: Sequence[Panel]) -> str:
    """A text as a sentence encoder wants it: people have neutral names, things are called by their classes."""
    return "" if text is None else text.words(plain_names(panels))


class Probe(nn.Module):
    """Scores every candidate from frozen vectors."""

    def __init__(self, config: ProbeConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        width = config.width
        sees, reads, chooses = (sizes.get(name, 0) for name in ("panels", "query", "candidates"))
        self.context = bool(config.hidden) or not chooses  # whether z can make a difference
        self.seen = nn.Linear(sees, (1 + self.context) * width) if sees else None  # u and v
        self.read = nn.Linear(reads, width) if reads else None  # t
        self.choice = nn.Linear(chooses, width) if chooses else None  # a_i
        parts = (2 * bool(sees) + bool(reads) + bool(sees and reads)) * self.context
        parts += (1 + bool(sees) + bool(reads)) * bool(chooses)
        if not parts:
            raise UserError("A probe that neither sees nor reads has nothing to go by.", "Set images or texts.")
        layers = [parts * width, *([config.hidden] if config.hidden else []), 1 if chooses else 2]
        scores = perceptron(layers, config.dropout)
        if chooses:
            scores[-1].register_parameter("bias", None)  # the same for all candidates
        self.output = nn.Sequential(nn.Dropout(config.dropout), scores)

    def forward(
        self, panels: Tensor | None = None, query: Tensor | None = None, candidates: Tensor | None = None
    ) -> Tensor:
        """panels (B, P * D), query (B, E), candidates (B, C, F) -> scores (B, C)."""
        u = v = t = None
        parts: list[Tensor] = []
        if self.seen is not None and panels is not None:
            u, *rest = self.seen(panels).chunk(1 + self.context, dim=1)  # (B, H) each
            v = rest[0] if rest else None
            parts += [u] if v is None else [u, u * v]
        if self.read is not None and query is not None:
            t = self.read(query)  # (B, H)
            parts += [t] if v is None else [t, v * t]
        if self.choice is None or candidates is None:
            scores: Tensor = self.output(torch.cat(parts, dim=1))  # (B, 2)
            return scores
        a = self.choice(candidates)  # (B, C, H)
        pairs = [a, *(a * one[:, None] for one in (u, t) if one is not None)]
        context = [part[:, None].expand_as(a) for part in parts if self.context]
        each: Tensor = self.output(torch.cat([*context, *pairs], dim=2)).squeeze(2)  # (B, C)
        return each


def _inputs(config: ProbeConfig) -> dict[str, Input]:
    out: dict[str, Input] = {"candidates": CandidateVectors(config.images, config.texts)}
    if config.images:
        out["panels"] = PanelVectors(config.images, config.texts)
    if config.texts:
        out["query"] = QueryVector(config.images, config.texts)
    return out


MODEL = Architecture(
    name="probe",
    summary="a linear probe or small perceptron over vectors of frozen encoders",
    paper="after linear probes (Alain and Bengio 2016); encoders as CLIP (Radford et al. 2021)",
    tasks=("statement", "matrix", "choice"),
    config=ProbeConfig,
    inputs=_inputs,
    module=Probe,
    training={"weight_decay": 0.01},
    sees=("image", "text", "candidates", "features"),
)
