"""Every model on every benchmark of its task: it learns from what is there, or says that it cannot.

`train maxent` on photographs once found no feature in any scene, and fitted a bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.errors import UserError
from veridical.records import TASKS
from veridical.training import configure
from veridical.training.batches import Dataset
from veridical.zoo import MODELS, load_model

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
