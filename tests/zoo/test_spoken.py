"""Words of questions and candidates, their vectors in context, and what they point at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from veridical.benchmark import Benchmark
from veridical.encoders import WordVectors
from veridical.errors import UserError
from veridical.records import Panel, Ref, SceneObject, Text
from veridical.training.batches import Dataset, examples_of
from veridical.zoo.inputs import scaled
from veridical.zoo.spoken import SpokenVectors, Tags, spoken

from . import _tagged as tagged


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tagged.write(tmp_path_factory.mktemp("spoken") / "boxes", 10)


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))


def test_people_have_neutral_names_and_numbers_of_their_own() -> None:
    people = tuple(SceneObject(str(k), "person") for k in range(2))
    panel = Panel("p", objects=(*people, SceneObject("2", "cup")))
    said = spoken(Text("", (Ref(("1",)), "gives", Ref(("2",)), "to", Ref(("0",)), ".")), [panel])
    assert [word for word, _ in said] == ["riley", "gives", "cup", "to", "casey"]
    assert [number for _, number in said] == [3, 1, 4, 1, 2]
    assert spoken(Text("A plain answer."), []) == [("a", 1), ("plain", 1), ("answer", 1)]
    assert spoken(None, []) == []


def test_a_batch_has_the_vectors_of_its_words_and_zeros(folder: Path) -> None:
    bench = Benchmark(folder)
    examples = examples_of(bench, bench.items("train"))[:6]  # answers, and reasons with longer questions
    inputs = {"query": SpokenVectors("glove", False), "responses": SpokenVectors("glove", True), "tags": Tags(False)}
    for source in inputs.values():
        source.learn(examples)
    batch = Dataset.encode(examples, inputs).batch(np.arange(len(examples)))
    longest = max(len(spoken(e.query, e.panels)) for e in examples)
    assert batch["query"].shape == (6, longest, 50)
    assert batch["responses"].shape[:2] == (6, 4)
    own = WordVectors("glove")
    words = tuple(word for word, _ in spoken(examples[0].query, examples[0].panels))
    own.add([words])
    np.testing.assert_array_equal(batch["query"][0, : len(words)], scaled(own.at(own.places(words))))
    assert not batch["query"][0, len(words) :].any()
    assert (batch["tags"][0] > 0).sum() == len(words)


def test_words_of_other_weights_are_refused(folder: Path) -> None:
    bench = Benchmark(folder)
    examples = examples_of(bench, bench.items("train"))[:2]
    source = SpokenVectors("hashed-words", True)
    source.learn(examples)
    other = SpokenVectors("glove", True)
    other.state = source.state
    with pytest.raises(UserError, match="other weights"):
        other.encode(examples[0])
