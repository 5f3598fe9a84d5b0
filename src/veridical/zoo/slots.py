"""Objects of a drawn panel as slots, seen from its pixels by a small CNN that learns it from training panels first.

    maps = CNN(pixels)                       a cell is 5 x 5 pixels; in each: heat, shape, colour, size, four edges
    slots = the K hottest peaks              each with how sure it is, softmax of its kinds, its edges in 0..1

The CNN is taught where the annotated objects of training panels are (cross-entropy of heat and kinds at their middles,
distance of edges), then frozen; what it sees of a panel is kept, so that a reasoner trains on a few numbers. Of
other panels it is given nothing but pixels.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn import functional

from veridical.common.arrays import Floats, Ints
from veridical.common.files import Json, read_json
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.records import Panel
from veridical.zoo.architecture import Example
from veridical.zoo.panels import PanelPixels

SIDE, CELL, GRID = 100, 5, 20  # pixels of a panel and of a cell, cells of a panel
VALUES: tuple[tuple[str, ...], ...] = (
    ("square", "triangle", "circle"),
    ("black", "yellow", "blue"),
    ("small", "medium", "large"),
)
KINDS = sum(map(len, VALUES))
PARTS = (slice(0, 3), slice(3, 6), slice(6, 9))  # of the kinds: shape, colour, size
MOST_SLOTS = GRID * GRID // 4  # of a panel: two peaks of its cells are not side by side
LOOKS = KINDS + 12  # numbers that `looks` gives
LIES = 15  # and that `lies` gives
PLACES = 10  # cells along each side of an object map: no two objects have their middles in one
SLOT = 1 + KINDS + 4  # numbers of a slot: how sure, kinds, left, top, right, bottom
REACH = 30.0  # pixels: unit of the distance from a cell to an edge
BATCH, RATE = 32, 4e-3  # of teaching the CNN
FEWEST = 6  # steps that a rate rises and falls in: torch divides by zero where it is highest in the first of five
MOST_PANELS = 12_000  # to teach it on
SHOWN = 256  # panels that it looks at together


class SlotNetwork(nn.Module):
    """Convolutions down to cells of 5 x 5 pixels that see 35 x 35 pixels around them."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, channels, CELL, CELL), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=2, dilation=2), nn.ReLU(),
            nn.Conv2d(channels, 2 * channels, 1), nn.ReLU(),
            nn.Conv2d(2 * channels, SLOT, 1),
        )  # fmt: skip

    def forward(self, pixels: Tensor) -> Tensor:
        """pixels (N, 3, 100, 100) bytes -> (N, 14, 20, 20)."""
        found: Tensor = self.layers(pixels.float() / 127.5 - 1)
        return found

    def slots(self, pixels: Tensor, count: int) -> Tensor:
        """pixels (N, 3, 100, 100) bytes -> (N, K, 14)."""
        maps = self(pixels)
        heat = torch.sigmoid(maps[:, :1])  # (N, 1, 20, 20)
        peak = heat == functional.max_pool2d(heat, 3, 1, 1)
        around = functional.avg_pool2d(heat, 3, 1, 1, divisor_override=1).clamp(max=1)  # a middle between two cells
        sure, places = (around * peak).flatten(1).topk(count, dim=1)  # (N, K)
        taken = maps.flatten(2).gather(2, places[:, None].expand(-1, SLOT, -1)).transpose(1, 2)  # (N, K, 14)
        kinds = [taken[..., 1:][..., part].softmax(2) for part in PARTS]
        middle = torch.stack([places % GRID, places // GRID], dim=2) * CELL + CELL / 2  # (N, K, 2): across, down
        edges = (middle.repeat(1, 1, 2) + REACH * taken[..., 1 + KINDS :]) / SIDE  # (N, K, 4)
        real = (sure > 0.5)[..., None]
        return torch.cat([sure[..., None], *kinds, edges], dim=2) * real


def annotated(panel: Panel) -> Floats:
    """The objects of a panel: (O, 8), row and column of their cell, three kinds, edges but one; see `teach`."""
    width, height = float(panel.width or SIDE), float(panel.height or SIDE)
    out = []
    for one in panel.objects:
        named = (one.category, one.attribute("color"), one.attribute("size"))
        if one.box is None or any(value not in known for value, known in zip(named, VALUES, strict=True)):
            raise UserError(
                f"Panel {panel.id}, object {one.id}: a {' '.join(map(str, named))} is nothing that slots know.",
                "Models over slots learn to see NLVR's boxes; for photographs use film or mac with stored maps.",
            )
        box = np.array(one.box) * np.array([SIDE / width, SIDE / height] * 2)
        middle = np.minimum((box[:2] + box[2:]) / 2 / CELL, GRID - 1).astype(int)  # across, down
        kinds = [known.index(value or "") for value, known in zip(named, VALUES, strict=True)]
        out.append([middle[1], middle[0], *kinds, *((box - np.tile(middle * CELL + CELL / 2, 2)) / REACH)])
    return np.array(out, np.float32).reshape(-1, 9)


def teach(network: SlotNetwork, pixels: PanelPixels, rows: Ints, things: Sequence[Floats], steps: int) -> None:
    """Some steps of gradient descent on annotated panels: `things` of those in `rows`."""
    rng = np.random.default_rng(0)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=max(steps, FEWEST), pct_start=0.2)
    with Progress("learning to see", steps, "steps") as progress:
        for _ in range(steps):
            chosen = rng.integers(len(rows), size=BATCH)
            maps = network(torch.from_numpy(pixels.look_up(rows[chosen])))  # (B, 14, 20, 20)
            found = torch.from_numpy(np.concatenate([things[n] for n in chosen]))  # (O, 9)
            panel = torch.from_numpy(np.repeat(np.arange(BATCH), [len(things[n]) for n in chosen]))  # (O,)
            row, column = found[:, 0].long(), found[:, 1].long()
            wanted = torch.zeros_like(maps[:, 0])
            wanted[panel, row, column] = 1
            loss = 100 * functional.binary_cross_entropy_with_logits(maps[:, 0], wanted)
            said = maps[panel, :, row, column]  # (O, 14)
            for number, part in enumerate(PARTS):
                loss = loss + functional.cross_entropy(said[:, 1:][:, part], found[:, 2 + number].long())
            loss = loss + 20 * functional.l1_loss(said[:, 1 + KINDS :], found[:, 5:])
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            progress.advance()


class Seeing(Protocol):
    """A CNN that gives the objects of panels."""

    def slots(self, pixels: Tensor, count: int) -> Tensor: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> object: ...


class PanelSlots:
    """The slots of an item's panels in every view: (V, P) row numbers, looked up as (P, K, 14)."""

    per_view = False
    by_view = True
    size = SLOT
    state_shape: ClassVar[Any] = dict[str, str]

    def __init__(self, count: int, steps: int, seen_by: str = "") -> None:
        self.count, self.steps, self.seen_by = count, steps, seen_by
        self.pixels = PanelPixels(SIDE, SIDE)
        self.network: Seeing = SlotNetwork()
        self._seen = np.zeros((1, count, SLOT), np.float32)  # of the rows of `pixels`; 0 is no panel

    def learn(self, examples: Sequence[Example]) -> None:
        """Teach the CNN on the annotated panels of training, or take that of another run."""
        if self.seen_by:
            self.state = _network_of(Path(self.seen_by))
            return
        rows, panels = self._shown(examples)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self._teach(rows, panels)

    def _teach(self, rows: Ints, panels: Sequence[Panel]) -> None:
        """A new CNN, taught what is annotated of some panels; `rows` are their pictures."""
        self.network = SlotNetwork()
        teach(self.network, self.pixels, rows, [annotated(panel) for panel in panels], self.steps)

    def _shown(self, examples: Sequence[Example]) -> tuple[Ints, list[Panel]]:
        """Panels of some examples, each once, and the rows of their pictures."""
        chosen: dict[str, tuple[int, Panel]] = {}
        for example in np.random.default_rng(0).permutation(np.arange(len(examples))).tolist():
            one = examples[example]
            rows = self.pixels.encode(one)[0]  # in the order of the first view
            order = one.item.views[0].order if one.item.views else range(len(one.panels))
            chosen |= {one.panels[k].id: (int(row), one.panels[k]) for row, k in zip(rows, order, strict=True)}
            if len(chosen) >= MOST_PANELS:
                break
        return np.array([row for row, _ in chosen.values()]), [panel for _, panel in chosen.values()]

    def prepare(self, examples: Sequence[Example]) -> None:
        """Look at every panel once."""
        for example in examples:
            self.pixels.encode(example)
        self._look()

    def encode(self, example: Example) -> Ints:
        rows = self.pixels.encode(example)
        if rows.max(initial=0) >= len(self._seen):
            self._look()
        return rows

    def slots(self, rows: Ints) -> Floats:
        """(...) row numbers -> (..., K, 14)."""
        return self._seen[rows]

    def look_up(self, rows: Ints) -> Floats:
        """(B, P) -> (B, P, K, 14)."""
        return self.slots(rows)

    def _look(self) -> None:
        new = np.arange(len(self._seen), self.pixels.count + 1)
        found = [self._seen]
        with torch.inference_mode(), Progress("looking at panels", len(new), "panels") as progress:
            for start in range(0, len(new), SHOWN):
                rows = new[start : start + SHOWN]
                found.append(self.network.slots(torch.from_numpy(self.pixels.look_up(rows)), self.count).numpy())
                progress.advance(len(rows))
        self._seen = np.concatenate(found)

    @property
    def state(self) -> dict[str, str]:
        return {"network": base64.b64encode(save(dict(self.network.state_dict()))).decode()}

    @state.setter
    def state(self, value: dict[str, str]) -> None:
        try:
            self.network.load_state_dict(load(base64.b64decode(value["network"])))
        except (SafetensorError, KeyError, TypeError, RuntimeError) as error:
            raise ValueError(f"its network cannot be read: {error}") from None
        self._seen = self._seen[:1]


def _network_of(trial: Path) -> dict[str, str]:
    """The CNN that a trial learned to see with."""
    known = read_json(
        trial / "inputs.json", Json, "what a trial's inputs learned", "Give the folder of a trial: RUN/trial-0."
    )
    found = [state for state in known.values() if isinstance(state, dict) and isinstance(state.get("network"), str)]
    if not found:
        raise UserError(
            f"{trial} learned no CNN that sees objects.", "Name a trial of slot-reasoner, or of film over objects."
        )
    return dict(found[0])


def looks(slots: Tensor) -> Tensor:
    """Raw slots (..., 14) -> numbers for a linear layer (..., 21): kinds, edges, and what is near which wall."""
    kinds, edges = slots[..., 1 : 1 + KINDS], slots[..., 1 + KINDS :]
    walls = 100 * torch.cat([edges[..., :2], 1 - edges[..., 2:]], dim=-1)  # (..., 4) pixels
    return torch.cat([kinds, 2 * edges - 1, torch.exp(-walls.clamp(min=0) / 1.5), torch.exp(-walls.abs() / 8)], dim=-1)


def lies(slots: Tensor) -> Tensor:
    """How slot j lies to slot i: (B, P, K, 14) -> (B, P, K, K, 15)."""
    kinds, edges = slots[..., 1 : 1 + KINDS], slots[..., 1 + KINDS :]
    low, high = 100 * edges[..., :2], 100 * edges[..., 2:]  # (B, P, K, 2): across, down
    away = ((low + high)[..., None, :, :] - (low + high)[..., :, None, :]) / 2  # (B, P, K, K, 2): from i to j
    before, after = low[..., None, :, :] - high[..., :, None, :], low[..., :, None, :] - high[..., None, :, :]
    gap = torch.maximum(before, after)  # (B, P, K, K, 2): negative where they overlap
    distance = gap.clamp(min=0).norm(dim=-1, keepdim=True)  # (B, P, K, K, 1)
    same = [kinds[..., None, :, part] * kinds[..., :, None, part] for part in PARTS]
    alike = torch.stack([one.sum(-1) for one in same], dim=-1)  # (B, P, K, K, 3): shape, colour, size
    near = torch.cat([torch.exp(-distance / 1.5), torch.exp(-distance / 6)], dim=-1)
    return torch.cat([away / 50, torch.tanh(away / 3), torch.tanh(before / 2), torch.tanh(after / 2),
                      torch.exp(-gap.abs() / 1.5), near, alike], dim=-1)  # fmt: skip


class SlotMaps(PanelSlots):
    """The same slots on a map: (P, 22, 10, 10), an object in the cell of its middle; or as a list, (P, 22, K, 1)."""

    size = 1 + LOOKS

    def __init__(self, count: int, steps: int, seen_by: str = "", *, listed: bool = False) -> None:
        super().__init__(count, steps, seen_by)
        self.listed = listed

    def look_up(self, rows: Ints) -> Floats:
        """(B, P) -> (B, P, 22, 10, 10)."""
        return self.maps(self.slots(rows))

    def maps(self, slots: Floats) -> Floats:
        """Slots (B, P, K, 14) -> (B, P, 22, 10, 10)."""
        seen = looks(torch.from_numpy(slots)).numpy() * (slots[..., :1] > 0)
        found = np.concatenate([slots[..., :1], seen], axis=3)  # (B, P, K, 22)
        if self.listed:
            return np.ascontiguousarray(found.swapaxes(2, 3)[..., None])
        out = np.zeros((*slots.shape[:2], PLACES, PLACES, self.size), np.float32)
        item, panel, slot = np.nonzero(slots[..., 0])
        edges = slots[item, panel, slot, 1 + KINDS :]
        middle = np.clip((edges[:, :2] + edges[:, 2:]) / 2 * PLACES, 0, PLACES - 1).astype(int)  # across, down
        out[item, panel, middle[:, 1], middle[:, 0]] = found[item, panel, slot]
        return np.ascontiguousarray(np.moveaxis(out, 4, 2))
