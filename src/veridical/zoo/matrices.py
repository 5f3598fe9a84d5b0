"""What the models of matrices share (V-PROM sections 4.1 and 4.6): panel vectors with ids, and auxiliary targets.

    x_j = [v_j / |v_j|; one-hot(j)]        j = 1..8 context, 9..16 candidates

Beyond the paper, `centre` takes the mean of the training panels from the unit vectors and makes them unit vectors
again: pooled maps are positive, so that without it all panels look much alike.

An example is sixteen row numbers of the benchmark's stored vectors, and a batch is one gather from the memory-mapped
file. A linear map of x_j is W v_j plus a learned row for place j, so that no one-hot vector is ever made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from veridical.common.arrays import Floats, Ints
from veridical.encoders import Features, object_regions, panel_key, region_key
from veridical.encoders.encoder import unit
from veridical.errors import UserError
from veridical.records import Panel
from veridical.zoo.architecture import Architecture, Example, Input, Target
from veridical.zoo.inputs import StoredVectors

CONTEXT, CANDIDATES = 8, 8
PANELS = CONTEXT + CANDIDATES
RELATIONS = ("and", "or", "progression", "union")
ELEMENTS = ("attribute", "object", "count")
# Section 4.1 and supplement B.
TRAINING = {"optimizer": "adadelta", "rate": 1.0, "batch": 128, "validation": 0.1, "validation_items": 8000}

Auxiliary = Literal["none", "two", "seven"]
Predicted = Tensor | tuple[Tensor, dict[str, Tensor]]  # scores, in training perhaps with logits of auxiliary targets
_FILE = 40  # a row number's bits above these say which file of vectors it is of
_CHUNK = 1 << 14  # vectors whose lengths are measured at a time


@dataclass(frozen=True)
class MatrixConfig:
    """What all models of matrices can be told."""

    images: str = "efficientnet-lite0"  # encoder of the panels, see `veridical features`
    regions: int = 0  # the mean over so many boxes of a panel's objects (`features --objects`); 0: the panel as a whole
    hidden: int = 128  # width of every layer (supplement B)
    dropout: float = 0.0  # of hidden layers
    panel_ids: bool = True  # a one-hot index with every panel; the relation network loses 19 points without
    centre: bool = False  # vectors less the mean of the training panels: what panels share says nothing
    auxiliary: Auxiliary = "none"  # also predict relation and element type: two softmaxes of 4 and 3, or one of 7


class Panels(StoredVectors):
    """The unit vectors of an item's eight context panels and eight candidates: (16, D), or of their regions."""

    per_view = False

    def __init__(self, encoder: str, regions: int = 0, pooled: bool = True, centre: bool = False) -> None:
        super().__init__(encoder)
        self._regions, self._pooled, self._centre = regions, pooled, centre
        self._matrices: list[Features] = []  # by the numbers of the files
        self._scales: list[Floats | None] = []  # one over each vector's length; None where all have length 1
        self._numbers: dict[Path, int] = {}
        self._known: dict[tuple[int, str], Ints] = {}  # file and panel id -> row numbers

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": 0}
        if examples:
            self.encode(examples[0])
            self.state["size"] = self._matrices[0].size
        if examples and self._centre:
            self.state["mean"] = self._mean(examples)

    def _mean(self, examples: Sequence[Example]) -> list[float]:
        """The mean of all distinct panels (or of their regions)."""
        encoded = np.stack([self.encode(example) for example in examples])  # (N, 16) or (N, 16, R)
        panels = np.unique(encoded.reshape(-1, *encoded.shape[2:]), axis=0)  # (P,) or (P, R)
        total, count = np.zeros(self.size), 0
        for start in range(0, len(panels), _CHUNK):
            found = self.look_up(panels[None, start : start + _CHUNK]).reshape(-1, self.size)
            total += found.sum(0, dtype=np.float64)
            count += int((np.abs(found).max(1) > 0).sum())  # a region that is not there is zero
        return [float(x) for x in total / max(count, 1)]

    def encode(self, example: Example) -> Ints:
        """Row numbers: (16,), or (16, R) where regions are wanted, -1 where a panel has fewer."""
        shape = (len(example.panels), len(example.choices))
        if shape != (CONTEXT, CANDIDATES):
            raise UserError(
                f"Item {example.item.id} has {shape[0]} context panels and {shape[1]} candidate panels.",
                f"Models of matrices take {CONTEXT} and {CANDIDATES}.",
            )
        number = self._number(example)
        return np.stack([self._rows(number, panel, example) for panel in (*example.panels, *example.choices)])

    def look_up(self, rows: Ints) -> Floats:
        """(B, 16) -> (B, 16, D); (B, 16, R) -> (B, 16, R, D), or pooled to (B, 16, D)."""
        found = self._gather(rows)
        if self._regions and self._pooled:
            found = unit(found.sum(2))
        mean = self.state.get("mean")
        if mean is None:
            return found
        there = np.abs(found).max(-1, keepdims=True) > 0
        return unit((found - np.asarray(mean, np.float32)) * there)

    def _gather(self, rows: Ints) -> Floats:
        number = int(rows.flat[0] >> _FILE)
        if bool(((rows >> _FILE) == number).all()):
            return self._of_file(number, rows - (number << _FILE))
        out = np.zeros((*rows.shape, self._matrices[0].size), np.float32)
        for number in range(len(self._matrices)):
            here = rows >> _FILE == number
            if here.any():
                out[here] = self._of_file(number, rows[here] - (number << _FILE))
        return out

    def _of_file(self, number: int, places: Ints) -> Floats:
        found: Floats = self._matrices[number].matrix[places]
        scale = self._scales[number]
        if scale is not None:
            found *= scale[places][..., None]
        return found

    def _number(self, example: Example) -> int:
        """The number of the file with an example's vectors."""
        opened = self.file(example)
        folder = example.folder or Path()
        if folder not in self._numbers:
            self._numbers[folder] = len(self._matrices)
            self._matrices.append(opened)
            self._scales.append(None if opened.about.normalised else _scales(opened.matrix))
        return self._numbers[folder]

    def _rows(self, number: int, panel: Panel, example: Example) -> Ints:
        if (number, panel.id) not in self._known:
            key = panel_key(panel)
            if key is None or panel.image is None:
                raise UserError(
                    f"Item {example.item.id} has a panel whose picture is not in the benchmark.",
                    "Import it with its images.",
                )
            boxes = [region_key(panel.image, box) for box in object_regions(panel)][: self._regions]
            places = self._matrices[number].places(boxes or [key]) + (number << _FILE)
            if self._regions:
                places = np.concatenate([places, np.full(self._regions - len(places), -1)])
            self._known[number, panel.id] = places if self._regions else places[0]
        return self._known[number, panel.id]


def _scales(matrix: Floats) -> Floats:
    """One over the length of each vector, zero for zero; read in pieces, as a file may be larger than memory."""
    pieces = [np.linalg.norm(matrix[n : n + _CHUNK], axis=1) for n in range(0, len(matrix), _CHUNK)]
    lengths = np.concatenate([*pieces, np.zeros(0, np.float32)])
    return np.where(lengths > 0, 1 / np.where(lengths > 0, lengths, 1), 0).astype(np.float32)


def inputs(config: MatrixConfig) -> dict[str, Input]:
    """The one input of a model of matrices."""
    if config.regions < 0:
        raise UserError(f"The option regions is {config.regions}.", "Give 0 (the whole panel) or more.")
    return {"panels": Panels(config.images, config.regions, centre=config.centre)}


def targets(config: MatrixConfig) -> dict[str, Target]:
    """Relation and element type; as printed, one softmax of seven, in which each of the two has half the weight."""
    if config.auxiliary == "none":
        return {}
    if config.auxiliary == "seven":
        return {"kind": Target((*RELATIONS, *ELEMENTS), lambda e: (*_named(e, "relation"), *_named(e, "element")))}
    return {
        "relation": Target(RELATIONS, lambda e: _named(e, "relation")),
        "element": Target(ELEMENTS, lambda e: _named(e, "element")),
    }


def _named(example: Example, tag: str) -> list[str]:
    known = RELATIONS if tag == "relation" else ELEMENTS
    found = example.item.tag(tag)
    if not found or found[0] not in known:
        raise UserError(
            f"Item {example.item.id} has the {tag} {', '.join(found) or '(none)'}; an auxiliary loss needs one of: "
            f"{', '.join(known)}.",
            "Train with auxiliary=none, or build the benchmark with its tags.",
        )
    return [found[0]]


class PanelLinear(nn.Module):
    """A linear map of x_j: W v_j + e_j + b; `width` numbers come out for each panel."""

    def __init__(self, config: MatrixConfig, size: int, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(size, width)
        self.places: nn.Parameter | None = None
        if config.panel_ids:
            self.places = nn.Parameter(torch.empty(PANELS, width).uniform_(-1, 1) * size**-0.5)

    def forward(self, panels: Tensor, start: int = 0) -> Tensor:
        """n of the sixteen panels, from `start` on: (B, n, D) -> (B, n, width)."""
        mapped: Tensor = self.map(panels)  # (B, n, width)
        return mapped if self.places is None else mapped + self.places[start : start + panels.shape[1]]


class Heads(nn.Module):
    """The auxiliary predictions: a linear map of the final activations for each target, in training only."""

    def __init__(self, config: MatrixConfig) -> None:
        super().__init__()
        wanted: Mapping[str, Target] = targets(config)
        self.heads = nn.ModuleDict({name: nn.Linear(config.hidden, len(t.names)) for name, t in wanted.items()})

    def forward(self, scores: Tensor, activations: Tensor) -> Predicted:
        """scores (B, 8) and activations (B, H), or (B, 8, H) of all candidates, which are averaged."""
        if not self.training or not self.heads:
            return scores
        whole = activations.mean(1) if activations.ndim == 3 else activations  # (B, H)
        return scores, {name: head(whole) for name, head in self.heads.items()}


def matrix_model(
    name: str,
    summary: str,
    section: str,
    module: Callable[..., nn.Module],
    config: type[MatrixConfig] = MatrixConfig,
    looks: Callable[..., dict[str, Input]] = inputs,
) -> Architecture:
    """A model of matrices, trained as in V-PROM (section 4.1 and supplement B)."""
    paper = f"V-PROM section {section}"
    sees = ("image", "candidates", "features", *(("structure",) if looks is not inputs else ()))
    model = Architecture(name, summary, paper, ("matrix",), config, looks, module, sees=sees)
    return replace(model, training=TRAINING, targets=targets)
