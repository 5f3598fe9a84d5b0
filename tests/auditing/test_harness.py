"""The harness: what is trained on is never tested on, references, controls, power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.auditing import findings, harness
from veridical.auditing.data import FREQUENT, AuditItem, Fold, Predict, Sample, folds, sample, swapped
from veridical.auditing.findings import advantage, power_of
from veridical.auditing.harness import assess, most_common, run
from veridical.auditing.texts import candidate_reader, query_reader
from veridical.records import TRUTH, Item, Text


def rows_of(number: int, rng: np.random.Generator, split: str = "train") -> list[AuditItem]:
    """Statements in groups of two, one true and one false, with a sentence of random words each."""
    out = []
    for g in range(number // 2):
        text = " ".join(f"w{k}" for k in rng.integers(0, 50, 6))
        for k, label in enumerate(rng.permutation([0, 1]).tolist()):
            item = Item(f"{split}{g}-{k}", "statement", (), Text(text), TRUTH, label, f"{split}{g}", (f"o{split}{g}",))
            out.append(AuditItem(item, split, text, ("false", "true"), f"{split}{g}", "answer"))
    return out


def spy(seen: list[tuple[Sample, Sample]]) -> object:
    def fit(train: Sample, rng: np.random.Generator) -> Predict:
        def predict(test: Sample) -> np.ndarray:
            seen.append((train, test))
            return most_common(train)(test)

        return predict

    return fit


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.lists(st.sampled_from("abcdef"), min_size=24, max_size=60))
def test_training_and_testing_share_no_origin_group_or_rare_sentence(seed: int, letters: list[str]) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for i, sentence in enumerate(letters):
        split = "train" if rng.random() < 0.7 else "dev"
        item = Item(
            f"i{i}", "statement", (), Text(sentence), TRUTH, int(rng.integers(2)), f"g{i // 2}", (f"o{i // 3}",)
        )
        rows.append(AuditItem(item, split, sentence, ("false", "true"), f"g{i // 2}", "answer"))
    by_id = {r.item.id: r for r in rows}
    frequent = {q for q in letters if len({r.group for r in rows if r.query == q}) > FREQUENT}
    seen: list[tuple[Sample, Sample]] = []
    found = run(sample(rows, ["query"]), folds(rows), spy(seen), 0)  # type: ignore[arg-type]
    assert len(set(found.tested.tolist())) == len(found.tested)
    for train, test in seen:
        assert (test.answer == -1).all()
        one, other = [by_id[i] for i in train.ids], [by_id[i] for i in test.ids]
        assert {r.query for r in one} & {r.query for r in other} <= frequent
        assert not {r.group for r in one} & {r.group for r in other}
        assert not {o for r in one for o in r.item.origins} & {o for r in other for o in r.item.origins}


def test_candidates_that_the_test_uses_are_not_trained_on() -> None:
    texts = [tuple(f"a{(i + k) % 40}" for k in range(4)) for i in range(40)]
    rows = [
        AuditItem(
            Item(f"i{i}", "choice", (), Text(f"q{i}"), tuple(map(Text, t)), 0, None, ()),
            "train",
            f"q{i}",
            t,
            f"i{i}",
            "answer",
        )
        for i, t in enumerate(texts)
    ]
    seen: list[tuple[Sample, Sample]] = []
    run(sample(rows, ["candidates"]), folds(rows), spy(seen), 0)  # type: ignore[arg-type]
    assert seen
    for train, test in seen:
        used = set(test.candidate_key.ravel().tolist())
        assert not used & set(train.candidate_key[train.usable].tolist())


def test_a_blind_sample_holds_nothing_else() -> None:
    s = sample(rows_of(20, np.random.default_rng(0)), ["context"], np.zeros((20, 3)))
    assert s.query is None
    assert s.candidates is None
    assert s.responses is None


def test_random_sentences_pass_and_the_planted_word_is_found() -> None:
    rows = rows_of(3000, np.random.default_rng(5))
    a = assess(sample(rows, ["query"]), folds(rows), query_reader, harness.query_word)
    assert a.verdict == "pass"
    assert a.power.ok
    assert a.power.gain == pytest.approx(1, abs=0.35)
    assert a.power.smallest is not None
    assert a.power.smallest < 0.1


def test_few_items_cannot_tell_and_say_what_would_have_been_seen() -> None:
    """With 160 items nobody sees a cue in 10% of them: silence certifies nothing, but a coarser one would be seen."""
    rows = rows_of(160, np.random.default_rng(5))
    a = assess(sample(rows, ["query"]), folds(rows), query_reader, harness.query_word)
    assert a.power.ideal > findings.FAIL
    assert not a.power.ok
    assert a.power.smallest is not None
    assert findings.FAIL < a.power.smallest < 0.4
    assert a.verdict == "cannot tell"
    blind = assess(sample(rows, ["query"]), folds(rows), most_common, harness.query_word)
    assert blind.verdict == "cannot tell"
    assert blind.power.smallest is None


def test_a_model_that_never_looks_cannot_tell() -> None:
    """The control is what keeps a weak auditor from certifying anything."""
    rows = rows_of(3000, np.random.default_rng(5))
    a = assess(sample(rows, ["query"]), folds(rows), most_common, harness.query_word)
    assert a.verdict == "cannot tell"
    assert a.power.smallest is None
    assert a.power.gain == 0


def test_a_real_cue_is_found_with_its_size() -> None:
    rng = np.random.default_rng(6)
    rows = rows_of(3000, rng)
    s = sample(rows, ["query"])
    given_away = harness.query_word(s, rng.random(len(s)) < 0.3, rng)
    a = assess(given_away, folds(rows), query_reader, harness.query_word)
    assert a.verdict == "fail"
    assert a.advantage == pytest.approx(0.3, abs=0.07)


def test_ties_count_as_the_share_of_a_guess() -> None:
    rows = rows_of(100, np.random.default_rng(1))

    def nothing(train: Sample, rng: np.random.Generator) -> Predict:
        return lambda test: np.zeros((len(test), 2))

    found = run(sample(rows, []), folds(rows), nothing, 0)
    assert found.accuracy.value == 0.5
    assert found.excess.value == 0


def test_swapped_context_comes_from_another_block() -> None:
    rng = np.random.default_rng(2)
    rows = rows_of(60, rng)
    context = np.arange(60.0)[:, None]
    block = np.arange(60) // 2
    moved = swapped(sample(rows, ["query", "context"], context), block, rng)
    assert moved.context is not None
    assert (block[moved.context[:, 0].astype(int)] != block).all()
    assert moved.query == sample(rows, ["query"]).query


def test_one_block_is_not_cross_validated() -> None:
    rows = [replace(r, item=replace(r.item, origins=("same",))) for r in rows_of(60, np.random.default_rng(3))]
    assert folds(rows) == []
    dev = rows_of(20, np.random.default_rng(4), "dev")
    only = folds(rows + dev)
    assert [len(f.test) for f in only] == [20]


def test_candidate_reader_learns_a_word() -> None:
    rng = np.random.default_rng(8)
    texts = [tuple(" ".join(f"w{k}" for k in rng.integers(0, 60, 4)) for _ in range(4)) for _ in range(600)]
    answers = rng.integers(0, 4, 600).tolist()
    rows = [
        AuditItem(
            Item(f"i{i}", "choice", (), Text("q"), tuple(map(Text, t)), a), "train", f"q {i}", t, f"i{i}", "answer"
        )
        for i, (t, a) in enumerate(zip(texts, answers, strict=True))
    ]
    s = sample(rows, ["candidates"])
    planted = harness.candidate_word(s, np.ones(600, bool), rng)
    whole = [Fold(np.arange(0, 400), np.arange(400, 600))]
    assert run(planted, whole, candidate_reader, 0).accuracy.value > 0.95
    assert run(s, whole, candidate_reader, 0).accuracy.value < 0.4


@given(st.floats(0.01, 0.9), st.floats(0, 1))
def test_a_cue_that_gives_items_away_is_worth_its_share(reference: float, share: float) -> None:
    assert advantage(share + (1 - share) * reference, reference) == pytest.approx(share)


def test_power_grows_with_the_gain() -> None:
    powers = [power_of(gain, 0.01) for gain in (0.0, 0.01, 0.03, 0.05)]
    assert powers == sorted(powers)
    assert powers[0] < 0.01
    assert powers[2] == pytest.approx(0.5)
