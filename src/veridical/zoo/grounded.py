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

Without `photograph` nothing of this is seen: the same model reads the text alone. (R2C has BERT for words and reasons
with another LSTM; here the pooled words are enough, and it trains on a processor.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.common.arrays import Floats, Ints
from veridical.encoders import object_regions, panel_key, region_key
from veridical.errors import UserError
from veridical.language.reading.lexicon import words
from veridical.records import Panel, Ref, Text
from veridical.zoo.architecture import Architecture, Example, Input
from veridical.zoo.inputs import StoredVectors, Vocabulary, candidate_texts, pad, scaled
from veridical.zoo.layers import perceptron

WHOLE = 1  # the number of the whole photograph among objects; 0 is no object
PHOTOGRAPH = "(photograph)"  # its class
PLACES = 5  # left, top, right, bottom and area, as shares of the photograph
GEOMETRY = 6  # of two objects: gap, to the right, below, both without their signs, how much larger
NEAR = -30.0  # what the gap weighs before training: of things a tenth of the photograph apart, one of twenty is seen
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


def only_panel(example: Example) -> Panel:
    """The photograph of an item."""
    if len(example.panels) != 1:
        raise UserError(
            f"Item {example.item.id} has {len(example.panels)} panels.", "Models that ground tags take one photograph."
        )
    return example.panels[0]


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


class ObjectClasses(Vocabulary):
    """The classes of the photograph and its objects: (1 + O,) ids."""

    def texts(self, example: Example) -> list[list[str]]:
        return [[PHOTOGRAPH, *(one.category.lower() for one in only_panel(example).objects)]]

    def encode(self, example: Example) -> Ints:
        return self.number(self.texts(example)[0])


class ObjectVectors(StoredVectors):
    """The vectors and places of the photograph and its objects: (1 + O, D + 5), from `veridical features --objects`.

    Without an encoder there are only places.
    """

    per_view = True  # made batch by batch: all vectors of a benchmark may be larger than memory

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": 0}
        self.state["size"] = self.encode(examples[0]).shape[1]

    def encode(self, example: Example) -> Floats:
        panel = only_panel(example)
        if not self.encoder:
            return _places(panel)
        key = panel_key(panel)
        if key is None or panel.image is None or example.folder is None:
            raise UserError(
                f"The photograph of item {example.item.id} is not in the benchmark.", "Import it with its images."
            )
        keys = [key, *(region_key(panel.image, box) for box in object_regions(panel))]
        return np.concatenate([scaled(self.file(example).rows(keys)), _places(panel)], axis=1)


def _places(panel: Panel) -> Floats:
    """(1 + O, 5) where each object lies; one without a box lies everywhere."""
    width, height = float(panel.width or 1), float(panel.height or 1)
    whole = (0.0, 0.0, width, height)
    boxes = np.array([whole, *(one.box or whole for one in panel.objects)], np.float32)
    boxes /= np.array([width, height, width, height], np.float32)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return np.concatenate([boxes, area[:, None]], axis=1)


@dataclass(frozen=True)
class GroundedConfig:
    """Encoders and sizes."""

    photograph: bool = True  # see it; otherwise only the text is read
    # encoder of the photograph and its objects (`veridical features --objects`); empty: classes and places only
    images: str = "efficientnet-lite0"
    embedding: int = 64  # size of a word vector, and of an object's class
    hidden: int = 96  # width of everything else
    heads: int = 2  # ways in which objects are seen with those around them; 0: each by itself
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
            self.around = Neighbours(width, config.heads) if config.heads else None
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
        meant = _attend(self.asks(said), asked.repeat_interleave(candidates, 0), words)  # (BC, T, H)
        parts = [said, meant, said * meant]
        if each is not None and there is not None and self.looks is not None:
            shown = _attend(self.looks(said), each, there.repeat_interleave(candidates, 0))  # (BC, T, H)
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
        found = _attend(sought, seen, there)  # (B, 1, H)
        named = torch.cat([seen[:, :1], found, _pointed_at(query, seen)], dim=1)  # (B, 2 + S, H)
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
        pointing: Tensor = lstm(torch.cat([words, _pointed_at(text, seen)], dim=2))[0]
        return pointing


class Neighbours(nn.Module):
    """Adds to each object what stands around it, by learned weights of where that stands."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(GEOMETRY, heads, bias=False)
        with torch.no_grad():
            self.weigh.weight[:, 0] = NEAR
        self.take = nn.Linear(heads * width, width)

    def forward(self, seen: Tensor, places: Tensor, there: Tensor) -> Tensor:
        """seen (B, O, H), places (B, O, 5), there (B, O) -> (B, O, H)."""
        real = there & (torch.arange(seen.shape[1], device=seen.device) >= WHOLE)  # the photograph is no neighbour
        fit = self.weigh(_geometry(places)).masked_fill(~real[:, None, :, None], -1e9)  # (B, O, O, heads)
        around = torch.einsum("bijh,bjw->bihw", fit.softmax(2), seen).flatten(2)  # (B, O, heads H)
        out: Tensor = seen + torch.relu(self.take(around)) * there[:, :, None]
        return out


def _geometry(places: Tensor) -> Tensor:
    """(B, O, 5) -> (B, O, O, 6): where the second object stands to the first."""
    low, high = places[..., :2], places[..., 2:4]  # (B, O, 2)
    gap = torch.maximum(low[:, None] - high[:, :, None], low[:, :, None] - high[:, None]).clamp(min=0).norm(dim=3)
    away = (low + high)[:, None] / 2 - (low + high)[:, :, None] / 2  # (B, O, O, 2)
    size = (places[..., 4] + 1e-3).log()
    larger = size[:, None] - size[:, :, None]  # (B, O, O)
    return torch.cat([gap[..., None], away, away.abs(), larger[..., None]], dim=3)


def _pointed_at(text: Tensor, seen: Tensor) -> Tensor:
    """What each word of a text points at, 0 where it is no tag: (N, S, 2), (N, O, H) -> (N, S, H)."""
    numbers = text[:, :, 1, None]  # the k-th object is number k
    return seen.gather(1, (numbers - 1).clamp(min=0).expand(-1, -1, seen.shape[2])) * (numbers > 0)


def _attend(keys: Tensor, values: Tensor, real: Tensor) -> Tensor:
    """keys (N, T, H), values (N, S, H), real (N, S) -> the mean of real values by their fit to each key: (N, T, H)."""
    fit = keys @ values.transpose(1, 2) / keys.shape[2] ** 0.5  # (N, T, S)
    shares = fit.masked_fill(~real[:, None, :], -1e9).softmax(2)
    meant: Tensor = shares @ values
    return meant


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
    sees=("image", "text", "candidates", "features"),
)
