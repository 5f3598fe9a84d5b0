"""Baselines, comparison, trials, arrays and the fixed JSON shape, through the public functions."""

from __future__ import annotations

import json

import numpy as np
import pytest

import veridical.evaluation
from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.common.intervals import unanimous
from veridical.errors import UserError
from veridical.evaluation import evaluate
from veridical.evaluation.bootstrap import sign_test
from veridical.evaluation.scores import official_output
from veridical.records import Item, Judgement, pairs

TRUE, FALSE = [0.0, 1.0], [1.0, 0.0]


@pytest.fixture
def sentences(write_benchmark, statement):
    """30 sentences of four items: true, true, true, false; train is mostly false."""
    dev = [
        statement(f"s{g}-{k}", int(k < 3), f"s{g}", kind="odd" if g % 2 else "even")
        for g in range(30)
        for k in range(4)
    ]
    train = [statement(f"t{k}", int(k == 0), f"t{k}") for k in range(5)]
    return write_benchmark({"dev": dev, "train": train})


def choices(benchmark, seed: int, share: float) -> list[tuple[str, list[float]]]:
    """Predictions of which a share is right."""
    rng = np.random.default_rng(seed)
    out = []
    for item in Benchmark(benchmark).items("dev"):
        right = rng.random() < share
        out.append((item.id, TRUE if right == bool(item.answer) else FALSE))
    return out


def test_json_has_the_fixed_shape(sentences, write_lines) -> None:
    scores = evaluate(sentences, write_lines(choices(sentences, 0, 0.8)), resamples=100)
    shown = json.loads(json.dumps(scores.to_json()))
    assert {"items", "accuracy", "consistency", "staged", "by", "missing", "extra", "unreadable"} <= shown.keys()
    assert shown["items"] == 120
    assert isinstance(shown["missing"], int)
    assert shown["accuracy"].keys() == {"value", "low", "high"}
    assert {"value", "low", "high"} <= shown["by"]["kind"]["odd"].keys()
    assert shown["benchmark"]["hash"] == Benchmark(sentences).hash
    assert shown["names"] == {"missing": [], "extra": [], "unreadable": [], "duplicated": []}


def test_the_package_can_be_called(sentences, write_lines) -> None:
    assert veridical.evaluate(sentences, write_lines(choices(sentences, 0, 1.0)), resamples=10).accuracy.value == 1


def test_the_seed_decides_the_intervals(sentences, write_lines) -> None:
    path = write_lines(choices(sentences, 0, 0.8))
    first, same, other = (evaluate(sentences, path, seed=seed, resamples=200) for seed in (1, 1, 2))
    assert first == same
    assert first.accuracy.value == other.accuracy.value
    assert first.accuracy != other.accuracy


def test_majority_says_of_what(sentences, write_lines) -> None:
    scores = evaluate(sentences, write_lines(choices(sentences, 0, 0.8)))
    rows = {row.name: row for row in scores.baselines}
    assert list(rows) == ["majority", "majority of train", "random"]
    assert rows["majority"].rule == "always the most common answer of dev itself: true"
    assert (rows["majority"].accuracy.value, rows["majority"].consistency.value) == (0.75, 0)
    assert rows["majority of train"].rule.endswith("of train: false")
    assert rows["majority of train"].accuracy.value == 0.25
    assert (rows["random"].accuracy, rows["random"].consistency) == (0.5, 0.5**4)


def test_people_stand_beside_the_model(tmp_path, statement, write_lines) -> None:
    items = [statement(f"i{n}", n % 2) for n in range(100)]
    with BenchmarkWriter(tmp_path / "b", name="b", task="statement") as writer:
        writer.add_items("dev", items)
        wrong = {"ann": 0, "bob": 10}
        writer.add_judgements(
            Judgement(f"i{n}", worker, n % 2 if n >= errors else 1 - n % 2, "extra")
            for worker, errors in wrong.items()
            for n in range(100)
        )
    scores = evaluate(tmp_path / "b", write_lines([(item.id, TRUE) for item in items]))
    human = next(row for row in scores.baselines if row.name == "human")
    assert (human.accuracy, human.workers) == (pytest.approx(0.95), 2)
    assert human.std == pytest.approx(0.05)
    assert scores.to_json()["baselines"]["human"]["accuracy"] == {"value": pytest.approx(0.95)}


def test_comparison(sentences, write_lines) -> None:
    good, poor = choices(sentences, 0, 0.9), choices(sentences, 1, 0.6)
    this, other = write_lines(good, "good.jsonl"), write_lines(poor, "poor.jsonl")
    compared = evaluate(sentences, this, against=other).comparison
    answers = {item.id: item.answer for item in Benchmark(sentences).items("dev")}
    marks = [[int(np.argmax(scores)) == answers[name] for name, scores in rows] for rows in (good, poor)]
    wins = sum(a and not b for a, b in zip(*marks, strict=True))
    losses = sum(b and not a for a, b in zip(*marks, strict=True))
    assert (compared.sign_test.only_this, compared.sign_test.only_other) == (wins, losses)
    assert compared.sign_test.p == sign_test(wins, losses)
    assert compared.accuracy.value == pytest.approx((wins - losses) / 120, abs=1e-15)
    assert compared.accuracy.low < compared.accuracy.value < compared.accuracy.high
    assert compared.accuracy.low > 0
    whole = [np.array(m).reshape(30, 4) for m in marks]
    assert compared.consistency.value == pytest.approx((whole[0].all(1).sum() - whole[1].all(1).sum()) / 30, abs=1e-15)
    assert compared.sign_test_groups.only_this == int((whole[0].sum(1) > whole[1].sum(1)).sum())
    turned = evaluate(sentences, other, against=this).comparison
    assert turned.accuracy.value == -compared.accuracy.value
    assert turned.sign_test.p == compared.sign_test.p
    assert "fair coin" in compared.to_json()["meaning"]


def test_a_file_against_itself(sentences, write_lines) -> None:
    path = write_lines(choices(sentences, 0, 0.8))
    compared = evaluate(sentences, path, against=path).comparison
    assert (compared.accuracy.value, compared.accuracy.low, compared.accuracy.high, compared.sign_test.p) == (
        0,
        0,
        0,
        1,
    )


def test_pairing_narrows_the_interval(sentences, write_lines) -> None:
    """Two files that differ in one item: their difference is known far better than either accuracy."""
    rows = choices(sentences, 0, 0.7)
    changed = [(name, scores[::-1]) if n == 0 else (name, scores) for n, (name, scores) in enumerate(rows)]
    scores = evaluate(sentences, write_lines(rows, "a.jsonl"), against=write_lines(changed, "b.jsonl"))
    assert scores.comparison.accuracy.high - scores.comparison.accuracy.low < 0.5 * (
        scores.accuracy.high - scores.accuracy.low
    )


def test_what_is_said_of_an_item_is_compared_as_said_of_each_view(write_benchmark, statement, write_lines) -> None:
    """A model that reads the sentence alone says one thing of all drawings of it."""
    made = write_benchmark({"dev": [statement(f"{n}-0", 1, str(n), views=2) for n in range(3)]})
    views = write_lines(
        [("0-0#0", TRUE), ("0-0#1", FALSE), ("1-0#0", TRUE), ("1-0#1", TRUE), ("2-0#0", TRUE)], "v.jsonl"
    )
    items = write_lines([("0-0", TRUE), ("1-0", FALSE), ("2-0", TRUE)], "i.jsonl")
    found = evaluate(made, views, against=items).comparison
    assert (found.examples, found.common) == (6, 5)
    assert (found.sign_test.only_this, found.sign_test.only_other) == (2, 1)
    assert found.accuracy.value == pytest.approx(4 / 5 - 3 / 5)
    back = evaluate(made, items, against=views).comparison
    assert (back.sign_test.only_this, back.sign_test.only_other) == (1, 2)
    assert back.accuracy.value == pytest.approx(-1 / 5)


def test_trials(sentences, write_lines) -> None:
    paths = [write_lines(choices(sentences, seed, 0.8), f"{seed}.jsonl") for seed in range(3)]
    trials = veridical.evaluate(sentences, paths, resamples=10)
    values = [evaluate(sentences, path, resamples=10).accuracy.value for path in paths]
    assert trials.accuracy.mean == pytest.approx(np.mean(values))
    assert trials.accuracy.std == pytest.approx(np.std(values))
    assert trials.to_json()["trials"] == 3
    assert trials.by["kind"].keys() == {"odd", "even"}
    assert min(values) <= trials.accuracy.mean <= max(values)
    with pytest.raises(UserError, match="No prediction files"):
        veridical.evaluate(sentences, [])
    train = write_lines([("t0", TRUE)], "train.jsonl")
    with pytest.raises(UserError, match="not trials of one thing"):
        veridical.evaluate(sentences, [paths[0], train])


@pytest.mark.parametrize("options", [{"resamples": 0}, {"seed": -1}, {"split": "nope"}, {"scheme": "nope"}])
def test_bad_options(sentences, write_lines, options) -> None:
    with pytest.raises(UserError):
        evaluate(sentences, write_lines([("s0-0", TRUE)]), **options)


@pytest.fixture
def vcr(write_benchmark, question):
    rng = np.random.default_rng(5)
    answers = rng.integers(0, 4, (40, 2))
    items = [
        item
        for n, (a, r) in enumerate(answers.tolist())
        for item in question(f"val-{n}", a, r, likelihood="high" if n % 2 else "low")
    ]
    return write_benchmark({"val": items}, task="choice"), answers


def expected(answers: np.ndarray, answer_scores: np.ndarray, rationale_scores: np.ndarray) -> dict[str, float]:
    """VCR's rules again: argmax per stage; for Q->AR the rationale is conditioned on the chosen answer."""
    rows = np.arange(len(answers))
    answer = answer_scores.argmax(1)
    right = answer == answers[:, 0]
    given_right = rationale_scores[rows, answers[:, 0]].argmax(1) == answers[:, 1]
    given_chosen = rationale_scores[rows, answer].argmax(1) == answers[:, 1]
    return {"Q->A": right.mean(), "QA->R": given_right.mean(), "Q->AR": (right & given_chosen).mean()}


def test_staged_accuracy_from_every_kind_of_array(vcr, tmp_path) -> None:
    made, answers = vcr
    rng = np.random.default_rng(1)
    scores = rng.random((40, 5, 4)) + np.eye(4)[np.column_stack([answers[:, 0], *[answers[:, 1]] * 4])] * 0.4
    want = expected(answers, scores[:, 0], scores[:, 1:])
    assert 0 < want["Q->AR"] < min(want["Q->A"], want["QA->R"])
    right = scores[np.arange(40), 1 + answers[:, 0]]
    np.save(tmp_path / "all.npy", scores)
    np.save(tmp_path / "flat.npy", scores.reshape(40, 20).astype(np.float32))
    np.savez(tmp_path / "two.npz", answers=scores[:, 0], rationales=right)
    np.savez(tmp_path / "four.npz", answers=scores[:, 0], rationales=scores[:, 1:])
    folder = tmp_path / "folder"
    folder.mkdir()
    np.save(folder / "answers.npy", scores[:, 0])
    np.save(folder / "rationales.npy", right)
    for path in ("all.npy", "flat.npy", "two.npz", "four.npz", "folder"):
        found = evaluate(made, tmp_path / path, resamples=10)
        assert {name: estimate.value for name, estimate in found.staged.items()} == pytest.approx(want, abs=1e-15), path
        assert found.missing.count == found.unreadable.count == found.extra.count == 0
    np.save(tmp_path / "answers.npy", scores[:, 0])
    found = evaluate(made, tmp_path / "answers.npy", resamples=10)
    assert found.staged["Q->A"].value == want["Q->A"]
    assert (found.staged["QA->R"].value, found.missing.count, found.missing.names[0][:6]) == (0, 40, "val-0/")
    chance = {row.name: row for row in found.baselines}["random"]
    assert chance.staged == {"Q->A": 0.25, "QA->R": 0.25, "Q->AR": 0.0625}
    common = [int(np.bincount(answers[:, stage]).argmax()) for stage in range(2)]
    majority = found.baselines[0]
    assert majority.rule.endswith("candidate {}, of rationales {}".format(*("ABCD"[k] for k in common)))
    assert majority.staged["Q->AR"].value == ((answers == common).all(1)).mean()


def test_the_published_vcr_script_prints_three_lines(vcr, tmp_path) -> None:
    made, answers = vcr
    scores = np.random.default_rng(4).random((40, 5, 4))
    np.save(tmp_path / "all.npy", scores)
    want = expected(answers, scores[:, 0], scores[:, 1:])
    lines = official_output(evaluate(made, tmp_path / "all.npy", resamples=10)).splitlines()
    assert lines[0] == f"Answer acc:    {want['Q->A']:.3f}"
    assert lines[1] == f"Rationale acc: {want['QA->R']:.3f}"
    assert lines[2] == f"Joint acc:     {want['Q->AR']:.3f}"


def test_a_score_that_is_no_number_is_unreadable(vcr, tmp_path) -> None:
    made, _ = vcr
    scores = np.random.default_rng(0).random((40, 5, 4))
    scores[3, 0, 1] = np.nan
    np.save(tmp_path / "all.npy", scores)
    found = evaluate(made, tmp_path / "all.npy", resamples=10)
    assert (found.unreadable.count, found.unreadable.names) == (1, ("val-3",))


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.zeros((39, 4)), "39 rows, and the split has 40 questions"),
        (np.zeros((40, 3)), "shape"),
        (np.array(["a"] * 40), "values where scores were expected"),
        (np.array([{}] * 40), "not a plain NumPy array"),
    ],
)
def test_bad_arrays(vcr, tmp_path, array, says: str) -> None:
    np.save(tmp_path / "bad.npy", array)
    with pytest.raises(UserError, match=says):
        evaluate(vcr[0], tmp_path / "bad.npy")


def test_bad_array_folders(vcr, tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"without answers\.npy"):
        evaluate(vcr[0], tmp_path / "empty")
    np.savez(tmp_path / "odd.npz", other=np.zeros((40, 4)))
    with pytest.raises(UserError, match="holds the arrays other"):
        evaluate(vcr[0], tmp_path / "odd.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "odd.npz").read_bytes()[:100])
    with pytest.raises(UserError, match="is damaged"):
        evaluate(vcr[0], tmp_path / "cut.npz")


def test_staged_comparison(vcr, tmp_path) -> None:
    made, answers = vcr
    scores = np.random.default_rng(2).random((2, 40, 5, 4))
    for name, one in zip(("a.npy", "b.npy"), scores, strict=True):
        np.save(tmp_path / name, one)
    compared = evaluate(made, tmp_path / "a.npy", against=tmp_path / "b.npy", resamples=50).comparison
    a, b = (expected(answers, one[:, 0], one[:, 1:]) for one in scores)
    assert {n: e.value for n, e in compared.staged.items()} == pytest.approx({n: a[n] - b[n] for n in a}, abs=1e-15)


def test_matrices_have_eight_panels_to_choose_from_and_several_schemes(tmp_path, write_lines) -> None:
    panels = tuple(f"p{k}" for k in range(8))
    items = [Item(f"m{n}", "matrix", panels, None, panels, answer=n % 8, tags=pairs(relation="and")) for n in range(16)]
    with BenchmarkWriter(tmp_path / "b", name="V-PROM", task="matrix") as writer:
        writer.add_items("test", items, scheme="neutral")
        writer.add_items("test", items[:8], scheme="counts")
    rows = [(item.id, [float(k == item.answer) for k in range(8)]) for item in items[:12]]
    found = evaluate(tmp_path / "b", write_lines(rows), scheme="neutral")
    assert (found.accuracy.value, found.consistency.value, found.missing.count) == (0.75, 0.75, 4)
    assert evaluate(tmp_path / "b", write_lines(rows), scheme="counts").extra.count == 4
    assert {row.name: row for row in found.baselines}["random"].accuracy == 1 / 8
    with pytest.raises(UserError, match="2 scores for m0, which has 8 candidates"):
        evaluate(tmp_path / "b", write_lines([("m0", TRUE)]), scheme="neutral")


def test_a_single_resample_may_miss_all_that_is_answered(sentences, write_lines) -> None:
    path = write_lines([("s0-0", TRUE)])
    seen = {(s.low, s.high) for seed in range(12) if (s := evaluate(sentences, path, seed=seed, resamples=1).answered)}
    assert seen == {unanimous(True, 1)}  # one group was answered


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (("HERE", "HERE"), True),
        (("HERE", None), True),
        ((None, None), None),
        (("some name", 3), None),
        (("0" * 64, "HERE"), False),
        (("0" * 64, "0" * 64), False),
    ],
)
def test_whether_predictions_are_for_this_benchmark(write_benchmark, statement, write_text, said, expected) -> None:
    made = write_benchmark({"dev": [statement("a", 1), statement("b", 1)]})
    lines = [{"item": item, "scores": [0, 1], "benchmark": one} for item, one in zip("ab", said, strict=True)]
    text = "".join(json.dumps(line) + "\n" for line in lines).replace("HERE", Benchmark(made).hash)
    scores = evaluate(made, write_text(text, "p.jsonl"), resamples=10)
    assert scores.accuracy.value == 1
    assert scores.to_json()["benchmark_matches"] is expected


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ('{"benchmark": "b", "benchmark_hash": "HERE"}', True),
        ('{"benchmark": {"name": "b", "hash": "HERE"}}', True),
        ('{"benchmark": {"name": "b", "hash": "' + "0" * 64 + '"}}', False),
        ("[1]", None),
        ("{damaged", None),
        ("[" * 100_000, None),
    ],
)
def test_the_note_beside_predictions(write_benchmark, statement, write_text, note, expected) -> None:
    made = write_benchmark({"dev": [statement("a", 1), statement("b", 1)]})
    path = write_text("a,true\nb,true\n")
    write_text(note.replace("HERE", Benchmark(made).hash), path.name + ".meta.json")
    assert evaluate(made, path, resamples=10).benchmark_matches is expected


def test_trials_have_the_keys_of_one_file(sentences, write_lines) -> None:
    rows = choices(sentences, 0, 0.8)
    paths = [write_lines(rows, "all.jsonl"), write_lines([*rows[2:], ("elsewhere", TRUE)], "some.jsonl")]
    one, two = (evaluate(sentences, path, split="dev", resamples=50).to_json() for path in paths)
    both = veridical.evaluate(sentences, paths, split="dev", resamples=50).to_json()
    assert both.keys() == one.keys() | {"trials", "each"}
    assert both["items"] == one["items"]
    assert (both["missing"], both["extra"], both["unreadable"]) == (2, 1, 0)
    assert both["names"]["extra"] == ["elsewhere"]
    for name in ("accuracy", "consistency", "answered"):
        assert both[name].keys() == one[name].keys() | {"mean", "std"}
        for bound in ("value", "low", "high"):
            assert both[name][bound] == pytest.approx((one[name][bound] + two[name][bound]) / 2)
    assert both["by"]["kind"]["odd"].keys() == one["by"]["kind"]["odd"].keys() | {"mean", "std"}
    assert both["each"] == [one, two]
