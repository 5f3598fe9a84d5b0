"""What module networks see: places of each panel, as cells of a tower's map or as object slots, and how places lie.

    cells   h_k = relu(V [v_k; where])                      v: the tower's map (`towers`)
            moved_k = sum_j K_x(k - j) a_j                  a kernel over distances, mixed of a few by the text
    slots   h_k = relu(V2 relu(V1 [looks_k; sum_j g_kj]) + u_p)   g_kj: how slot j lies to slot k (`slots`)
            moved_k = sum_j sigmoid(g_kj . W x + b x) a_j

Both give the same things, so that `modules` need not know which: h (B, P, K, W), which places are real (B, P, K), and
attention moved along a relation that the text names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from veridical.errors import UserError
from veridical.zoo.architecture import Input, or_none
from veridical.zoo.inputs import Words
from veridical.zoo.layers import perceptron
from veridical.zoo.slots import LIES, LOOKS, MOST_SLOTS, PanelSlots, lies, looks
from veridical.zoo.towers import MOST_PANELS, PanelConfig, Placed, Tower, inputs, is_list

BASIS = 12  # kernels, or sorts of relations, that those of a text are mixed from


@dataclass(frozen=True)
class EyesConfig(PanelConfig):
    """What module networks see of a panel; a model adds its own sizes."""

    strides: tuple[int, ...] = (2, 2, 1)  # of the tower's convolutions: a cell is their product of pixels wide
    slots: int = or_none(0, most=MOST_SLOTS)  # in place of cells, so many objects seen in each drawn panel; 0: cells
    modules: int = 64  # width of the modules
    reach: int = 6  # cells that `relocate` reaches in each direction


@dataclass
class Seen:
    """The places of some panels."""

    places: Tensor  # (B, P, K, W)
    real: Tensor  # (B, P, K): 0 where there is nothing
    shape: tuple[int, int] = (0, 0)  # of cells
    pairs: Tensor | None = None  # of slots: how they lie, (B, P, K, K, G)


def seen_inputs(config: EyesConfig) -> dict[str, Input]:
    """`panels` and `words`; panels are slots where they are asked for."""
    if config.slots and config.maps:
        raise UserError(f"Both slots={config.slots} and maps={config.maps} were asked for.", "Leave out one of them.")
    if is_list(config):
        raise UserError(f"Modules do not look at lists of objects (maps={config.maps}).", "Use slots=8 instead.")
    if not config.slots:
        return inputs(config)
    return {"panels": PanelSlots(config.slots, config.seeing, config.seen_by), "words": Words(config.least)}


class Cells(nn.Module):
    """A tower's cells."""

    def __init__(self, config: EyesConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.reach, side = config.reach, 2 * config.reach + 1
        self.tower = Tower(config, sizes)
        self.see = Placed(config.channels, config.modules)
        self.kernels = nn.Parameter(torch.randn(BASIS, side * side) / side)
        self.mix = nn.Linear(config.embedding, BASIS)

    def forward(self, panels: Tensor) -> Seen:
        """panels (B, P, 3, height, width) bytes."""
        maps = self.tower(panels).flatten(0, 1)  # (B P, C, h, w)
        found = torch.relu(self.see(maps))  # (B P, W, h, w)
        height, width = found.shape[2:]
        places = found.reshape(*panels.shape[:2], -1, height * width).transpose(2, 3)  # (B, P, K, W)
        return Seen(places, places.new_ones(places.shape[:3]), (height, width))

    def move(self, attention: Tensor, texts: Tensor, seen: Seen, rows: Tensor) -> Tensor:
        """attention (N, P, K), texts (N, D) of the examples in `rows` (N,) -> (N, P, K).

        Each example has a kernel of its own, so examples are groups of one convolution.
        """
        side = 2 * self.reach + 1
        kernels = (self.mix(texts) @ self.kernels).view(-1, 1, side, side)  # (N, 1, side, side)
        maps = attention.transpose(0, 1).reshape(-1, len(kernels), *seen.shape)  # (P, N, h, w)
        moved = functional.conv2d(maps, kernels, padding=self.reach, groups=len(kernels))  # (P, N, h, w)
        return moved.flatten(2).transpose(0, 1)


class Slots(nn.Module):
    """Object slots."""

    def __init__(self, config: EyesConfig, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.geometry = perceptron([LIES, 2 * BASIS, BASIS])
        self.see = perceptron([LOOKS + BASIS, config.modules, config.modules])
        self.which = nn.Parameter(torch.zeros(MOST_PANELS, 1, config.modules))
        self.mix = nn.Linear(config.embedding, BASIS + 1)

    def forward(self, panels: Tensor) -> Seen:
        """panels (B, P, K, 14): slots."""
        real, pairs = panels[..., 0], self.geometry(lies(panels))  # (B, P, K), (B, P, K, K, G)
        other = real[..., None, :] * (1 - torch.eye(real.shape[2], device=real.device))  # (B, P, K, K)
        around = (torch.relu(pairs) * other[..., None]).sum(3)  # (B, P, K, G)
        which = self.which[: panels.shape[1]]  # (P, 1, W)
        places = torch.relu(self.see(torch.cat([looks(panels), around], dim=3)) + which)  # (B, P, K, W)
        return Seen(places, real, pairs=pairs * other[..., None])

    def move(self, attention: Tensor, texts: Tensor, seen: Seen, rows: Tensor) -> Tensor:
        """attention (N, P, K), texts (N, D) of the examples in `rows` (N,) -> (N, P, K)."""
        assert seen.pairs is not None
        mixed = self.mix(texts)  # (N, G + 1)
        links = torch.einsum("npijg,ng->npij", seen.pairs[rows], mixed[:, :-1]) + mixed[:, -1, None, None, None]
        other = 1 - torch.eye(links.shape[2], device=links.device)  # (K, K)
        moved: Tensor = torch.einsum("npij,npj->npi", torch.sigmoid(links) * other, attention * seen.real[rows])
        return moved


def open_eyes(config: EyesConfig, sizes: Mapping[str, int]) -> Cells | Slots:
    """What the config asks for."""
    return Slots(config, sizes) if config.slots else Cells(config, sizes)
