"""Blind models of the zoo: they find cues in texts and pictures, and their controls say when they could not."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("torch")


from veridical.auditing import CHECKS
from veridical.auditing.data import AuditData, Fold, sample
from veridical.auditing.harness import candidate_word, query_word, run
from veridical.auditing.models import Votes, neural_reader, stamped, stored_pictures
from veridical.auditing.run import NEURAL, _chosen, run_check
from veridical.benchmark import Benchmark
from veridical.options.running import AuditOptions


def halves(number: int, rng: np.random.Generator) -> list[Fold]:
    order = rng.permutation(number)
    return [Fold(np.sort(order[number // 3 :]), np.sort(order[: number // 3]))]


def test_pictures_that_are_all_alike_say_nothing() -> None:
    rng = np.random.default_rng(0)
    x, y = np.ones((80, 5)), (np.arange(80) % 4 == 0).astype(np.int64)
    odds = Votes(x, y, np.arange(80) // 4, rng).decision_function(x)
    assert np.ptp(odds) == 0
    assert odds[0] == pytest.approx(np.log(1 / 3), abs=0.05)


def test_the_lstm_finds_a_word_and_is_blind_without_it(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.statements(tmp_path / "b", groups=60))
    rng = np.random.default_rng(0)
    s, fit = sample(data.rows, ["query"]), neural_reader("text", data, data.rows)
    groups = np.unique(s.group)
    part = np.isin(s.group, rng.permutation(groups)[:20])
    folds = [Fold(np.flatnonzero(~part), np.flatnonzero(part))]
    cued = run(query_word(s, np.ones(len(s), bool), rng), folds, fit, 0)
    assert cued.accuracy.value > 0.9
    assert run(s, folds, fit, 0).accuracy.value < 0.65


def test_the_cnn_finds_a_square_in_the_corner(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.statements(tmp_path / "b", groups=60))
    rng = np.random.default_rng(0)
    pictures = stored_pictures(data, data.rows)
    assert pictures is not None
    s, fit = sample(data.rows, ["context"], pictures), neural_reader("image", data, data.rows)
    cued = stamped(s, np.ones(len(s), bool), rng)
    assert run(cued, halves(len(s), rng), fit, 0).accuracy.value > 0.8


def test_the_reader_of_candidates_finds_a_word(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.questions(tmp_path / "b", 240))
    rng = np.random.default_rng(0)
    s, fit = sample(data.rows, ["candidates"]), neural_reader("response-only", data, data.rows)
    cued = candidate_word(s, np.ones(len(s), bool), rng)
    assert run(cued, halves(len(s), rng), fit, 0).accuracy.value > 0.8


def test_a_check_has_its_control(benchmarks: ModuleType, tmp_path: Path) -> None:
    """So few items: the control is not found, and silence says nothing."""
    path = benchmarks.statements(tmp_path / "b", groups=24)
    found = run_check(str(path), Benchmark(path).hash, AuditOptions(), "text-only-neural")
    assert found.verdict == "cannot tell"
    assert found.power is not None
    assert found.power.seen is not None
    assert found.title == "Text without pictures, neural"


def test_neural_checks_are_run_only_where_asked_for() -> None:
    assert _chosen((), (), neural=False) == list(CHECKS)
    assert _chosen((), (), neural=True) == [*CHECKS, *NEURAL]
    assert _chosen(("label",), (), neural=True) == ["label", *NEURAL]
    assert _chosen(("text-only-neural",), (), neural=False) == ["text-only-neural"]
