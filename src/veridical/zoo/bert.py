"""BERT, fine-tuned over question and response (VCR, section 6.1; Devlin et al. 2018, section 4.4).

    h = BERT([CLS] question [SEP] response [SEP])        s = w . mean_t h_t

Any encoder of `transformers` by its name or folder (`minilm` here, with its mean over tokens in place of BERT's [CLS]);
all its weights are trained, except of the `frozen` first layers and the word vectors below them. The response-only
variant reads [CLS] response [SEP]. People have gender-neutral names; neither sees the photograph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from veridical.common.arrays import Ints
from veridical.encoders import open_encoder
from veridical.encoders.hub import HubEncoder, load_part, load_tokenizer
from veridical.errors import UserError
from veridical.zoo.architecture import Architecture, Example, Input
from veridical.zoo.inputs import StoredVectors, pad
from veridical.zoo.spoken import Spoken, query_of, responses_of

LONGEST = 128  # pieces of a pair; longer ones are cut


@dataclass(frozen=True)
class BERTConfig:
    """Which encoder, and how much of it learns."""

    words: str = "minilm"  # an encoder of texts of transformers
    frozen: int = 0  # of its first layers, with the word vectors: they are not trained
    dropout: float = 0.1  # before the output


class Pieces(StoredVectors):
    """What a tokenizer makes of question and response: (C, T, 2), a piece's number + 1 and its segment; 0: padding."""

    per_view = False

    def __init__(self, encoder: str, query: bool) -> None:
        super().__init__(encoder)
        self._query = query

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": len(self._tokenizer), "words": self._identity}

    def encode(self, example: Example) -> Ints:
        self.same_weights("words", self._identity)
        said = [_plain(text) for text in responses_of(example)]
        asked = [_plain(query_of(example)[0])] * len(said) if self._query else said
        pairs = (asked, said) if self._query else (said,)
        longest = min(LONGEST, int(self._tokenizer.model_max_length))
        found = self._tokenizer(*pairs, truncation=True, max_length=longest, return_token_type_ids=True)
        rows = [np.array([[piece + 1 for piece in ids], kinds]).T
                for ids, kinds in zip(found["input_ids"], found["token_type_ids"], strict=True)]  # fmt: skip
        return np.asarray(pad(rows), np.int64)

    @cached_property
    def _identity(self) -> dict[str, str]:
        return asdict(text_encoder(self.encoder).identity)

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(text_encoder(self.encoder).folder)


class BERT(nn.Module):
    """Scores each response by a fine-tuned encoder."""

    def __init__(self, config: BERTConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        folder = text_encoder(config.words).folder
        self.encoder = load_part("AutoModel", folder, "does not load as an encoder of texts", "Name another.")
        if hasattr(self.encoder, "pooler"):
            self.encoder.pooler = None  # the mean over tokens is taken instead
        self.kinds = int(getattr(self.encoder.config, "type_vocab_size", 0))  # of segments
        for part in _lowest(self.encoder, config.frozen, config.words) if config.frozen else ():
            part.requires_grad_(False)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(int(self.encoder.config.hidden_size), 1, bias=False)

    def forward(self, pieces: Tensor) -> Tensor:
        """pieces (B, C, T, 2) -> scores (B, C)."""
        flat, place = pieces.flatten(0, 1), None  # (BC, T, 2)
        if not self.training:  # where questions share their responses, many are the same: each is read once
            flat, place = torch.unique(flat, dim=0, return_inverse=True)
        ids, kinds = flat.unbind(2)  # (N, T) each
        real = (ids > 0).long()  # (N, T)
        segments = {"token_type_ids": kinds} if self.kinds > 1 else {}
        found = self.encoder(input_ids=(ids - 1).clamp(min=0), attention_mask=real, **segments)
        states = found.last_hidden_state * real[:, :, None]  # (N, T, H)
        mean = states.sum(1) / real.sum(1, keepdim=True).clamp(min=1)  # (N, H)
        scores: Tensor = self.output(self.dropout(mean)).squeeze(1)  # (N,)
        return (scores if place is None else scores[place]).view(pieces.shape[:2])


def text_encoder(name: str) -> HubEncoder:
    """An encoder of texts that can be trained further."""
    found = open_encoder(name)
    if not isinstance(found, HubEncoder):
        raise UserError(f"{name} is no encoder that can be fine-tuned.", "Name minilm, or one of transformers.")
    return found


def _lowest(encoder: Any, count: int, name: str) -> list[nn.Module]:
    """The word vectors of an encoder and its first layers, which DistilBERT keeps under another name."""
    layers = getattr(getattr(encoder, "encoder", getattr(encoder, "transformer", None)), "layer", None)
    if layers is None or not hasattr(encoder, "embeddings"):
        raise UserError(f"Of {name} it is not known which layers are its first.", "Leave out --set frozen=....")
    if count > len(layers):
        raise UserError(
            f"The option frozen is {count}, and {name} has {len(layers)} layers.", f"Give {len(layers)} or less."
        )
    return [encoder.embeddings, *layers[:count]]


def _plain(text: Spoken) -> str:
    return " ".join(word for word, _ in text)


def _model(name: str, summary: str, query: bool) -> Architecture:
    def inputs(config: BERTConfig) -> dict[str, Input]:
        return {"pieces": Pieces(config.words, query)}

    return Architecture(
        name=name,
        summary=summary,
        paper="VCR section 6.1; Devlin et al. 2018",
        tasks=("choice",),
        config=BERTConfig,
        inputs=inputs,
        module=BERT,
        training={"batch": 8, "rate": 5e-5, "epochs": 2, "schedule": "linear", "warmup": 50, "weight_decay": 0.01},
        sees=("text", "candidates") if query else ("candidates",),
    )


MODEL = _model("bert", "a fine-tuned encoder over question and response; blind to the picture", query=True)
RESPONSE_ONLY = _model("bert-response-only", "a fine-tuned encoder over each response alone", query=False)
