"""Every model on every benchmark of its task: it learns from what is there, or says that it cannot.

`train maxent` on photographs once found no feature in any scene, and fitted a bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

from veridical.errors import UserError
from veridical.records import TASKS
from veridical.training import configure
from veridical.training.batches import Dataset, run_module
from veridical.training.trained import build
from veridical.zoo import MODELS, load_model
from veridical.zoo.seen import SeenObjects
from veridical.zoo.slots import PanelSlots

from . import _matrices as matrices
from . import _pictures as pictures
from . import _said as said
from . import _small as small
from . import _tagged as tagged

WORLDS = {
    "boxes": "statement",
    "pairs": "statement",  # objects, and no picture
    "pictures-statement": "statement",  # pictures, and no objects
    "choices": "choice",
    "tagged": "choice",
    "pictures-choice": "choice",
    "matrices": "matrix",
    "pictures-matrix": "matrix",
}
# what stands in for large encoders, and small sizes
LIGHT: dict[str, Any] = {"images": "thumbnail", "texts": "hashed-words", "words": "hashed-words", "seeing": 1}
LIGHT |= {"sentence": "hashed-words", "parser": "words"}
LEARN_NOTHING = {"majority"}
HEAVY = {"bert", "bert-response-only"}  # need a checkpoint; their inputs are words, as esim's


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    base = tmp_path_factory.mktemp("worlds")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("VERIDICAL_PROGRESS", "0")
        yield {
            "boxes": small.write_statements(base / "boxes", 4),
            "pairs": said.write_pairs(base / "pairs", 12),
            "choices": small.write_choices(base / "choices", 12),
            "tagged": tagged.write(base / "tagged", 8),
            "matrices": matrices.write(base / "matrices", {"train": 8}, ("main",), objects=True),
            **{f"pictures-{t}": pictures.write(base / f"p-{t}", t, {"train": 8}) for t in TASKS},
        }


PAIRS = [
    (name, world)
    for name in MODELS
    for world, task in WORLDS.items()
    if name not in LEARN_NOTHING | HEAVY and task in load_model(name).tasks  # other tasks `train` refuses
]


@pytest.mark.parametrize(("name", "world"), PAIRS)
def test_it_learns_from_what_is_there_or_refuses(name: str, world: str, folders: dict[str, Path]) -> None:
    model = load_model(name)
    config, _ = configure(model, {k: v for k, v in LIGHT.items() if k in model.config.__dataclass_fields__})
    inputs = model.inputs(config)
    examples = small.examples(folders[world])
    try:
        for source in inputs.values():
            source.learn(examples)
        data = Dataset.encode(examples, inputs)
    except UserError:  # which cannot be made without a fix
        return
    rows = np.arange(len(data))
    found = {k: v for k, v in data.batch(rows, rows * 0 if data.per_view else None).items() if "tags" not in k}
    assert any(tensor.numel() and bool((tensor != 0).any()) for tensor in found.values()), "it sees nothing at all"
    if set(model.sees) & {"image", "structure"} and "matrix" not in model.tasks and getattr(config, "images", "x"):
        scenes = {k: t for k, t in found.items() if k not in ("words", "query", "responses", "layouts", "sentence")}
        assert any(bool((t != t[:1]).any()) for t in scenes.values()), "all scenes look alike to it"


@pytest.mark.parametrize("name", ["maxent", "structure-mlp", "structure-rnn"])
def test_models_of_boxes_refuse_photographs(name: str, folders: dict[str, Path]) -> None:
    model = load_model(name)
    source = next(iter(model.inputs(configure(model)[0]).values()))
    with pytest.raises(UserError, match="none of the objects"):
        source.learn(small.examples(folders["pairs"]))


def test_maxent_on_objects_refuses_pictures_without_any(folders: dict[str, Path]) -> None:
    model = load_model("maxent-objects")
    with pytest.raises(UserError, match="No object is annotated"):
        model.inputs(configure(model)[0])["features"].learn(small.examples(folders["pictures-statement"]))


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("nmn", {"maps": "object-list"}, "slots=8"),
        ("n2nmn", {"maps": "given-objects"}, "slots=8"),
        ("nmn", {"maps": "efficientnet-lite0-map", "slots": 4}, "Leave out one"),
        ("film", {"maps": "efficientnet-lite0-map", "joined": True}, "`maps` or `joined`"),
        ("film", {"maps": "foo"}, "object-list, seen-objects, given-objects, efficientnet-lite0-map"),
    ],
)
def test_options_that_contradict_each_other_are_refused(name: str, options: dict[str, Any], says: str) -> None:
    architecture = load_model(name)
    config, _ = configure(architecture, options)
    with pytest.raises(UserError) as refused:
        architecture.inputs(config)
    assert says in refused.value.fix


def test_maps_that_nobody_makes_are_not_called_vectors() -> None:
    with pytest.raises(UserError, match=r"no encoder of maps 'given-object'\. Did you mean 'given-objects'") as no:
        load_model("film").inputs(configure(load_model("film"), {"maps": "given-object"})[0])
    assert "thumbnail" not in no.value.fix  # it gives one vector


@pytest.mark.parametrize(
    ("name", "option", "value", "says"),
    [
        ("slot-reasoner", "slots", 401, "Give 100 or less."),
        ("nmn", "slots", 500, "Give 100 or less."),
        ("film", "channels", 1, "Give 2 or more."),
        ("film", "classifier", 2, "Give 8 or more."),
        ("cnn-biatt", "hidden", 4, "Give 8 or more."),
        ("slot-reasoner", "instructions", 2, "Give 4 or more."),
        ("nmn", "parser", "foo", "Choose one of: spacy, words. Or leave it out."),
    ],
)
def test_options_out_of_their_bounds_are_refused(name: str, option: str, value: Any, says: str) -> None:
    with pytest.raises(UserError, match=f"The option {option} is {value!r}") as refused:
        configure(load_model(name), {option: value})
    assert refused.value.fix == says


LOOKING = [name for name in MODELS if {"channels", "seeing"} & set(load_model(name).config.__dataclass_fields__)]
SIZES = {"width": 20, "height": 20, "channels": 8, "hidden": 16, "embedding": 8}


@pytest.mark.parametrize("maps", ["", "given-objects"])
@pytest.mark.parametrize("name", [name for name in LOOKING if "statement" in load_model(name).tasks])
def test_a_size_at_its_bounds_can_be_trained_or_is_refused(name: str, maps: str, folders: dict[str, Path]) -> None:
    model, examples = load_model(name), small.examples(folders["boxes"])[:4]
    known = {one.name: one for one in fields(model.config)}
    usual = {
        k: v for k, v in {**LIGHT, **SIZES, "maps": maps}.items() if k in known and type(v) is type(known[k].default)
    }
    for one in known.values():
        least = one.metadata.get("least", 0 if one.default == 0 else 1)
        for size in {least, one.metadata.get("most") or least} if type(one.default) is int else ():
            try:
                config, _ = configure(model, {**usual, one.name: size})
                inputs = model.inputs(config)
                for source in inputs.values():
                    source.learn(examples)
                data = Dataset.encode(examples, inputs, targets=model.targets(config))
                module = build(model, config, inputs, 0)
            except UserError:
                continue
            assert isinstance(module, nn.Module)
            scores, _ = run_module(module.train(), data, np.arange(4), np.zeros(4, np.int64), "cpu")
            assert bool(scores.isfinite().all()), one.name


@pytest.mark.parametrize("steps", range(1, 8))
def test_eyes_learn_in_as_few_steps_as_they_are_given(steps: int, folders: dict[str, Path]) -> None:
    """In five, torch divided by zero."""
    examples = small.examples(folders["boxes"])[:2]
    for eyes in (PanelSlots(4, steps), SeenObjects(steps)):
        eyes.learn(examples)
        assert np.isfinite(eyes.slots(eyes.encode(examples[0]))).all()


def test_states_of_two_directions_have_even_widths(folders: dict[str, Path]) -> None:
    architecture = load_model("cmm")
    config, _ = configure(architecture, {"hidden": 33})
    inputs = architecture.inputs(config)
    for source in inputs.values():
        source.learn(small.examples(folders["boxes"]))
    with pytest.raises(UserError, match="33"):
        build(architecture, config, inputs, 0)


@pytest.mark.parametrize(("panels", "says"), [((2, 1), "2"), ((4, 4), "one to 3"), ((0, 0), "one to 3")])
def test_items_of_a_batch_have_the_same_one_to_three_panels(panels: tuple[int, int], says: str, folders: Any) -> None:
    """Where they have not, a black picture stood for a panel, and scores depended on the batch."""
    first, second = (
        replace(example, item=replace(example.item, views=()), panels=(example.panels * 2)[:count])
        for example, count in zip(small.examples(folders["pairs"]), panels, strict=False)
    )
    config, _ = configure(load_model("film"), {"maps": "given-objects"})
    inputs = load_model("film").inputs(config)
    for source in inputs.values():
        source.learn([first, second] if all(panels) else small.examples(folders["pairs"]))
    with pytest.raises(UserError, match=r"panels") as refused:
        Dataset.encode([first, second], inputs)
    assert says in f"{refused.value.problem} {refused.value.fix}"


@pytest.mark.parametrize(
    ("name", "options", "blind"),
    [
        ("r2c", {}, False),
        ("r2c", {"images": ""}, False),  # it sees classes and places
        ("r2c", {"photograph": False}, True),
        ("r2c", {"query": False}, True),
        ("mlb", {"images": ""}, False),
        ("esim", {}, True),
        ("probe", {"images": ""}, True),
        ("film", {}, False),
        ("text", {}, True),
        ("image", {}, True),
    ],
)
def test_who_is_blind(name: str, options: dict[str, Any], blind: bool) -> None:
    assert load_model(name).blind(configure(load_model(name), options)[0]) is blind
