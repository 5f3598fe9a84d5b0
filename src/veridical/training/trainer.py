"""The one training loop: cross-entropy over candidates, early stopping with patience, exact resume; the best weights
are kept, or the last.

It knows no model: a module is called with its inputs by name and returns scores (B, C), in training perhaps with what
it predicts for auxiliary losses. A run killed at any step and started again ends in the same weights as one that was
never killed: the checkpoint holds all that a step depends on.
"""

from __future__ import annotations

import contextlib
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer

from veridical.common.arrays import Ints
from veridical.common.files import Json
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.training.batches import Dataset, epoch_batches, run_module, score
from veridical.training.config import TrainingConfig
from veridical.training.team import ALONE, Team
from veridical.training.trained import WEIGHTS, damaged, load_tensors, save_tensors
from veridical.zoo.architecture import OwnLoss

CHECKPOINT, LOGS = "checkpoint.safetensors", "logs"
AfterStep = Callable[[int], None]  # called with the number of steps done


Epoch = dict[str, float]  # what an epoch came to: epoch, loss, train, validation, rate
Rest = dict[str, dict[str, Any]]  # of an optimiser's state what is no tensor, by parameter


@dataclass
class Place:
    """Where training stands; all of it is in the checkpoint."""

    epoch: int = 0  # finished epochs
    position: int = 0  # finished batches of the epoch under way
    step: int = 0  # finished steps of all
    loss: float = 0.0  # sums over the epoch under way
    right: int = 0
    seen: int = 0
    best: float = -1.0  # best validation accuracy, or the last, where the last weights are kept
    best_epoch: int = 0
    patience: float = 0.0  # grows at each new best
    countdown: float = 0.0  # epochs left without a new best
    history: list[Epoch] = field(default_factory=list)  # one entry per epoch


class _Standing(msgspec.Struct):
    """What a checkpoint must say about itself."""

    optimizer: Rest
    place: Place


class Trainer:
    """Trains one module on one data set; `run` does it all and leaves the weights that are kept in the folder."""

    def __init__(
        self,
        module: nn.Module,
        training: Dataset,
        validation: Dataset,
        config: TrainingConfig,
        folder: Path,
        *,
        seed: int,
        device: str = "cpu",
        about: Json | None = None,
        after_step: AfterStep | None = None,
        team: Team = ALONE,
    ) -> None:
        self.module, self.team = laid_out(module).to(device), team
        team.join_norms(module)
        self.training, self.validation, self.config, self.folder = training, validation, config, folder
        self.seed, self.device, self.about, self.after_step = seed, device, about or {}, after_step
        self.optimizer = _optimizer(module, config, device)
        self.epoch_items = min(config.epoch_items or len(training), len(training))
        self.steps_per_epoch = math.ceil(self.epoch_items / config.batch)
        self.place = Place(patience=config.patience, countdown=config.patience)

    def run(self, label: str = "training") -> Place:
        """Train to the end, from the checkpoint where there is one."""
        with deterministic():
            torch.manual_seed(self.team.seed(self.seed))
            found = None
            if self.team.is_first and (self.folder / CHECKPOINT).exists():
                found = load_tensors(self.folder / CHECKPOINT, _Standing)
            found = self.team.share(found)
            if found is not None:
                with damaged(self.folder / CHECKPOINT):
                    restore(self.module, self.optimizer, self.device, found[0], found[1]["optimizer"], self.team.rank)
                    self.place = Place(**found[1]["place"])
            progress = Progress(label, self.config.epochs * self.steps_per_epoch, "steps")
            progress.advance(self.place.step, skipped=True)
            written = events(self.folder / LOGS, self.place.history) if self.team.is_first else None
            with written or contextlib.nullcontext(lambda row: None) as log, progress:
                while self.place.epoch < self.config.epochs and self.place.countdown > 0:
                    self._epoch(progress)
                    log(self._finish_epoch())
        return self.place

    def _epoch(self, progress: Progress) -> None:
        """The steps of an epoch that are still to do."""
        rng = np.random.default_rng([self.seed, self.place.epoch])
        batches = epoch_batches(self.training.lengths, self.config.batch, rng, self.epoch_items)
        views = None
        if self.training.per_view:  # a random view of each item; over the epochs all are seen
            most = [max(self.training.views(row), 1) for row in range(len(self.training))]
            views = np.array([rng.integers(n) for n in most], np.int64)
        self.module.train()
        for rows in batches[self.place.position :]:
            self._step(rows, views)
            self.place.position += 1
            self.place.step += 1
            if self.place.step % self.config.checkpoint_steps == 0 and self.place.position < len(batches):
                self._checkpoint()
            progress.advance()
            if self.after_step is not None:
                self.after_step(self.place.step)

    def _step(self, rows: Ints, views: Ints | None) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(self.place.step)
        self.optimizer.zero_grad()
        mine, copies = self.team.rows(rows), self.team.copies(rows)
        own, right = self._backward(mine, views, len(mine) / len(rows) / copies)
        self.team.sum_gradients(self.module.parameters())
        if self.config.clip:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.config.clip)
        self.optimizer.step()
        loss, all_right = self.team.sums(own, right / copies)
        if not math.isfinite(loss):
            raise UserError(
                f"The loss is {loss} after {self.place.step} steps.",
                "Lower the rate or the largest gradient norm (--set rate=..., --set clip=...), in a new run folder.",
            )
        self.place.loss += loss * len(rows)
        self.place.right += round(all_right)
        self.place.seen += len(rows)

    def _backward(self, rows: Ints, views: Ints | None, share: float) -> tuple[float, int]:
        """The gradients of some rows, which are a share of a batch; their part of the loss, and how many are right."""
        answers = torch.from_numpy(self.training.answers[rows]).to(self.device)  # (B,)
        chosen = None if views is None else views[rows]
        scores, extra = run_module(self.module, self.training, rows, chosen, self.device)  # (B, C), (B, K) each
        loss = self._loss(scores, extra, rows, answers)
        loss = loss * share if share != 1 else loss
        torch.autograd.backward(loss)
        return loss.item(), int((scores.argmax(1) == answers).sum())

    def _loss(self, scores: Tensor, extra: Mapping[str, Tensor], rows: Ints, answers: Tensor) -> Tensor:
        """Cross-entropy of the answers with what the module adds to it, or what it says itself; and of targets."""
        known = self.training.targets.keys()
        if isinstance(self.module, OwnLoss):
            more = {name: tensor for name, tensor in extra.items() if name not in known}
            loss = self.module.loss(scores, more, answers)
        else:
            added = (own.mean() for name, own in extra.items() if name not in known and own.dim() == 1)  # (B,) each
            weighed = (self.config.auxiliary_weight * own for own in added)
            loss = sum(weighed, functional.cross_entropy(scores, answers))
        for name in (name for name in extra if name in known):
            wanted = torch.from_numpy(self.training.targets[name][rows]).to(self.device)  # (B, K)
            loss = loss + self.config.auxiliary_weight * functional.cross_entropy(extra[name], wanted)
        return loss

    def rate(self, step: int) -> float:
        """The learning rate of a step: it rises over the warm-up and then follows the schedule."""
        config = self.config
        if step < config.warmup:
            return config.rate * (step + 1) / config.warmup
        total = config.epochs * self.steps_per_epoch - config.warmup
        done = (step - config.warmup) / max(total, 1)
        if config.schedule == "linear":
            return config.rate * (1 - done)
        if config.schedule == "cosine":
            return config.rate * (1 + math.cos(math.pi * done)) / 2
        return config.rate

    def _finish_epoch(self) -> Epoch:
        """Validate, keep the weights if they are the best, and say how long to go on (appendix A.5)."""
        place = self.place
        accuracy = self.team.share(self.accuracy(self.validation) if self.team.is_first else 0.0)
        row = {
            "epoch": place.epoch + 1,
            "loss": place.loss / place.seen,
            "train": place.right / place.seen,
            "validation": accuracy,
            "rate": self.rate(place.step - 1),
        }
        place.epoch += 1
        if accuracy > place.best or self.config.keep == "last":
            place.best, place.best_epoch = accuracy, place.epoch
            place.patience *= self.config.patience_growth
            place.countdown = place.patience
            about = self.about | {"epoch": place.epoch, "validation": place.best}
            if self.team.is_first:
                save_tensors(self.folder / WEIGHTS, dict(self.module.state_dict()), about)
        else:
            place.countdown -= 1
        place.position, place.loss, place.right, place.seen = 0, 0.0, 0, 0
        place.history.append(row)
        self._checkpoint()
        return row

    def accuracy(self, data: Dataset) -> float:
        """Share of right answers; of items with views one view each, always the same."""
        views = np.array([r % max(data.views(r), 1) for r in range(len(data))], np.int64) if data.per_view else None
        scores = score(self.module, data, views, self.config.batch, self.device)
        return float((np.array([row.argmax() for row in scores]) == data.answers).mean())

    def _checkpoint(self) -> None:
        tensors, rest = snapshot(self.module, self.optimizer, self.device)
        others = self.team.gather({name: tensor.cpu() for name, tensor in _random(self.device).items()})
        for rank, states in enumerate(others[1:], 1):
            tensors |= {f"{name}.{rank}": tensor for name, tensor in states.items()}
        if self.team.is_first:
            about = self.about | {"place": asdict(self.place), "optimizer": rest}
            save_tensors(self.folder / CHECKPOINT, tensors, about)


def laid_out(module: nn.Module) -> nn.Module:
    """The module with the weights of its convolutions in the order that CPUs and tensor cores want, channels last."""
    for parameter in module.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return module


def _optimizer(module: nn.Module, config: TrainingConfig, device: str) -> Optimizer:
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(module.parameters(), lr=config.rate, weight_decay=config.weight_decay)
    return torch.optim.AdamW(
        module.parameters(),
        lr=config.rate,
        weight_decay=config.weight_decay,
        fused=torch.device(device).type in ("cpu", "cuda"),  # one pass over memory: 2.5x on wide embeddings
    )


@contextlib.contextmanager
def events(folder: Path, history: Sequence[Epoch]) -> Iterator[Callable[[Epoch], None]]:
    """TensorBoard's events of one trial: what is to be called with each epoch.

    They are written anew from the history when a run continues, so a killed run leaves no doubled points.
    """
    from torch.utils.tensorboard import SummaryWriter

    names = {"loss": "loss/train", "train": "accuracy/train", "validation": "accuracy/validation", "rate": "rate"}
    shutil.rmtree(folder, ignore_errors=True)
    with SummaryWriter(str(folder)) as writer:

        def add(row: Epoch) -> None:
            for name, tag in names.items():
                writer.add_scalar(tag, row[name], int(row["epoch"]))
            writer.flush()

        for row in history:
            add(row)
        yield add


@contextlib.contextmanager
def deterministic() -> Iterator[None]:
    """Only algorithms that give the same result each time; and the caller's random numbers are left alone."""
    before = torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng():
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)


def snapshot(module: nn.Module, optimizer: Optimizer, device: str) -> tuple[dict[str, Tensor], Rest]:
    """Everything that training changes: as tensors, and the rest of the optimiser's state as JSON."""
    tensors = {f"model.{name}": tensor for name, tensor in module.state_dict().items()}
    tensors |= _random(device)
    rest: Rest = {}
    for number, values in optimizer.state_dict()["state"].items():
        for name, value in values.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{number}.{name}"] = value
            else:
                rest.setdefault(str(number), {})[name] = value
    return tensors, rest


def _random(device: str) -> dict[str, Tensor]:
    """The state of what draws random numbers."""
    on_card = torch.device(device).type == "cuda"
    card = {"random.cuda": torch.cuda.get_rng_state(device)} if on_card else {}
    return {"random.cpu": torch.get_rng_state(), **card}


def restore(
    module: nn.Module, optimizer: Optimizer, device: str, tensors: dict[str, Tensor], rest: Rest, rank: int = 0
) -> None:
    """Put back what `snapshot` took; `rank` is whose random numbers go on."""
    module.load_state_dict(_under("model.", tensors))
    state: dict[int, dict[str, Any]] = {int(number): dict(values) for number, values in rest.items()}
    own = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for name, tensor in _under("optimizer.", tensors).items():
        number, _, key = name.partition(".")
        if tensor.shape == own[int(number)].shape:  # laid out in memory as its parameter is: fused steps go by memory
            tensor = torch.empty_like(own[int(number)]).copy_(tensor)
        state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    mine = f".{rank}" if rank else ""
    if f"random.cpu{mine}" in tensors or not rank:  # a team may have grown
        torch.set_rng_state(tensors[f"random.cpu{mine}"])
    if f"random.cuda{mine}" in tensors:
        torch.cuda.set_rng_state(tensors[f"random.cuda{mine}"], device)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
