"""Checkpoints: one safetensors file that is either the old one or the new one, never half of it.

It holds the weights, the optimiser's state and the random number generator as tensors, and everything else (config,
benchmark hash, seed, version, place in the epoch) as JSON in its header.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from veridical.common.files import write_whole
from veridical.errors import UserError


def save_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Named tensors and what they are about, atomically. The same content gives the same bytes."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(path, save(plain, metadata={"veridical": json.dumps(about, sort_keys=True)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["veridical"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118 - it is not a dict
    except FileNotFoundError:
        raise UserError(f"{path} is missing.", "Train the model again.") from None
    except (SafetensorError, KeyError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error}.", "Delete its run folder and train again.") from None


def snapshot(module: nn.Module, optimizer: Optimizer, device: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Everything that training changes: as tensors, and the rest of the optimiser's state as JSON."""
    tensors = {f"model.{name}": tensor for name, tensor in module.state_dict().items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.device(device).type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(device)
    rest: dict[str, dict[str, Any]] = {}
    for number, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{number}.{name}"] = value
            else:
                rest.setdefault(str(number), {})[name] = value
    return tensors, rest


def restore(
    module: nn.Module, optimizer: Optimizer, device: str, tensors: dict[str, Tensor], rest: dict[str, dict[str, Any]]
) -> None:
    """Put back what `snapshot` took."""
    module.load_state_dict(_under("model.", tensors))
    state: dict[int, dict[str, Any]] = {int(number): dict(values) for number, values in rest.items()}
    for name, tensor in _under("optimizer.", tensors).items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    torch.set_rng_state(tensors["random.cpu"])
    if "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"], device)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
