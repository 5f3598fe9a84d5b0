"""What every model of the zoo must do: score every candidate, learn with all its parameters, save and load, repeat
itself, and not care which other items share a batch with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import veridical.zoo
from veridical.errors import UserError
from veridical.records import TASKS
from veridical.training import Trained, configure, load_trained
from veridical.training.batches import Dataset, candidate_scores
from veridical.training.trained import WEIGHTS, build, config_json, save_estimator, save_inputs, save_tensors
from veridical.zoo import MODELS, load_model, models
from veridical.zoo.architecture import Architecture

from . import _small as small

SMALLER = {"width": 80, "height": 20}  # pictures of the pixel models
CASES = [  # models over features are given a benchmark with features in test_probe.py
    (name, task)
    for name in MODELS
    for task in load_model(name).tasks
    if task != "matrix" and "features" not in load_model(name).sees
]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("zoo")
    return {
        "statement": small.write_statements(base / "statements"),
        "choice": small.write_choices(base / "choices", candidates=(4, 3)),
    }


def made(name: str, folder: Path, seed: int = 0) -> tuple[Trained, Dataset]:
    """A new model with inputs learned on the training split, and the encoded examples."""
    architecture = load_model(name)
    own = {k: v for k, v in SMALLER.items() if hasattr(architecture.config(), k)}
    config, _ = configure(architecture, own)
    examples = small.examples(folder)
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    data = Dataset.encode(examples, inputs)
    model = build(architecture, config, inputs, seed)
    if not isinstance(model, nn.Module):
        model.fit(data.kept, data.answers, int(data.candidates.max()))
    about = {"model": name, "config": config_json(config), "seed": seed}
    return Trained(architecture, config, inputs, model, about), data


def rows_of(trained: Trained, data: Dataset, batch: int) -> list[Any]:
    return trained.scores(data, batch=batch)


@pytest.mark.parametrize(("name", "task"), CASES)
def test_one_score_per_candidate(name: str, task: str, folders: dict[str, Path]) -> None:
    trained, data = made(name, folders[task])
    scores = rows_of(trained, data, 16)
    assert [len(row) for row in scores] == data.candidates.tolist()
    assert all(np.isfinite(row).all() for row in scores)


@pytest.mark.parametrize(("name", "task"), CASES)
def test_a_batch_is_the_same_as_one_by_one(name: str, task: str, folders: dict[str, Path]) -> None:
    trained, data = made(name, folders[task])
    for together, alone in zip(rows_of(trained, data, 16), rows_of(trained, data, 1), strict=True):
        np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize(("name", "task"), CASES)
def test_the_same_seed_gives_the_same_model(name: str, task: str, folders: dict[str, Path]) -> None:
    first, second = (rows_of(*made(name, folders[task], seed=3), 16) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("name", "task"), [case for case in CASES if load_model(case[0]).module])
def test_gradients_reach_every_parameter_and_seeds_differ(name: str, task: str, folders: dict[str, Path]) -> None:
    trained, data = made(name, folders[task])
    module = trained.model
    assert isinstance(module, nn.Module)
    rows = np.arange(len(data))
    views = rows % 6 if data.per_view else None
    module.train()
    scores = candidate_scores(module, data, rows, views, "cpu")
    nn.functional.cross_entropy(scores, data.answer_batch(rows)).backward()
    for parameter_name, parameter in module.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name
    other = made(name, folders[task], seed=1)[0].model
    assert isinstance(other, nn.Module)
    assert any(not torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize(("name", "task"), CASES)
def test_saved_and_loaded_it_scores_the_same(name: str, task: str, folders: dict[str, Path], tmp_path: Path) -> None:
    trained, data = made(name, folders[task])
    save_inputs(tmp_path, trained.inputs)
    if isinstance(trained.model, nn.Module):
        save_tensors(tmp_path / WEIGHTS, dict(trained.model.state_dict()), trained.about)
    else:
        save_estimator(tmp_path, trained.model, trained.about)
    again = load_trained(tmp_path)
    assert again.config == trained.config
    fresh = again.encode(small.examples(folders[task]))  # with the inputs that were read back
    assert all(np.array_equal(a, b) for a, b in zip(rows_of(trained, data, 16), rows_of(again, fresh, 16), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_says_what_it_is(name: str) -> None:
    model = load_model(name)
    assert model.name == name
    assert model.summary
    assert model.paper
    assert set(model.tasks) <= set(TASKS)
    assert (model.module is None) != (model.estimator is None)
    configure(model)  # its own defaults of training are options that exist


def test_unknown_model() -> None:
    with pytest.raises(UserError, match="no model 'resnet'"):
        load_model("resnet")


def test_the_package_is_the_verb() -> None:
    listed = veridical.models()  # type: ignore[operator]
    assert [m.name for m in listed] == list(MODELS) == [m.name for m in models()]
    assert all(isinstance(m, Architecture) for m in listed)
