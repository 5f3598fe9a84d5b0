"""`train --pretrained RUN`: weights and words of another benchmark, with new words behind them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from veridical import train
from veridical.errors import UserError
from veridical.training import Trained, load_trained
from veridical.training.pretrained import Pretrained, best_trial
from veridical.training.trained import build
from veridical.zoo.inputs import text_words

from ..zoo import _said as said
from ..zoo import _small as small

OPTIONS = {"epochs": 1, "hidden": 8, "embedding": 4, "least": 1}


@pytest.fixture(scope="module")
def first(statements: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("first") / "run"
    train("text", statements, run, set=OPTIONS, trials=2)
    return run


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write_statements(tmp_path_factory.mktemp("other") / "b", 8, seed=9)


def test_words_keep_their_numbers_and_vectors_and_new_ones_stand_behind(
    first: Path, other: Path, tmp_path: Path
) -> None:
    """With a rate that moves nothing, all that was learned is still there."""
    train("text", other, tmp_path / "run", pretrained=first, set={"rate": 1e-12, "epochs": 1})
    before, after = load_trained(best_trial(first)), load_trained(tmp_path / "run/trial-0")
    old, new = before.inputs["words"].state, after.inputs["words"].state
    assert new[: len(old)] == old
    assert len(new) > len(old)
    assert after.config == before.config  # taken from the run: nothing but `least` was given there
    was, now = (dict(one.model.state_dict()) for one in (before, after))  # type: ignore[union-attr]
    assert len(now["sentence.embedding.weight"]) == after.inputs["words"].size
    for name, tensor in was.items():
        assert torch.allclose(now[name][: len(tensor)], tensor, atol=1e-6), name


def test_the_run_says_where_it_began(first: Path, other: Path, tmp_path: Path) -> None:
    train("text", other, tmp_path / "run", pretrained=first / "trial-1", set={"epochs": 1})
    said = json.loads((tmp_path / "run/run.json").read_text())["pretrained"]
    assert (said["trial"], said["seed"]) == ("trial-1", 1)
    assert len(said["weights"]) == 64
    with pytest.raises(UserError, match="other settings: another pretrained"):
        train("text", other, tmp_path / "run", pretrained=first / "trial-0", set={"epochs": 1})


def test_what_cannot_be_continued_is_refused(first: Path, other: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a run of text"):
        train("image", other, tmp_path / "a", pretrained=first)
    with pytest.raises(UserError, match=r"weight_ih_l0 of \(32, 4\), not \(64, 4\)\. hidden=16 in place of 8"):
        train("text", other, tmp_path / "b", pretrained=first, set={"hidden": 16})
    with pytest.raises(UserError, match="no finished trial"):
        train("text", other, tmp_path / "c", pretrained=tmp_path)
    (tmp_path / "begun/trial-0").mkdir(parents=True)
    (tmp_path / "begun/run.json").write_text("{}")
    with pytest.raises(UserError, match="no finished trial") as refused:
        train("text", other, tmp_path / "c", pretrained=tmp_path / "begun")
    assert refused.value.fix == "Run the same `veridical train` again."


@pytest.fixture(scope="module")
def said_of_boxes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return said.write(tmp_path_factory.mktemp("said") / "b")


FEW = {"epochs": 1, "limit": 8, "width": 20, "height": 20, "channels": 4, "hidden": 16, "embedding": 8, "least": 1}


@pytest.mark.parametrize(
    ("model", "own", "asked", "says"),
    [
        ("nmn", {"parser": "words"}, {"slots": 8}, "was trained with slots=0, not slots=8."),
        ("nmn", {"parser": "words"}, {"slots": 8, "dropout": 0.2}, "was trained with slots=0, not slots=8."),
        ("nmn", {"parser": "words"}, {"parser": "spacy"}, "was trained with parser=words, not parser=spacy."),
        ("film", {"maps": "objects", "seeing": 2}, {"seeing": 3}, "was trained with seeing=2, not seeing=3."),
        ("film", {}, {"maps": "object-list"}, "was trained with maps=, not maps=object-list."),
        ("film", {"maps": "given-objects"}, {"maps": ""}, "was trained with maps=given-objects, not maps=."),
    ],
)
def test_a_run_is_not_called_damaged_for_other_options(
    model: str, own: dict[str, object], asked: dict[str, object], says: str, said_of_boxes: Path, tmp_path: Path
) -> None:
    train(model, said_of_boxes, tmp_path / "run", set={**FEW, **own}, validate="dev")
    with pytest.raises(UserError) as refused:
        train(model, said_of_boxes, tmp_path / "on", pretrained=tmp_path / "run", set=asked)
    assert refused.value.problem.endswith(says)
    assert refused.value.fix == "Continue with the options it had."
    assert not (tmp_path / "on").exists()  # nothing was begun
    (tmp_path / "run/trial-0/inputs.json").write_text('{"words": []}')
    with pytest.raises(UserError, match="is damaged: it is not about panels"):
        train(model, said_of_boxes, tmp_path / "on", pretrained=tmp_path / "run")


@pytest.mark.parametrize("model", ["film", "mac", "cnn-biatt", "w-memnn", "cmm"])
def test_lists_of_objects_grow_by_kinds_that_are_new(model: str, said_of_boxes: Path, tmp_path: Path) -> None:
    """What was learned of cats and dogs is as it was; squares and circles stand behind them, and are seen."""
    pairs = said.write_pairs(tmp_path / "pairs", 12)
    wanted = {**FEW, "maps": "given-objects"}
    train(model, pairs, tmp_path / "run", set={k: v for k, v in wanted.items() if k != "channels"})
    before = load_trained(tmp_path / "run/trial-0")
    first = Pretrained.open(tmp_path / "run", model)
    inputs = before.architecture.inputs(before.config)
    first.grow(inputs, small.examples(said_of_boxes))
    old, new = before.inputs["panels"].state, inputs["panels"].state
    assert new[: len(old)] == old
    assert {"category square", "category circle"} <= set(new[len(old) :])
    module = build(before.architecture, before.config, inputs, 1)
    assert isinstance(module, nn.Module)
    first.load(module, before.config, inputs)
    after = Trained(before.architecture, before.config, inputs, module.eval(), {})
    known = set(before.inputs["words"].state)
    examples = [one for one in small.examples(pairs) if set(text_words(one.query, ())) <= known]
    assert examples
    for was, now in zip(before.scores(before.encode(examples)), after.scores(after.encode(examples)), strict=True):
        assert np.allclose(was, now, atol=1e-5)
    train(model, said_of_boxes, tmp_path / "on", pretrained=tmp_path / "run", set={"epochs": 1}, validate="dev")
    assert load_trained(tmp_path / "on/trial-0").inputs["panels"].state == new


def test_an_epoch_of_some_items(statements: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    from veridical.options.running import TrainOptions
    from veridical.training import train as train_here

    options = TrainOptions(set={**OPTIONS, "epochs": 3, "epoch_items": 32, "batch": 16})
    train_here("text", statements, tmp_path / "run", options, after_step=steps.append)
    assert steps == list(range(1, 7))
