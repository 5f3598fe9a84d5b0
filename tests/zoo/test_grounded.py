"""The model that grounds tags: its inputs, its contract, and that it learns what only the photograph shows."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from veridical import train
from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.encoders import extract
from veridical.errors import UserError
from veridical.records import Item, Panel, Ref, SceneObject, Text
from veridical.training import configure
from veridical.training.batches import Dataset, candidate_scores, examples_of
from veridical.training.trained import build
from veridical.zoo import load_model
from veridical.zoo.grounded import ObjectClasses, ObjectVectors, TaggedQuery, TaggedResponses, tagged_words

COLORS = {"red": (220, 30, 30), "green": (30, 180, 40), "blue": (40, 60, 220), "white": (250, 250, 250)}


def write(folder: Path, count: int = 160) -> Path:
    """Questions about the colour of the first or the second box, which the text does not tell; with reasons."""
    rng = np.random.default_rng(0)
    names = list(COLORS)
    with BenchmarkWriter(folder, name="boxes", task="choice") as writer:
        items, panels = [], []
        for k in range(count):
            shown = [names[int(c)] for c in rng.integers(0, 4, 2)]
            picture = Image.new("RGB", (64, 32), (128, 128, 128))
            for place, name in enumerate(shown):
                picture.paste(COLORS[name], (2 + 32 * place, 2, 30 + 32 * place, 30))
            data = BytesIO()
            picture.save(data, "PNG")
            boxes = [(2.0 + 32 * p, 2.0, 30.0 + 32 * p, 30.0) for p in range(2)]
            objects = tuple(SceneObject(str(p), ("cup", "box")[p], box=boxes[p]) for p in range(2))
            panels.append(Panel(f"p{k}", image=writer.add_image(data.getvalue()), width=64, height=32, objects=objects))
            asked = str(int(rng.integers(2)))
            query = Text("", ("What", "is", Ref((asked,)), "?"))
            texts = tuple(Text("", (Ref((asked,)), "is", name, ".")) for name in names)
            answer = names.index(shown[int(asked)])
            items.append(Item(f"q{k}", "choice", (f"p{k}",), query, texts, answer, f"q{k}", (f"p{k}",)))
            reasons = tuple(Text(f"it looks {name}") for name in names)
            items += [
                Item(f"q{k}:r{g}", "choice", (f"p{k}",), query, reasons, answer if g == answer else None, f"q{k}",
                     (f"p{k}",), parent=f"q{k}", given=g)
                for g in range(4)
            ]  # fmt: skip
        cut = int(0.8 * count) * 5
        writer.add_items("train", items[:cut])
        writer.add_items("val", items[cut:])
        writer.add_panels(panels)
    extract(folder, "thumbnail", objects=True)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return write(tmp_path_factory.mktemp("grounded") / "boxes")


def made(folder: Path, **options: Any) -> tuple[nn.Module, Dataset]:
    architecture = load_model("grounded")
    config, _ = configure(architecture, {"images": "thumbnail", "hidden": 16, "embedding": 8, **options})
    bench = Benchmark(folder)
    examples = [e for e in examples_of(bench, bench.items("train")) if e.item.answer is not None][:24]
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(examples)
    model = build(architecture, config, inputs, 0)
    assert isinstance(model, nn.Module)
    return model, Dataset.encode(examples, inputs)


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


@pytest.mark.parametrize("photograph", [True, False])
def test_contract(folder: Path, photograph: bool) -> None:
    model, data = made(folder, photograph=photograph, dropout=0.0)
    rows = np.arange(len(data))
    together = candidate_scores(model, data, rows, None, "cpu")
    assert together.shape == (24, 4)
    alone = torch.cat([candidate_scores(model, data, rows[k : k + 1], None, "cpu") for k in rows])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)
    nn.functional.cross_entropy(together, data.answer_batch(rows)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


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
    from veridical.solvers.solve import solve

    options = {"images": "thumbnail", "hidden": 8, "embedding": 8, "epochs": 1}
    for stage, count in (("answer", 32), ("rationale", 128), ("both", 160)):
        train("grounded", folder, tmp_path / stage, set={**options, "stage": stage}, validate="val")
        solve(str(tmp_path / stage), folder, split="val", out=tmp_path / f"{stage}.jsonl")
        assert len((tmp_path / f"{stage}.jsonl").read_text().splitlines()) == count
