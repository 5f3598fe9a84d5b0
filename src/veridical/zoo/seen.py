"""Objects of any annotated picture as a list, seen from its pixels by a CNN that learned it from training pictures
first: `given` for eyes in place of annotations, `slots` for more than squares, triangles and circles.

    maps = CNN(pixels)       a cell is 8 x 8 pixels; in each: heat, four edges, logits of all values of all attributes
    o_k = [how sure; looks of its place; softmax of its category, of its colour, ...]      of the K hottest peaks

Which values there are is learned from training; "none" is a value of every attribute that is not shown. Pictures of
validation and of other splits give nothing but their pixels. A run over seen objects can continue from one over given
objects (`train --pretrained`): what was learned of exact objects stays, and then eyes learn to see such objects.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn import functional

from veridical.common.arrays import Floats, Ints
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.records import Panel
from veridical.zoo.architecture import Example
from veridical.zoo.given import MOST, listed, values_of, values_of_all
from veridical.zoo.panels import PanelPixels
from veridical.zoo.slots import FEWEST, KINDS, SLOT, PanelSlots

WIDTH, HEIGHT = 200, 150  # pixels that pictures are squeezed to
PLACE = 5  # numbers of a cell beside the values: heat, four edges
REACH = 0.2  # of the picture: unit of the distance from a cell to an edge
BATCH, RATE = 16, 3e-3  # of teaching the CNN
HEAT, EDGES = 100.0, 10.0  # what heat and edges weigh against the values


class SeenNetwork(nn.Module):
    """Convolutions down to cells of 8 x 8 pixels that see about 90 x 90 pixels around them."""

    def __init__(self, values: Sequence[str], channels: int = 64) -> None:
        super().__init__()
        self.parts = parts_of(values)
        self.order = np.argsort(np.concatenate(list(by_attribute(values).values()))).tolist()
        layers: list[nn.Module] = []
        seen = 3
        for width, kernel, stride, apart in (
            (channels // 4, 5, 2, 1),
            (channels // 2, 3, 2, 1),
            (channels, 3, 2, 1),
            (channels, 3, 1, 1),
            (channels, 3, 1, 2),
        ):
            around = apart * (kernel // 2)
            convolution = nn.Conv2d(seen, width, kernel, stride, around, apart, bias=False)
            layers += [convolution, nn.BatchNorm2d(width), nn.ReLU()]
            seen = width
        layers += [nn.Conv2d(seen, 2 * seen, 1), nn.ReLU(), nn.Conv2d(2 * seen, PLACE + self.parts[-1].stop, 1)]
        self.layers = nn.Sequential(*layers)

    def forward(self, pixels: Tensor) -> Tensor:
        """pixels (N, 3, 150, 200) bytes -> (N, 5 + values and nones, 19, 25)."""
        found: Tensor = self.layers(pixels.float() / 127.5 - 1)
        return found

    def slots(self, pixels: Tensor, count: int) -> Tensor:
        """pixels (N, 3, 150, 200) bytes -> (N, K, 14 + values): slots whose kinds are empty, then the values."""
        maps = self(pixels)
        heat = torch.sigmoid(maps[:, :1])  # (N, 1, h, w)
        peak = heat == functional.max_pool2d(heat, 3, 1, 1)
        around = functional.avg_pool2d(heat, 3, 1, 1, divisor_override=1).clamp(max=1)
        sure, places = (around * peak).flatten(1).topk(count, dim=1)  # (N, K)
        taken = maps.flatten(2).gather(2, places[:, None].expand(-1, maps.shape[1], -1)).transpose(1, 2)  # (N, K, D)
        middle = middles(places, maps.shape[3], maps.shape[2])  # (N, K, 2)
        edges = middle.repeat(1, 1, 2) + REACH * taken[..., 1:PLACE]
        said = [taken[..., PLACE:][..., part].softmax(2)[..., 1:] for part in self.parts]  # the first is "none"
        empty = taken.new_zeros(*taken.shape[:2], KINDS)
        found = torch.cat([sure[..., None], empty, edges, torch.cat(said, dim=2)[..., self.order]], dim=2)
        return found * (sure > 0.5)[..., None]


def parts_of(values: Sequence[str]) -> list[slice]:
    """Where the logits of each attribute are, "none" first.

    >>> parts_of(["category cat", "color red", "category dog"])
    [slice(0, 3, None), slice(3, 5, None)]
    """
    out, start = [], 0
    for own in by_attribute(values).values():
        out.append(slice(start, start + 1 + len(own)))
        start = out[-1].stop
    return out


def by_attribute(values: Sequence[str]) -> dict[str, list[int]]:
    """Where the values of each attribute are: those that came later stand behind all others.

    >>> by_attribute(["category cat", "color red", "category dog"])
    {'category': [0, 2], 'color': [1]}
    """
    out: dict[str, list[int]] = {}
    for number, value in enumerate(values):
        out.setdefault(value.partition(" ")[0], []).append(number)
    return out


def middles(places: Tensor, width: int, height: int) -> Tensor:
    """The middles of cells (...), row by row, as shares of the picture: (..., 2), across and down."""
    across, down = places % width + 0.5, places // width + 0.5
    return torch.stack([across / width, down / height], dim=-1)


class SeenObjects(PanelSlots):
    """Seen objects of an item's panels in every view: (V, P) row numbers, looked up as (P, 22 + values, K, 1)."""

    state_shape: ClassVar[Any] = dict[str, str] | list[str]

    def __init__(self, steps: int, seen_by: str = "", count: int = MOST) -> None:
        super().__init__(count, steps, seen_by)
        self.pixels = PanelPixels(WIDTH, HEIGHT)
        self._values: list[str] = []
        self._known_only = False  # values are known, and no eyes have learned to see them

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(listed(*self._halves(np.zeros((1, 1), np.int64)))[0, 0])

    def slots(self, rows: Ints) -> Floats:
        """(...) row numbers -> (..., K, 14)."""
        return self._seen[rows][..., :SLOT]

    def look_up(self, rows: Ints) -> Floats:
        """(B, P) -> (B, P, 22 + values, K, 1)."""
        return listed(*self._halves(rows))

    def _halves(self, rows: Ints) -> tuple[Floats, Floats]:
        found = self._seen[rows]
        return found[..., :SLOT], found[..., SLOT:]

    def grow(self, examples: Sequence[Example]) -> None:
        """Learn to see, where a run over given objects was continued; eyes that can see stay as they are."""
        if self._known_only:
            self.learn(examples)

    def learn(self, examples: Sequence[Example]) -> None:
        """Teach the CNN on the annotated panels of training, or take that of another run."""
        before = self._values if self._known_only else None
        super().learn(examples)
        if before is not None and self._values != before:
            raise UserError("The eyes know other values than the run that they are for.", "Train it from the start.")

    def _teach(self, rows: Ints, panels: Sequence[Panel]) -> None:
        self._begin(self._values if self._known_only else values_of_all(panels))
        assert isinstance(self.network, SeenNetwork)
        teach(self.network, self.pixels, rows, panels, self._values, self.steps)

    def _begin(self, values: list[str]) -> None:
        """A new CNN, which has seen nothing yet."""
        self._known_only = False
        self._values, self.network = values, SeenNetwork(values).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._seen = np.zeros((1, self.count, SLOT + len(values)), np.float32)

    @property
    def state(self) -> dict[str, str]:
        return {"values": "\n".join(self._values), "network": _written(self.network.state_dict())}

    @state.setter
    def state(self, value: dict[str, str] | list[str]) -> None:
        if isinstance(value, list):
            self._begin(value)
            self._known_only = True
            return
        try:
            self._begin(value["values"].split("\n"))
            self.network.load_state_dict(load(base64.b64decode(value["network"])))
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"its network cannot be read: {error}") from None
        assert isinstance(self.network, SeenNetwork)
        self.network.eval()


def teach(
    network: SeenNetwork, pixels: PanelPixels, rows: Ints, panels: Sequence[Panel], values: Sequence[str], steps: int
) -> None:
    """Some steps of gradient descent on annotated panels, whose pictures are `rows`."""
    rng = np.random.default_rng(0)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=max(steps, FEWEST), pct_start=0.2)
    things = [annotated(panel, values) for panel in panels]
    network.train()
    with Progress("learning to see", steps, "steps") as progress:
        for _ in range(steps):
            chosen = rng.integers(len(rows), size=BATCH)
            maps = network(torch.from_numpy(pixels.look_up(rows[chosen])))  # (B, D, h, w)
            loss = _wrong(maps, [things[n] for n in chosen.tolist()], network.parts)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            progress.advance()
    network.eval()


def annotated(panel: Panel, values: Sequence[str]) -> tuple[Floats, Ints]:
    """The boxes of a panel's objects as shares of it (O, 4), and which value of each attribute they have (O, A), where
    0 is none."""
    room = np.tile([panel.width or 1, panel.height or 1], 2)
    boxes = np.array([one.box or (0, 0, *room[:2]) for one in panel.objects], np.float32).reshape(-1, 4) / room
    known: dict[str, tuple[int, int]] = {}  # value -> which attribute, and its number
    for column, own in enumerate(by_attribute(values).values()):
        known |= {values[place]: (column, number) for number, place in enumerate(own, 1)}
    which = np.zeros((len(boxes), 1 + max(column for column, _ in known.values())), np.int64)
    for row, one in zip(which, panel.objects, strict=True):
        for column, number in (known[value] for value in values_of(one) if value in known):
            row[column] = number
    return boxes.astype(np.float32), which


def _wrong(maps: Tensor, things: Sequence[tuple[Floats, Ints]], parts: Sequence[slice]) -> Tensor:
    """How far maps (B, D, h, w) are from the things of their pictures."""
    height, width = maps.shape[2:]
    boxes = torch.from_numpy(np.concatenate([boxes for boxes, _ in things]))  # (O, 4)
    which = torch.from_numpy(np.concatenate([which for _, which in things]))  # (O, A)
    picture = torch.from_numpy(np.repeat(np.arange(len(things)), [len(boxes) for boxes, _ in things]))  # (O,)
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2  # (O, 2): across, down
    column = (middle[:, 0] * width).long().clamp(0, width - 1)
    row = (middle[:, 1] * height).long().clamp(0, height - 1)
    wanted = torch.zeros_like(maps[:, 0])
    wanted[picture, row, column] = 1
    loss = HEAT * functional.binary_cross_entropy_with_logits(maps[:, 0], wanted)
    said = maps[picture, :, row, column]  # (O, D)
    for number, part in enumerate(parts):
        loss = loss + functional.cross_entropy(said[:, PLACE:][:, part], which[:, number])
    edges = (boxes - middles(row * width + column, width, height).repeat(1, 2)) / REACH  # (O, 4)
    return loss + EDGES * functional.l1_loss(said[:, 1:PLACE], edges)


def _written(state: dict[str, Tensor]) -> str:
    return base64.b64encode(save({name: tensor.contiguous() for name, tensor in state.items()})).decode()
