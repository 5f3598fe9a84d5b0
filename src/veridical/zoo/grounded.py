"""A small R2C (VCR, section 5): words are grounded in tagged objects, a response is read against question and objects.

    look            o_i = W [x_i; class_i; n_i],  o_i += relu(V sum_j w_ij o_j),  o_i += U relu(o_i)
    ground          g_t = LSTM([word_t; o_t])           o_t: what the tag at t points at, 0 for other words
    contextualise   q^_t = attention of response word t over the question, o^_t = over all objects
    reason          s_i = w2 relu(W1 max_t relu(W0 [g_t; q^_t; o^_t; g_t * q^_t; g_t * o^_t])) + sum_t e_t a

An object is its class, its place, the vector x of a frozen encoder and the number n of objects of its class; the
photograph as a whole is one more object. What stands where to an object is part of it too (a hand alone does not tell
what it holds): `heads` weights w_i over all j are learned of distances and directions, after Hu et al. 2018, and begin
with what is near. The last term is how well each word e_t fits what the question points at (a: a mean of it, of the
whole photograph and of whatever the words of the question look for, by learned weights). In blocks that share their
responses neither question nor response says anything alone; all that the deep part could learn from is products of the
two, and without this term it is long at chance.

Without `photograph` nothing of this is seen: the same model reads the text alone. (`r2c` is the model of the paper, on
frozen words of another encoder; this one learns its words, and needs nothing but the benchmark.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.common.arrays import Floats, Ints
from veridical.encoders import panel_key
from veridical.errors import UserError
from veridical.language.reading.lexicon import words
from veridical.records import Panel, Ref, Text
from veridical.zoo.architecture import Architecture, Example, Input, or_none
from veridical.zoo.inputs import StoredVectors, Vocabulary, candidate_texts, pad, scaled
from veridical.zoo.layers import attend, perceptron
from veridical.zoo.objects import (
    PLACES,
    WHOLE,
    Neighbours,
    ObjectClasses,
    ObjectPlaces,
    keys_of_objects,
    only_panel,
    pointed_at,
)

SMALL = 0.05  # of what words look for, at first: all objects alike
MOST_ALIKE = 7  # objects of a class that are told apart in number

Pair = tuple[str, int]  # a word, and the number of the object it points at


def tagged_words(text: Text | None, panel: Panel) -> list[Pair]:
    """Words with the objects they point at; a tag is a word for each object it names.

    >>> from veridical.records import SceneObject
    >>> panel = Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "dog")))
    >>> tagged_words(Text("", ("Is", Ref(("0", "1")), "sad", "?")), panel)
    [('is', 0), ('person', 2), ('dog', 3), ('sad', 0)]
    """
    if text is None:
        return []
    if not text.tokens:
        return [(word, 0) for word in words(text.raw)]
    number = {one.id: WHOLE + 1 + k for k, one in enumerate(panel.objects)}
    category = {one.id: one.category.lower() for one in panel.objects}
    out: list[Pair] = []
    for token in text.tokens:
        if isinstance(token, Ref):
            out += [(category.get(one, "object"), number.get(one, 0)) for one in token.objects]
        else:
            out += [(word, 0) for word in words(token)]
    return out


class TaggedQuery(Vocabulary):
    """The question, for a reason with the assumed answer: (T, 2) word ids and object numbers."""

    def texts(self, example: Example) -> list[list[str]]:
        return [[word for word, _ in text] for text in self.read(example)]

    def read(self, example: Example) -> list[list[Pair]]:
        return [tagged_words(example.query, only_panel(example))]

    def encode(self, example: Example) -> Ints:
        return self.pairs(self.read(example)[0])

    def pairs(self, text: list[Pair]) -> Ints:
        ids = self.number(word for word, _ in text)
        numbers = np.array([number for _, number in text], np.int64)
        return np.stack([ids, numbers], axis=1) if text else np.zeros((1, 2), np.int64)


class TaggedResponses(TaggedQuery):
    """The candidates: (C, T, 2)."""

    def read(self, example: Example) -> list[list[Pair]]:
        return [tagged_words(text, only_panel(example)) for text in candidate_texts(example)]

    def encode(self, example: Example) -> Ints:
        return pad([self.pairs(text) for text in self.read(example)])


class ObjectVectors(StoredVectors):
    """The vectors and places of the photograph and its objects: (1 + O, D + 5), from `veridical features --objects`.

    Without an encoder there are only places.
    """

    per_view = True  # made batch by batch: all vectors of a benchmark may be larger than memory

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": 0}
        self.state["size"] = self.encode(examples[0]).shape[1]

    def encode(self, example: Example) -> Floats:
        panel, places = only_panel(example), ObjectPlaces().encode(example)
        if not self.encoder:
            return places
        key = panel_key(panel)
        if key is None or panel.image is None or example.folder is None:
            raise UserError(
                f"The photograph of item {example.item.id} is not in the benchmark.", "Import it with its images."
            )
        keys = [key, *keys_of_objects(panel, key)]
        return np.concatenate([scaled(self.file(example).rows(keys)), places], axis=1)


@dataclass(frozen=True)
class GroundedConfig:
    """Encoders and sizes."""

    photograph: bool = True  # see it; otherwise only the text is read
    # encoder of the photograph and its objects (`veridical features --objects`); empty: classes and places only
    images: str = "efficientnet-lite0"
    embedding: int = 64  # size of a word vector, and of an object's class
    hidden: int = 96  # width of everything else
    heads: int = or_none(2)  # ways in which objects are seen with those around them; 0: each by itself
    dropout: float = 0.1  # of words, objects and hidden layers
    least: int = 2  # times a word must occur in training to have a vector of its own


class Grounded(nn.Module):
    """Scores each response against the question and what can be seen."""

    def __init__(self, config: GroundedConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        width = config.hidden
        self.dropout = nn.Dropout(config.dropout)
        self.question_words = nn.Embedding(sizes["query"], config.embedding, padding_idx=0)
        self.response_words = nn.Embedding(sizes["responses"], config.embedding, padding_idx=0)
        self.sees = config.photograph
        if self.sees:
            self.classes = nn.Embedding(sizes["classes"], config.embedding, padding_idx=0)
            self.alike = nn.Embedding(MOST_ALIKE + 1, config.embedding)
            self.look = nn.Linear(sizes["objects"] + 2 * config.embedding, width)
            self.around = Neighbours(width, config.heads, own=True) if config.heads else None
            self.deeper = nn.Linear(width, width)
            self.says = nn.Embedding(sizes["responses"], width, padding_idx=0)  # what words say of an object
            self.meant = nn.Linear(width, 1, bias=False)  # which of the objects that a question points at it is about
            self.seeks = nn.Embedding(sizes["query"], width, padding_idx=0)  # what words of a question look for
            with torch.no_grad():
                self.seeks.weight.mul_(SMALL)
        reads = config.embedding + width * self.sees
        self.read_question = nn.LSTM(reads, width, batch_first=True)
        self.read_response = nn.LSTM(reads, width, batch_first=True)
        self.asks = nn.Linear(width, width, bias=False)  # which word of the question matters to a word
        self.looks = nn.Linear(width, width, bias=False) if self.sees else None  # which object does
        self.join = nn.Linear(width * (5 if self.sees else 3), width)
        self.output = perceptron([width, width, 1], config.dropout, last_bias=False)

    def forward(
        self, query: Tensor, responses: Tensor, classes: Tensor | None = None, objects: Tensor | None = None
    ) -> Tensor:
        """query (B, S, 2), responses (B, C, T, 2), classes (B, O), objects (B, O, D) -> scores (B, C)."""
        batch, candidates = responses.shape[:2]
        flat = responses.flatten(0, 1)  # (BC, T, 2)
        seen = there = None
        if self.sees and classes is not None and objects is not None:
            there = classes != 0  # (B, O)
            seen = self._look(classes, objects, there)  # (B, O, H)
        asked = self._read(self.read_question, self.question_words, query, seen)  # (B, S, H)
        each = None if seen is None else seen.repeat_interleave(candidates, 0)  # (BC, O, H)
        said = self._read(self.read_response, self.response_words, flat, each)  # (BC, T, H)
        words = query[:, :, 0].repeat_interleave(candidates, 0) != 0  # (BC, S)
        meant = attend(self.asks(said), asked.repeat_interleave(candidates, 0), words)  # (BC, T, H)
        parts = [said, meant, said * meant]
        if each is not None and there is not None and self.looks is not None:
            shown = attend(self.looks(said), each, there.repeat_interleave(candidates, 0))  # (BC, T, H)
            parts += [shown, said * shown]
        joined = torch.relu(self.join(self.dropout(torch.cat(parts, dim=2))))  # (BC, T, H)
        blank = flat[:, :, 0] == 0  # (BC, T)
        pooled = joined.masked_fill(blank[:, :, None], 0).amax(1)  # (BC, H); nothing is below 0
        scores: Tensor = self.output(self.dropout(pooled)).view(batch, candidates)
        if seen is None or there is None:
            return scores
        return scores + self._fits(query, responses, seen, there)  # (B, C)

    def _look(self, classes: Tensor, objects: Tensor, there: Tensor) -> Tensor:
        """What each object is, with those around it: (B, O, H)."""
        many = (classes[:, :, None] == classes[:, None, :]).sum(2).clamp(max=MOST_ALIKE)  # (B, O)
        known = torch.cat([objects, self.classes(classes), self.alike(many)], dim=2)  # (B, O, D + 2E)
        seen: Tensor = self.look(self.dropout(known)) * there[:, :, None]  # (B, O, H)
        if self.around is not None:
            seen = self.around(seen, objects[:, :, -PLACES:], there)
        deeper: Tensor = seen + self.deeper(torch.relu(seen)) * there[:, :, None]
        return deeper

    def _fits(self, query: Tensor, responses: Tensor, seen: Tensor, there: Tensor) -> Tensor:
        """How well the words of responses fit what the question points at or describes, or the photograph: (B, C)."""
        sought = self.dropout(self.seeks(query[:, :, 0])).sum(1, keepdim=True)  # (B, 1, H): "the woman in red"
        found = attend(sought, seen, there)  # (B, 1, H)
        named = torch.cat([seen[:, :1], found, pointed_at(query[:, :, 1], seen)], dim=1)  # (B, 2 + S, H)
        pointed = functional.pad(query[:, :, 1] > 0, (2, 0), value=True)  # (B, 2 + S)
        # Shares add up to one. Gates could all be shut, and are: that helps most as long as words mean nothing.
        shares = self.meant(named).squeeze(2).masked_fill(~pointed, -1e9).softmax(1)  # (B, 2 + S)
        about = (shares[:, :, None] * named).sum(1)  # (B, H)
        words = self.dropout(self.says(responses[..., 0]))  # (B, C, T, H)
        said = (responses[..., 0] != 0).sum(2).clamp(min=1)  # (B, C): sums of many products begin as small as one
        fit: Tensor = torch.einsum("bcth,bh->bc", words, about) / (seen.shape[2] * said) ** 0.5
        return fit

    def _read(self, lstm: nn.LSTM, embedding: nn.Embedding, text: Tensor, seen: Tensor | None) -> Tensor:
        """text (N, T, 2) -> states (N, T, H)."""
        words = self.dropout(embedding(text[:, :, 0]))  # (N, T, E)
        if seen is None:
            states: Tensor = lstm(words)[0]
            return states
        pointing: Tensor = lstm(torch.cat([words, pointed_at(text[:, :, 1], seen)], dim=2))[0]
        return pointing


def _inputs(config: GroundedConfig) -> dict[str, Input]:
    out: dict[str, Input] = {"query": TaggedQuery(config.least), "responses": TaggedResponses(config.least)}
    if config.photograph:
        out |= {"classes": ObjectClasses(1), "objects": ObjectVectors(config.images)}
    return out


MODEL = Architecture(
    name="grounded",
    summary="a small R2C: tags grounded in objects, responses read against question and photograph",
    paper="VCR section 5",
    tasks=("choice",),
    config=GroundedConfig,
    inputs=_inputs,
    module=Grounded,
    training={"batch": 32, "rate": 0.002, "epochs": 30, "patience": 4.0, "weight_decay": 0.01},
    sees=("image", "structure", "text", "candidates", "features"),
)
