"""`veridical augment` of icon pairs: new sentences about the pictures of training, and about no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import veridical
from veridical.benchmark import Benchmark
from veridical.builders.nlvr2.again import plain
from veridical.errors import UserError
from veridical.language.english import icon_nouns
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import parse
from veridical.records import SceneObject

from .conftest import inside


@pytest.fixture(scope="module")
def again(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("again") / "b"
    with inside(1):
        veridical.augment(small, out, variants=3, plain=40, validation=0.3)
    return out


def test_every_new_sentence_is_true_of_two_pairs_and_of_what_its_program_says(small: Path, again: Path) -> None:
    made, old = Benchmark(again), Benchmark(small)
    items = list(made.items("train"))
    known = {name for item in old.items("train") for name in item.panels}
    groups: dict[str | None, list[int]] = {}
    for item in items:
        assert set(item.panels) <= known
        panels = [made.panels[name] for name in item.panels]
        assert execute(parse(item.program or ""), panels) == bool(item.answer)
        groups.setdefault(item.group, []).append(item.answer or 0)
    assert len(groups) > 4
    plain = [answers for name, answers in groups.items() if (name or "").startswith("plain")]
    assert 10 < len(plain) < len(groups)
    assert all(sorted(answers) in ([0, 0, 1, 1], [0, 1]) for answers in plain)
    written = [answers for name, answers in groups.items() if not (name or "").startswith("plain")]
    assert all(sorted(answers) == [0, 0, 1, 1] for answers in written)
    assert veridical.check(again).exit_code == 0


def test_what_is_held_out_shares_no_set_with_what_is_written(small: Path, again: Path) -> None:
    made, old = Benchmark(again), {item.id: item for item in Benchmark(small).items("train")}
    held = list(made.items("validation"))
    assert held
    assert all(old[item.id].query == item.query for item in held)
    origins = {origin for item in held for origin in item.origins}
    assert not origins & {origin for item in made.items("train") for origin in item.origins}


def test_benchmarks_without_exact_annotations_are_refused(small: Path, tmp_path: Path) -> None:
    import json
    import shutil

    other = shutil.copytree(small, tmp_path / "other")
    about = json.loads((other / "benchmark.json").read_text())
    about["config"]["source"] = {"source": "coco"}
    (other / "benchmark.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match="no exact annotations"):
        veridical.augment(other, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seed", range(30))
def test_plain_sentences_speak_of_what_is_shown(seed: int) -> None:
    things = [SceneObject("0", "dog", (("color", "red"),), (0, 0, 9, 9)), SceneObject("1", "ice cream")]
    sentence, program = plain(np.random.default_rng(seed), things, icon_nouns())
    assert parse(str(program)) == program
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    known = ("dog", "animal", "ice cream", "food")
    assert any(word in sentence for word in known), sentence
