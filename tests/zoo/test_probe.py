"""The probe: that it sees: it beats the same probe without pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from veridical import encoders as features
from veridical import train
from veridical.errors import UserError
from veridical.records import TASKS, View
from veridical.training import load_trained
from veridical.zoo.probe import MODEL, PanelVectors

from . import _pictures as pictures
from . import _small as small

PLAIN = {"images": "thumbnail", "texts": "hashed-words"}
BUDGET = {"epochs": 25, "batch": 64, "rate": 0.003, "width": 64, "hidden": 64}


@pytest.fixture(scope="module", autouse=True)
def _apart(tmp_path_factory: pytest.TempPathFactory) -> object:
    import torch

    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("VERIDICAL_PROGRESS", "0")
        yield


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("pictures")
    return {task: pictures.write(base / task, task, {"train": 20}) for task in TASKS}


@pytest.mark.parametrize(
    ("task", "blind", "at_least", "chance"),
    [
        ("statement", {"images": ""}, 0.85, 1 / 2),
        ("choice", {"images": ""}, 0.85, 1 / 4),
        ("matrix", {}, 0.7, 1 / 8),  # both context and candidates are pictures: nothing is left to be blind with
    ],
)
def test_it_sees_and_without_pictures_it_guesses(
    task: str, blind: dict[str, str], at_least: float, chance: float, tmp_path: Path
) -> None:
    folder = pictures.write(tmp_path / task, task)
    seeing = train("probe", folder, tmp_path / "seeing", set={**PLAIN, **BUDGET}, validate="dev")
    assert seeing.mean > at_least
    if blind:
        guessing = train("probe", folder, tmp_path / "blind", set={**PLAIN, **BUDGET, **blind}, validate="dev")
        assert guessing.mean < chance + 0.15  # the best of 25 epochs on 120 items, so above chance itself
    trained = load_trained(tmp_path / "seeing" / "trial-0")
    data = trained.encode(small.examples(folder, "dev"))
    assert trained.accuracy(data) == pytest.approx(seeing.mean)


def test_a_linear_probe_has_no_layer_in_between(folders: dict[str, Path]) -> None:
    inputs = MODEL.inputs(MODEL.config(**PLAIN))
    for source in inputs.values():
        source.learn(small.examples(folders["statement"]))
    assert MODEL.module is not None
    sizes = {name: source.size for name, source in inputs.items()}
    assert sizes == {"panels": 2 * 192, "query": 512, "candidates": 0}
    linear, deep = (MODEL.module(MODEL.config(hidden=hidden), sizes) for hidden in (0, 16))
    assert len(list(linear.parameters())) == len(list(deep.parameters())) - 2


def test_panels_stand_in_the_order_of_the_view(folders: dict[str, Path]) -> None:
    examples = small.examples(folders["statement"])
    source = PanelVectors("thumbnail", "")
    source.learn(examples)
    one = examples[0]
    swapped = replace(one, item=replace(one.item, views=(View((0, 1)), View((1, 0)))), view=1)
    left, right = np.split(source.encode(one), 2)
    np.testing.assert_array_equal(source.encode(swapped), np.concatenate([right, left]))
    np.testing.assert_allclose(np.mean(left**2), 1, rtol=1e-4)


def test_without_vectors_it_says_how_to_make_them(tmp_path: Path) -> None:
    folder = pictures.write(tmp_path / "x", "statement", {"train": 20})
    (folder / "features-thumbnail.arrow").unlink()
    with pytest.raises(UserError, match="has no vectors") as error:
        train("probe", folder, tmp_path / "run", set={**PLAIN, "epochs": 1})
    assert "veridical features thumbnail" in error.value.fix


def test_vectors_of_other_weights_are_refused(folders: dict[str, Path]) -> None:
    source = PanelVectors("thumbnail", "")
    source.learn(small.examples(folders["statement"]))
    newer = features.open_encoder("thumbnail")
    newer.recipe = "2"
    other = pictures.write(folders["statement"].parent / "other", "statement", {"train": 2})
    features.extract(other, newer)
    with pytest.raises(UserError, match="other weights"):
        source.encode(small.examples(other)[0])


def test_more_panels_than_in_training_are_refused(folders: dict[str, Path]) -> None:
    source = PanelVectors("thumbnail", "")
    source.learn(small.examples(folders["choice"]))
    with pytest.raises(UserError, match="2 panels; in training there were at most 1"):
        source.encode(small.examples(folders["statement"])[0])


def test_what_a_task_needs_cannot_be_left_out(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="option texts is empty"):
        train("probe", folders["choice"], tmp_path / "a", set={**PLAIN, "texts": ""}, validate="train")
    with pytest.raises(UserError, match="option images is empty"):
        train("probe", folders["matrix"], tmp_path / "b", set={**PLAIN, "images": ""}, validate="train")
    with pytest.raises(UserError, match="nothing to go by"):
        train("probe", folders["statement"], tmp_path / "c", set={"images": "", "texts": ""}, validate="train")
