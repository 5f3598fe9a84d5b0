"""`veridical.match` as a whole: what every matched set promises, whatever the models."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import veridical
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.common.result import Table
from veridical.errors import UserError
from veridical.language import wordnet
from veridical.matching import stages
from veridical.matching.stages import normal
from veridical.records import Item, Text

from .conftest import question_rows

PLAIN = {"relevance": "hashed-words", "similarity": "hashed-words"}
LEXICAL = {"relevance": "bm25", "similarity": "tfidf"}


def words(item: Item) -> list[str]:
    return [normal(text.raw) for text in item.candidates if isinstance(text, Text)]


@pytest.mark.parametrize("models", [PLAIN, LEXICAL, {**PLAIN, "method": "paper", "learn": False}])
def test_every_answer_is_right_once_and_wrong_three_times_within_its_fold(
    qa_file: Path, tmp_path: Path, models: dict[str, object]
) -> None:
    report = veridical.match(qa_file, tmp_path / "out", group="video", folds=3, **models)
    assert 0 <= report.gap <= (1e-3 if models.get("method") == "paper" else 0.5)
    assert report.pairs == 120
    opened = Benchmark(tmp_path / "out")
    assert check(tmp_path / "out").ok
    assert set(opened.splits) == {"train", "val", "test"}
    for split in opened.splits:  # with three folds a split is a fold
        right, wrong = Counter(), Counter()
        for item in opened.items(split):
            texts = words(item)
            assert len(set(texts)) == 4
            assert item.answer is not None
            right[texts[item.answer]] += 1
            wrong.update(text for k, text in enumerate(texts) if k != item.answer)
        assert wrong == Counter({text: 3 * count for text, count in right.items()})


def test_the_same_seed_gives_the_same_bytes_and_another_another_order(qa_file: Path, tmp_path: Path) -> None:
    hashes = []
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        veridical.match(qa_file, tmp_path / name, group="video", folds=3, seed=seed, **LEXICAL)
        hashes.append(Benchmark(tmp_path / name).hash)
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("folds", [1, 3])
def test_the_number_of_processes_and_processors_changes_no_byte(
    qa_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folds: int
) -> None:
    hashes = []
    for number in (1, 2):
        monkeypatch.setattr(stages, "available", lambda found=number: found)
        shape = {"split": {"train": 1.0}} if folds == 1 else {"folds": folds}
        veridical.match(qa_file, tmp_path / str(number), group="video", processes=number, **shape, **PLAIN)
        hashes.append(Benchmark(tmp_path / str(number)).hash)
    assert hashes[0] == hashes[1]


def test_tables_hold_choices_and_labels(qa_file: Path, tmp_path: Path) -> None:
    veridical.match(qa_file, tmp_path / "out.csv", group="video", folds=3, **LEXICAL)
    veridical.match(qa_file, tmp_path / "out.jsonl", group="video", folds=3, **LEXICAL)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    given = list(csv.DictReader(qa_file.open(newline="")))
    assert [row[f"answer_{row['answer_label']}"] for row in rows] == [row["answer"] for row in given]
    read = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [str(row["answer_label"]) for row in read] == [row["answer_label"] for row in rows]


def test_rationales_make_one_answer_item_and_four_rationale_items(qa_file: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(qa_file.open(newline="")))
    lines = [json.dumps({**row, "why": f"I see {row['question'][-9:]} and {row['answer']}"}) for row in rows]
    (tmp_path / "qa.jsonl").write_text("\n".join(lines))
    options = {"rationale": "why", "group": "video", "folds": 3, "hide": ["test"], **PLAIN}
    veridical.match(tmp_path / "qa.jsonl", tmp_path / "out", **options)
    assert check(tmp_path / "out").ok
    opened = Benchmark(tmp_path / "out")
    items = list(opened.items("train"))
    assert len(items) == 5 * len({item.group for item in items})
    answer = items[0]
    reasons = items[1:5]
    assert [reason.parent for reason in reasons] == [answer.id] * 4
    assert [reason.given for reason in reasons] == [0, 1, 2, 3]
    assert [reason.answer is not None for reason in reasons] == [k == answer.answer for k in range(4)]
    assert all(item.answer is None and not item.tag("borrowed") for item in opened.items("test"))
    assert any(item.tag("borrowed") for item in opened.items("test", answers=True))


def test_both_stages_are_reported_on(tmp_path: Path) -> None:
    rows = [{"question": row["question"], "answer": row["answer"], "group": str(k // 2), "rationale": f"I see {k}"}
            for k, row in enumerate(question_rows(60))]  # fmt: skip
    for k, row in enumerate(rows):
        row["rationale"] += f" and {row['answer']}" if k % 2 else ""
    (tmp_path / "qa.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    report = veridical.match(tmp_path / "qa.jsonl", tmp_path / "out", folds=3, integrity=True, **LEXICAL)
    of_stage = {stage: [b for b in report.integrity if b.stage == stage] for stage in ("answer", "rationale")}
    assert [b.name for b in of_stage["answer"]] == [b.name for b in of_stage["rationale"]]
    assert len(of_stage["answer"]) == 7
    assert all(b.before is not None for b in report.integrity)
    assert of_stage["answer"][0] != of_stage["rationale"][0]


def big_file(path: Path, number: int = 420) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["question", "answer", "video"])
        writer.writeheader()
        writer.writerows({**row, "answer": f"{row['answer']} {k}"} for k, row in enumerate(question_rows(number)))
    return path


def test_hidden_answers_are_not_built_again_from_the_seed(tmp_path: Path) -> None:
    """Who has the file without the answers' order, the public folder, its seed and this program builds it again."""
    file = big_file(tmp_path / "qa.csv")
    options = {"group": "video", "folds": 3, "hide": ["test"], "seed": 3, **LEXICAL}
    made = veridical.match(file, tmp_path / "made", **options)
    again = veridical.match(file, tmp_path / "again", secret="", **options)
    hidden = {item.id: item for item in Benchmark(tmp_path / "made").items("test", answers=True)}
    guessed = {item.id: item for item in Benchmark(tmp_path / "again").items("test", answers=True)}
    assert len(hidden) > 130
    right = np.mean([guessed[name].answer == item.answer for name, item in hidden.items()])
    assert right < 0.4  # chance is a quarter
    for split in ("train", "val"):  # what is public does not depend on the secret
        assert list(Benchmark(tmp_path / "made").items(split)) == list(Benchmark(tmp_path / "again").items(split))
    kept = (tmp_path / "made.hidden" / "secret.txt").read_text().strip()
    assert len(kept) == 32
    assert any("secret.txt" in note for note in made.notes)
    assert any("Whoever knows the seed" in note for note in again.notes)
    assert not (tmp_path / "again.hidden" / "secret.txt").exists()
    manifest = Benchmark(tmp_path / "made").manifest
    assert kept not in json.dumps(manifest)
    assert manifest["config"]["secret"] is True
    veridical.match(file, tmp_path / "third", secret=kept, **options)
    assert Benchmark(tmp_path / "third").hash == Benchmark(tmp_path / "made").hash


def test_what_is_hidden_stays_hidden_when_it_is_matched_anew(tmp_path: Path, qa_file: Path) -> None:
    veridical.match(qa_file, tmp_path / "one", group="video", folds=3, hide=["test"], **LEXICAL)
    report = veridical.match(tmp_path / "one", tmp_path / "two", hide=["val"], **LEXICAL)
    opened = Benchmark(tmp_path / "two")
    assert sorted(opened.manifest["hidden"]) == ["test", "val"]
    assert all(item.answer is None for split in ("test", "val") for item in opened.items(split))
    assert any("do not publish both" in note for note in report.notes)
    table = veridical.match(tmp_path / "one", tmp_path / "out.jsonl", **LEXICAL)
    splits = Counter(json.loads(line)["split"] for line in (tmp_path / "out.jsonl").read_text().splitlines())
    assert set(splits) == {"train", "val"}
    assert any(f"Left out: {120 - table.pairs} questions of test" in note for note in table.notes)
    swept = veridical.match(tmp_path / "one", tmp_path / "swept", sweep=[0.3], **LEXICAL)
    with (tmp_path / "swept" / "choices-0.3.csv").open() as file:
        assert {row["split"] for row in csv.DictReader(file)} == {"train", "val"}
    assert any("a sweep would show their answers" in note for note in swept.notes)
    veridical.match(qa_file, tmp_path / "all", group="video", split={"a": 1, "b": 1}, hide=["a", "b"], **LEXICAL)
    with pytest.raises(UserError, match=r"All answers of .* are hidden \(a, b\)"):
        veridical.match(tmp_path / "all", tmp_path / "all.csv", **LEXICAL)
    with pytest.raises(UserError, match="--folds, the names of columns would do nothing"):
        veridical.match(tmp_path / "one", tmp_path / "three", folds=3, group="video", **LEXICAL)


def test_the_report_says_by_what_method_and_how_near_to_its_bound(qa_file: Path, tmp_path: Path) -> None:
    for method in ("fours", "paper"):
        report = veridical.match(qa_file, tmp_path / method, group="video", folds=3, method=method, **LEXICAL)
        assert report.method == method == Benchmark(tmp_path / method).manifest["config"]["method"]
        weight, bound = report.weights["answer"]
        assert weight <= bound < 0
        assert set(report.models["answer"]["choices"]) == {"right", "wrong"}
        shown = {row[0] for part in report.parts() if isinstance(part, Table) for row in part.rows}
        assert "answers, objective and its upper bound" in shown
        assert ("largest certified gap" in shown) == (method == "paper")


def test_frequent_answers_are_said_to_restrict_the_proof(tmp_path: Path) -> None:
    """Three answers of a quarter each that are all most relevant to each other's questions."""
    heavy = [f"is it yes or no or maybe {k}?,{('yes', 'no', 'maybe')[k % 3]}" for k in range(30)]
    light = [f"thing number {k} stands where?,behind door {k}" for k in range(10)]
    (tmp_path / "qa.csv").write_text("question,answer\n" + "\n".join([*heavy, *light]) + "\n")
    report = veridical.match(tmp_path / "qa.csv", tmp_path / "out", folds=1, method="paper", weight=0.0, **LEXICAL)
    assert report.to_json()["reserved"] is True
    assert any("the gap is to the best of what was left" in note for note in report.notes)
    assert Benchmark(tmp_path / "out").manifest["config"]["reserved"] == {"answer": ["train"]}


def test_the_manifest_says_what_models_were_used(qa_file: Path, tmp_path: Path) -> None:
    for name, models, learned in (("a", LEXICAL, False), ("b", {**PLAIN, "learn": False}, False)):
        veridical.match(qa_file, tmp_path / name, group="video", folds=3, **models)
        config = Benchmark(tmp_path / name).manifest["config"]
        assert config["learned"] is learned
        assert config["calibration"]["answer"]["relevance"]["learned"] is learned


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("why?", "so")] * 8, {"folds": 1}, "All 8 answers are 'so'"),
        ([(f"why {k}?", f"so {k}") for k in range(3)], {"folds": 1}, "has 3 questions"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"folds": 4}, "has 3 questions"),
        ([(f"why {k}?", "yes" if k < 4 else f"so {k}") for k in range(12)], {"folds": 1}, "4 of 12 answers are 'yes'"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"folds": 20}, "12 groups cannot fill 20 folds"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"folds": 2, "split": {"a": 1.0}}, "Both --folds and --split"),
        ([(f"why {k}?", f"so {k}") for k in range(12)], {"folds": 1, "hide": ["test"]}, "no split 'test' to hide"),
        *[
            ([(f"why {k}?", f"so {k}") for k in range(12)], {"relevance": "no such model", **options}, message)
            for options, message in (  # all of it before any model is looked for
                ({"seed": -1}, "The seed is -1"),
                ({"method": "fives"}, "no method 'fives'"),
                ({"weight": float("nan")}, "lambda is nan"),
                ({"weight": -0.5}, "lambda is -0.5"),
                ({"shortlist": 0}, "A shortlist of 0"),
                ({"tolerance": 0.0}, "A tolerance of 0"),
                ({"tolerance": -1.0}, "A tolerance of -1"),
                ({"wrong": 0}, "0 wrong choices"),
                ({"people": "answers.csv"}, "People's answers are for a sweep"),
                ({"secret": "x"}, "no split is hidden"),
                ({"sweep": [0.1, float("inf")], "folds": 3}, "A sweep over"),
                ({"sweep": [0.1], "folds": 1}, "there is one fold"),
                ({"sweep": [0.1], "weight": 0.5}, "A sweep tries lambdas of its own"),
                ({"sweep": [0.1], "hide": ["test"], "integrity": True}, "--hide, --integrity would do nothing"),
                ({"sweep": [0.1], "name": "A", "licence": "B"}, "--name, --licence would do nothing"),
            )
        ],
    ],
)
def test_what_cannot_be_matched_is_refused_and_nothing_is_written(
    tmp_path: Path, rows: list[tuple[str, str]], options: dict[str, object], message: str
) -> None:
    (tmp_path / "qa.csv").write_text("question,answer\n" + "".join(f"{q},{a}\n" for q, a in rows))
    with pytest.raises(UserError, match=message):
        veridical.match(tmp_path / "qa.csv", tmp_path / "out", **{**LEXICAL, **options})
    assert not (tmp_path / "out").exists()


def test_a_file_with_folds_keeps_them_and_groups_may_not_cross(tmp_path: Path) -> None:
    lines = [f"why {k}?,so {k},{'dev' if k % 2 else 'train'},m{k % 4}" for k in range(20)]
    (tmp_path / "qa.csv").write_text("question,answer,fold,movie\n" + "\n".join(lines))
    report = veridical.match(tmp_path / "qa.csv", tmp_path / "out", group="movie", **LEXICAL)
    assert report.splits == {"dev": 10, "train": 10}
    (tmp_path / "qa.csv").write_text("question,answer,fold,movie\n" + "\n".join(lines).replace("m3", "m0"))
    with pytest.raises(UserError, match="The group 'm0' is in the folds"):
        veridical.match(tmp_path / "qa.csv", tmp_path / "out2", group="movie", **LEXICAL)


def test_splits_by_share_are_folds(qa_file: Path, tmp_path: Path) -> None:
    report = veridical.match(qa_file, tmp_path / "out", group="video", split={"train": 3, "dev": 1}, **LEXICAL)
    assert report.splits == {"dev": 30, "train": 90}
    assert report.folds == 2


def test_all_choices_are_spelt_in_one_way_whatever_the_release_did(shared: Path, tmp_path: Path) -> None:
    """A release in compact JSON: what is borrowed is written anew, and spaces must not show the right one."""
    lines = (shared / "vcr" / "gd_vcr_val.jsonl").read_text().splitlines()[:120]
    (tmp_path / "gd_vcr_val.jsonl").write_text(
        "\n".join(json.dumps(json.loads(line), separators=(",", ":")) for line in lines) + "\n"
    )
    veridical.import_release("vcr", tmp_path / "gd_vcr_val.jsonl", out=tmp_path / "gd")
    veridical.match(tmp_path / "gd", tmp_path / "new", **LEXICAL)
    for item in Benchmark(tmp_path / "new").items("val"):
        for text in item.candidates:
            assert isinstance(text, Text)
            assert text.raw == json.dumps(json.loads(text.raw), ensure_ascii=False)


def test_gd_vcr_imports_evaluates_and_matches_anew(shared: Path, tmp_path: Path) -> None:
    veridical.import_release("vcr", shared / "vcr" / "gd_vcr_val.jsonl", out=tmp_path / "gd")
    old = {item.id: item for item in Benchmark(tmp_path / "gd").items("val")}
    report = veridical.match(tmp_path / "gd", tmp_path / "new", integrity=True, **PLAIN)
    assert check(tmp_path / "new").ok
    assert report.pairs >= 0.98 * len(old)
    biases = {bias.name: bias for bias in report.integrity}
    assert set(biases) == {"length", "overlap", "tags"}  # one fold: nothing is fitted
    assert biases["tags"].before is not None
    opened = Benchmark(tmp_path / "new")
    lines, moved = [], 0
    for item in opened.items("val"):
        assert item.answer is not None
        assert item.query == old[item.id].query
        assert item.candidates[item.answer] == old[item.id].candidates[old[item.id].answer or 0]
        objects = {one.id for one in opened.panels[item.panels[0]].objects}
        tags = [o for text in item.candidates if isinstance(text, Text) for t in text.tokens if not isinstance(t, str)
                for o in t.objects]  # fmt: skip
        assert set(tags) <= objects
        moved += len(tags)
        lines.append(json.dumps({"item": item.id, "scores": [float(k == item.answer) for k in range(4)]}))
    assert moved > 500
    (tmp_path / "p.jsonl").write_text("\n".join(lines) + "\n")
    assert veridical.evaluate(tmp_path / "new", tmp_path / "p.jsonl").accuracy.value == 1.0


def test_without_wordnet_the_report_says_so(qa_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordnet, "find_spec", lambda name: None)
    report = veridical.match(qa_file, tmp_path / "out", group="video", folds=3, **LEXICAL)
    assert any("WordNet is not here" in note for note in report.notes)
    assert Benchmark(tmp_path / "out").manifest["config"]["thesaurus"] == "Unknown"
    paper = veridical.match(qa_file, tmp_path / "paper", group="video", folds=3, method="paper", **LEXICAL)
    assert not any("WordNet" in note for note in paper.notes)
