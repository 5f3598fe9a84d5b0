"""Training by several processes, on one machine or many: `torchrun --nproc-per-node 4 -m veridical train ...`.

Every member takes its share of each batch, gradients are summed, and all take the same step: the weights are those of a
single process but for rounding (where a model drops units at random, those that are dropped differ), also where a
model normalises over a batch: `TeamNorm` does so over all shares. The first member alone reads and writes the run
folder and tells the others, so that machines share no disk but that of the benchmark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.distributed.nn.functional import all_reduce

from veridical.common.arrays import Ints

Value = TypeVar("Value")
_APART = 1_000_003  # between the seeds of members


@dataclass(frozen=True)
class Team:
    """The processes that train one model, and which of them this one is."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"  # of this member

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, value: Value | None) -> Value:
        """What the first member gives, for everybody; what others give does not matter."""
        held = [value if self.is_first else None]
        if self.size == 1:
            return held[0]  # type: ignore[return-value]
        distributed.broadcast_object_list(held, src=0)
        return held[0]  # type: ignore[return-value]

    def gather(self, value: Value) -> list[Value]:
        """What every member gives, by rank."""
        if self.size == 1:
            return [value]
        held: list[Value | None] = [None] * self.size
        distributed.all_gather_object(held, value)
        return held  # type: ignore[return-value]

    def rows(self, rows: Ints) -> Ints:
        """This member's share of a batch; one that is too small to be shared is everybody's."""
        return rows if self.copies(rows) == self.size else rows[self.rank :: self.size]

    def copies(self, rows: Ints) -> int:
        """How many members do each row of a batch."""
        return self.size if len(rows) < self.size else 1

    def seed(self, seed: int) -> int:
        """Of what is random within a step: each member's is its own."""
        return seed + _APART * self.rank

    def sums(self, *numbers: float) -> tuple[float, ...]:
        """Numbers added up over the team."""
        if self.size == 1:
            return numbers
        total = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return tuple(total.tolist())

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Add up gradients over the team, all in one message; what nobody used keeps none."""
        if self.size == 1:
            return
        learned = [one for one in parameters if one.requires_grad]
        used = torch.tensor([float(one.grad is not None) for one in learned], device=self.device)
        flat = torch.cat([_gradient(one).reshape(-1) for one in learned] + [used])
        distributed.all_reduce(flat)
        start, used = 0, flat[-len(learned) :]
        for number, one in enumerate(learned):
            part = flat[start : start + one.numel()]
            # Laid out in memory as the weights are (channels last): the fused optimiser reads both side by side.
            one.grad = torch.empty_like(one).copy_(part.view_as(one)) if used[number] else None
            start += one.numel()

    def join_norms(self, module: nn.Module) -> None:
        """Have all parts of a module that normalise over a batch do so over the team's."""
        for part in module.modules() if self.size > 1 else ():
            if type(part) is nn.BatchNorm2d:
                part.__class__ = TeamNorm


class TeamNorm(nn.BatchNorm2d):
    """Batch normalisation over the shares of all members (PyTorch's own `SyncBatchNorm` runs on GPUs alone)."""

    def forward(self, input: Tensor) -> Tensor:
        """input (N, C, h, w), the share of one member -> the same shape."""
        if not self.training:
            return super().forward(input)
        ones = input.new_full((1,), input.numel() // input.shape[1])
        sums = _over_team(torch.cat([input.sum((0, 2, 3)), ones]))  # (C + 1,)
        count = sums[-1]
        mean = sums[:-1] / count  # (C,)
        away = input - mean[:, None, None]
        variance = _over_team((away**2).sum((0, 2, 3))) / count  # (C,)
        with torch.no_grad():
            kept = self.momentum if self.momentum is not None else 0.1
            for held, now in ((self.running_mean, mean), (self.running_var, variance * count / (count - 1))):
                if held is not None:
                    held.lerp_(now, kept)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked += 1
        out = away / (variance + self.eps).sqrt()[:, None, None]
        return out * self.weight[:, None, None] + self.bias[:, None, None] if self.affine else out


def _over_team(share: Tensor) -> Tensor:
    """The sum over the team, through which gradients flow."""
    found: Tensor = all_reduce(share)  # type: ignore[no-untyped-call]
    return found


ALONE = Team()


def _gradient(parameter: nn.Parameter) -> Tensor:
    found = parameter.grad
    return torch.zeros_like(parameter, dtype=torch.float32) if found is None else found.float()


def join(device: str) -> Team:
    """The team that `torchrun` started; a team of one without it. Members but the first say nothing."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return Team(device=device)
    rank, own = int(os.environ["RANK"]), device
    if torch.device(device).type == "cuda":
        own = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(own)
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if own.startswith("cuda") else "gloo")
        if rank:
            os.environ["VERIDICAL_PROGRESS"] = "0"
            sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as the process lives
    return Team(rank, size, own)
