"""Models of matrices: the papers' equations in their plain form, auxiliary losses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from veridical import encoders as features
from veridical import train
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.training import configure, load_trained
from veridical.training.batches import Dataset, examples_of
from veridical.training.trained import restore_inputs, save_inputs
from veridical.zoo import MODELS, load_model
from veridical.zoo.matrices import ELEMENTS, PANELS, RELATIONS, Panels

from . import _matrices as matrices

NAMES = [name for name in MODELS if load_model(name).tasks == ("matrix",)]
SIZE = 24  # of random features


@pytest.fixture(scope="module", autouse=True)
def _apart() -> Iterator[None]:
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIDICAL_PROGRESS", "0")
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return matrices.write(tmp_path_factory.mktemp("matrices") / "b", {"train": 24, "test": 8}, ("main",), objects=True)


def test_all_models_of_the_paper_are_here() -> None:
    mlps = [f"mlp-{join}-{k}" for join in ("sum", "cat") for k in (2, 4, 6)]
    others = ["gru", "gru-shared", "vqa", "vqa-attention", "relation-network-no-ids", "relation-network"]
    assert [*mlps, *others] == NAMES
    for name in NAMES:
        config, training = configure(load_model(name))
        assert (config.hidden, training.batch, training.optimizer, training.rate) == (128, 128, "adadelta", 1.0)
        assert training.validation_items == 8000


def module(name: str, **options: object) -> nn.Module:
    architecture = load_model(name)
    config, _ = configure(architecture, {"hidden": 16, **options})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert architecture.module is not None
        made = architecture.module(config, {"panels": SIZE})
    drawn = torch.Generator().manual_seed(3)
    with torch.no_grad():  # far from zero, so that every ReLU matters
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=drawn) * 0.5)
    return made


def vectors(batch: int = 5) -> Tensor:
    drawn = torch.randn(batch, PANELS, SIZE, generator=torch.Generator().manual_seed(1))
    return nn.functional.normalize(drawn, dim=2)


def with_ids(panels: Tensor) -> Tensor:
    return torch.cat([panels, torch.eye(PANELS).expand(len(panels), PANELS, PANELS)], dim=2)


def plain_relation_network(net: nn.Module, x: Tensor) -> Tensor:
    """Equations 7 and 8 as printed: 8 x 81 concatenated pairs."""
    halves = net.halves
    weight = halves.map.weight if halves.places is None else torch.cat([halves.map.weight, halves.places.T], dim=1)
    first, second = weight.chunk(2)  # (H, D + 16) each
    scores = []
    for i in range(8):
        nine = [*range(8), 8 + i]
        h = 0
        for a in nine:
            for b in nine:
                pair = torch.cat([x[:, a], x[:, b]], dim=1)  # (B, 2 (D + 16))
                layer = nn.functional.linear(pair, torch.cat([first, second], dim=1), sum(halves.map.bias.chunk(2)))
                h = h + net.deeper(torch.relu(layer))
        scores.append(net.w(net.f2(h)))
    return torch.cat(scores, dim=1)


@pytest.mark.parametrize("options", [{}, {"pair_layers": 3, "layers": 2}, {"panel_ids": False}])
def test_the_relation_network_is_its_plain_form(options: dict[str, object]) -> None:
    net, panels = module("relation-network", **options).double(), vectors().double()
    x = with_ids(panels) if options.get("panel_ids", True) else panels
    fast, plain = net(panels), plain_relation_network(net, x)
    torch.testing.assert_close(fast, plain)
    answers = torch.arange(len(panels)) % 8
    gradients = [
        torch.autograd.grad(nn.functional.cross_entropy(s, answers), list(net.parameters()), allow_unused=True)
        for s in (fast, plain)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_without_ids_the_order_of_the_context_makes_no_difference() -> None:
    panels, order = vectors(), torch.randperm(8, generator=torch.Generator().manual_seed(2))
    shuffled = torch.cat([panels[:, :8][:, order], panels[:, 8:]], dim=1)
    blind, seeing = module("relation-network-no-ids"), module("relation-network")
    torch.testing.assert_close(blind(panels), blind(shuffled), atol=1e-4, rtol=1e-4)
    assert (seeing(panels) - seeing(shuffled)).abs().max() > 0.1


@pytest.mark.parametrize("layers", [2, 4, 6])
@pytest.mark.parametrize("join", ["sum", "cat"])
def test_mlps_are_equations_1_and_2(join: str, layers: int) -> None:
    net, panels = module(f"mlp-{join}-{layers}"), vectors()
    relus = sum(isinstance(part, nn.ReLU) for part in net.modules()) + 2  # the first of f1 and of f2 are functions
    assert relus == layers
    x = with_ids(panels)
    weight = torch.cat([net.first.map.weight, net.first.places.T], dim=1)
    each = [net.f1(torch.relu(nn.functional.linear(x[:, j], weight, net.first.map.bias))) for j in range(16)]
    scores = []
    for i in range(8):
        nine = [*each[:8], each[8 + i]]
        if join == "sum":
            layer = net.candidate(sum(nine))
        else:
            both = torch.cat([net.context.weight, net.candidate.weight], dim=1)  # (H, 9 H)
            layer = nn.functional.linear(torch.cat(nine, dim=1), both, net.candidate.bias)
        scores.append(net.w(net.f2(torch.relu(layer))))
    torch.testing.assert_close(net(panels), torch.cat(scores, dim=1), atol=1e-4, rtol=1e-4)


def test_grus_are_equations_3_and_4() -> None:
    x = with_ids(vectors())
    one, shared = module("gru"), module("gru-shared")
    torch.testing.assert_close(one(vectors()), one.w(one.gru(x)[1][0]), atol=1e-5, rtol=1e-4)
    scores = [shared.w(shared.gru(x[:, [*range(8), 8 + i]])[1][0]) for i in range(8)]
    torch.testing.assert_close(shared(vectors()), torch.cat(scores, dim=1), atol=1e-5, rtol=1e-4)


def plain_gate(layer: nn.Module, x: Tensor) -> Tensor:
    """tanh(W x + b) * sigmoid(W' x + b') of panels with their ids."""
    weight = torch.cat([layer.both.map.weight, layer.both.places.T], dim=1)
    value, gate = nn.functional.linear(x, weight, layer.both.map.bias).chunk(2, dim=-1)
    return torch.tanh(value) * torch.sigmoid(gate)


def test_vqa_is_equations_5_and_6() -> None:
    net, x = module("vqa"), with_ids(vectors())
    h = plain_gate(net.f1, x[:, :6]).sum(1) * plain_gate(net.f2, x[:, 6:8]).sum(1)
    scores = [(h * plain_gate(net.f3, x[:, 8 + i])).sum(1) for i in range(8)]
    torch.testing.assert_close(net(vectors()), torch.stack(scores, dim=1), atol=1e-5, rtol=1e-4)


def test_attention_looks_where_the_question_asks() -> None:
    """With one region a panel it is the plain model; regions that are not there have no influence."""
    net, panels = module("vqa-attention"), vectors()
    plain = module("vqa")
    plain.load_state_dict(net.state_dict(), strict=False)
    one = panels[:, :, None]  # (B, 16, 1, D)
    torch.testing.assert_close(net(one), plain(panels), atol=1e-5, rtol=1e-4)
    padded = torch.cat([one, torch.zeros(5, 16, 2, SIZE)], dim=2)
    torch.testing.assert_close(net(padded), net(one), atol=1e-5, rtol=1e-4)
    two = torch.cat([one, one.flip(0)], dim=2)
    net.weight.weight.data.zero_()  # attends to both alike
    rows = two[:, :6].mean(2)
    mean = nn.functional.normalize(two.sum(2), dim=2)
    question = net.f2(mean[:, 6:8], 6).sum(1)
    torch.testing.assert_close(net(two), net.answer(rows, question, mean[:, 8:]), atol=1e-5, rtol=1e-4)


def inputs_of(folder: Path, *, split: str = "train", **options: object) -> tuple[Dataset, Panels]:
    bench = Benchmark(folder)
    examples = examples_of(bench, bench.items(split))
    panels = Panels("thumbnail", **options)  # type: ignore[arg-type]
    panels.learn(examples)
    return Dataset.encode(examples, {"panels": panels}), panels


def test_a_batch_is_one_gather_of_unit_vectors(folder: Path) -> None:
    data, panels = inputs_of(folder)
    rows = np.array([5, 0, 7])
    found = data.batch(rows)["panels"]
    assert found.shape == (3, 16, panels.size)
    stored = features.load(folder, "thumbnail", normalise=True)
    for row, batch in zip(rows.tolist(), found.numpy(), strict=True):
        example = data.examples[row]
        np.testing.assert_allclose(batch, stored.panels((*example.panels, *example.choices)), atol=1e-6)
    assert all(not kept for kept in data.kept)  # only row numbers are kept, in one table
    assert data.tables["panels"].shape == (24, 16)


def test_regions_are_boxes_of_objects_or_the_panel(folder: Path) -> None:
    data, panels = inputs_of(folder, regions=2, pooled=False)
    pooled = Panels("thumbnail", regions=2)
    pooled.learn(data.examples)
    mean = Dataset.encode(data.examples, {"panels": pooled}).batch(np.arange(8))["panels"].numpy()
    found = data.batch(np.arange(8))["panels"].numpy()
    stored = features.load(folder, "thumbnail", normalise=True)
    assert found.shape == (8, 16, 2, panels.size)
    boxes = set()
    for row in range(8):
        example = data.examples[row]
        for place, panel in enumerate((*example.panels, *example.choices)):
            assert panel.image is not None
            own = [features.region_key(panel.image, box) for box in features.object_regions(panel)][:2]
            wanted = stored.rows(own or [features.region_key(panel.image)])
            np.testing.assert_allclose(found[row, place, : len(wanted)], wanted, atol=1e-6)
            assert not found[row, place, len(wanted) :].any()
            total = wanted.sum(0)
            np.testing.assert_allclose(mean[row, place], total / np.linalg.norm(total), atol=1e-5)
            boxes.add(len(own))
    assert boxes == {0, 1, 2}


@pytest.mark.parametrize("options", [{}, {"regions": 2}, {"regions": 2, "pooled": False}])
def test_centred_vectors_lack_the_mean_of_the_training_panels(folder: Path, options: dict[str, Any]) -> None:
    plain, _ = inputs_of(folder, **options)
    _, panels = inputs_of(folder, centre=True, **options)
    known: dict[str, np.ndarray] = {}  # panel -> its vector, or those of its regions
    for example, vectors in zip(plain.examples, plain.batch(np.arange(len(plain)))["panels"].numpy(), strict=True):
        known |= {panel.id: v for panel, v in zip((*example.panels, *example.choices), vectors, strict=True)}
    rows = np.concatenate([np.atleast_2d(v) for v in known.values()])
    mean = rows[rows.any(axis=1)].mean(0)
    test, _ = inputs_of(folder, split="test", **options)
    centred = Dataset.encode(test.examples, {"panels": panels}).batch(np.arange(3))["panels"].numpy()
    for found, stored in zip(centred, test.batch(np.arange(3))["panels"].numpy(), strict=True):
        wanted = (stored - mean) * stored.any(axis=-1, keepdims=True)
        lengths = np.linalg.norm(wanted, axis=-1, keepdims=True)
        np.testing.assert_allclose(found, wanted / np.where(lengths > 0, lengths, 1), atol=1e-5)


def test_centred_models_are_saved_with_their_mean(folder: Path, tmp_path: Path) -> None:
    _, panels = inputs_of(folder, centre=True)
    again = Panels("thumbnail", centre=True)
    save_inputs(tmp_path, {"panels": panels})
    assert restore_inputs(tmp_path, {"panels": again})
    bench = Benchmark(folder)
    examples = examples_of(bench, bench.items("test"))
    first, second = (Dataset.encode(examples, {"panels": one}).batch(np.arange(4))["panels"] for one in (panels, again))
    np.testing.assert_array_equal(first.numpy(), second.numpy())


def test_vectors_of_two_benchmarks_do_not_mix(folder: Path, tmp_path: Path) -> None:
    other = matrices.write(tmp_path / "other", {"train": 4}, ("main",), seed=9)
    data, panels = inputs_of(folder)
    second = examples_of(Benchmark(other), Benchmark(other).items("train"))
    both = Dataset.encode([*data.examples[:2], *second], {"panels": panels}).batch(np.array([0, 2]))["panels"].numpy()
    for batch, example, home in zip(both, (data.examples[0], second[0]), (folder, other), strict=True):
        stored = features.load(home, "thumbnail", normalise=True)
        np.testing.assert_allclose(batch, stored.panels((*example.panels, *example.choices)), atol=1e-6)


def test_other_shapes_than_eight_and_eight_are_refused(folder: Path) -> None:
    data, panels = inputs_of(folder)
    short = replace(data.examples[0], panels=data.examples[0].panels[:7])
    with pytest.raises(UserError, match="7 context panels and 8 candidate"):
        panels.encode(short)


def test_auxiliary_targets() -> None:
    panels = vectors()
    for kind, wanted in (("two", {"relation": 4, "element": 3}), ("seven", {"kind": 7}), ("none", {})):
        for name in ("relation-network", "gru", "gru-shared", "vqa", "mlp-cat-4"):
            net = module(name, auxiliary=kind)
            net.train()
            found = net(panels)
            logits = found[1] if isinstance(found, tuple) else {}
            assert {n: t.shape[1] for n, t in logits.items()} == wanted
            net.eval()
            assert net(panels).shape == (5, 8)


def test_auxiliary_labels_come_from_tags(folder: Path) -> None:
    model = load_model("relation-network")
    data, _ = inputs_of(folder)
    two = model.targets(configure(model, {"auxiliary": "two"})[0])
    seven = model.targets(configure(model, {"auxiliary": "seven"})[0])
    for n, example in enumerate(data.examples[:12]):
        relation, element, both = two["relation"].encode(example), two["element"].encode(example), seven["kind"]
        assert (relation.argmax(), relation.sum()) == (n % 4, 1)
        assert (element.argmax(), element.sum()) == (n % 3, 1)
        assert both.encode(example).tolist() == [*(relation / 2).tolist(), *(element / 2).tolist()]
    untagged = replace(data.examples[0], item=replace(data.examples[0].item, tags=()))
    with pytest.raises(UserError, match="needs one of: and, or, progression, union"):
        two["relation"].encode(untagged)
    assert (len(RELATIONS), len(ELEMENTS)) == (4, 3)


def test_with_an_auxiliary_loss_it_trains_and_is_saved(folder: Path, tmp_path: Path) -> None:
    config = {"images": "thumbnail", "epochs": 2, "auxiliary": "two", "validation": 0.3}
    done = train("relation-network", folder, tmp_path / "run", set=config)
    plain = train("relation-network", folder, tmp_path / "plain", set={**config, "auxiliary": "none"})
    assert done.trials[0]["history"][0]["loss"] > plain.trials[0]["history"][0]["loss"] + 2  # ln 4 + ln 3 more
    trained = load_trained(tmp_path / "run/trial-0")
    assert isinstance(trained.model, nn.Module)
    assert trained.model.heads.heads["relation"].weight.shape == (4, 128)


def test_it_learns_to_reason_about_rows(tmp_path: Path) -> None:
    folder = matrices.write(tmp_path / "b", {"train": 800, "test": 150}, ("main",))
    config = {"images": "thumbnail", "epochs": 30, "batch": 32, "hidden": 64}
    done = train("relation-network", folder, tmp_path / "run", set=config, validate="test")
    assert done.mean > 0.7
