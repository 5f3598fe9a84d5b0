"""Continuing from a run on another benchmark: its inputs with what they learned, grown by what is new, and its weights.

A vocabulary keeps its words and their numbers and gets new ones behind them, a list of objects its values; rows of a
table and columns of a layer that are new keep their random values. Everything else must have the shape it had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from veridical.benchmark.writer import file_hash
from veridical.common.files import Json, read_json
from veridical.errors import UserError
from veridical.training.config import configure
from veridical.training.trained import WEIGHTS, AboutWeights, config_json, give_states, load_tensors, restore_inputs
from veridical.zoo import load_model
from veridical.zoo.architecture import Architecture, Example, Growing, Input, LookedUp

OPTIONS = "Continue with the options it had."
KEPT = ("parser", "seen_by", "seeing")  # what inputs learned is kept: another of these would change nothing


@dataclass(frozen=True)
class Pretrained:
    """A finished trial to continue from."""

    folder: Path
    about: Json
    architecture: Architecture

    @classmethod
    def open(cls, run: Path | str, model: str) -> Pretrained:
        """The best trial of a run by validation, or the trial that is named: RUN/trial-1."""
        folder = best_trial(Path(run))
        about = load_tensors(folder / WEIGHTS, AboutWeights)[1]
        if about["model"] != model:
            raise UserError(
                f"{run} is a run of {about['model']}, and {model} is to be trained.",
                "Continue from a run of the same model.",
            )
        return cls(folder, about, load_model(model))

    def to_json(self) -> Json:
        """What a run that continues from it says of it."""
        kept = {name: self.about.get(name) for name in ("benchmark", "seed", "epoch", "validation")}
        return {"trial": self.folder.name, "weights": file_hash(self.folder / WEIGHTS), **kept}

    def grow(self, inputs: Mapping[str, Input], examples: Sequence[Example]) -> None:
        """Inputs as they were, with what is new in the training examples."""
        self._restore(inputs)
        for source in inputs.values():
            if isinstance(source, Growing):
                source.grow(examples)

    def _restore(self, inputs: Mapping[str, Input]) -> None:
        if not restore_inputs(self.folder, inputs):
            raise UserError(f"{self.folder} does not say what its inputs learned.", "Train it again.")

    def check(self, config: Any) -> None:
        """An error where a model of this config looks at other things, so that it has no use for what was learned."""
        own = self._config
        had, asked = ({f.name: getattr(one, f.name) for f in fields(own)} for one in (own, config))
        other = [name for name in had if had[name] != asked[name]]
        if self._fits(config):
            wrong = [] if "maps" in other else [name for name in other if name in KEPT]
        else:
            alone = (name for name in other if not self._fits(replace(own, **{name: asked[name]})))
            wrong = list(alone) or other
        if wrong:
            was, now = (", ".join(f"{name}={one[name]}" for name in wrong) for one in (had, asked))
            raise UserError(f"{self.folder} was trained with {was}, not {now}.", OPTIONS)

    @property
    def _config(self) -> Any:
        return configure(self.architecture, self.about["config"])[0]

    def _fits(self, config: Any) -> bool:
        """Whether a model of this config can take over what the inputs learned."""
        before = self.architecture.inputs(self._config)
        self._restore(before)  # a damaged run is found here
        try:
            give_states({name: source.state for name, source in before.items()}, self.architecture.inputs(config))
        except ValueError:
            return False
        return True

    def load(self, module: nn.Module, config: Any, inputs: Mapping[str, Input]) -> None:
        """Put its weights into a new module; tables that have a row for each id of an input may have grown."""
        before = self.architecture.inputs(config)
        self._restore(before)
        grown = {(before[name].size, inputs[name].size, isinstance(inputs[name], LookedUp)) for name in inputs}
        old, new = load_tensors(self.folder / WEIGHTS)[0], dict(module.state_dict())
        other = ", ".join(sorted(old.keys() ^ new.keys())[:3])
        try:
            if other:
                raise ValueError(f"has other parameters: {other}")
            module.load_state_dict({name: _grown(name, old[name], new[name], grown) for name in new})
        except ValueError as error:
            had, asked = config_json(self._config), config_json(config)
            told = [f"{name}={asked[name]} in place of {had[name]}" for name in had if had[name] != asked[name]]
            because = f" {', '.join(told)} does not go with its weights." if told else ""
            raise UserError(f"{self.folder} {error}.{because}", OPTIONS) from None


def _grown(name: str, old: Tensor, new: Tensor, grown: set[tuple[int, int, bool]]) -> Tensor:
    """The old rows of a table, then new ones; or the old columns of a layer, whose first are of a looked-up input (but
    perhaps its first number), with new ones behind these."""
    if old.shape == new.shape:
        return old
    for before, after, looked_up in grown:
        if old.dim() and old.shape[1:] == new.shape[1:] and (len(old), len(new)) == (before, after):
            return torch.cat([old, new[before:]])
        more = after - before
        if looked_up and more and old.dim() > 1 and new.shape == (len(old), old.shape[1] + more, *old.shape[2:]):
            own = min(before, old.shape[1])
            return torch.cat([old[:, :own], new[:, own : own + more], old[:, own:]], dim=1)
    raise ValueError(f"has {name} of {tuple(old.shape)}, not {tuple(new.shape)}")


def unfinished(run: Path) -> UserError:
    """What is wrong with a folder that has no trained model."""
    begun = (run / "run.json").exists()
    fix = "Run the same `veridical train` again." if begun else "Give a run folder that `veridical train` wrote."
    return UserError(f"{run} has no finished trial.", fix)


def best_trial(run: Path) -> Path:
    """The trial of a run with the best validation accuracy; a trial's own folder is that trial."""
    if (run / WEIGHTS).exists():
        return run
    finished = sorted(run.glob("trial-*/result.json"))
    if not finished:
        raise unfinished(run)
    words = "the result of a trial", "Delete its folder and train again."
    best: dict[Path, Any] = {path.parent: read_json(path, Json, *words).get("best") for path in finished}
    return max(best, key=lambda folder: best[folder] if isinstance(best[folder], int | float) else -1.0)
