"""Machines find what is planted, no more; the integrity report and the sweep say so."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import veridical
from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.matching.blind_readers import Choices, accuracy, by_machine, graded, random_wrong, sides
from veridical.matching.lambda_curve import LambdaPoint, plot, recommend
from veridical.matching.report import frequency_in, integrity, overlap, shared_tags
from veridical.matching.scores.models import encoder

WORDS = [f"w{k}" for k in range(40)]


def planted(number: int, how: str, seed: int = 0) -> Choices:
    """Choices whose right one shows: by a word (alone), as the odd one out (all), by the question's word (question)."""
    rng = np.random.default_rng(seed)
    asked, candidates, answers = [], [], []
    for _ in range(number):
        words = [WORDS[k] for k in rng.permutation(30)[:5]]
        four = [f"{w} thing" for w in words[:4]]
        right = int(rng.integers(4))
        if how == "alone":
            four[right] = f"really {four[right]}"
        elif how == "all":
            topics = [WORDS[k] for k in rng.permutation(30)[:4]]
            four = [" ".join([*topics[:2], *topics[:2], text]) for text in four]
            four[right] = " ".join([*topics[2:], *topics[2:], f"{words[right]} thing"])
        asked.append(f"is it {words[right] if how == 'question' else 'so'}")
        candidates.append(tuple(four))
        answers.append(right)
    folds = [str(k % 8) for k in range(number)]
    names = [str(k) for k in range(number)]
    return Choices(names, asked, candidates, np.array(answers), names, folds)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory):
    patch = pytest.MonkeyPatch()
    patch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield encoder("hashed-words")
    patch.undo()


@pytest.mark.parametrize(("how", "view", "seen"), [
    ("alone", "alone", True), ("all", "alone", False), ("all", "all", True), ("question", "all", False),
    ("question", "question", True), ("none", "question", False),
])  # fmt: skip
def test_a_machine_finds_what_its_view_shows(vectors, how: str, view: str, seen: bool) -> None:
    data = planted(800, how)
    test = np.arange(800) % 8 < 2
    train, held = data.take(np.flatnonzero(~test)), data.take(np.flatnonzero(test))
    right = graded(by_machine(train, held, view, vectors, np.random.default_rng(0)), held.answer)  # type: ignore[arg-type]
    assert (right.mean() > 0.6) == seen
    if not seen:
        assert right.mean() < 0.5  # three choices of one topic share a score, so the fourth is first half of the time


def test_intervals_resample_groups() -> None:
    right = np.repeat([1.0, 0.0], 50)
    alone = accuracy(right, [str(k) for k in range(100)])
    together = accuracy(right, [str(k // 25) for k in range(100)])
    assert alone.value == together.value == 0.5
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_cues() -> None:
    data = Choices(["a"], ["is the dog red"], [("the dog", "a cat", "red dog", "no")], np.array([2]), ["a"], ["0"])
    assert overlap(data)[0].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert frequency_in(data)(data)[0].argmax() == 2
    assert shared_tags([["0", "1"]], [[["0"], ["0", "1"], [], ["2"]]]).tolist() == [[1.0, 2.0, 0.0, 0.0]]


def test_random_wrong_choices_are_four_different_texts_of_the_fold() -> None:
    rng = np.random.default_rng(0)
    texts = rng.integers(0, 12, 60)
    folds = [str(k % 2) for k in range(60)]
    wrong = random_wrong(texts, folds, 3, rng)
    four = np.concatenate([texts[None], texts[wrong]])
    assert all(len(set(four[:, k].tolist())) == 4 for k in range(60))
    assert all(folds[j] == folds[k] for k in range(60) for j in wrong[:, k])


def test_the_report_shows_a_bias_before_and_none_after(vectors) -> None:
    found = {bias.name: bias for bias in integrity(planted(600, "none"), planted(600, "alone"), vectors)}
    assert list(found) == ["alone", "all", "length", "position", "frequency", "overlap", "question"]
    before = found["alone"].before
    assert before is not None
    assert before.low > 0.5
    assert found["alone"].after.low < 0.25 < found["alone"].after.high + 0.05
    assert found["length"].before is not None
    assert found["length"].before.value == 1.0  # "really" makes it longer
    assert found["length"].after.value == pytest.approx(0.25, abs=0.02)


def test_one_fold_is_judged_by_what_needs_no_fitting(vectors) -> None:
    data = planted(60, "none")
    one = Choices(data.ids, data.questions, data.candidates, data.answer, data.groups, ["0"] * 60)
    assert {bias.name for bias in integrity(one, None, vectors)} == {"length", "overlap"}


def point(weight: float, people: float | None, all_four: float = 0.26, question: float = 0.5) -> LambdaPoint:
    made = {name: Estimate(v, v, v) for name, v in (("all", all_four), ("question", question))}
    return LambdaPoint(weight, made, None if people is None else Estimate(people, people, people), 0.0)


def test_the_hardest_choices_that_people_can_do_are_recommended() -> None:
    assert recommend([point(0.1, 0.8), point(0.3, 0.92), point(1, 0.97)]).recommended == 0.3
    assert recommend([point(0.1, 0.8), point(0.3, 0.85)]).recommended == 0.3
    assert "nowhere" in recommend([point(0.1, 0.8)]).why
    chosen = recommend([point(0.1, None, 0.35, 0.4), point(0.3, None, 0.27, 0.5), point(1, None, 0.26, 0.6)])
    assert chosen.recommended == 0.3
    assert "ask people" in chosen.why
    assert "<svg" in plot(chosen)
    # with two choices a half is chance: 0.5 gives nothing away
    two = recommend([point(0.1, None, 0.6, 0.4), point(0.3, None, 0.5, 0.7)], chance=0.5)
    assert two.recommended == 0.3
    assert "50%" in plot(two)
    assert "25%" not in plot(two)


def test_folds_are_tested_on_by_the_seed_and_never_trained_on() -> None:
    folds = [str(k % 10) for k in range(100)]
    held = set()
    for seed in range(8):
        rows, test = sides(folds, seed)
        assert len(rows) == 100
        inside = {folds[i] for i in rows[test]}
        assert len(inside) == 3
        assert not inside & {folds[i] for i in rows[~test]}
        held.add(frozenset(inside))
    assert len(held) > 4


def test_sheets_for_people_command_no_spreadsheet(tmp_path: Path) -> None:
    """A question that begins as a formula does gets an apostrophe in what people open, and nowhere else."""
    rows = [f"q{n},{'=HYPERLINK' if n % 2 else 'why'} is dog {n} here?,@saw {n} cats" for n in range(24)]
    (tmp_path / "qa.csv").write_text("\n".join(["id,question,answer", *rows]) + "\n")
    plain = {"folds": 2, "relevance": "bm25", "similarity": "tfidf"}
    veridical.match(tmp_path / "qa.csv", tmp_path / "out", sweep=[1.0], **plain)
    cells = [cell for row in csv.reader((tmp_path / "out" / "choices-1.csv").open()) for cell in row]
    assert sum(cell.startswith("'=HYPERLINK") for cell in cells) == 12
    assert any(cell.startswith("'@saw") for cell in cells)
    assert not any(cell.startswith(("=", "@")) for cell in cells)
    veridical.match(tmp_path / "qa.csv", tmp_path / "out.csv", **plain)
    assert "\n=HYPERLINK" in (tmp_path / "out.csv").read_text() or ",=HYPERLINK" in (tmp_path / "out.csv").read_text()


def test_a_sweep_writes_choices_for_people_and_reads_their_answers(qa_file: Path, tmp_path: Path) -> None:
    options = {"group": "video", "folds": 3, "relevance": "bm25", "similarity": "tfidf", "sweep": [1.0, 0.1]}
    first = veridical.match(qa_file, tmp_path / "out", **options)
    assert first.sweep is not None
    assert [p.weight for p in first.sweep.points] == [0.1, 1.0]
    assert first.sweep.chance == 0.25
    assert set(first.sweep.points[0].machines) == {"alone", "all", "question", "relevance"}
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "choices-0.1.csv", "choices-1.csv", "key.csv", "sweep.json", "sweep.svg",
    }  # fmt: skip
    asked = {row["question"]: row["answer"] for row in csv.DictReader(qa_file.open())}
    key = {
        (float(r["lambda"]), r["id"]): int(r["answer_label"]) for r in csv.DictReader((tmp_path / "out/key.csv").open())
    }
    lines = ["lambda,id,choice"]
    for weight, share in (("0.1", 2), ("1", 50)):
        rows = list(csv.DictReader((tmp_path / "out" / f"choices-{weight}.csv").open()))
        assert not any("label" in name for name in rows[0])  # people get this file
        right = [key[float(weight), r["id"]] for r in rows]
        assert any(r[f"answer_{k}"] == asked[r["question"]] for r, k in zip(rows, right, strict=True))
        lines += [f"{weight},{r['id']},{right[k] if k % share else 9}" for k, r in enumerate(rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    again = veridical.match(qa_file, tmp_path / "out2", people=tmp_path / "people.csv", **options)
    assert again.sweep is not None
    assert again.sweep.recommended == 1.0
    assert again.sweep.points[0].people is not None
    assert again.sweep.points[0].people.value == 0.5
    two = veridical.match(qa_file, tmp_path / "out4", wrong=1, **options)
    assert two.sweep is not None
    assert two.sweep.to_json()["chance"] == 0.5
    (tmp_path / "people.csv").write_text("lambda,id,choice\n1,nobody,0\n")
    with pytest.raises(UserError, match="'nobody', which is not in the file"):
        veridical.match(qa_file, tmp_path / "out3", people=tmp_path / "people.csv", **options)


def test_a_sweep_tests_its_machines_on_folds_that_the_seed_chooses(vectors) -> None:
    from veridical.matching.lambda_curve import _machines

    data = planted(160, "alone")
    odd = [w if fold in ("0", "1") else tuple(t.replace("really ", "") for t in w)
           for w, fold in zip(data.candidates, data.folds, strict=True)]  # fmt: skip
    some = Choices(data.ids, data.questions, odd, data.answer, data.groups, data.folds)
    # the word is in two folds only: how much it helps depends on whether these are trained or tested on
    assert len({round(_machines(some, vectors, seed)["alone"].value, 3) for seed in range(4)}) > 1
