"""What models look at."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from veridical.errors import UserError
from veridical.records import Panel, Ref, SceneObject, Text
from veridical.sources.boxes.drawings import draw
from veridical.sources.boxes.scenes import ORDERS
from veridical.zoo.facts import Crossed, SceneFacts
from veridical.zoo.inputs import CandidateWords, Pixels, Words, text_words

from . import _small as small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write_statements(tmp_path_factory.mktemp("inputs") / "b", stored=True)


def test_words_unknown_to_training_share_an_id(folder: Path) -> None:
    examples = small.examples(folder)
    words = Words()
    words.learn(examples)
    known = words.encode(examples[0])
    assert known.min() >= 2
    assert known.max() < words.size
    odd = replace(examples[0], item=replace(examples[0].item, query=Text("There are purple objects")))
    assert words.encode(odd).tolist()[2] == 1


def test_rare_words_are_unknown(folder: Path) -> None:
    words = Words(least=10_000)
    words.learn(small.examples(folder))
    assert words.size == 2


def test_references_read_as_neutral_names_and_classes() -> None:
    panels = [Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "dog")))]
    text = Text("", ("Why", "is", Ref(("0", "1")), "near", Ref(("7",)), "?"))
    assert text_words(text, panels) == ["why", "is", "casey", "dog", "near", "object"]
    assert text_words(None, panels) == []


def test_candidates_are_padded_rows(tmp_path: Path) -> None:
    examples = small.examples(small.write_choices(tmp_path / "c", 12))
    source = CandidateWords()
    source.learn(examples)
    assert source.encode(examples[0]).shape == (4, 5)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_pixels_are_the_drawing_of_the_view(folder: Path, split: str) -> None:
    """Stored for dev, drawn from the objects for train."""
    example = small.examples(folder, split)[1]
    assert (example.item.views[0].image is not None) == (split == "dev")
    for view, order in enumerate(ORDERS):
        seen = Pixels(400, 100).encode(replace(example, view=view))
        assert seen.shape == (3, 100, 400)
        assert np.array_equal(seen.transpose(1, 2, 0), draw(example.panels, order)[..., :3])
    assert Pixels(200, 50).encode(example).shape == (3, 50, 200)


def test_photographs_stand_side_by_side() -> None:
    def png(color: tuple[int, int, int]) -> bytes:
        out = BytesIO()
        Image.new("RGB", (8, 6), color).save(out, "PNG")
        return out.getvalue()

    stored = {"a": png((255, 0, 0)), "b": png((0, 0, 255))}
    base = small.Example(
        small.Item("i", "statement", ("a", "b")),
        (Panel("a", "a"), Panel("b", "b", region=(0, 0, 4, 4))),
        stored.__getitem__,
    )
    seen = Pixels(10, 4).encode(base)
    assert seen[0, :, :5].min() == 255
    assert seen[2, :, 5:].min() == 255
    assert seen[0, :, 5:].max() == 0
    with pytest.raises(UserError, match="no picture"):
        Pixels(10, 4).encode(replace(base, panels=(Panel("a"), Panel("b"))))


def test_crossed_features_of_a_state_read_back_are_the_same(folder: Path) -> None:
    examples = small.examples(folder)
    source = Crossed(least=2)
    source.learn(examples[:30])
    again = Crossed(least=2)
    again.state = source.state
    assert source.size == again.size > 100
    for example in examples:
        ids = source.encode(example)
        assert np.array_equal(ids, again.encode(example))
        assert len(np.unique(ids)) == len(ids)
        assert ids.min(initial=2) >= 2
        assert ids.max(initial=2) < source.size


def test_features_too_rare_or_switched_off_are_left_out(folder: Path) -> None:
    examples = small.examples(folder)
    sizes = []
    for source in (
        Crossed(least=1),
        Crossed(least=3),
        Crossed(counts=False, least=1),
        Crossed(properties=False, least=1),
    ):
        source.learn(examples)
        sizes.append(source.size)
    everything, common, properties, counts = sizes
    assert common < everything
    assert everything - 2 == properties - 2 + counts - 2


def test_scene_facts_are_ones_and_zeros(folder: Path) -> None:
    examples = small.examples(folder)
    source = SceneFacts(least=2)
    source.learn(examples)
    row = source.encode(examples[0])
    assert row.shape == (source.size,)
    assert set(row.tolist()) == {0.0, 1.0}
    assert {source.state[i] for i in np.flatnonzero(row)} <= source.texts(examples[0])[0]
