"""R2C (draft)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.zoo.architecture import Architecture, Input
from veridical.zoo.layers import TwoWayReader, attend, largest, perceptron
from veridical.zoo.objects import Neighbours, ObjectClasses, ObjectPlaces, RegionVectors, pointed_at
from veridical.zoo.spoken import spoken_inputs


@dataclass(frozen=True)
class R2CConfig:
    words: str = "minilm"
    images: str = "efficientnet-lite0"
    query: bool = True
    reasoning: bool = True
    photograph: bool = True
    products: bool = True
    fits: bool = True
    hidden: int = 128
    classes: int = 32
    heads: int = 2
    dropout: float = 0.1


class R2C(nn.Module):
    def __init__(self, config: R2CConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        width = config.hidden
        self.config = config
        self.dropout = nn.Dropout(config.dropout)
        self.word = nn.Linear(sizes["responses"], width)
        if config.photograph:
            self.classes = nn.Embedding(sizes["classes"], config.classes, padding_idx=0)
            self.look = nn.Linear(sizes.get("regions", 0) + config.classes + 5, width)
            self.around = Neighbours(width, config.heads) if config.heads else None
            self.deeper = nn.Linear(width, width)
        self.ground = TwoWayReader(width * (1 + config.photograph), width)
        self.asks = nn.Linear(width, width, bias=False)
        self.looks = nn.Linear(width, width, bias=False)
        parts = 1 + config.query + config.photograph
        if config.products:
            parts += parts * (parts - 1) // 2
        self.reason = TwoWayReader(parts * width, width)
        self.output = perceptron([(parts + config.reasoning) * width, width, 1], config.dropout, last_bias=False)
        if config.fits:
            self.says = nn.Linear(sizes["responses"], width)
            self.seeks = nn.Linear(sizes["responses"], width)
            self.meant = nn.Linear(width, 1, bias=False)
            with torch.no_grad():
                self.seeks.weight.mul_(0.05)
                self.seeks.bias.zero_()

    def forward(self, responses, response_tags, query=None, query_tags=None, classes=None, places=None, regions=None):
        batch, candidates = responses.shape[:2]
        flat, tags = responses.flatten(0, 1), response_tags.flatten(0, 1)
        real = tags > 0
        seen = there = None
        if self.config.photograph:
            there = classes > 0
            seen = self._look(classes, places, regions, there)
        each = None if seen is None else seen.repeat_interleave(candidates, 0)
        said = self._read(flat, tags, each)
        parts = [said]
        if self.config.query:
            asked = self._read(query, query_tags, seen)
            parts.append(attend(self.asks(said), asked.repeat_interleave(candidates, 0), (query_tags > 0).repeat_interleave(candidates, 0)))
        if each is not None:
            parts.append(attend(self.looks(said), each, there.repeat_interleave(candidates, 0)))
        if self.config.products:
            parts += [parts[i] * parts[j] for i in range(len(parts)) for j in range(i)]
        x = torch.cat(parts, 2)
        if self.config.reasoning:
            x = torch.cat([self.reason(self.dropout(x), real), x], 2)
        pooled = largest(x, real)
        scores = self.output(self.dropout(pooled)).view(batch, candidates)
        if self.config.fits and seen is not None and self.config.query:
            scores = scores + self._fits(responses, response_tags, query, query_tags, seen, there)
        return scores

    def _look(self, classes, places, regions, there):
        known = [self.classes(classes), places] + ([regions] if regions is not None else [])
        seen = self.look(self.dropout(torch.cat(known, 2))) * there[:, :, None]
        if self.around is not None:
            seen = self.around(seen, places, there)
        return seen + self.deeper(torch.relu(seen)) * there[:, :, None]

    def _fits(self, responses, response_tags, query, query_tags, seen, there):
        real = (query_tags > 0)[:, :, None]
        sought = (self.dropout(self.seeks(query)) * real).sum(1, keepdim=True)
        found = attend(sought, seen, there)
        named = torch.cat([seen[:, :1], found, pointed_at(query_tags, seen)], 1)
        pointed = functional.pad(query_tags > 1, (2, 0), value=True)
        shares = self.meant(named).squeeze(2).masked_fill(~pointed, -1e9).softmax(1)
        about = (shares[:, :, None] * named).sum(1)
        real = response_tags > 0
        words = self.dropout(self.says(responses)) * real[..., None]
        many = real.sum(2).clamp(min=1)
        return torch.einsum("bcth,bh->bc", words, about) / (seen.shape[2] * many) ** 0.5

    def _read(self, words, tags, seen):
        parts = [self.dropout(self.word(words))]
        if seen is not None:
            parts.append(pointed_at(tags, seen))
        return self.ground(torch.cat(parts, 2), tags > 0)


def _inputs(config: R2CConfig) -> dict[str, Input]:
    out = spoken_inputs(config.words, config.query)
    if config.photograph:
        out |= {"classes": ObjectClasses(1), "places": ObjectPlaces()}
        if config.images:
            out["regions"] = RegionVectors(config.images)
    return out


MODEL = Architecture(
    name="r2c",
    summary="R2C: grounding, contextualisation, reasoning",
    paper="VCR section 5",
    tasks=("choice",),
    config=R2CConfig,
    inputs=_inputs,
    module=R2C,
    training={"batch": 32, "rate": 0.001, "epochs": 15, "patience": 4.0, "weight_decay": 0.01, "schedule": "cosine"},
    sees=("image", "text", "candidates", "features"),
)
