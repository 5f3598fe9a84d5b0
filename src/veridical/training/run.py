"""`veridical train`: a model of the zoo on a benchmark, one or several trials, in a folder that says how.

RUN/run.json holds the settings and, when all trials are done, the results; RUN/trial-k the weights, inputs and logs of
one trial. The same call again continues where the last one stopped; a call with other settings is refused.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

import msgspec
import numpy as np
import torch
from torch import nn

from veridical import __version__
from veridical.benchmark import Benchmark
from veridical.benchmark.splits import validation_slice
from veridical.common.files import (
    Json,
    only_one,
    read_json,
    remove_parts,
    write_json,
    write_whole,
)
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.options import check_seed
from veridical.options.running import TrainOptions
from veridical.pages.drawing import WIDTH
from veridical.pages.plots import Series, colour, lines, picture
from veridical.records import Item
from veridical.training.batches import Dataset, examples_of, with_context
from veridical.training.config import TrainingConfig, configure, of_stage
from veridical.training.pretrained import Pretrained
from veridical.training.taught import reads_pairs, remember
from veridical.training.team import ALONE, Team, join
from veridical.training.trained import (
    WEIGHTS,
    Trained,
    build,
    config_json,
    restore_inputs,
    save_estimator,
    save_inputs,
)
from veridical.training.trainer import CHECKPOINT, AfterStep, Epoch, Trainer
from veridical.zoo import load_model
from veridical.zoo.architecture import Architecture, Example, Input

RUN, RESULT, CURVES, LOCK = "run.json", "result.json", "curves.svg", ".lock"


class TrialResult(TypedDict):
    """What one trial came to: as in its result.json."""

    best: float  # validation accuracy of the weights that were kept
    best_epoch: int
    epochs: int  # 0 of a model that fits itself
    history: list[Epoch]
    train: NotRequired[float]  # accuracy in training, of a model that fits itself
    seed: NotRequired[int]
    training_items: NotRequired[int]
    validation_items: NotRequired[int]


class _ResultShape(msgspec.Struct):
    """What a trial's result.json must hold."""

    best: float
    best_epoch: int
    epochs: int
    history: list[Epoch]
    seed: int
    training_items: int
    validation_items: int


@dataclass(frozen=True)
class TrainResult(Result):
    """What training made."""

    run: Path
    model: str
    trials: tuple[TrialResult, ...]
    mean: float  # validation accuracy over trials
    std: float

    def to_json(self) -> dict[str, object]:
        """As stored under `results` in run.json."""
        return {
            "run": str(self.run),
            "model": self.model,
            "validation": {"mean": self.mean, "std": self.std},
            "trials": [{k: v for k, v in trial.items() if k != "history"} for trial in self.trials],
        }

    def parts(self) -> Iterator[Table | str]:
        rows = [
            (t["seed"], *((t["epochs"], t["best_epoch"]) if t["epochs"] else ("", "")), f"{100 * t['best']:.2f}")
            for t in self.trials  # a model that fits itself has no epochs
        ]
        yield Table(self.model, ("seed", "epochs", "epoch kept", "validation accuracy, %"), rows)
        mean, std = 100 * self.mean, 100 * self.std
        reached = f"{mean:.2f} ± {std:.2f} % over {len(rows)} trials" if len(rows) > 1 else f"{mean:.2f} %"
        yield f"{self.run}: validation accuracy {reached}."


def train(
    model: str,
    benchmark: Path | str,
    out: Path | str,
    options: TrainOptions = TrainOptions(),
    *,
    after_step: AfterStep | None = None,
) -> TrainResult:
    """Train a model of the zoo: early stopping, best weights on validation, several trials, continues when run again.

    Where no split is named to validate on, a part of training that shares no sentence and no origin with the rest is
    held out (of matrices, which share images all over, the option `validation_items` at random). Trial k has the seed
    `seed + k`.
    """
    architecture = load_model(model)
    if options.stage != "both":
        told = dict(options.set or {})
        if told.setdefault("stage", options.stage) != options.stage:
            raise UserError(f"The stage is both {options.stage} and {told['stage']}.", "Leave out --set stage=....")
        options = replace(options, set=told)
    if options.pretrained is not None:  # with the sizes it had
        first = Pretrained.open(options.pretrained, model)
        options = replace(options, set={**first.about["config"], **(options.set or {})})
        first.check(configure(architecture, options.set)[0])
    configure(architecture, options.set)  # refuses what is none of its options
    if options.trials < 1:
        raise UserError(f"{options.trials} trials were asked for.", "Ask for at least one.")
    check_seed(options.seed)
    check_device(options.device)
    bench, folder = Benchmark(benchmark), Path(out)
    if bench.task not in architecture.tasks:
        raise UserError(
            f"{architecture.name} is a model for {' and '.join(architecture.tasks)} items; {bench.name} has "
            f"{bench.task} items.",
            "`veridical models` lists the models of each task.",
        )
    options = replace(options, scheme=bench.certain_scheme(options.scheme))
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} exists and is not a run.", "Choose another folder.")
    team = join(options.device)
    if not team.is_first:
        return _train(model, bench, folder, options, after_step, team)
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder / LOCK, f"Another process is training in {folder}."):
        return _train(model, bench, folder, options, after_step, team)


def _train(
    model: str, bench: Benchmark, folder: Path, options: TrainOptions, after_step: AfterStep | None, team: Team
) -> TrainResult:
    """Every trial that is not there yet, then what they all came to."""
    architecture = load_model(model)
    model_config, training = configure(architecture, options.set)
    settings = settings_of(model, bench, options)
    first = None if options.pretrained is None else Pretrained.open(options.pretrained, model)
    if team.is_first:
        _open(folder, settings)
    results: list[TrialResult] = []
    data: tuple[list[Example], list[Example]] | None = None
    for number in range(options.trials):
        place = folder / f"trial-{number}"
        if not team.share(team.is_first and (place / RESULT).exists()):
            if data is None:
                data = _examples(bench, options, training)
                if team.is_first and reads_pairs(architecture):
                    remember(folder, [*data[0], *data[1]], None if first is None else first.folder.parent)
            about = settings | {"seed": options.seed + number, "trial": number}
            more = {"about": about, "after_step": after_step, "team": team, "first": first}
            fit_trial(architecture, model_config, training, *data, place, **more)  # type: ignore[arg-type]
        results.append(team.share(_read_result(place / RESULT) if team.is_first else None))
    best = [float(r["best"]) for r in results]
    done = TrainResult(folder, str(settings["model"]), tuple(results), float(np.mean(best)), float(np.std(best)))
    if not team.is_first:
        return done
    if any(r["history"] for r in results):
        write_whole(folder / CURVES, curves_svg(done.model, [r["history"] for r in results]).encode())
    write_json(folder / RUN, settings | {"results": done.to_json()})
    return done


def _read_result(path: Path) -> TrialResult:
    """What a trial came to, as it was written: whole numbers stay whole."""
    words = "the result of a trial", "Delete its folder and train again."
    read_json(path, _ResultShape, *words)
    return cast(TrialResult, read_json(path, dict, *words))


def settings_of(model: str, bench: Benchmark, options: TrainOptions) -> Json:
    """What a run folder is tied to: as in run.json."""
    model_config, training = configure(load_model(model), options.set)
    first = {} if options.pretrained is None else {"pretrained": Pretrained.open(options.pretrained, model).to_json()}
    return first | {
        "model": model,
        "config": config_json(model_config),
        "training": config_json(training),
        "benchmark": {"name": bench.name, "hash": bench.hash},
        "split": options.split,
        "validate": options.validate,
        "scheme": options.scheme,
        "seed": options.seed,
        "device": options.device,
        "veridical": __version__,
    }


def fit_trial(
    architecture: Architecture,
    config: Any,
    training: TrainingConfig,
    examples: Sequence[Example],
    held_out: Sequence[Example],
    folder: Path,
    *,
    about: Mapping[str, Any],
    after_step: AfterStep | None = None,
    team: Team = ALONE,
    first: Pretrained | None = None,
) -> TrialResult:
    """Train one model on some examples, with others to stop early, perhaps from what another run learned `first`;
    everything goes to the folder."""
    if team.is_first:
        folder.mkdir(parents=True, exist_ok=True)
    seed, device = int(about["seed"]), str(about.get("device", "cpu")) if team.size == 1 else team.device
    about = dict(about) | {"model": architecture.name, "config": config_json(config), "veridical": __version__}
    inputs = _learned(architecture.inputs(config), examples, folder, team, first)
    targets = architecture.targets(config)
    learning = Dataset.encode(examples, inputs, f"{architecture.name}: encoding training", targets)
    checking = Dataset.encode(held_out, inputs, f"{architecture.name}: encoding validation", lessons=False)
    if not len(learning) or not len(checking):
        raise UserError("There is nothing to train on, or nothing to validate on.", "Give more training items.")
    model = build(architecture, config, inputs, seed)
    if isinstance(model, nn.Module):
        if first is not None:
            first.load(model, config, inputs)
        trainer = Trainer(
            model, learning, checking, training, folder, seed=seed, device=device, about=about, after_step=after_step,
            team=team,
        )  # fmt: skip
        done = trainer.run(f"{architecture.name}, seed {seed}")
        result = TrialResult(best=done.best, best_epoch=done.best_epoch, epochs=done.epoch, history=done.history)
    elif first is not None:
        raise UserError(f"{architecture.name} fits itself and cannot continue from a run.", "Leave out --pretrained.")
    else:  # a model that fits itself has no epochs; the validation part chooses nothing and is only reported
        model.fit(learning.kept, learning.answers, int(learning.candidates.max()))
        trained = Trained(architecture, config, inputs, model, about)
        best = trained.accuracy(checking)
        if team.is_first:
            save_estimator(folder, model, about | {"validation": best})
        result = TrialResult(best=best, best_epoch=0, epochs=0, train=trained.accuracy(learning), history=[])
    result["seed"] = seed
    result["training_items"], result["validation_items"] = len(learning), len(checking)
    if team.is_first:
        write_json(folder / RESULT, result)
        (folder / CHECKPOINT).unlink(missing_ok=True)
    return result


def _learned(
    inputs: dict[str, Input], examples: Sequence[Example], folder: Path, team: Team, first: Pretrained | None
) -> dict[str, Input]:
    """The inputs, which have learned from examples (what another run knew `first` stays), for the whole team."""
    if team.is_first and not restore_inputs(folder, inputs):
        if first is not None:
            first.grow(inputs, examples)
        else:
            for source in inputs.values():
                source.learn(examples)
        save_inputs(folder, inputs)
    if team.size > 1:
        states = team.share({name: source.state for name, source in inputs.items()} if team.is_first else {})
        for name, state in states.items() if not team.is_first else ():
            inputs[name].state = state
    return inputs


def check_device(device: str) -> None:
    """An error where torch cannot use a device."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # a name torch does not know, or a device that is not here
        raise UserError(
            f"The device {device!r} cannot be used: {str(error).splitlines()[0]}",
            "Give cpu, or cuda where there is one.",
        ) from None


def _examples(bench: Benchmark, options: TrainOptions, config: TrainingConfig) -> tuple[list[Example], list[Example]]:
    """Training and validation examples, those with an answer."""
    scheme, seed = options.scheme, options.seed
    items = _answered(bench, options.split, scheme, config.stage)
    if options.validate is None:
        is_held = _held_out(items, config, np.random.default_rng([seed, 1]))
        held = [item for item, out in zip(items, is_held, strict=True) if out]
        items = [item for item, out in zip(items, is_held, strict=True) if not out]
    else:
        held = _answered(bench, options.validate, scheme, config.stage)
    most = math.ceil(config.fraction * len(items))
    most = min(most, config.limit or most)
    if most < len(items):
        chosen = np.sort(np.random.default_rng([seed, 2]).permutation(len(items))[:most])  # a part of every larger one
        items = [items[i] for i in chosen]
    items = with_context(items, config.context, np.random.default_rng([seed, 3]))
    held = with_context(held, config.context, np.random.default_rng([seed, 4]))
    return examples_of(bench, items), examples_of(bench, held)


def _held_out(items: Sequence[Item], config: TrainingConfig, rng: np.random.Generator) -> Sequence[bool]:
    """Which items to choose weights on."""
    if not config.validation_items:
        # a question may be asked of many photographs; a sentence is about its own
        sentences = [i.query.raw if i.query and i.task == "statement" else i.id for i in items]
        return validation_slice(sentences, [i.origins for i in items], config.validation, rng)
    count = min(config.validation_items, math.ceil(config.validation * len(items)))
    is_held = np.zeros(len(items), np.bool_)
    is_held[rng.permutation(len(items))[:count]] = True
    return is_held.tolist()


def _answered(bench: Benchmark, split: str, scheme: str, stage: str) -> list[Item]:
    items: list[Item] = [i for i in bench.items(split, scheme) if i.answer is not None and of_stage(i, stage)]
    if not items:
        what = "item" if stage == "both" else f"{stage} item"
        raise UserError(f"No {what} of split {split!r} has a public answer.", "Train on another split.")
    return items


def _open(folder: Path, settings: Mapping[str, object]) -> None:
    """Start a run folder, or find that it is the run we are asked for."""
    path = folder / RUN
    if not path.exists():
        remove_parts(path)  # all there is where a run was killed as it began
        if any(one.name != LOCK for one in folder.iterdir()):
            raise UserError(f"{folder} exists and is not a run.", "Choose another folder.")
        write_json(path, settings)
        return
    trials = list(folder.glob("trial-*"))
    if _other(folder, settings) and not any((t / name).exists() for t in trials for name in (WEIGHTS, CHECKPOINT)):
        for trial in trials:  # of a run that was refused, or stopped, before anything was trained
            shutil.rmtree(trial)
        write_json(path, settings)
    check_run(folder, settings)


def check_run(folder: Path, settings: Mapping[str, Any]) -> None:
    """An error where a folder holds a run with other settings."""
    other = _other(folder, settings)
    if other:
        raise UserError(
            f"{folder} is a run with other settings: {', '.join(other)}.",
            "Choose another folder, or delete it to start again.",
        )


def _other(folder: Path, settings: Mapping[str, Any]) -> list[str]:
    """Which settings of a run are others; of options, which ones, and what they were."""
    path = folder / RUN
    before = read_json(path, Json, "a run", "Delete its folder and train again.") if path.exists() else settings
    out = []
    for name in sorted(name for name in settings if before.get(name) != settings[name]):
        had, asked = before.get(name), settings[name]
        if name in ("config", "training") and isinstance(had, dict):
            options = sorted(option for option in had | asked if had.get(option) != asked.get(option))
            out += [f"{option} was {had.get(option)}, not {asked.get(option)}" for option in options]
        elif isinstance(had, str | int) and isinstance(asked, str | int):
            out.append(f"{name} was {had}, not {asked}")
        else:
            out.append(f"another {name}")
    return out


def curves_svg(title: str, histories: Sequence[Sequence[dict[str, float]]]) -> str:
    """Accuracy and loss by epoch, a line per trial, as one SVG picture."""
    accuracy, loss = [], []
    for trial, rows in enumerate(histories):
        of = f", trial {trial}" if len(histories) > 1 else ""
        for name, dashed in (("validation", False), ("train", True)):
            points = tuple((row["epoch"], row[name]) for row in rows)
            accuracy.append(Series(f"{name}{of}", points, colour(trial), dashed))
        loss.append(Series(f"loss{of}", tuple((row["epoch"], row["loss"]) for row in rows), colour(trial)))
    drawn = [
        lines("Accuracy by epoch", accuracy, "epoch", "accuracy, % (dashed: on training items)", width=WIDTH),
        lines("Loss by epoch", loss, "epoch", "training loss", in_percent=False, width=WIDTH),
    ]
    keys = [(f"trial {trial}", colour(trial)) for trial in range(len(histories))] if len(histories) > 1 else []
    return picture(f"{title}: learning curves", drawn, keys)
