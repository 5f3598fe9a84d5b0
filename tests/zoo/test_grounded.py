"""The model that grounds tags: its inputs, and that it learns what only the photograph shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from veridical import train
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.records import Item, Panel, SceneObject, Text
from veridical.training.batches import examples_of
from veridical.zoo.grounded import (
    Grounded,
    GroundedConfig,
    ObjectVectors,
    TaggedQuery,
    TaggedResponses,
    tagged_words,
)
from veridical.zoo.objects import ObjectClasses

from . import _tagged as tagged


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return tagged.write(tmp_path_factory.mktemp("grounded") / "boxes")


def test_inputs_point_at_objects(folder: Path) -> None:
    bench = Benchmark(folder)
    example = examples_of(bench, bench.items("train"))[0]
    (number,) = {n for _, n in tagged_words(example.item.query, example.panels[0]) if n}
    assert number in (2, 3)  # the photograph itself is 1
    query, responses = TaggedQuery(), TaggedResponses()
    for source in (query, responses):
        source.learn([example])
    assert query.encode(example)[:, 1].max() == number
    assert responses.encode(example).shape == (4, 3, 2)
    vectors = ObjectVectors("thumbnail")
    vectors.learn([example])
    found = vectors.encode(example)
    assert found.shape == (3, vectors.size)
    assert found[0, -5:].tolist() == [0, 0, 1, 1, 1]  # the whole photograph
    bare = ObjectVectors("")
    bare.learn([example])
    assert bare.encode(example).shape == (3, 5)
    classes = ObjectClasses(1)
    classes.learn([example])
    assert len(set(classes.encode(example).tolist())) == 3


def test_a_reason_is_read_with_its_answer(folder: Path) -> None:
    bench = Benchmark(folder)
    examples = {e.item.id: e for e in examples_of(bench, bench.items("train"))}
    assumed = examples["q0:r2"].query
    assert assumed is not None
    assert [t for t in assumed.tokens if t == "blue"] == ["blue"]
    assert examples["q0"].query == examples["q0"].item.query
    only = examples_of(bench, [i for i in bench.items("train") if i.id == "q0:r2"])  # the question is not among them
    assert only[0].query == assumed


def test_it_sees_what_the_text_does_not_say(folder: Path, tmp_path: Path) -> None:
    options = {"images": "thumbnail", "hidden": 24, "embedding": 16, "epochs": 25, "dropout": 0.0, "rate": 0.005}
    options |= {"stage": "answer", "batch": 16}
    seeing = train("grounded", folder, tmp_path / "seeing", set=options, validate="val")
    blind = train("grounded", folder, tmp_path / "blind", set={**options, "photograph": False}, validate="val")
    assert seeing.trials[0]["training_items"] == 128  # answers only
    assert seeing.mean > 0.8
    assert blind.mean < 0.6


def test_stages_are_trained_apart(folder: Path, tmp_path: Path) -> None:
    options = {"images": "thumbnail", "hidden": 8, "embedding": 8, "epochs": 1}
    for stage, items in (("answer", 128), ("rationale", 128), ("both", 256)):
        done = train("grounded", folder, tmp_path / stage, set={**options, "stage": stage}, validate="val")
        assert done.trials[0]["training_items"] == items


def test_an_item_with_two_photographs_is_refused() -> None:
    from veridical.zoo.architecture import Example

    item = Item("x", "choice", ("a", "b"), Text("?"), (Text("y"), Text("n")), 0)
    with pytest.raises(UserError, match="2 panels"):
        TaggedQuery().learn([Example(item, (Panel("a"), Panel("b")), lambda _: b"")])


def test_a_run_of_one_stage_predicts_that_stage(folder: Path, tmp_path: Path) -> None:
    from veridical.solvers.solver import solve

    options = {"images": "thumbnail", "hidden": 8, "embedding": 8, "epochs": 1}
    for stage, count in (("answer", 32), ("rationale", 128), ("both", 160)):
        train("grounded", folder, tmp_path / stage, set={**options, "stage": stage}, validate="val")
        solve(str(tmp_path / stage), folder, split="val", out=tmp_path / f"{stage}.jsonl")
        assert len((tmp_path / f"{stage}.jsonl").read_text().splitlines()) == count


def test_what_only_products_tell_is_learned_at_once() -> None:
    """Four colours are there, all choices are the same four, and no choice has a tag: only who is meant decides."""
    torch.manual_seed(0)
    count = 512
    colours = torch.stack([torch.randperm(4) for _ in range(count)])  # (N, 4) of four people
    asked, order = torch.randint(4, (count,)), torch.stack([torch.randperm(4) for _ in range(count)])
    whole = torch.zeros(count, 1, 4)
    objects = torch.cat([whole, torch.eye(4)[colours]], dim=1)
    objects = torch.cat([2 * objects, torch.rand(count, 5, 5)], dim=2)  # at places that say nothing
    query = torch.stack([torch.full((count,), 2), asked + 2], dim=1)[:, None]  # one word: a tag
    responses = torch.stack([order + 2, torch.zeros_like(order)], dim=2)[:, :, None]
    classes = torch.tensor([2, 3, 3, 3, 3]).expand(count, 5)
    answers = (order == colours.gather(1, asked[:, None])).int().argmax(1)
    module = Grounded(GroundedConfig(hidden=24, embedding=16), {"query": 4, "responses": 6, "classes": 4, "objects": 9})
    optimizer = torch.optim.AdamW(module.parameters(), 0.002)
    for _ in range(3):  # the deep part alone is at chance for as long
        for rows in torch.randperm(384).split(32):
            scores = module(query[rows], responses[rows], classes[rows], objects[rows])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores, answers[rows]).backward()
            optimizer.step()
    module.eval()
    scores = module(query[384:], responses[384:], classes[384:], objects[384:])
    assert (scores.argmax(1) == answers[384:]).float().mean() > 0.8


def test_an_object_without_a_box_is_everywhere(folder: Path) -> None:
    bench = Benchmark(folder)
    example = examples_of(bench, bench.items("train"))[0]
    panel = example.panels[0]
    bare = replace(example, panels=(replace(panel, objects=(*panel.objects, SceneObject("9", "rain"))),))
    vectors = ObjectVectors("thumbnail")
    vectors.learn([example])
    found = vectors.encode(bare)
    assert found.shape == (4, vectors.size)
    np.testing.assert_array_equal(found[3], found[0])
