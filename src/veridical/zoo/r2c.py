"""R2C, Recognition to Cognition Networks (VCR, section 5).

    ground          r = BiLSTM([w_t; o_t]) of a response, q = the same BiLSTM of the query
                    w_t: a word in context; o_t: the object that a tag points at, the whole photograph for other words
    contextualise   q^_t = sum_j softmax_j(r_t W q_j) q_j        o^_t = sum_k softmax_k(r_t V o_k) o_k        (eq. 2)
    reason          h = BiLSTM([r; q^; o^])        s = w2 relu(W1 max_t [r_t; q^_t; o^_t; h_t])

Options leave out what Table 2 leaves out: `query` (the query, and with it its attention), `reasoning` (its BiLSTM),
`photograph` (all that is seen); `words=glove` has static words. Region features are stored by any encoder, or learned
by a small CNN and RoIAlign (`images=pixels`). Otherwise than in the paper, words are those of each text by itself, so
that every text is encoded once and the query is read once for all its responses; and o^ is pooled, too, so that nothing
but the BiLSTM is missing without `reasoning`. LSTMs begin with Xavier's and orthogonal weights and open forget gates,
as in the authors' code, and the perceptron is as wide as what it reads (theirs: 1,024 over 1,536).

Where blocks of questions share their responses, neither a question nor a response says anything alone, and all there is
to learn from are products of the two with what is seen: that begins slowly (docs/vcr-log.md). Two helps, which can be
left out: `around` adds to each object what stands near it (a crop of a hand does not show what it holds; the paper's
large receptive fields do), and `start` adds to the score what can be learned at once, how well the words of a response
fit the object that the query points at or describes, and the photograph:

    s += sum_t ((S w_t + c) . a + (S' w_t + c') . o_1) / sqrt(T H)
    a = sum_k softmax_k(8 cos(Q sum_j u_j, K o_k) + b tagged_k) o_k

where w_t and u_j are the T words of a response and those of the query before any BiLSTM, o_1 is the photograph, H the
width, and the sum over k goes over the photograph's objects; without a query the part of o_1 alone is left.
Section 5 lets responses alone look for objects: "the girl in brown" of a question is found by `start`. The photograph
is no object to it, and the cosine is bounded, since a plain product over both settled on the photograph for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.zoo.architecture import Architecture, Input, or_none
from veridical.zoo.layers import TwoWayReader, attend, largest, perceptron
from veridical.zoo.objects import WHOLE, Objects, object_inputs, pointed_at
from veridical.zoo.spoken import spoken_inputs

SURE = 8.0  # the most that a description weighs in `start`
TAGGED = 3.0  # what a tag weighs beside it, at first


@dataclass(frozen=True)
class R2CConfig:
    """Encoders, sizes and ablations."""

    words: str = "minilm"  # encoder of words: any of transformers, by its second-to-last layer, or glove
    # encoder of the photograph and its objects (`features --objects`); pixels: learned; empty: classes and places
    images: str = "efficientnet-lite0"
    query: bool = True  # read it; Table 2's "no query" does not
    reasoning: bool = True  # the BiLSTM of the reasoning stage
    photograph: bool = True  # see it; otherwise only the text is read
    around: int = or_none(2)  # ways in which objects are seen with those around them; 0: each by itself
    start: bool = True  # add what can be learned at once
    hidden: int = 64  # width of everything
    dropout: float = 0.1  # of words, objects and hidden layers


class R2C(nn.Module):
    """Scores each response against the query and what can be seen."""

    def __init__(self, config: R2CConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        width, asks, sees = config.hidden, config.query, config.photograph
        self.dropout = nn.Dropout(config.dropout)
        self.word = nn.Linear(sizes["responses"], width)
        self.look = Objects(sizes, width, config.around, config.dropout) if sees else None
        self.ground = begun(TwoWayReader(width * (1 + sees), width))
        self.asks = nn.Linear(width, width, bias=False) if asks else None  # W of eq. 2
        self.sees = nn.Linear(width, width, bias=False) if sees else None  # V, the same for objects
        self.reason = begun(TwoWayReader(width * (1 + asks + sees), width)) if config.reasoning else None
        joined = width * (1 + asks + sees + config.reasoning)
        self.output = perceptron([joined, joined, 1], config.dropout, last_bias=False)
        self.start = Start(sizes["responses"], width, self.dropout, asks) if config.start and sees else None

    def forward(
        self,
        responses: Tensor,
        response_tags: Tensor,
        query: Tensor | None = None,
        query_tags: Tensor | None = None,
        classes: Tensor | None = None,
        places: Tensor | None = None,
        regions: Tensor | None = None,
        pixels: Tensor | None = None,
    ) -> Tensor:
        """responses (B, C, T, D), their tags (B, C, T), query (B, S, D), its tags (B, S), objects -> scores (B, C)."""
        batch, each = responses.shape[:2]
        tags = response_tags.flatten(0, 1)  # (BC, T)
        real = tags > 0  # (BC, T)
        seen = there = None
        if self.look is not None and classes is not None and places is not None:
            seen, there = self.look(classes, places, regions, pixels), classes > 0  # (B, O, H), (B, O)
        objects = None if seen is None else seen.repeat_interleave(each, 0)  # (BC, O, H)
        said = self._ground(responses.flatten(0, 1), tags, objects)  # (BC, T, H)
        parts = [said]
        if self.asks is not None and query is not None and query_tags is not None:
            asked = self._ground(query, query_tags, seen).repeat_interleave(each, 0)  # (BC, S, H)
            real_words = (query_tags > 0).repeat_interleave(each, 0)  # (BC, S)
            parts.append(attend(self.asks(said), asked, real_words, divided=False))  # (BC, T, H)
        if self.sees is not None and objects is not None and there is not None:
            here = there.repeat_interleave(each, 0)  # (BC, O)
            parts.append(attend(self.sees(said), objects, here, divided=False))  # (BC, T, H)
        if self.reason is not None:
            parts.append(self.reason(self.dropout(torch.cat(parts, dim=2)), real))  # (BC, T, H)
        pooled = largest(torch.cat(parts, dim=2), real)  # (BC, parts H)
        scores: Tensor = self.output(self.dropout(pooled)).view(batch, each)  # (B, C)
        if self.start is None or seen is None or there is None:
            return scores
        shown = seen[:, :WHOLE]  # (B, 1, H)
        if self.start.finds is not None and query is not None and query_tags is not None:
            shown = torch.cat([shown, self.start.finds(query, query_tags, seen, there)[:, None]], dim=1)  # (B, 2, H)
        started: Tensor = scores + self.start(responses, response_tags, shown)
        return started

    def _ground(self, words: Tensor, tags: Tensor, objects: Tensor | None) -> Tensor:
        """words (N, T, D), tags (N, T), objects (N, O, H) -> states (N, T, H)."""
        parts = [self.dropout(self.word(words))]
        if objects is not None:
            parts.append(pointed_at(tags, objects))
        states: Tensor = self.ground(torch.cat(parts, dim=2), tags > 0)
        return states


def begun(reader: TwoWayReader) -> TwoWayReader:
    """The reader with the weights that the authors' LSTMs begin with."""
    for name, weights in reader.lstm.named_parameters():
        if name.startswith("weight_ih"):
            nn.init.xavier_uniform_(weights)
        elif name.startswith("weight_hh"):
            nn.init.orthogonal_(weights)
        else:
            nn.init.zeros_(weights)
            if name.startswith("bias_hh"):
                with torch.no_grad():
                    weights.chunk(4)[1].fill_(1)  # the forget gate
    return reader


class Start(nn.Module):
    """How well the words of responses fit the photograph, and what the query is about."""

    def __init__(self, words: int, width: int, dropout: nn.Dropout, asks: bool) -> None:
        super().__init__()
        self.dropout = dropout
        self.finds = Finder(words, width, dropout) if asks else None
        self.says = nn.ModuleList(nn.Linear(words, width) for _ in range(1 + asks))  # S' and S

    def forward(self, responses: Tensor, response_tags: Tensor, shown: Tensor) -> Tensor:
        """responses (B, C, T, D), their tags (B, C, T), shown (B, 1 or 2, H) -> (B, C)."""
        real = response_tags > 0  # (B, C, T)
        said = torch.stack([self.dropout(says(responses)) for says in self.says], dim=3)  # (B, C, T, 2, H)
        fits = torch.einsum("bctnh,bnh->bct", said, shown) * real  # (B, C, T)
        count = real.sum(2).clamp(min=1)  # (B, C): sums of many products begin as small as one
        fit: Tensor = fits.sum(2) / (shown.shape[2] * count) ** 0.5
        return fit


class Finder(nn.Module):
    """What a query is about: a mean of the objects that it points at or describes."""

    def __init__(self, words: int, width: int, dropout: nn.Dropout) -> None:
        super().__init__()
        self.dropout = dropout
        self.seeks = nn.Linear(words, width, bias=False)  # Q
        self.kinds = nn.Linear(width, width, bias=False)  # K
        self.tagged = nn.Parameter(torch.tensor(TAGGED))  # b

    def forward(self, query: Tensor, query_tags: Tensor, seen: Tensor, there: Tensor) -> Tensor:
        """query (B, S, D), its tags (B, S), seen (B, O, H), there (B, O) -> (B, H); without objects zero."""
        number = torch.arange(1, seen.shape[1] + 1, device=seen.device)  # of each object
        others = there & (number > WHOLE)  # (B, O)
        sought = functional.normalize(self.dropout(self.seeks(query)).sum(1), dim=1)  # (B, H)
        alike = torch.einsum("boh,bh->bo", functional.normalize(self.kinds(seen), dim=2), sought)  # (B, O)
        pointed = (query_tags[:, :, None] == number).any(1)  # (B, O)
        fits = SURE * alike + self.tagged * pointed
        shares = fits.masked_fill(~others, -1e9).softmax(1) * others
        return torch.einsum("bo,boh->bh", shares, seen)


def _inputs(config: R2CConfig) -> dict[str, Input]:
    return spoken_inputs(config.words, config.query) | (object_inputs(config.images) if config.photograph else {})


MODEL = Architecture(
    name="r2c",
    summary="R2C: words grounded in objects, read against the query and the photograph, and reasoned over",
    paper="VCR section 5",
    tasks=("choice",),
    config=R2CConfig,
    inputs=_inputs,
    module=R2C,
    training={"batch": 32, "rate": 0.002, "epochs": 8, "patience": 4.0, "weight_decay": 0.01, "schedule": "cosine"},
    sees=("image", "structure", "text", "candidates", "features"),
)
