"""A trained model in a trial's folder: everything it needs to score items it has never seen.

Weights are one safetensors file that is either the old one or the new one, never half of it, with what they are about
(config, benchmark hash, seed, version) as JSON in its header.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from veridical.common.arrays import Doubles, Ints
from veridical.common.files import Json, read_json, refuse_endless, write_json, write_whole
from veridical.errors import UserError
from veridical.training.batches import Dataset, score
from veridical.training.config import configure
from veridical.zoo import load_model
from veridical.zoo.architecture import Architecture, Estimator, Example, Input, State

INPUTS, WEIGHTS = "inputs.json", "model.safetensors"
LARGEST = 1 << 26  # ids or numbers of an input
AGAIN = "Delete its run folder and train again."


@dataclass
class Trained:
    """A model with what it learned."""

    architecture: Architecture
    config: Any
    inputs: Mapping[str, Input]
    model: nn.Module | Estimator
    about: Json  # config, benchmark hash, seed, version

    def encode(self, examples: Sequence[Example], label: str = "encoding") -> Dataset:
        """Examples of any split, as this model sees them."""
        return Dataset.encode(examples, self.inputs, label, lessons=False)

    def scores(self, data: Dataset, views: Ints | None = None, batch: int = 256, device: str = "cpu") -> list[Doubles]:
        """One array of scores per example, in their order."""
        if isinstance(self.model, nn.Module):
            return score(self.model.to(device), data, views, batch, device)
        found = self.model.scores(data.kept)
        return [row[:n] for row, n in zip(found, data.candidates.tolist(), strict=True)]

    def accuracy(self, data: Dataset) -> float:
        """Share of right answers."""
        return float(np.mean([s.argmax() == a for s, a in zip(self.scores(data), data.answers, strict=True)]))


def save_inputs(folder: Path, inputs: Mapping[str, Input]) -> None:
    """Vocabularies and other things that inputs learned."""
    write_json(folder / INPUTS, {name: source.state for name, source in inputs.items()})


def restore_inputs(folder: Path, inputs: Mapping[str, Input]) -> bool:
    """Read them back; False where there are none yet."""
    path = folder / INPUTS
    if not path.exists():
        return False
    try:
        give_states(read_json(path, Json, "what inputs learned", AGAIN), inputs)
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}.", AGAIN) from None
    return True


def give_states(states: Mapping[str, State], inputs: Mapping[str, Input]) -> None:
    """Put what inputs learned into others; a ValueError where these are of other names or kinds."""
    if states.keys() != inputs.keys():
        raise ValueError(f"it is not about {', '.join(inputs)}")
    for name, source in inputs.items():
        try:
            source.state = msgspec.convert(states[name], getattr(source, "state_shape", Any))
            if not 0 <= source.size <= LARGEST:
                raise ValueError(f"its size is {source.size}")
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"{name}: {error}") from None


def save_estimator(folder: Path, estimator: Estimator, about: Mapping[str, object]) -> None:
    """A model that fitted itself, in the same file as the others."""
    save_tensors(folder / WEIGHTS, {n: torch.from_numpy(a.copy()) for n, a in estimator.arrays.items()}, about)


def build(architecture: Architecture, config: Any, inputs: Mapping[str, Input], seed: int) -> nn.Module | Estimator:
    """A new model: random weights from the seed, or an estimator to fit."""
    if architecture.estimator is not None:
        return architecture.estimator(config)
    if architecture.module is None:
        raise TypeError(f"{architecture.name} is neither a module nor an estimator")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return architecture.module(config, {name: source.size for name, source in inputs.items()})


def load_trained(folder: Path | str) -> Trained:
    """The model of a trial's folder, `RUN/trial-0`."""
    folder = Path(folder)
    tensors, about = load_tensors(folder / WEIGHTS, AboutWeights)
    architecture = load_model(about["model"])
    config, _ = configure(architecture, about["config"])
    inputs = architecture.inputs(config)
    if not restore_inputs(folder, inputs):
        raise UserError(f"{folder / INPUTS} is missing.", "Train the model again.")
    with damaged(folder / WEIGHTS):
        model = build(architecture, config, inputs, 0)
        if isinstance(model, nn.Module):
            model.load_state_dict(tensors)
            model.eval()
        else:
            model.arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    return Trained(architecture, config, inputs, model, about)


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Tensors that do not fit what they are put into were changed, or are of something else."""
    try:
        yield
    except (RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise UserError(f"{path} is damaged: {error}.", AGAIN) from None


def config_json(config: Any) -> dict[str, object]:
    """A config as plain JSON."""
    plain: Json = json.loads(json.dumps(dataclasses.asdict(config)))
    return plain


def save_tensors(path: Path, tensors: dict[str, Tensor], about: Mapping[str, object]) -> None:
    """Named tensors and what they are about, atomically. The same content gives the same bytes."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_whole(path, save(plain, metadata={"veridical": json.dumps(about, sort_keys=True)}))


class AboutWeights(msgspec.Struct):
    """What weights must say about themselves."""

    model: str
    config: Json
    seed: int
    benchmark: Json = {}
    veridical: str = ""
    training: Json = {}


def load_tensors(path: Path, shape: Any = Json) -> tuple[dict[str, Tensor], Json]:
    """Read what `save_tensors` wrote; what it says of itself has at least the given shape."""
    refuse_endless(path)
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {})["veridical"]
            msgspec.json.decode(text, type=shape)
            about: Json = json.loads(text)
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118 - it is not a dict
    except FileNotFoundError:
        raise UserError(f"{path} is missing.", "Train the model again.") from None
    except (SafetensorError, KeyError, ValueError, RecursionError, OSError) as error:
        raise UserError(f"{path} is damaged: {error}.", AGAIN) from None
