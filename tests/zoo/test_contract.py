"""What every model of the zoo must do: score every candidate, learn with all its parameters, save and load, repeat
itself, and not care which other items share a batch with it (so that padding changes nothing)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
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
from veridical.training.batches import Dataset, run_module
from veridical.training.trained import WEIGHTS, build, config_json, save_estimator, save_inputs, save_tensors
from veridical.zoo import MODELS, load_model, models
from veridical.zoo.architecture import Architecture, Example, OwnLoss

from . import _matrices as matrices
from . import _pictures as pictures
from . import _said as said
from . import _small as small
from . import _tagged as tagged
from ._bert import tiny_bert


@dataclass(frozen=True)
class Case:
    """A model on a task."""

    name: str
    task: str
    world: str  # which benchmark
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        shown = ("images", "photograph", "query", "reasoning", "start", "slots", "maps") + ("hidden",) * (
            self.name == "probe"
        )
        return "-".join([self.name, self.task, *(f"{k}={v}" for k, v in self.options if k in shown)])


TINY = "tiny-bert"  # stands for the folder of a small checkpoint
READS = {"words": "hashed-words", "hidden": 8}
SEES = READS | {"images": "thumbnail"}
LIGHT = {
    "film-sentence": {"sentence": "hashed-words"},
    "slot-reasoner": {"seeing": 2},
}  # options that need no other package
SPOKEN: dict[str, dict[str, Any]] = {
    "r2c": SEES, "revisited-vqa": SEES, "bottom-up-top-down": SEES, "mlb": SEES, "mutan": SEES,
    "esim": READS, "lstm": READS, "bert": {"words": TINY}, "bert-response-only": {"words": TINY},
}  # fmt: skip


def variants(name: str) -> list[dict[str, Any]]:
    """A model as it is, and without what can be left out of it."""
    if name != "r2c":
        return [{}]
    left_out = ("query", "reasoning", "photograph", "start")
    return [{}, {"images": "pixels"}, {"images": "", "around": 0}, *({option: False} for option in left_out)]


def _cases(name: str) -> Iterator[Case]:
    """Every model on every task that it is for; those over vectors on a benchmark that has some."""
    model = load_model(name)
    for task in model.tasks:
        if name == "probe":
            encoders = (("images", "thumbnail"), ("texts", "hashed-words"))
            yield from (Case(name, task, f"pictures-{task}", (*encoders, ("hidden", width))) for width in (128, 0))
        elif name.startswith("pair-"):
            sizes = {"images": "thumbnail", "words": "hashed-words", "hidden": 8, "layers": (16, 8)}
            yield Case(name, task, "pictures-statement", tuple(sizes.items()))
        elif name in SPOKEN:
            yield from (Case(name, task, "tagged", tuple({**SPOKEN[name], **more}.items())) for more in variants(name))
        elif name == "grounded":
            sizes = (("images", "thumbnail"), ("hidden", 16), ("embedding", 8), ("dropout", 0.0))
            yield from (Case(name, task, "tagged", (*sizes, ("photograph", sees))) for sees in (True, False))
        elif "features" in model.sees:
            yield Case(name, task, "matrix", (("images", "thumbnail"),))
        elif name in ("nmn", "n2nmn"):
            cells, slots = {"width": 20, "height": 20, "channels": 8}, {"slots": 4, "seeing": 2}
            sizes = {"hidden": 16, "embedding": 16, "modules": 16, "parser": "words"}
            sizes = {k: v for k, v in sizes.items() if k in {f.name for f in fields(model.config)}}
            yield from (Case(name, task, "said", tuple({**sizes, **eyes}.items())) for eyes in (cells, slots))
        else:
            small_pictures = {"width": 80, "height": 20} if "image" in model.sees and name != "slot-reasoner" else {}
            world = "pictures-objects" if name == "maxent-objects" else task
            yield Case(name, task, world, tuple({**small_pictures, **LIGHT.get(name, {})}.items()))
            if "maps" in {f.name for f in fields(model.config)}:
                for objects in ("object-list", "given-objects", "seen-objects") if name == "film" else ("object-list",):
                    seen = {"maps": objects, "seeing": 2, **LIGHT.get(name, {})}
                    yield Case(name, task, "said", tuple(seen.items()))


CASES = [case for name in MODELS for case in _cases(name)]
every_model = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture(scope="module", autouse=True)
def _apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("VERIDICAL_PROGRESS", "0")
        yield


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("zoo")
    tiny_bert(base / TINY)
    return {
        TINY: base / TINY,
        "statement": small.write_statements(base / "statements"),
        "choice": small.write_choices(base / "choices", candidates=(4, 3)),
        "matrix": matrices.write(base / "matrices", {"train": 24, "test": 8}, ("main",), objects=True),
        "tagged": tagged.write(base / "tagged", 16, more=True),
        "said": said.write(base / "said"),
        "pictures-objects": said.write_pairs(base / "pairs"),
        **{f"pictures-{task}": pictures.write(base / f"p-{task}", task, {"train": 20}) for task in TASKS},
    }


def answered(folder: Path) -> list[Example]:
    return [example for example in small.examples(folder) if example.item.answer is not None]


def made(case: Case, folders: dict[str, Path], seed: int = 0) -> tuple[Trained, Dataset]:
    """A new model with inputs learned on the training split, and the encoded examples."""
    architecture = load_model(case.name)
    options = {k: str(folders[TINY]) if v == TINY else v for k, v in case.options}
    config, _ = configure(architecture, options)
    examples = answered(folders[case.world])
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    data = Dataset.encode(examples, inputs)
    model = build(architecture, config, inputs, seed)
    if not isinstance(model, nn.Module):
        model.fit(data.kept, data.answers, int(data.candidates.max()))
    about = {"model": case.name, "config": config_json(config), "seed": seed}
    return Trained(architecture, config, inputs, model, about), data


def rows_of(trained: Trained, data: Dataset, batch: int) -> list[Any]:
    return trained.scores(data, batch=batch)


@every_model
def test_one_score_per_candidate(case: Case, folders: dict[str, Path]) -> None:
    trained, data = made(case, folders)
    scores = rows_of(trained, data, 16)
    assert [len(row) for row in scores] == data.candidates.tolist()
    assert all(np.isfinite(row).all() for row in scores)


@every_model
def test_a_batch_is_the_same_as_one_by_one(case: Case, folders: dict[str, Path]) -> None:
    trained, data = made(case, folders)
    for together, alone in zip(rows_of(trained, data, 16), rows_of(trained, data, 1), strict=True):
        np.testing.assert_allclose(together, alone, atol=1e-5)


@every_model
def test_the_same_seed_gives_the_same_model(case: Case, folders: dict[str, Path]) -> None:
    first, second = (rows_of(*made(case, folders, seed=3), 16) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("case", [case for case in CASES if load_model(case.name).module], ids=str)
def test_gradients_reach_every_parameter_and_seeds_differ(case: Case, folders: dict[str, Path]) -> None:
    trained, data = made(case, folders)
    module = trained.model
    assert isinstance(module, nn.Module)
    rows = np.arange(len(data))
    views = rows % 6 if data.per_view else None
    module.train()
    scores, extra = run_module(module, data, rows, views, "cpu")
    answers = torch.from_numpy(data.answers[rows])
    own = isinstance(module, OwnLoss)
    (module.loss(scores, extra, answers) if own else nn.functional.cross_entropy(scores, answers)).backward()
    for parameter_name, parameter in module.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name
    other = made(case, folders, seed=1)[0].model
    assert isinstance(other, nn.Module)
    assert any(not torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters(), strict=True))


@every_model
def test_saved_and_loaded_it_scores_the_same(case: Case, folders: dict[str, Path], tmp_path: Path) -> None:
    trained, data = made(case, folders)
    save_inputs(tmp_path, trained.inputs)
    if isinstance(trained.model, nn.Module):
        save_tensors(tmp_path / WEIGHTS, dict(trained.model.state_dict()), trained.about)
    else:
        save_estimator(tmp_path, trained.model, trained.about)
    again = load_trained(tmp_path)
    assert again.config == trained.config
    fresh = again.encode(answered(folders[case.world]))  # with the inputs that were read back
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
