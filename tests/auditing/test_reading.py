"""The readers without pictures: what questions and candidates mean together, folds of matched items, frequent texts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.auditing import reading
from veridical.auditing.blind import check
from veridical.auditing.data import (
    AuditData,
    AuditItem,
    Fold,
    Predict,
    Sample,
    codes,
    folds,
    normal,
    sample,
    together,
)
from veridical.auditing.harness import candidate_word, most_common, query_word, run
from veridical.auditing.reading import _voting, encoder_name, joint_reader, sentence_reader, strong_reader
from veridical.auditing.texts import candidate_reader
from veridical.options.running import AuditOptions
from veridical.records import Item, Text

minilm = pytest.mark.skipif(encoder_name() != "minilm", reason="needs the offline extra")


@minilm
def test_what_fits_in_meaning_is_found_without_a_word_in_common(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.matched(tmp_path / "b", fitting=1.0, apart=True))
    s, between = sample(data.rows, ["query", "candidates"]), folds(data.rows)[:1]
    assert run(s, between, strong_reader, 0).accuracy.value > 0.5
    assert run(s, between, candidate_reader, 0).accuracy.value < 0.4


def test_what_is_asked_again_and_again_is_learned(benchmarks: ModuleType, tmp_path: Path) -> None:
    """The questions of the test are those of training: dropping them left nothing to learn from."""
    mixed = AuditData(benchmarks.kinds(tmp_path / "mixed"))
    found = check("text-only", mixed, AuditOptions(controls=False))
    assert found.verdict == "fail"
    assert found.number is not None
    assert found.number > 0.95
    fair = AuditData(benchmarks.kinds(tmp_path / "fair", mixed=False))
    assert check("text-only", fair, AuditOptions(controls=False)).verdict == "cannot tell"


def test_the_same_seed_gives_the_same_numbers(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.matched(tmp_path / "b", 96, fitting=0.5))
    one, other = (check("text-only", data, AuditOptions(controls=False)) for _ in range(2))
    assert (one.number, one.low, one.high) == (other.number, other.low, other.high)


def test_what_a_reader_said_is_remembered_and_nothing_else(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.matched(tmp_path / "b", 96, fitting=0.5))
    s, parted = sample(data.rows, ["query", "candidates"]), folds(data.rows)
    marked = candidate_word(s, np.ones(len(s), np.bool_), np.random.default_rng(0))
    reading._known.clear()
    alone = run(s, parted, strong_reader, 0)
    said = len(reading._known)
    assert said == len(parted)
    assert run(s, parted, strong_reader, 0).accuracy == alone.accuracy
    run(s, parted, joint_reader, 0)
    assert len(reading._known) == said
    assert run(marked, parted, strong_reader, 0).accuracy.value > alone.accuracy.value
    assert len(reading._known) == 2 * said


def test_sentences_are_read_by_their_words(benchmarks: ModuleType, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = AuditData(benchmarks.statements(tmp_path / "b", groups=90))
    s = sample(data.rows, ["query"])
    marked = query_word(s, np.ones(len(s), np.bool_), rng)
    assert run(marked, folds(data.rows), sentence_reader, 0).accuracy.value > 0.95
    assert run(s, folds(data.rows), sentence_reader, 0).accuracy.value < 0.6


def test_candidates_of_different_numbers_are_read(benchmarks: ModuleType, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(180):
        texts = tuple(f"w{rng.integers(60)} v{rng.integers(60)} {i}-{k}" for k in range(int(rng.integers(2, 5))))
        item = Item(f"{i}", "choice", (), Text(f"q{i}"), tuple(map(Text, texts)), int(rng.integers(len(texts))))
        rows.append(AuditItem(item, "train", f"q{i}", texts, f"{i}", "answer"))
    s = sample(rows, ["query", "candidates"])
    fold = [Fold(np.arange(120), np.arange(120, 180))]
    assert run(candidate_word(s, np.ones(180, np.bool_), rng), fold, strong_reader, 0).accuracy.value > 0.9
    assert run(s, fold, strong_reader, 0, "chance").accuracy.value < 0.6


# --- folds -----------------------------------------------------------------------------------------------------------


def test_what_was_matched_together_stays_together(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.matched(tmp_path / "b", 240))
    inside = [fold for fold in folds(data.rows) if fold.inside]
    assert len(inside) == 3
    for fold in inside:
        one, other = ({normal(c) for i in side for c in data.rows[i].candidates} for side in (fold.train, fold.test))
        assert not one & other


def test_voices_are_weighed_on_items_that_share_no_response_with_what_they_learned(
    benchmarks: ModuleType, tmp_path: Path
) -> None:
    """What was right elsewhere is wrong here: whoever learned that would always seem to err, and be silent."""
    data = AuditData(benchmarks.matched(tmp_path / "b", 240))
    s = sample(data.rows, ["query", "candidates"])
    seen: list[tuple[Sample, Sample]] = []

    def spy(train: Sample, rng: np.random.Generator) -> Predict:
        def predict(test: Sample) -> np.ndarray:
            seen.append((train, test))
            return np.zeros((len(test), test.width))

        return predict

    _voting(s, np.random.default_rng(0), spy, spy, most_common(s))
    assert len(seen) == 2
    for train, test in seen:
        assert len(train) > len(test) > 0
        assert not set(train.candidate_key.ravel().tolist()) & set(test.candidate_key.ravel().tolist())


def test_together_are_groups_and_what_shares_responses_unless_that_is_all() -> None:
    def of(groups: str, *texts: str) -> list[int]:
        rows = []
        for i, (group, shown) in enumerate(zip(groups, texts, strict=True)):
            item = Item(f"{i}", "choice", (), Text("q"), tuple(map(Text, shown)), 0)
            rows.append(AuditItem(item, "train", "q", tuple(shown), group, "answer"))
        return codes(together(sample(rows, ["candidates"])).tolist()).tolist()

    alone = ["ab", "cd", "ef", "gh", "ij", "kl"]
    assert of("xxyyzz", *alone) == [0, 0, 1, 1, 2, 2]  # nothing is shared: groups
    letters = "abcdefghijklmnopqrstuvwx"
    pairs = [way for k in range(0, 24, 2) for way in (letters[k : k + 2], letters[k : k + 2][::-1])]
    assert of(letters, *pairs) == [k // 2 for k in range(24)]
    assert of(letters[:-1] + "a", *pairs)[-2:] == [0, 0]  # one group, and all that shares with it
    chain = "a" + "".join(2 * one for one in letters[1:12]) + "a"
    assert of(chain, *pairs) == [k // 2 for k in range(24)]  # all hang together: only what is shared counts
    often = ["ab", "ac", "ad", "ae", "af", "ag"]
    assert of("uvwxyz", *often) == [0, 1, 2, 3, 4, 5]  # a text of many items is vocabulary


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 40))
def test_no_rare_response_of_the_test_is_trained_on(seed: int, texts: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(60):
        shown = tuple(f"a{k}" for k in rng.choice(texts, 3, replace=False))
        item = Item(f"{i}", "choice", (), Text(f"q{i % 7}"), tuple(map(Text, shown)), 0, origins=(f"o{i // 2}",))
        rows.append(AuditItem(item, "train" if i % 3 else "val", f"q{i % 7}", shown, f"{i}", "answer"))
    s, seen = sample(rows, ["query", "candidates"]), []

    def spy(train: Sample, rng: np.random.Generator) -> Predict:
        def predict(test: Sample) -> np.ndarray:
            seen.append((train, test))
            return most_common(train)(test)

        return predict

    parted = folds(rows)
    found = run(s, parted, spy, 0)
    assert len(set(found.tested.tolist())) == len(found.tested)
    for fold, (train, test) in zip(parted, seen, strict=True):
        shared = np.isin(train.candidate_key, test.candidate_key)
        assert not (shared & train.usable & (train.uses <= 12)).any() or not fold.inside
        assert train.usable[train.uses > 12].all()
        assert train.usable.all() or fold.inside


# --- jointly ---------------------------------------------------------------------------------------------------------


@minilm
def test_reading_jointly_wins_where_each_response_is_right_once(benchmarks: ModuleType, tmp_path: Path) -> None:
    data = AuditData(benchmarks.matched(tmp_path / "b", fitting=1.0, apart=True))
    s, between = sample(data.rows, ["query", "candidates"]), folds(data.rows)[:1]
    alone, together = (run(s, between, fit, 0).accuracy.value for fit in (strong_reader, joint_reader))
    assert together > alone + 0.03
