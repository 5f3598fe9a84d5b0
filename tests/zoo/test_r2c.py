"""R2C: it learns what only the photograph shows, needs its query, and starts where only products tell."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from veridical import evaluate, solve, train
from veridical.errors import UserError
from veridical.zoo.layers import TwoWayReader, attend
from veridical.zoo.r2c import R2C, SURE, Finder, R2CConfig, begun

from . import _tagged as tagged

SMALL = {"words": "hashed-words", "images": "thumbnail", "hidden": 16, "dropout": 0.0, "batch": 16}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return tagged.write(tmp_path_factory.mktemp("r2c") / "boxes")


@pytest.fixture(autouse=True)
def _apart(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.getbasetemp() / "r2c-words"))


def test_it_sees_what_the_text_does_not_say(folder: Path, tmp_path: Path) -> None:
    options = {**SMALL, "epochs": 15, "rate": 0.005}
    seeing = train("r2c", folder, tmp_path / "seeing", set=options, stage="answer", validate="val")
    blind = train(
        "r2c", folder, tmp_path / "blind", set={**options, "photograph": False}, stage="answer", validate="val"
    )
    assert seeing.trials[0]["training_items"] == 128  # answers only
    assert seeing.mean > 0.8
    assert blind.mean < 0.6


def test_two_runs_of_one_stage_each_are_one_system(folder: Path, tmp_path: Path) -> None:
    options = {**SMALL, "epochs": 1}
    runs = {}
    for stage in ("answer", "rationale", "both"):
        runs[stage] = tmp_path / stage
        train("r2c", folder, runs[stage], set=options, stage=stage, validate="val")
    solve(str(runs["answer"]), folder, split="val", out=tmp_path / "p.jsonl", also=runs["rationale"])
    found = evaluate(folder, tmp_path / "p.jsonl", split="val")
    assert set(found.staged) == {"Q->A", "QA->R", "Q->AR"}
    assert not found.missing.count
    for other in ("answer", "both"):
        with pytest.raises(UserError, match="was trained on the stage answer"):
            solve(str(runs["answer"]), folder, split="val", out=tmp_path / "q.jsonl", also=runs[other])


def test_a_model_of_one_benchmark_solves_another(folder: Path, tmp_path: Path) -> None:
    train("r2c", folder, tmp_path / "run", set={**SMALL, "epochs": 1}, validate="val")
    other = tagged.write(tmp_path / "other", 20)
    solve(str(tmp_path / "run"), other, split="val", out=tmp_path / "p.jsonl")
    assert evaluate(other, tmp_path / "p.jsonl", split="val").items == 8  # four questions, four reasons


def questions(count: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Four colours are there, all choices are the same four, and no choice has a tag: only who is meant decides."""
    colours = torch.stack([torch.randperm(4) for _ in range(count)])  # (N, 4) of four people
    asked, order = torch.randint(4, (count,)), torch.stack([torch.randperm(4) for _ in range(count)])
    words = torch.eye(6) * 6**0.5
    inputs = {
        "responses": words[order + 1][:, :, None],  # one word each
        "response_tags": torch.ones(count, 4, 1, dtype=torch.int64),
        "query": words[torch.zeros(count, 1, dtype=torch.int64)],
        "query_tags": (asked + 2)[:, None],  # one word: a tag
        "classes": torch.tensor([2, 3, 3, 3, 3]).expand(count, 5),
        "places": torch.rand(count, 5, 5),  # they say nothing
        "regions": torch.cat([torch.zeros(count, 1, 4), 2 * torch.eye(4)[colours]], dim=1),
    }
    return inputs, (order == colours.gather(1, asked[:, None])).int().argmax(1)


def test_what_only_products_tell_is_learned_at_once() -> None:
    torch.manual_seed(0)
    inputs, answers = questions(512)
    module = R2C(R2CConfig(hidden=24, around=0), {"responses": 6, "query": 6, "classes": 4, "regions": 4})
    optimizer = torch.optim.AdamW(module.parameters(), 0.002)
    for _ in range(4):
        for rows in torch.randperm(384).split(32):
            scores = module(**{name: tensor[rows] for name, tensor in inputs.items()})
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores, answers[rows]).backward()
            optimizer.step()
    module.eval()
    scores = module(**{name: tensor[384:] for name, tensor in inputs.items()})
    assert (scores.argmax(1) == answers[384:]).float().mean() > 0.8


def test_an_untagged_word_carries_the_whole_photograph() -> None:
    torch.manual_seed(0)
    inputs, _ = questions(4)
    module = R2C(R2CConfig(hidden=8, start=False), {"responses": 6, "query": 6, "classes": 4, "regions": 4}).eval()
    words, tags = inputs["responses"].flatten(0, 1)[:4], torch.ones(4, 1, dtype=torch.int64)
    objects = torch.rand(4, 5, 8)
    others = torch.cat([objects[:, :1], torch.rand(4, 4, 8)], dim=1)  # the same photograph, other objects
    assert torch.equal(module._ground(words, tags, objects), module._ground(words, tags, others))
    assert not torch.allclose(module._ground(words, tags, objects), module._ground(words, tags, objects.flip(1)))


def described(count: int) -> tuple[dict[str, torch.Tensor], torch.Tensor, torch.Tensor]:
    """The same, and everybody has a hat; half of the questions have no tag, and say which hat is meant."""
    inputs, answers = questions(count)
    words, hats = torch.eye(10) * 10**0.5, torch.stack([torch.randperm(4) for _ in range(count)])  # (N, 4)
    asked, tagged = inputs["query_tags"][:, 0] - 2, torch.rand(count) < 0.5
    hat = hats.gather(1, asked[:, None])  # (N, 1)
    said = inputs["responses"].argmax(3)  # (N, 4, 1)
    wears = torch.cat([torch.zeros(count, 1, 4), 2 * torch.eye(4)[hats]], dim=1)
    inputs["responses"], inputs["regions"] = words[said], torch.cat([inputs["regions"], wears], dim=2)
    inputs["query"] = words[torch.where(tagged[:, None], 0, 6 + hat)]
    inputs["query_tags"] = torch.where(tagged, asked + 2, 1)[:, None]
    return inputs, answers, tagged


def test_it_finds_who_is_described() -> None:
    torch.manual_seed(0)
    inputs, answers, tagged = described(1536)
    module = R2C(R2CConfig(hidden=24, around=0), {"responses": 10, "query": 10, "classes": 4, "regions": 8})
    optimizer = torch.optim.AdamW(module.parameters(), 0.004)
    for _ in range(2):
        for rows in torch.randperm(1024).split(32):
            scores = module(**{name: tensor[rows] for name, tensor in inputs.items()})
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(scores, answers[rows]).backward()
            optimizer.step()
    module.eval()
    right = module(**{name: tensor[1024:] for name, tensor in inputs.items()}).argmax(1) == answers[1024:]
    assert right[tagged[1024:]].float().mean() > 0.8
    assert right[~tagged[1024:]].float().mean() > 0.8


def test_what_a_query_is_about_is_a_bounded_mean_of_its_objects() -> None:
    torch.manual_seed(0)
    finder = Finder(6, 8, torch.nn.Dropout(0.0))
    query, seen = torch.randn(3, 2, 6), torch.randn(3, 5, 8)
    tags = torch.tensor([[1, 3], [1, 1], [1, 1]])  # the first points at object number 3, the others at none
    there = torch.tensor([[True] * 5, [True, True, True, False, False], [True, False, False, False, False]])
    found = finder(query, tags, seen, there)
    sought = query.sum(1) @ finder.seeks.weight.T
    fits = SURE * torch.cosine_similarity(seen @ finder.kinds.weight.T, sought[:, None], dim=2)
    fits[0, 2] += finder.tagged
    torch.testing.assert_close(found[0], fits[0, 1:].softmax(0) @ seen[0, 1:])  # not the photograph
    torch.testing.assert_close(found[1], fits[1, 1:3].softmax(0) @ seen[1, 1:3])
    assert not found[2].any()  # no object is there


def test_a_product_that_nothing_divides_as_in_equation_2() -> None:
    torch.manual_seed(0)
    keys, values = torch.randn(1, 2, 4), torch.randn(1, 3, 4)
    real = torch.tensor([[True, True, False]])
    wanted = (keys[0] @ values[0, :2].T).softmax(1) @ values[0, :2]
    torch.testing.assert_close(attend(keys, values, real, divided=False)[0], wanted)


def test_lstms_begin_as_the_authors_do() -> None:
    reader = begun(TwoWayReader(6, 8))
    for name, weights in reader.lstm.named_parameters():
        if name.startswith("weight_hh"):
            torch.testing.assert_close(weights.T @ weights, torch.eye(4))
        elif name.startswith("bias"):
            forget = 1.0 if name.startswith("bias_hh") else 0.0
            assert weights.tolist() == [0.0] * 4 + [forget] * 4 + [0.0] * 8
    module = R2C(R2CConfig(hidden=8), {"responses": 6, "query": 6, "classes": 4, "regions": 4})
    for own in (module.ground, module.reason):
        assert own is not None
        assert own.lstm.bias_hh_l0[2 * 2 : 4 * 2].tolist() == [1.0] * 4  # of width 4


def test_without_a_query_the_photograph_is_still_seen() -> None:
    module = R2C(R2CConfig(hidden=8, query=False), {"responses": 6, "classes": 4, "regions": 4}).eval()
    inputs, _ = questions(8)
    inputs = {name: tensor for name, tensor in inputs.items() if not name.startswith("query")}
    before = module(**inputs)
    inputs["regions"] = inputs["regions"] + torch.eye(5)[0][:, None]  # another photograph, the same objects
    assert not torch.allclose(before, module(**inputs))
