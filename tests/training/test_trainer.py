"""The loop itself: patience, schedules, and a module it has never seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from veridical.errors import UserError
from veridical.training.batches import Dataset
from veridical.training.config import TrainingConfig
from veridical.training.trained import WEIGHTS
from veridical.training.trainer import Place, Trainer
from veridical.zoo.inputs import Words

from ..zoo import _small as small


class Constant(nn.Module):
    """Any module with scores will do."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2))

    def forward(self, words: Tensor) -> Tensor:
        return self.bias.expand(len(words), 2)


@pytest.fixture(scope="module")
def data(statements: Path) -> Dataset:
    examples, words = small.examples(statements), Words()
    words.learn(examples)
    return Dataset.encode(examples, {"words": words})


def trainer(data: Dataset, folder: Path, accuracies: list[float], **options: float | str) -> Trainer:
    """A trainer whose validation accuracies are given."""
    config = replace(TrainingConfig(batch=64), **options)  # type: ignore[arg-type]
    made = Trainer(Constant(), data, data, config, folder, seed=0)
    found = iter(accuracies)
    made.accuracy = lambda _: next(found)  # type: ignore[method-assign]
    return made


def run(data: Dataset, folder: Path, accuracies: list[float], **options: float) -> Place:
    return trainer(data, folder, accuracies, **options).run()


def test_training_stops_when_patience_runs_out(data: Dataset, tmp_path: Path) -> None:
    done = run(data, tmp_path, [0.5, 0.6, *[0.55] * 50], patience=3, patience_growth=1.0)
    assert (done.best, done.best_epoch, done.epoch) == (0.6, 2, 5)


def test_patience_grows_at_each_new_best(data: Dataset, tmp_path: Path) -> None:
    """Appendix A.5: multiplied by 1.01 whenever validation improves over the global maximum."""
    done = run(data, tmp_path, [0.1, 0.2, 0.3, *[0.3] * 50], patience=10)
    assert done.patience == pytest.approx(10 * 1.01**3)
    assert done.epoch == 3 + 11  # 10.3 epochs without a new best: the eleventh ends it; equal is not better


def test_the_last_weights_are_kept_where_that_is_asked_for(data: Dataset, tmp_path: Path) -> None:
    """A lesson of simple sentences is not judged by validation on hard ones: nothing stops it, and its end is kept."""
    made = trainer(data, tmp_path, [0.9, 0.1, 0.2, 0.1], epochs=4, patience=1, keep="last")
    done = made.run()
    assert (done.epoch, done.best_epoch, done.best) == (4, 4, 0.1)
    assert torch.equal(load_file(tmp_path / WEIGHTS)["bias"], made.module.get_parameter("bias"))


def test_epochs_are_the_most(data: Dataset, tmp_path: Path) -> None:
    assert run(data, tmp_path, [0.1, 0.2, 0.3], epochs=3).epoch == 3


def test_schedules(data: Dataset, tmp_path: Path) -> None:
    def rates(**options: object) -> list[float]:
        made = trainer(data, tmp_path, [], rate=1.0, epochs=4, **options)  # type: ignore[arg-type]
        assert made.steps_per_epoch == 3
        return [made.rate(step) for step in range(12)]

    assert rates() == [1.0] * 12
    assert rates(schedule="linear") == pytest.approx(np.linspace(1, 0, 13)[:-1].tolist())
    cosine = rates(schedule="cosine")
    assert cosine[0] == 1
    assert cosine[6] == pytest.approx(0.5)
    assert cosine == sorted(cosine, reverse=True)
    assert rates(warmup=4)[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]


def test_training_leaves_the_callers_random_numbers_alone(data: Dataset, tmp_path: Path) -> None:
    torch.manual_seed(1)
    want = torch.rand(3)
    torch.manual_seed(1)
    run(data, tmp_path, [0.1], epochs=1)
    assert torch.equal(torch.rand(3), want)
    assert not torch.are_deterministic_algorithms_enabled()


class Wandering(Constant):
    """Constant scores, and how far each example is from what a lesson wants."""

    def __init__(self) -> None:
        super().__init__()
        self.far = nn.Parameter(torch.ones(1))

    def forward(self, words: Tensor) -> tuple[Tensor, dict[str, Tensor]]:  # type: ignore[override]
        return super().forward(words), {"astray": self.far.expand(len(words)) ** 2}


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_what_a_module_adds_to_the_loss_weighs_as_the_lessons_do(data: Dataset, tmp_path: Path, weight: float) -> None:
    module = Wandering()
    config = TrainingConfig(epochs=1, auxiliary_weight=weight, weight_decay=0.0)
    Trainer(module, data, data, config, tmp_path, seed=0).run()
    assert (float(module.far.detach()) < 1) == bool(weight)


def test_a_loss_that_is_no_number_ends_training(data: Dataset, tmp_path: Path) -> None:
    made = trainer(data, tmp_path, [0.1], epochs=1)
    with torch.no_grad():
        made.module.bias.fill_(float("nan"))  # type: ignore[operator,union-attr]
    with pytest.raises(UserError, match="loss is nan after 0 steps"):
        made.run()
