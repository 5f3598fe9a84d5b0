"""How a model is trained, and how options given by name reach the model's config or this one."""

from __future__ import annotations

import ast
import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from veridical.errors import UserError
from veridical.options.running import Context, Stage
from veridical.records import Item
from veridical.zoo.architecture import Architecture

Schedule = Literal["constant", "linear", "cosine"]
Optimizer = Literal["adamw", "adadelta"]
Kept = Literal["best", "last"]


@dataclass(frozen=True)
class TrainingConfig:
    """The trainer's choices. Patience follows appendix A.5 of the earlier NLVR2 draft."""

    batch: int = 64  # items of a step
    optimizer: Optimizer = "adamw"  # AdaDelta wants a rate of 1 (Zeiler 2012)
    rate: float = 1e-3  # learning rate
    epochs: int = 100  # at most
    patience: float = 10.0  # epochs without a new best before training stops
    patience_growth: float = 1.01  # patience is multiplied by this at each new best
    keep: Kept = "best"  # weights by validation, or the last, whatever the patience: of a lesson that it goes beyond
    schedule: Schedule = "constant"  # of the rate, over all epochs
    warmup: int = 0  # steps over which the rate rises from zero
    weight_decay: float = 0.0  # of AdamW
    clip: float = 5.0  # largest norm of the gradient; 0 for none
    validation: float = 0.05  # share of training held out where no split is named to validate on
    validation_items: int = 0  # at most so many, drawn item by item: matrices that share images cannot be kept apart
    limit: int = 0  # train on this many items only; 0 for all
    epoch_items: int = 0  # items of an epoch, drawn anew each time, so that more epochs are validated; 0 for all
    fraction: float = 1.0  # train on this share of the items only, after holding out (V-PROM's figure 7)
    context: Context = "own"  # matrices: a control that trains on contexts of other items, or shuffled within an item
    stage: Stage = "both"  # VCR: train on answers, on rationales given the right answer, or on both
    auxiliary_weight: float = 1.0  # of each auxiliary loss beside that of the answers
    checkpoint_steps: int = 200  # steps between checkpoints; there is one after each epoch too


def of_stage(item: Item, stage: str) -> bool:
    """Whether an item belongs to a stage: rationale items have a parent."""
    return stage == "both" or (item.parent is not None) == (stage == "rationale")


def configure(architecture: Architecture, options: Mapping[str, Any] | None = None) -> tuple[Any, TrainingConfig]:
    """A model's config and the training config, with options by field name; text is read as the field's type.

    >>> from veridical.zoo import load_model
    >>> model, training = configure(load_model("text"), {"hidden": "32", "rate": 0.01})
    >>> model.hidden, training.rate
    (32, 0.01)
    """
    options = dict(options or {})
    own = {f.name for f in dataclasses.fields(architecture.config)}
    general = {f.name for f in dataclasses.fields(TrainingConfig)}
    for name in options:
        if name not in own | general:
            near = get_close_matches(name, sorted(own | general), 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            raise UserError(
                f"{architecture.name} has no option {name!r}.{meant}",
                f"Of the model: {', '.join(sorted(own)) or 'none'}. These, and those of training: "
                f"`veridical models {architecture.name}`.",
            )
    mine = {name: value for name, value in options.items() if name in own}
    rest = dict(architecture.training) | {name: value for name, value in options.items() if name not in own}
    training = _read(TrainingConfig, rest)
    _check(training)
    model = _read(architecture.config, mine)
    _check_sizes(model)
    return model, training


def _check(config: TrainingConfig) -> None:
    for name in ("batch", "epochs", "rate", "patience", "patience_growth", "checkpoint_steps"):
        if getattr(config, name) <= 0:
            raise UserError(f"The option {name} is {getattr(config, name)}.", "Give a number above zero.")
    if not 0 < config.validation < 1:
        raise UserError(f"The option validation is {config.validation}.", "Give a share between 0 and 1.")
    if not 0 < config.fraction <= 1:
        raise UserError(f"The option fraction is {config.fraction}.", "Give a share above 0, at most 1.")
    for name in ("validation_items", "epoch_items", "limit", "warmup", "clip", "weight_decay", "auxiliary_weight"):
        if getattr(config, name) < 0:
            raise UserError(f"The option {name} is {getattr(config, name)}.", "Give 0 or more.")


def _check_sizes(model: Any) -> None:
    """An error where a size is out of its bounds, or everything would be dropped."""
    for one in dataclasses.fields(model):
        value = getattr(model, one.name)
        least, most = one.metadata.get("least", 0 if one.default == 0 else 1), one.metadata.get("most")
        if type(value) is int and value < least:
            raise UserError(f"The option {one.name} is {value}.", f"Give {least} or more.")
        if type(value) is int and most is not None and value > most:
            raise UserError(f"The option {one.name} is {value}.", f"Give {most} or less.")
        if isinstance(value, tuple) and not (value and all(type(size) is int and size > 0 for size in value)):
            raise UserError(f"The option {one.name} is {value}.", "Give numbers above zero, such as 2,2,2.")
        if one.name == "dropout" and not 0 <= value < 1:
            raise UserError(f"The option dropout is {value}.", "Give a share from 0 to below 1.")


_SUCH: dict[Any, str] = {
    int: "a whole number", float: "a number", bool: "true or false", str: "a text", tuple: "numbers, such as 2,2,2"
}  # fmt: skip


def _read(config: type[Any], values: Mapping[str, Any]) -> Any:
    hints = typing.get_type_hints(config)
    return config(**{name: _value(name, value, hints[name]) for name, value in values.items()})


def _value(name: str, value: Any, hint: Any) -> Any:
    """A value of the field's type, also from text as the command line gives it, or from JSON."""
    choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
    if choices:
        if value not in choices:
            fix = f"Choose one of: {', '.join(filter(None, choices))}."
            raise UserError(f"The option {name} is {value!r}.", f"{fix} Or leave it out." if "" in choices else fix)
        return value
    wanted = typing.get_origin(hint) or hint
    if isinstance(value, str) and wanted is not str:
        try:
            value = ast.literal_eval(value.capitalize() if wanted is bool else value)
        except (ValueError, SyntaxError):
            raise UserError(f"The option {name} is {value!r}.", f"Give {_SUCH[wanted]}.") from None
    if wanted is float and type(value) is int:
        value = float(value)
    if wanted is tuple and isinstance(value, list):
        value = tuple(value)
    if type(value) is not wanted:
        raise UserError(f"The option {name} is {value!r}.", f"Give {_SUCH[wanted]}.")
    return value
