"""What matrices add to training: contexts of other items, items held out one by one, fractions, exact resume."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from veridical import train
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.options.running import TrainOptions
from veridical.records import Item
from veridical.training import configure
from veridical.training.batches import Dataset, examples_of, run_module, with_context
from veridical.training.run import _examples
from veridical.training.trained import build
from veridical.training.trainer import Trainer
from veridical.zoo import load_model
from veridical.zoo.matrices import Heads, MatrixConfig

from ..zoo import _matrices as matrices
from .test_resume import contents, finish, start

FAST = {"images": "thumbnail", "epochs": 2, "batch": 32, "hidden": 16}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return matrices.write(tmp_path_factory.mktemp("matrices") / "b", {"train": 200, "test": 40}, ("main",))


@pytest.fixture(scope="session")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return matrices.write(tmp_path_factory.mktemp("boxes") / "b", {"train": 20}, ("main",), objects=True)


def items(count: int) -> list[Item]:
    return [
        Item(
            f"i{n}",
            "matrix",
            tuple(f"p{n}-{k}" for k in range(8)),
            candidates=tuple(f"c{n}-{k}" for k in range(8)),
            answer=n % 8,
        )
        for n in range(count)
    ]


@given(count=st.integers(2, 40), seed=st.integers(0, 99))
def test_every_item_gets_the_context_of_another(count: int, seed: int) -> None:
    own = items(count)
    found = with_context(own, "other", np.random.default_rng(seed))
    assert [i.id for i in found] == [i.id for i in own]
    assert [(i.answer, i.candidates) for i in found] == [(i.answer, i.candidates) for i in own]
    assert all(a.panels != b.panels for a, b in zip(own, found, strict=True))
    assert {i.panels for i in found} == {i.panels for i in own}


@given(seed=st.integers(0, 99))
def test_shuffled_contexts_keep_their_panels(seed: int) -> None:
    own = items(20)
    found = with_context(own, "shuffled", np.random.default_rng(seed))
    assert [sorted(i.panels) for i in found] == [sorted(i.panels) for i in own]
    assert [i.candidates for i in found] == [i.candidates for i in own]
    assert sum(a.panels != b.panels for a, b in zip(own, found, strict=True)) > 15
    assert with_context(own, "own", np.random.default_rng(seed)) == own


def test_only_matrices_have_a_context_to_exchange() -> None:
    with pytest.raises(UserError, match="no context panels"):
        with_context([Item("a", "statement", ("p",))], "other", np.random.default_rng(0))
    with pytest.raises(UserError, match="single item"):
        with_context(items(1), "other", np.random.default_rng(0))


def held(folder: Path, **options: object) -> tuple[list[str], list[str]]:
    _, training = configure(load_model("relation-network"), options)
    found = _examples(Benchmark(folder), TrainOptions(), training)
    training_items, validation_items = ([e.item.id for e in part] for part in found)
    return training_items, validation_items


def test_items_that_share_images_are_held_out_one_by_one(folder: Path) -> None:
    """All matrices of a split share one origin here, as photographs tie them together: blocks cannot be kept apart."""
    learning, checking = held(folder)
    assert (len(learning), len(checking)) == (180, 20)  # 8,000, but no more than a tenth
    assert not set(learning) & set(checking)
    assert len(held(folder, validation_items=7)[1]) == 7


def test_a_smaller_fraction_is_a_part_of_a_larger_one(folder: Path) -> None:
    all_of_it, checking = held(folder)
    half, same = held(folder, fraction=0.5)
    tenth, _ = held(folder, fraction=0.1)
    assert (len(half), len(tenth)) == (90, 18)
    assert set(tenth) < set(half) < set(all_of_it)
    assert same == checking


@pytest.mark.parametrize(
    ("options", "message"),
    [({"fraction": 0.0}, "at most 1"), ({"fraction": 1.5}, "at most 1"), ({"validation_items": -1}, "0 or more")],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        configure(load_model("relation-network"), options)


def test_killed_it_ends_in_the_same_weights(folder: Path, tmp_path: Path) -> None:
    """AdaDelta's state, looked-up inputs and auxiliary losses continue exactly."""
    options = {**FAST, "auxiliary": "two", "dropout": 0.2, "checkpoint_steps": 2}
    out, whole = tmp_path / "run", tmp_path / "whole"
    assert finish(start("relation-network", folder, out, 5, options)) != 0
    for place in (out, whole):
        train("relation-network", folder, place, set=options, seed=5)
    assert contents(out) == contents(whole)


def test_trained_on_other_contexts_it_knows_nothing(folder: Path, tmp_path: Path) -> None:
    options = {**FAST, "epochs": 12, "hidden": 64}
    own = train("relation-network", folder, tmp_path / "own", set=options, validate="test")
    other = train("relation-network", folder, tmp_path / "other", set={**options, "context": "other"}, validate="test")
    assert own.trials[0]["history"][-1]["train"] > other.trials[0]["history"][-1]["train"]
    assert own.mean > 0.3
    assert other.mean < 0.3  # the best of twelve epochs on 40 items


MODELS_OF_MATRICES = ("mlp-sum-2", "mlp-cat-2", "gru", "gru-shared", "vqa", "vqa-attention", "relation-network")


class Trunk:
    """A model on eight items, with what its scores and auxiliary predictions should be worth."""

    def __init__(self, folder: Path, model: str, auxiliary: str) -> None:
        architecture = load_model(model)
        options = {**FAST, "auxiliary": auxiliary, "regions": 2 if model == "vqa-attention" else 0}
        config, self.training = configure(architecture, options)
        bench = Benchmark(folder)
        examples = examples_of(bench, list(bench.items("train"))[:8])
        inputs = architecture.inputs(config)
        for source in inputs.values():
            source.learn(examples)
        self.data = Dataset.encode(examples, inputs, "", architecture.targets(config))
        module = build(architecture, config, inputs, 0)
        assert isinstance(module, torch.nn.Module)
        self.module, self.rows = module.train(), np.arange(8)

    def losses(self) -> dict[str, torch.Tensor]:
        """Of the answers and of each auxiliary target, by hand: -log p, the mean over items."""
        scores, extra = run_module(self.module, self.data, self.rows, None, "cpu")
        wanted = torch.nn.functional.one_hot(torch.from_numpy(self.data.answers[self.rows]), 8).float()
        found = {"answer": (scores, wanted)}
        found |= {
            name: (logits, torch.from_numpy(self.data.targets[name][self.rows])) for name, logits in extra.items()
        }
        return {
            name: -(truth * (out - out.logsumexp(1, keepdim=True))).sum(1).mean()
            for name, (out, truth) in found.items()
        }


@pytest.mark.parametrize("auxiliary", ["two", "seven"])
@pytest.mark.parametrize("model", MODELS_OF_MATRICES)
def test_an_auxiliary_loss_reaches_the_whole_model(boxes: Path, model: str, auxiliary: str) -> None:
    """Its gradient is not zero in the weights that make the scores, down to those that see the panels."""
    trunk = Trunk(boxes, model, auxiliary)
    found = trunk.losses()
    assert set(found) == {"answer"} | ({"relation", "element"} if auxiliary == "two" else {"kind"})
    for name in found.keys() - {"answer"}:
        trunk.module.zero_grad()
        found[name].backward(retain_graph=True)
        moved = {n for n, p in trunk.module.named_parameters() if p.grad is not None and bool(p.grad.abs().any())}
        assert any(n.endswith(("map.weight", "gru.weight_ih_l0")) for n in moved)  # what multiplies the panels
        assert {n for n in moved if n.startswith("heads")} == {f"heads.heads.{name}.{x}" for x in ("weight", "bias")}


@pytest.mark.parametrize("weight", [1.0, 0.25])
@pytest.mark.parametrize("auxiliary", ["none", "two", "seven"])
def test_a_step_is_on_the_sum_of_all_losses(boxes: Path, tmp_path: Path, auxiliary: str, weight: float) -> None:
    trunk = Trunk(boxes, "relation-network", auxiliary)
    found = trunk.losses()
    rest = [loss for name, loss in found.items() if name != "answer"]
    total = found["answer"] + weight * torch.stack(rest).sum() if rest else found["answer"]
    total.backward()
    wanted = {name: p.grad.clone() for name, p in trunk.module.named_parameters() if p.grad is not None}
    config = replace(trunk.training, auxiliary_weight=weight, clip=0.0)
    trainer = Trainer(trunk.module, trunk.data, trunk.data, config, tmp_path, seed=0)
    trainer._step(trunk.rows, None)
    assert trainer.place.loss / 8 == pytest.approx(total.item(), rel=1e-5)
    for name, parameter in trunk.module.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, wanted[name], rtol=1e-4, atol=1e-6)


def test_auxiliary_predictions_are_of_the_mean_of_all_candidates() -> None:
    heads = Heads(MatrixConfig(hidden=6, auxiliary="two"))
    scores, activations = torch.zeros(3, 8), torch.randn(3, 8, 6)
    _, found = heads(scores, activations)
    for name in ("relation", "element"):
        torch.testing.assert_close(found[name], heads.heads[name](activations.sum(1) / 8))
    assert heads.eval()(scores, activations) is scores  # in training only
