"""Folders of `veridical train`: settings, and what each trial did epoch by epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from veridical.common.files import read_json
from veridical.errors import UserError

RUN, RESULT = "run.json", "result.json"
_FIX = "Train again, or leave the run out."


class Epoch(msgspec.Struct, frozen=True):
    """One epoch of a trial; accuracies are fractions."""

    epoch: float
    loss: float
    train: float
    validation: float


class Trial(msgspec.Struct, frozen=True):
    """One trial of a run."""

    best: float  # accuracy on validation
    best_epoch: int = 0
    epochs: int = 0
    history: tuple[Epoch, ...] = ()
    seed: int = 0
    training_items: int = 0
    validation_items: int = 0


class _About(msgspec.Struct, frozen=True):
    name: str = ""
    hash: str = ""


class TrainedRun(msgspec.Struct, frozen=True):
    """A run folder."""

    model: str
    benchmark: _About = _About()
    split: str = "train"
    scheme: str = "main"
    validate: str | None = None
    config: dict[str, Any] = {}
    training: dict[str, Any] = {}
    name: str = ""  # of the system
    path: Path = Path()
    trials: tuple[Trial, ...] = ()

    @property
    def mean(self) -> float:
        return sum(t.best for t in self.trials) / len(self.trials)

    @property
    def deviation(self) -> float:
        return float((sum((t.best - self.mean) ** 2 for t in self.trials) / len(self.trials)) ** 0.5)

    @property
    def training_items(self) -> int:
        return self.trials[0].training_items


_MADE = "what `veridical train` writes"


def read_run(folder: Path, name: str | None) -> TrainedRun:
    """The settings of a run and all of its finished trials."""
    about = read_json(folder / RUN, TrainedRun, _MADE, _FIX)
    found = sorted(folder.glob(f"trial-*/{RESULT}"), key=lambda p: (len(p.parent.name), p.parent.name))
    trials = tuple(read_json(path, Trial, _MADE, _FIX) for path in found)
    if not trials:
        raise UserError(f"{folder}: no trial of this run is finished.", "Run the same `veridical train` again.")
    return msgspec.structs.replace(about, name=name or about.model, path=folder, trials=trials)
