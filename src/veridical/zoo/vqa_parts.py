"""What VCR's VQA baselines share (section 6.1): GloVe, GRUs, the regions of a photograph, and a dot product.

    q = GRU(question)        z = what the model makes of q and the regions v_1 ... v_O        s_i = GRU(response i) . z

They were made to choose among the thousand most frequent answers; here, as the paper adapts them, each response is read
by a GRU of its own (RevisitedVQA reads it as it reads the question, by the mean of its words, and multiplies nothing).
Tags are words to them: people by gender-neutral names, things by their classes. Regions are those of R2C (`objects`),
so that only what is done with them differs. They are shown those that question and response point at, and the whole
photograph: that is how the paper adapts BottomUpTopDown, and here it is the same for all four, since to a model that is
shown every region nothing says which of four people is asked about. The paper shows MLB and MUTAN every region, and
RevisitedVQA the whole photograph alone: `pointed=false`.

Scores are products of question, regions and response, and where all three begin near zero, or the question with either
sign, nothing is learned for long (docs/vcr-log.md). So layers of a fusion begin with Xavier's variances, and the
question's side at `OPEN`: what is seen passes as it is, until it is learned what a question makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture, Input, or_none
from veridical.zoo.layers import LastState
from veridical.zoo.objects import Objects, object_inputs
from veridical.zoo.spoken import spoken_inputs

OPEN = 1.0  # the bias of a question's side of a product, before training


@dataclass(frozen=True)
class VQAConfig:
    """Encoders and sizes."""

    words: str = "glove"  # encoder of words
    # encoder of the photograph and its objects (`features --objects`); pixels: learned; empty: classes and places
    images: str = "efficientnet-lite0"
    hidden: int = 64  # width of everything
    around: int = or_none(2)  # ways in which objects are seen with those around them; 0: each by itself
    pointed: bool = True  # show the regions that question and response point at, and the whole; otherwise all of them
    dropout: float = 0.1  # of words, objects and what is fused


class VQAModel(nn.Module):
    """Scores responses by their dot product with question and regions, fused.

    A fusion takes asked (N, H), seen (N, O, H) and there (N, O), and gives (N, H).
    """

    def __init__(self, fusion: nn.Module, config: VQAConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.pointed = config.pointed
        self.dropout = nn.Dropout(config.dropout)
        self.ask = LastState(sizes["query"], config.hidden, config.dropout)
        self.respond = LastState(sizes["responses"], config.hidden, config.dropout)
        self.look = Objects(sizes, config.hidden, config.around, config.dropout)
        self.fuse = fusion

    def forward(
        self,
        responses: Tensor,
        response_tags: Tensor,
        query: Tensor,
        query_tags: Tensor,
        classes: Tensor,
        places: Tensor,
        regions: Tensor | None = None,
        pixels: Tensor | None = None,
    ) -> Tensor:
        """responses (B, C, T, D), query (B, S, D), their tags, objects -> scores (B, C)."""
        batch, each = responses.shape[:2]
        said = self.respond(responses.flatten(0, 1), response_tags.flatten(0, 1) > 0).view(batch, each, -1)  # (B, C, H)
        asked = self.ask(query, query_tags > 0)  # (B, H)
        seen = self.look(classes, places, regions, pixels)  # (B, O, H)
        if not self.pointed:
            fused = self.fuse(asked, seen, classes > 0)[:, None]  # (B, 1, H)
        else:
            there = named(response_tags, query_tags, classes.shape[1]).flatten(0, 1)  # (BC, O)
            fused = self.fuse(asked.repeat_interleave(each, 0), seen.repeat_interleave(each, 0), there)  # (BC, H)
            fused = fused.view(batch, each, -1)  # (B, C, H)
        scores: Tensor = (said * self.dropout(fused)).sum(2)  # (B, C)
        return scores


def layer(inputs: int, width: int, bias: float = 0.0) -> nn.Linear:
    """A linear layer of a fusion as it begins."""
    made = nn.Linear(inputs, width)
    nn.init.xavier_normal_(made.weight)
    nn.init.constant_(made.bias, bias)
    return made


def named(response_tags: Tensor, query_tags: Tensor, count: int) -> Tensor:
    """Which objects each response and its question point at: (B, C, T), (B, S) -> (B, C, O)."""
    each = response_tags.shape[1]
    tags = torch.cat([response_tags, query_tags[:, None].expand(-1, each, -1)], dim=2)  # (B, C, T + S)
    pointed = torch.zeros(*tags.shape[:2], count + 1, dtype=torch.bool, device=tags.device)
    return pointed.scatter(2, tags, True)[:, :, 1:]  # 0 is padding; other words point at the whole photograph


def glimpse(fit: Tensor, seen: Tensor, there: Tensor) -> Tensor:
    """fit (N, O, G), seen (N, O, H), there (N, O) -> the regions of each glimpse, one after the other: (N, G H)."""
    shares = fit.masked_fill(~there[:, :, None], -1e9).softmax(1)  # (N, O, G)
    return torch.einsum("nog,noh->ngh", shares, seen).flatten(1)


def vqa_inputs(config: VQAConfig) -> dict[str, Input]:
    return spoken_inputs(config.words) | object_inputs(config.images)


def vqa_model(
    name: str,
    summary: str,
    paper: str,
    module: Callable[[Any, Mapping[str, int]], nn.Module],
    config: type[VQAConfig] = VQAConfig,
    epochs: int = 8,
) -> Architecture:
    """A VQA baseline as a model of the zoo."""
    return Architecture(
        name=name,
        summary=summary,
        paper=f"VCR section 6.1; {paper}",
        tasks=("choice",),
        config=config,
        inputs=vqa_inputs,
        module=module,
        training={"batch": 32, "rate": 0.002, "epochs": epochs, "weight_decay": 0.01, "schedule": "cosine"},
        sees=("image", "structure", "text", "candidates", "features"),
    )
