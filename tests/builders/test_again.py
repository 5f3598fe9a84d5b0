"""`veridical augment`: the same sentences of other scenes, true where their programs say so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veridical
from veridical.benchmark import Benchmark
from veridical.builders.nlvr.again import COLORS, NUMBERS, SHAPES, exchanged, plain
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import parse
from veridical.language.reading.grammar import candidates

OPTIONS = {"plain": 6, "items": 8, "variants": 1, "variant_items": 4, "presentations": 60, "validation": 0.2}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("again")
    veridical.build("nlvr", base / "b", presentations=20, split={"train": 1}, processes=1)  # type: ignore[operator]
    veridical.augment(base / "b", base / "again", **OPTIONS)
    return base / "b", base / "again"


def test_every_label_is_what_the_program_says_and_sentences_are_balanced(folders: tuple[Path, Path]) -> None:
    made = Benchmark(folders[1])
    answers: dict[str, Counter[int]] = {}
    for item in made.items("train"):
        panels = [made.panels[name] for name in item.panels]
        assert execute(parse(item.program or ""), panels) == bool(item.answer)
        assert item.query is not None
        answers.setdefault(item.query.raw, Counter())[item.answer or 0] += 1
    assert len(answers) > 15
    assert all(count[0] == count[1] > 0 for count in answers.values())


def test_many_pairs_differ_only_in_how_the_same_objects_are_arranged(folders: tuple[Path, Path]) -> None:
    made = Benchmark(folders[1])
    sides: dict[tuple[str | None, tuple[str, ...], str], set[int | None]] = {}
    for item in made.items("train"):
        things = sorted(str((o.category, o.attributes)) for name in item.panels for o in made.panels[name].objects)
        sides.setdefault((item.group, item.origins, str(things)), set()).add(item.answer)
    assert sum(len(found) == 2 for found in sides.values()) > 0.2 * len(sides)


def test_what_is_held_out_is_what_train_would_hold_out(folders: tuple[Path, Path]) -> None:
    """So that a model pretrained here and trained there is validated on what neither showed it."""
    from veridical.options.running import TrainOptions
    from veridical.training.config import TrainingConfig
    from veridical.training.run import _examples

    source, made = Benchmark(folders[0]), Benchmark(folders[1])
    _, held = _examples(source, TrainOptions(), TrainingConfig(validation=0.2))
    assert {i.id for i in made.items("validation")} == {example.item.id for example in held}
    origins = {origin for example in held for origin in example.item.origins}
    sentences = {example.item.query.raw for example in held if example.item.query}
    for item in made.items("train"):
        assert not origins & set(item.origins)
        assert item.query is not None
        assert item.query.raw not in sentences
    assert veridical.check(folders[1]).exit_code == 0


@given(st.integers(0, 10_000), st.booleans())
def test_plain_and_exchanged_sentences_can_be_read(seed: int, tower: bool) -> None:
    rng = np.random.default_rng(seed)
    sentence = plain(rng, tower)
    assert candidates(sentence)
    other = exchanged(sentence, rng, tower)
    assert len(other.split()) == len(sentence.split())
    for words in (COLORS, (*SHAPES, *(f"{shape}s" for shape in SHAPES)), NUMBERS):
        assert sum(w.strip(".") in words for w in other.split()) == sum(w.strip(".") in words for w in sentence.split())
