"""What models see of a photograph with tagged objects: classes, places, region features, and what stands around.

The photograph as a whole is the first object, number 1; its objects are 2, 3 and so on, and 0 is no object. Region
features are those that `veridical features --objects` stored, or are taken from a convolutional map by RoIAlign
(`regions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from veridical.common.arrays import Floats, Ints
from veridical.encoders import object_regions, panel_key, region_key
from veridical.errors import UserError
from veridical.records import Panel
from veridical.zoo.architecture import Example, Input
from veridical.zoo.inputs import Pixels, StoredRows, Vocabulary
from veridical.zoo.regions import RegionNetwork

WHOLE = 1  # the number of the whole photograph among objects; 0 is no object
PHOTOGRAPH = "(photograph)"  # its class
CLASS = 32  # size of a class's embedding
PIXELS = "pixels"  # in place of an encoder: region features are learned with the model
PICTURE = (200, 152)  # width and height that photographs are squeezed into for it
PLACES = 5  # left, top, right, bottom and area, as shares of the photograph
GEOMETRY = 6  # of two objects: gap, to the right, below, both without their signs, how much larger
NEAR = -30.0  # what the gap weighs before training: of things a tenth of the photograph apart, one of twenty is seen


def only_panel(example: Example) -> Panel:
    """The photograph of an item."""
    if len(example.panels) != 1:
        raise UserError(
            f"Item {example.item.id} has {len(example.panels)} panels.", "Models that ground tags take one photograph."
        )
    return example.panels[0]


class ObjectClasses(Vocabulary):
    """The classes of the photograph and its objects: (1 + O,) ids."""

    def texts(self, example: Example) -> list[list[str]]:
        return [[PHOTOGRAPH, *(one.category.lower() for one in only_panel(example).objects)]]

    def encode(self, example: Example) -> Ints:
        return self.number(self.texts(example)[0])


class ObjectPlaces:
    """Where the photograph and its objects lie: (1 + O, 5); one without a box lies everywhere."""

    per_view = False
    size = PLACES
    state: None = None

    def learn(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def encode(self, example: Example) -> Floats:
        panel = only_panel(example)
        width, height = float(panel.width or 1), float(panel.height or 1)
        whole = (0.0, 0.0, width, height)
        boxes = np.array([whole, *(one.box or whole for one in panel.objects)], np.float32)
        boxes /= np.array([width, height, width, height], np.float32)
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        return np.concatenate([boxes, area[:, None]], axis=1)


class RegionVectors(StoredRows):
    """The stored vectors of the photograph and its objects: (1 + O,) row numbers, looked up as (1 + O, D)."""

    def learn(self, examples: Sequence[Example]) -> None:
        self.state = {"size": 0}
        self.state["size"] = self.file(examples[0]).size

    def encode(self, example: Example) -> Ints:
        panel = only_panel(example)
        key = panel_key(panel)
        if key is None or panel.image is None or example.folder is None:
            raise UserError(
                f"The photograph of item {example.item.id} is not in the benchmark.", "Import it with its images."
            )
        return self.places(example, [key, *keys_of_objects(panel, key)])

    def look_up(self, rows: Ints) -> Floats:
        return self.vectors(rows)


def keys_of_objects(panel: Panel, whole: str) -> list[str]:
    """Under which keys the vectors of a photograph's objects are stored; one without a box is everywhere."""
    boxes = iter(object_regions(panel))
    return [whole if one.box is None else region_key(panel.image or "", next(boxes)) for one in panel.objects]


class Neighbours(nn.Module):
    """Adds to each object what stands around it, by learned weights of where that stands (after Hu et al. 2018).

    o_i += relu(V sum_j w_ij o_j): a hand alone does not tell what it holds. Weights begin with what is near; with
    `own`, an object is near itself.
    """

    def __init__(self, width: int, heads: int, own: bool = False) -> None:
        super().__init__()
        self.own = own
        self.weigh = nn.Linear(GEOMETRY, heads, bias=False)
        with torch.no_grad():
            self.weigh.weight[:, 0] = NEAR
        self.take = nn.Linear(heads * width, width)

    def forward(self, seen: Tensor, places: Tensor, there: Tensor) -> Tensor:
        """seen (B, O, H), places (B, O, 5), there (B, O) -> (B, O, H)."""
        number = torch.arange(seen.shape[1], device=seen.device)
        other = (number[:, None] != number) | self.own  # (O, O)
        near = (there & (number >= WHOLE))[:, None, :] & other  # (B, O, O): the photograph is nobody's neighbour
        fit = self.weigh(geometry(places)).masked_fill(~near[..., None], -1e9)  # (B, O, O, heads)
        shares = fit.softmax(2) * near[..., None]  # of an object alone all are zero
        around = torch.einsum("bijh,bjw->bihw", shares, seen).flatten(2)  # (B, O, heads H)
        out: Tensor = seen + torch.relu(self.take(around)) * there[:, :, None]
        return out


def geometry(places: Tensor) -> Tensor:
    """(B, O, 5) -> (B, O, O, 6): where the second object stands to the first."""
    low, high = places[..., :2], places[..., 2:4]  # (B, O, 2)
    gap = torch.maximum(low[:, None] - high[:, :, None], low[:, :, None] - high[:, None]).clamp(min=0).norm(dim=3)
    away = (low + high)[:, None] / 2 - (low + high)[:, :, None] / 2  # (B, O, O, 2)
    size = (places[..., 4] + 1e-3).log()
    larger = size[:, None] - size[:, :, None]  # (B, O, O)
    return torch.cat([gap[..., None], away, away.abs(), larger[..., None]], dim=3)


def pointed_at(tags: Tensor, seen: Tensor) -> Tensor:
    """What each word of a text points at, 0 where it points at nothing: tags (N, T), seen (N, O, H) -> (N, T, H)."""
    numbers = tags[:, :, None]  # the k-th object is number k
    return seen.gather(1, (numbers - 1).clamp(min=0).expand(-1, -1, seen.shape[2])) * (numbers > 0)


class Objects(nn.Module):
    """What each object is: o_i = W [x_i; class_i; place_i], with what stands around it, o_i += U relu(o_i)."""

    def __init__(self, sizes: Mapping[str, int], width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.classes = nn.Embedding(sizes["classes"], CLASS, padding_idx=0)
        self.network = RegionNetwork(width) if "pixels" in sizes else None
        features = width if self.network is not None else sizes.get("regions", 0)
        self.look = nn.Linear(features + CLASS + PLACES, width)
        self.around = Neighbours(width, heads) if heads else None
        self.deeper = nn.Linear(width, width)

    def forward(self, classes: Tensor, places: Tensor, regions: Tensor | None, pixels: Tensor | None) -> Tensor:
        """classes (B, O), places (B, O, 5), regions (B, O, D) or pixels (B, 3, height, width) -> (B, O, H)."""
        there = (classes > 0)[:, :, None]  # (B, O, 1)
        known = [self.classes(classes), places]
        if self.network is not None and pixels is not None:
            regions = self.network(pixels, places)  # (B, O, D)
        if regions is not None:
            known.append(regions)
        seen: Tensor = self.look(self.dropout(torch.cat(known, dim=2))) * there  # (B, O, H)
        if self.around is not None:
            seen = self.around(seen, places, there.squeeze(2))
        deeper: Tensor = seen + self.deeper(torch.relu(seen)) * there
        return deeper


def object_inputs(images: str) -> dict[str, Input]:
    """The inputs of `Objects`: region features by an encoder, from `PIXELS`, or none where it is empty."""
    out: dict[str, Input] = {"classes": ObjectClasses(1), "places": ObjectPlaces()}
    if images == PIXELS:
        return out | {"pixels": Pixels(*PICTURE)}
    return out | ({"regions": RegionVectors(images)} if images else {})
