"""NMN and N2NMN: the machine runs what a layout says, policies write whole layouts and read none in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from veridical.records import Text
from veridical.training import Trained, configure
from veridical.training.batches import Dataset, run_module, score
from veridical.training.run import fit_trial
from veridical.training.trained import build
from veridical.zoo import load_model
from veridical.zoo.architecture import Example
from veridical.zoo.eyes import Seen
from veridical.zoo.layouts import LONGEST, MODULES, NUMBER, is_whole
from veridical.zoo.modules import Machine, evidence
from veridical.zoo.n2nmn import N2nmn, Policy

from . import _said as said
from . import _small as small

TINY: dict[str, Any] = {"slots": 8, "seeing": 3, "hidden": 16, "embedding": 16, "modules": 16}


def text_of(example: Example) -> str:
    assert example.query is not None
    return example.query.raw


class Given(nn.Module):
    """Eyes that see what they are given: (B, P, K, W)."""

    def forward(self, panels: Tensor) -> Seen:
        return Seen(panels, torch.ones(panels.shape[:3]))

    def move(self, attention: Tensor, texts: Tensor, seen: Seen, rows: Tensor) -> Tensor:
        return attention


def run(machine: Machine, layout: Sequence[str], panels: Tensor) -> tuple[float, list[float]]:
    steps = torch.tensor([[NUMBER[name] for name in layout]])
    truth, numbers = machine(panels, steps, torch.ones(1, len(layout), 4))
    return float(truth), numbers[0].tolist()


def test_the_machine_counts_what_it_finds() -> None:
    """With `find` made certain: places with a 1 are found, and numbers of steps are theirs."""
    machine = Machine(Given(), 4, 4)  # type: ignore[arg-type]
    with torch.no_grad():
        machine.seek.weight.zero_()
        machine.seek.bias.copy_(torch.tensor([80.0, 0, 0, 0, -20.0]))  # 40 h - 20: h is 0 or 1
    panels = torch.zeros(1, 3, 5, 4)
    panels[0, 0, :2, 0] = 1
    panels[0, 2, 4, 0] = 1
    _, numbers = run(machine, ["find", "not", "find", "or", "find", "and"], panels)
    assert numbers == pytest.approx([3, 12, 3, 15, 3, 3], abs=1e-3)
    _, numbers = run(machine, ["find", "count"], panels)
    assert 0 < numbers[1] < 3  # in how many panels it is true


def test_scores_are_the_odds() -> None:
    probability = torch.tensor([0.2, 0.5, 0.9])
    assert torch.allclose(evidence(probability).softmax(1)[:, 1], probability)


@pytest.mark.parametrize("draw", [True, False])
def test_a_policy_writes_whole_layouts_whatever_its_weights(draw: bool) -> None:
    torch.manual_seed(0)
    config, _ = configure(load_model("n2nmn"), TINY)
    for _ in range(5):
        policy = Policy(config)
        states = torch.randn(40, 7, config.hidden)
        steps, shares, chance, _ = policy(states, torch.ones(40, 7) > 0, states[:, 0], None, draw)
        assert steps.shape[1] <= LONGEST
        assert torch.allclose(shares.sum(2), torch.ones(shares.shape[:2]))
        assert (chance <= 0).all()
        for row in steps.tolist():
            assert is_whole([MODULES[n] for n in row])


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    return small.examples(said.write(tmp_path_factory.mktemp("said") / "b"))


def made(examples: Sequence[Example], name: str, **options: Any) -> tuple[nn.Module, Dataset]:
    model = load_model(name)
    config, _ = configure(model, TINY | options)
    inputs = model.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    found = build(model, config, inputs, 0)
    assert isinstance(found, nn.Module)
    return found, Dataset.encode(examples, inputs, targets=model.targets(config))


@pytest.mark.parametrize("learning", ["programs", "parse", "search"])
def test_in_use_no_program_is_read(statements: list[Example], learning: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor run, nor is a sentence parsed: nothing that could be is even called."""
    module, data = made(statements, "n2nmn", learning=learning)

    def refuse(*_: object) -> None:
        raise AssertionError("read")

    for place in ("nmn.layouts", "n2nmn.program_layout", "n2nmn.parse", "pointed.compiled", "counted.compiled"):
        monkeypatch.setattr(f"veridical.zoo.{place}", refuse)
    other = [replace(e, item=replace(e.item, query=Text(f"{text_of(e)} Or not."))) for e in statements]
    answered = Trained(load_model("n2nmn"), None, data.inputs, module, {}).encode(other)
    assert "layouts" not in answered.inputs
    assert len(score(module, answered, None, 16)) == len(statements)


def test_a_parsed_layout_is_taught_what_its_program_counts(statements: list[Example]) -> None:
    """Where it is known which of its steps is which set; of a sentence whose program is unknown, nothing."""
    _, data = made(statements, "n2nmn", learning="parse")
    told = {name for name in data.targets if data.targets[name].any()}
    assert len(told) > 2
    _, parsed = made(statements, "nmn")
    for row in range(len(statements)):
        steps = sorted(t[row].argmax() for t in data.targets.values() if t[row].any())
        assert steps == sorted(t[row].argmax() for t in parsed.targets.values() if t[row].any())
    blank = [replace(e, item=replace(e.item, program=None)) for e in statements]
    _, untold = made(blank, "n2nmn", learning="parse")
    assert not any(target.any() for target in untold.targets.values())


@pytest.mark.parametrize("learning", ["programs", "parse"])
def test_a_step_of_a_parse_is_about_all_of_its_words(statements: list[Example], learning: str) -> None:
    """Of a program, words are other ways to say the same, and one of them will do."""
    module, data = made(statements, "n2nmn", learning=learning)
    assert isinstance(module, N2nmn)
    torch.nn.init.zeros_(module.policy.fit.weight)  # all words alike
    for row in range(8):
        told = run_module(module.train(), data, np.array([row]), None, "cpu")[1]["astray"].item()
        batch = data.batch(np.array([row]), None)
        words = int((batch["words"] != 0).sum())
        meant = batch["layouts"][0, :, 1:].sum(1)  # (16,): words of each step
        meant = meant[meant > 0].float()
        every = meant.new_full(meant.shape, words).log()
        assert told == pytest.approx(float((every if learning == "parse" else every - meant.log()).sum()), rel=1e-4)


def test_cloning_follows_what_is_known_and_search_draws(statements: list[Example]) -> None:
    module, data = made(statements, "n2nmn")
    assert isinstance(module, N2nmn)
    module.train()
    _, extra = run_module(module, data, np.arange(8), None, "cpu")
    assert extra["cloned"].all()
    assert {"step-0", "step-1"} <= extra.keys()
    assert all(data.targets["step-0"].sum(1) == 1)  # every first step's number is known
    module.search = True
    _, extra = run_module(module, data, np.arange(8), None, "cpu")
    assert not extra["cloned"].any()


def test_a_drawn_layout_is_made_likelier_where_it_costs_less() -> None:
    config, _ = configure(load_model("n2nmn"), TINY)
    chance = torch.zeros(2, requires_grad=True)
    own = N2nmn.loss(
        object.__new__(N2nmn),
        torch.tensor([[9.0, 0], [9.0, 0]]),
        {"chance": chance, "astray": chance, "spread": torch.zeros(2), "cloned": torch.zeros(2) > 0},
        torch.tensor([0, 1]),
    )
    own.backward()
    assert chance.grad is not None
    assert chance.grad[0] < 0 < chance.grad[1]
    assert config.learning == "programs"


@pytest.mark.soak
@pytest.mark.parametrize("name", ["nmn", "n2nmn", "cmm", "cnn-biatt", "w-memnn"])
def test_it_fits_a_few_hundred_generated_statements(name: str, tmp_path: Path) -> None:
    import veridical

    veridical.build("nlvr", tmp_path / "b", presentations=80, split={"train": 3, "dev": 1})  # type: ignore[operator]
    model = load_model(name)
    seen = {"slots": 8} if name in ("nmn", "n2nmn") else {"maps": "objects", "rate": 2e-3}
    config, training = configure(model, {**seen, "seeing": 1000, "epochs": 120, "patience": 120, "batch": 32})
    examples = small.examples(tmp_path / "b")
    done = fit_trial(model, config, training, examples, examples, tmp_path / "run", about={"seed": 0})
    assert done["best"] > 0.9
