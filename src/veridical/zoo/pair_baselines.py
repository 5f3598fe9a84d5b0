"""NLVR2's TEXT, IMAGE and CNN+RNN, over frozen word vectors and a frozen backbone (section 6; draft, appendix A.1).

    pair-text     h = 1/T sum_t LSTM(v_1 .. v_T)_t       v_t: the vector of word t           s = MLP(h)
    pair-image    x = [x_1; x_2]                         x_p: the backbone's vector of photograph p   s = MLP(x)
    pair-cnn-rnn                                                                             s = MLP([x; h])

The backbone and the word vectors are named; encoders of the `[offline]` extra are the default. With `sizes=paper` the
network is the paper's: an LSTM of 4,096 and an MLP of 8192, 4096 .. 16 (over `--set images=microsoft/resnet-152`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from veridical.zoo.architecture import Architecture, Input
from veridical.zoo.layers import perceptron
from veridical.zoo.probe import PanelVectors
from veridical.zoo.spoken import SpokenVectors, Tags

PAPER = (8192, 4096, 2048, 1024, 512, 256, 128, 64, 32, 16)  # the layers of the MLP
PAPER_HIDDEN = 4096  # of the LSTM


@dataclass(frozen=True)
class PairConfig:
    """Encoders and sizes."""

    images: str = "efficientnet-lite0"  # backbone of photographs (`veridical features`); the paper's: ResNet-152
    words: str = "glove"  # word vectors
    sizes: Literal["here", "paper"] = "here"  # paper: those of the appendix, and hidden and layers say nothing
    hidden: int = 128  # size of the LSTM's state
    layers: tuple[int, ...] = (256, 64)  # of the MLP
    dropout: float = 0.3  # in the MLP

    @property
    def state(self) -> int:
        """Size of the LSTM's state."""
        return PAPER_HIDDEN if self.sizes == "paper" else self.hidden

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the MLP's layers."""
        return PAPER if self.sizes == "paper" else self.layers


class PairBaseline(nn.Module):
    """Scores false and true from the sentence, the photographs or both: from whatever inputs there are."""

    def __init__(self, config: PairConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.lstm = nn.LSTM(sizes["query"], config.state, batch_first=True) if "query" in sizes else None
        given = sizes.get("panels", 0) + (config.state if self.lstm is not None else 0)
        self.output = perceptron([given, *config.widths, 2], config.dropout)

    def forward(
        self, query: Tensor | None = None, query_tags: Tensor | None = None, panels: Tensor | None = None
    ) -> Tensor:
        """query (B, T, D) and its tags (B, T), panels (B, P D) -> scores (B, 2)."""
        parts = [] if panels is None else [panels]
        if self.lstm is not None and query is not None and query_tags is not None:
            real = (query_tags > 0)[:, :, None]  # (B, T, 1)
            states = self.lstm(query)[0] * real  # (B, T, H); padding stands behind, and is read by nothing
            parts.append(states.sum(1) / real.sum(1).clamp(min=1))  # (B, H)
        scores: Tensor = self.output(torch.cat(parts, dim=1))
        return scores


def _model(name: str, summary: str, sees: tuple[str, ...]) -> Architecture:
    def inputs(config: PairConfig) -> dict[str, Input]:
        out: dict[str, Input] = {"panels": PanelVectors(config.images, "")} if "image" in sees else {}
        reads: dict[str, Input] = {"query": SpokenVectors(config.words, False), "query_tags": Tags(False)}
        return out | (reads if "text" in sees else {})

    return Architecture(
        name=name,
        summary=summary,
        paper="NLVR2 section 6",
        tasks=("statement",),
        config=PairConfig,
        inputs=inputs,
        module=PairBaseline,
        training={"batch": 64, "rate": 1e-3, "epochs": 60, "patience": 10.0, "weight_decay": 0.01},
        sees=sees,
    )


TEXT = _model("pair-text", "an LSTM over frozen word vectors, blind to the photographs", ("text",))
IMAGE = _model("pair-image", "a perceptron over a backbone's vectors, deaf to the sentence", ("image",))
CNN_RNN = _model("pair-cnn-rnn", "a backbone's vectors and an LSTM over word vectors, concatenated", ("text", "image"))
